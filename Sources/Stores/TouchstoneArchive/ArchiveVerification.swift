// Verifies that the archive's files are whole, and form one chain with the kept log.

public import TouchstoneStore

public struct ArchiveVerification: Sendable, Hashable {
  public var firstSequence: UInt64 = 1
  public var verifiedCount: UInt64 = 0
  /// The number of events that were erased in the log or here.
  public var erasedCount: UInt64 = 0
  /// The number of events that were erased here (`ArchiveEraser`). No event accounts for them, so each needs a
  /// signature.
  public var erasedHereCount: UInt64 = 0
  /// The result for the accounts' signatures.
  public var accounts: AccountReview
  /// `nil`: every event up to the log's beginning is as it was written.
  public var fault: EventChainVerifier.Fault?

  /// - Parameters:
  ///   - log: the verification of the log whose beginning is archived.
  ///   - first: the archive's first event. It is later than event 1 if older files were removed on purpose.
  ///   - accounts: how the accounts' signatures are verified.
  public init(
    directory path: String, before log: AuditLogVerification, first: UInt64 = 1, accounts: AccountReview = .none
  ) throws(ArchiveError) {
    self.accounts = accounts
    firstSequence = first
    let directory = try ArchiveDirectory(reading: path)
    var reading = ArchiveReading(through: log.start, first: first, accounts: accounts)
    do throws(ArchiveReading.Interruption) {
      for name in try directory.wantedFiles(before: log.start, from: first) {
        try reading.read(directory.path(of: name), from: name)
      }
      try reading.conclude(accounts: log.earlierAccounts)
    } catch {
      switch error {
      case .fault(let fault): self.fault = fault
      case .error(let error): throw error
      }
    }
    verifiedCount = reading.verifiedCount
    erasedCount = reading.erasedCount
    erasedHereCount = reading.erasedHereCount
    self.accounts = reading.accounts
  }
}

extension ArchiveDirectory {
  /// Files that begin later hold events of the kept log, which were not dropped.
  fileprivate func wantedFiles(
    before start: EventChain.Head, from first: UInt64
  ) throws(ArchiveReading.Interruption) -> [ArchiveFileName] {
    do throws(ArchiveError) {
      let files = try files().filter { $0.first <= start.sequence && $0.last >= first }
      return try chain(of: files, endingAt: start, from: first) ?? files
    } catch {
      throw .error(error)
    }
  }

  /// Returns the files that lead to the log's beginning, by their headers and trailers. If two hold the same events,
  /// one may be from before the store was put back to an earlier time. `nil`: files are missing or damaged, and all are
  /// read.
  private func chain(
    of files: [ArchiveFileName], endingAt start: EventChain.Head, from first: UInt64
  ) throws(ArchiveError) -> [ArchiveFileName]? {
    var chain: [ArchiveFileName] = []
    var end = start
    while end.sequence >= first {
      var found: EventChain.Head?
      for name in files where name.last == end.sequence && found == nil {
        guard let range = try ArchiveFile.statedRange(ArchiveFile.open(path(of: name))), range.end == end,
          range.start.sequence + 1 == name.first
        else { continue }
        found = range.start
        chain.append(name)
      }
      guard let found else { return nil }
      end = found
    }
    return chain.reversed()
  }
}

/// Follows the chain through one file after the other.
private struct ArchiveReading {
  enum Interruption: Error {
    case fault(EventChainVerifier.Fault)
    case error(ArchiveError)
  }

  private let end: EventChain.Head
  private let first: UInt64
  private var verifier: EventChainVerifier
  private(set) var erasedHereCount: UInt64 = 0
  private(set) var erasedCount: UInt64 = 0
  private var hasBegun = false

  init(through end: EventChain.Head, first: UInt64, accounts: AccountReview) {
    self.end = end
    self.first = first
    verifier = EventChainVerifier(accounts: accounts)
  }

  var accounts: AccountReview { verifier.accounts }

  var verifiedCount: UInt64 { verifier.verifiedCount }
  private var isAtEnd: Bool { hasBegun && verifier.head.sequence >= end.sequence }

  mutating func read(_ path: String, from name: ArchiveFileName) throws(Interruption) {
    // Events that another file or the log has.
    guard !hasBegun || name.last > verifier.head.sequence, !isAtEnd else { return }
    do throws(ArchiveError) {
      var found: EventChainVerifier.Fault?
      var known: UInt64 = 0
      _ = try ArchiveFile.read(ArchiveFile.open(path)) { start in
        begin(after: start)
        known = verifier.head.sequence
      } _: { event in
        if found == nil, event.record.sequence > known { found = take(event) }
      }
      if let found { throw ArchiveError(code: .damaged, message: "\(path): \(found)") }
    } catch {
      throw .error(error)
    }
  }

  private mutating func begin(after start: EventChain.Head) {
    guard !hasBegun else { return }
    hasBegun = true
    // Otherwise from the first event, which is missing then.
    if start.sequence + 1 == first { verifier = EventChainVerifier(continuing: start, accounts: accounts) }
  }

  private mutating func take(_ event: ArchivedEvent) -> EventChainVerifier.Fault? {
    let record = event.record
    guard !isAtEnd else { return nil }
    do throws(EventChainVerifier.Fault) {
      try verifier.verify(record)
      if record.isErased { erasedCount += 1 }
      if let erasure = event.erasureHere {
        erasedHereCount += 1
        try verifier.takeArchiveErasure(of: record, erasure.signature, of: ArchiveErasure.message(for: record))
      }
      return nil
    } catch {
      return error
    }
  }

  /// - Parameter accounts: the erasures here for which the rest of the log accounts.
  mutating func conclude(accounts: [AccountedErasure]) throws(Interruption) {
    do throws(EventChainVerifier.Fault) {
      guard end.sequence >= first else { return }
      try verifier.conclude(at: end)
      try verifier.take(accounts: accounts)
      try verifier.requireAccounts()
    } catch {
      throw .fault(error)
    }
  }
}
