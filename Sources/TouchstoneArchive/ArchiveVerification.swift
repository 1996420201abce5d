// Are the archive's files whole, and one chain with what the log still has?

public import TouchstoneStore

public struct ArchiveVerification: Sendable, Hashable {
  public var firstSequence: UInt64 = 1
  public var verifiedCount: UInt64 = 0
  /// How many events lost their content, in the log or here.
  public var erasedCount: UInt64 = 0
  /// How many of them lost it here, where no event accounts for it (`ArchiveEraser`).
  public var erasedHereCount: UInt64 = 0
  /// What came of the accounts' signatures.
  public var accounts: AccountReview
  /// `nil`: every event up to where the log begins is as it was written.
  public var fault: EventChainVerifier.Fault?

  /// - Parameters:
  ///   - log: of which the archive holds the beginning, as it was verified.
  ///   - first: where the archive begins: later than with the first event where older files were removed on purpose.
  ///   - accounts: how the accounts' signatures are looked at.
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
  /// Files that begin later hold what the log still has: their events were not dropped.
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

  /// Those that say they lead to where the log begins, one after the other: of two with the same events, one may be of what
  /// was lost where the store was put back to an earlier time. `nil`: some are missing or damaged, and all are read.
  private func chain(
    of files: [ArchiveFileName], endingAt start: EventChain.Head, from first: UInt64
  ) throws(ArchiveError) -> [ArchiveFileName]? {
    var chain: [ArchiveFileName] = []
    var end = start
    while end.sequence >= first {
      var found: EventChain.Head?
      for name in files where name.last == end.sequence && found == nil {
        guard let range = try ArchiveFile.statedRange(path(of: name)), range.end == end,
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
    // What another file had, or the log has.
    guard !hasBegun || name.last > verifier.head.sequence, !isAtEnd else { return }
    do throws(ArchiveError) {
      var found: EventChainVerifier.Fault?
      var known: UInt64 = 0
      _ = try ArchiveFile.read(path) { start in
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
    // Else from the first event on, which is missing then.
    if start.sequence + 1 == first { verifier = EventChainVerifier(continuing: start, accounts: accounts) }
  }

  private mutating func take(_ event: ArchivedEvent) -> EventChainVerifier.Fault? {
    let record = event.record
    guard !isAtEnd else { return nil }
    do throws(EventChainVerifier.Fault) {
      try verifier.verify(record)
      if record.isErased { erasedCount += 1 }
      if event.isErasedHere {
        erasedHereCount += 1
        try verifier.take(accounts: [record.sequence])
      }
      return nil
    } catch {
      return error
    }
  }

  /// - Parameter accounts: what the rest of the log says was erased here.
  mutating func conclude(accounts: [UInt64]) throws(Interruption) {
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
