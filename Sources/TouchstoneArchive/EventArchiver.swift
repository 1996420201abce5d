// Takes the log's oldest events out of the store, into files: nothing is dropped that is not in a durable file.

public import TouchstonePolicy
public import TouchstoneStore

/// Wherever it is cut short, the log is whole: a file without its name is made anew, and one with its name whose events
/// were not dropped is replaced by the next run.
public struct EventArchiver: Sendable {
  public enum Outcome: Sendable, Hashable {
    /// No event is old enough.
    case nothing
    /// Another process archives.
    case busy
    /// There may be more.
    case archived(file: String, first: UInt64, last: UInt64)
  }

  /// Of one file: many times what it takes. After a crash the others wait for so long.
  private static let claimDuration = Duration.seconds(5 * 60)
  /// An erasure while a file was written is rare, two in a row rarer.
  private static let maximumTries = 5

  /// Fewer wait for the next: what is dropped leaves an event behind, which would be archived alone in its turn for ever.
  private static let minimumEvents: UInt64 = 2

  private let store: WaitingStore
  private let path: String
  private let maximumEvents: UInt64
  private let isWithoutEarlierFiles: Bool
  private let claimant = UniqueID.random()

  /// - Parameters:
  ///   - directory: with files of this log alone. Made where it is missing, with mode 0700.
  ///   - isWithoutEarlierFiles: files of what was archived before need not be there.
  public init(store: any Store, directory: String, isWithoutEarlierFiles: Bool = false) {
    self.init(
      store: store, directory: directory, maximumEvents: ArchivePlan.maximumEventsPerFile,
      isWithoutEarlierFiles: isWithoutEarlierFiles)
  }

  init(store: any Store, directory: String, maximumEvents: UInt64, isWithoutEarlierFiles: Bool = false) {
    self.isWithoutEarlierFiles = isWithoutEarlierFiles
    self.store = WaitingStore(store)
    path = directory
    self.maximumEvents = maximumEvents
  }

  /// Whether files can come into the directory: makes it where it is missing.
  public func prepare() throws(ArchiveError) {
    do throws(ArchiveError) {
      _ = try ArchiveDirectory(claiming: path)
    } catch {
      guard error.code == .inUse else { throw error }
    }
  }

  /// The rows of what was archived, which a service's sweeping removes otherwise.
  public func removeRows() throws(ArchiveError) {
    // Nothing else is so old.
    while try store.sweep(before: UnixTime(microseconds: 0)).hasMore {}
  }

  /// One file. Waits for the store and the disk: call it on a thread that may.
  ///
  /// - Parameter cutoff: what happened before it is old enough.
  public func archive(before cutoff: UnixTime) throws(ArchiveError) -> Outcome {
    guard try store.claimArchiving(by: claimant, for: Self.claimDuration) else { return .busy }
    // From now on nobody has to wait for this one.
    defer { _ = try? store.claimArchiving(by: claimant, for: .zero) }
    return try archiveClaimed(before: cutoff)
  }

  private func archiveClaimed(before cutoff: UnixTime) throws(ArchiveError) -> Outcome {
    let directory: ArchiveDirectory
    do throws(ArchiveError) {
      directory = try ArchiveDirectory(claiming: path)
    } catch {
      guard error.code == .inUse else { throw error }
      return .busy
    }
    for _ in 0..<Self.maximumTries {
      guard let range = try plan(before: cutoff, in: directory) else { return .nothing }
      if let name = try archive(range, in: directory) {
        return .archived(file: directory.path(of: name), first: name.first, last: name.last)
      }
    }
    return .busy
  }

  // MARK: How much

  private func plan(
    before cutoff: UnixTime, in directory: ArchiveDirectory
  ) throws(ArchiveError) -> ArchiveFile.Range? {
    let (start, head) = (try store.start(), try store.head())
    let leftOver = try leftOver(in: directory, after: start, head: head)
    try removeCovered(in: directory, by: start)
    var plan = ArchivePlan(start: start, head: head, cutoff: cutoff, maximumEvents: maximumEvents)
    var position = start.sequence
    while !plan.isComplete {
      let events = try store.events(after: position).events
      guard let last = events.last else { break }
      for event in events { plan.take(event) }
      position = last.sequence
    }
    let planned = plan.end.sequence >= start.sequence + Self.minimumEvents ? plan.end : start
    let end = [planned, leftOver].compactMap(\.self).max { $0.sequence < $1.sequence } ?? planned
    guard end != start else { return nil }
    try requireEarlierFile(in: directory, endingAt: start)
    return ArchiveFile.Range(start: start, end: end)
  }

  /// Where a file ends whose events were not dropped. They are archived again, for they may have been erased meanwhile.
  private func leftOver(
    in directory: ArchiveDirectory, after start: EventChain.Head, head: EventChain.Head
  ) throws(ArchiveError) -> EventChain.Head? {
    var end: EventChain.Head?
    for name in try directory.files() where name.last > start.sequence {
      let range = try Self.verifyLeftOver(directory.path(of: name))
      guard range.end.sequence <= head.archivableEnd,
        try store.events(after: range.end.sequence - 1).events.first?.hash == range.end.hash
      else {
        throw .damaged(
          directory.path(of: name),
          "holds events that the log does not have: it is of another log, or of what was lost where the store was put "
            + "back to an earlier time; move it away")
      }
      if name.first == start.sequence + 1, range.end.sequence > end?.sequence ?? 0 { end = range.end }
    }
    return end
  }

  private static func verifyLeftOver(_ path: String) throws(ArchiveError) -> ArchiveFile.Range {
    do throws(ArchiveError) {
      return try ArchiveFile.verify(path)
    } catch {
      guard error.code == .damaged else { throw error }
      throw ArchiveError(
        code: .damaged, message: "\(error.message); its events were not dropped from the log: move it away")
    }
  }

  /// Else it would not be seen that earlier files are missing, or another directory's.
  private func requireEarlierFile(
    in directory: ArchiveDirectory, endingAt start: EventChain.Head
  ) throws(ArchiveError) {
    guard start != .genesis, !isWithoutEarlierFiles else { return }
    guard try !directory.files().contains(where: { $0.last == start.sequence }) else { return }
    throw .damaged(
      directory.path,
      "no file in it ends with event \(start.sequence), up to which the log was archived: put the earlier files there, or "
        + "say that they are elsewhere (`touchstone audit archive --without-earlier-files`, once)")
  }

  // MARK: One file

  /// `nil`: the log changed meanwhile; nothing was dropped.
  private func archive(
    _ range: ArchiveFile.Range, in directory: ArchiveDirectory
  ) throws(ArchiveError) -> ArchiveFileName? {
    let name = ArchiveFileName(first: range.start.sequence + 1, last: range.end.sequence)
    var unerasedThrough = try store.head().sequence
    let isMade = try directory.makeFile(name) { writer throws(ArchiveError) in
      try write(range, to: writer)
    } isWanted: { () throws(ArchiveError) in
      guard let through = try lastWithoutErasure(after: unerasedThrough) else { return false }
      unerasedThrough = through
      return true
    }
    guard isMade else { return nil }
    let archived = ArchivedEvents(
      start: range.start, end: range.end, unerasedThrough: unerasedThrough, claimant: claimant)
    guard try store.drop(archived) else { return nil }
    try removeCovered(in: directory, by: range.end)
    return name
  }

  /// Files of which another has all that the log has not: shorter ones that it was made from, or longer ones whose events
  /// were not dropped. Not before the log begins where that one ends: until then another process may drop by theirs.
  private func removeCovered(in directory: ArchiveDirectory, by start: EventChain.Head) throws(ArchiveError) {
    let files = try directory.files()
    guard let kept = files.first(where: { $0.last == start.sequence }) else { return }
    let covered = files.filter { $0.first == kept.first && $0 != kept }
    guard !covered.isEmpty, try ArchiveFile.verify(directory.path(of: kept)).end == start else { return }
    for name in covered { try directory.remove(name) }
  }

  private func write(_ range: ArchiveFile.Range, to writer: ArchiveFileWriter) throws(ArchiveError) {
    try writer.write(.header(range.start))
    var verifier = EventChainVerifier(continuing: range.start)
    while verifier.head.sequence < range.end.sequence {
      let page = try store.events(after: verifier.head.sequence)
      if page.events.isEmpty { break }
      for event in page.events where event.sequence <= range.end.sequence {
        try Self.verify(event, by: &verifier)
        try writer.write(.event(ArchivedEvent(record: event)))
      }
    }
    guard verifier.head == range.end else { throw Self.brokenLog("event \(verifier.head.sequence + 1) is missing") }
    try writer.write(.trailer(range.end))
  }

  /// What does not follow from the event before stays where it is, for whoever finds out why.
  private static func verify(_ event: EventRecord, by verifier: inout EventChainVerifier) throws(ArchiveError) {
    do throws(EventChainVerifier.Fault) {
      try verifier.verify(event)
    } catch {
      throw brokenLog("\(error)")
    }
  }

  private static func brokenLog(_ finding: String) -> ArchiveError {
    ArchiveError(code: .damaged, message: "the audit log is not archived: \(finding)")
  }

  /// `nil`: a profile was erased.
  private func lastWithoutErasure(after sequence: UInt64) throws(ArchiveError) -> UInt64? {
    let erasures = EventFilter(applicationID: "", kindPrefixes: [ProfileErasure.eventKind])
    var position = sequence
    while true {
      let page = try store.events(matching: erasures, after: position)
      guard page.events.isEmpty else { return nil }
      position = max(position, page.through)
      if page.reachesEnd { return position }
    }
  }
}
