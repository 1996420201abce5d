// Moves the log's oldest events from the store into files. Events are dropped only after they are in a durable file.

public import TouchstonePolicy
public import TouchstoneStore

/// An interruption leaves the log whole: the next run makes an unnamed file anew, and replaces a named one whose events
/// were not dropped.
public struct EventArchiver: Sendable {
  public enum Outcome: Sendable, Hashable {
    /// No event is old enough.
    case nothing
    /// Another process archives.
    case busy
    /// There may be more events to archive.
    case archived(file: String, first: UInt64, last: UInt64)
  }

  /// The claim for one file: many times what a file takes. After a crash the other processes wait this long.
  private static let claimDuration = Duration.seconds(5 * 60)
  /// The last file is written in a few milliseconds, in which an erasure of one of its events is rare.
  private static let maximumTries = 5
  /// After an erasure of one of its events, a file is written anew with so many times fewer.
  private static let shorteningFactor: UInt64 = 4

  /// Fewer events wait for the next run: each archiving appends an event, which would be archived alone for ever.
  private static let minimumEvents: UInt64 = 2

  private let store: WaitingStore
  private let path: String
  private let maximumEvents: UInt64
  private let isWithoutEarlierFiles: Bool
  private let claimant = UniqueID.random()

  /// - Parameters:
  ///   - directory: a directory for this log only. Made with mode 0700 if it is missing.
  ///   - isWithoutEarlierFiles: files of earlier archivings need not be there.
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

  /// Checks that the directory can take files. Makes it if it is missing.
  public func prepare() throws(ArchiveError) {
    do throws(ArchiveError) {
      _ = try ArchiveDirectory(claiming: path)
    } catch {
      guard error.code == .inUse else { throw error }
    }
  }

  /// Removes the rows of archived events, which otherwise a service's sweeping removes.
  public func removeRows() throws(ArchiveError) {
    // Nothing else is so old.
    while try store.sweep(before: UnixTime(microseconds: 0)).hasMore {}
  }

  /// The time from which ages count: `wall`, unless it is ahead of the services' latest sweep.
  public func presentTime(at wall: UnixTime) throws(ArchiveError) -> UnixTime {
    // Nothing expired before 1970, so this only reads the mark.
    SweepClock.presentTime(mark: try store.sweep(before: UnixTime(microseconds: 0)).sweptBefore, at: wall)
  }

  /// Archives one file. It waits for the store and the disk, so it must run on a thread that may block.
  ///
  /// - Parameters:
  ///   - age: older events are archived.
  ///   - present: see `presentTime`. An event of a later time comes from a clock that was ahead. It goes with the next
  ///     event of an earlier time, and keeps no later event in the log.
  public func archive(olderThan age: Duration, at present: UnixTime) throws(ArchiveError) -> Outcome {
    try archive(ArchivePlan.Limit(cutoff: present + (.zero - age), present: present))
  }

  /// - Parameter cutoff: earlier events are old enough.
  func archive(before cutoff: UnixTime) throws(ArchiveError) -> Outcome {
    try archive(ArchivePlan.Limit(cutoff: cutoff))
  }

  private func archive(_ limit: ArchivePlan.Limit) throws(ArchiveError) -> Outcome {
    guard try store.claimArchiving(by: claimant, for: Self.claimDuration) else { return .busy }
    // From now on no process has to wait for this one.
    defer { _ = try? store.claimArchiving(by: claimant, for: .zero) }
    return try archiveClaimed(limit)
  }

  private func archiveClaimed(_ limit: ArchivePlan.Limit) throws(ArchiveError) -> Outcome {
    let directory: ArchiveDirectory
    do throws(ArchiveError) {
      directory = try ArchiveDirectory(claiming: path)
    } catch {
      guard error.code == .inUse else { throw error }
      return .busy
    }
    var length = maximumEvents
    for _ in 0..<Self.maximumTries {
      guard let range = try plan(limit, length: length, in: directory) else { return .nothing }
      if let name = try archive(range, in: directory) {
        return .archived(file: directory.path(of: name), first: name.first, last: name.last)
      }
      // The drop of a claimant that lost its claim fails, too.
      guard try store.claimArchiving(by: claimant, for: Self.claimDuration) else { return .busy }
      length = max(length / Self.shorteningFactor, Self.minimumEvents)
    }
    throw .erased
  }

  // MARK: How much

  private func plan(
    _ limit: ArchivePlan.Limit, length: UInt64, in directory: ArchiveDirectory
  ) throws(ArchiveError) -> ArchiveFile.Range? {
    let (start, head) = (try store.start(), try store.head())
    let leftOver = try leftOver(in: directory, after: start, head: head)
    try removeCovered(in: directory, by: start)
    var plan = ArchivePlan(start: start, head: head, limit: limit, maximumEvents: length)
    var position = start.sequence
    while !plan.isComplete {
      let events = try store.events(after: position).events
      guard let last = events.last else { break }
      for event in events { plan.take(event) }
      position = last.sequence
    }
    let planned = plan.end.sequence >= start.sequence + Self.minimumEvents ? plan.end : start
    // A shorter file also replaces it, after its events were dropped.
    let isShortened = length < maximumEvents && planned != start
    let end =
      isShortened ? planned : [planned, leftOver].compactMap(\.self).max { $0.sequence < $1.sequence } ?? planned
    guard end != start else { return nil }
    try requireEarlierFile(in: directory, endingAt: start)
    return ArchiveFile.Range(start: start, end: end)
  }

  /// The end of a file whose events were not dropped. They are archived again, because they may have been erased
  /// meanwhile.
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
      return try ArchiveFile.verify(ArchiveFile.open(path))
    } catch {
      guard error.code == .damaged else { throw error }
      throw ArchiveError(
        code: .damaged, message: "\(error.message); its events were not dropped from the log: move it away")
    }
  }

  /// Otherwise missing earlier files, or a wrong directory, would not be noticed.
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
    var archived = ArchivedEvents(
      start: range.start, end: range.end, unerasedThrough: try store.head().sequence, claimant: claimant)
    let isMade = try directory.makeFile(name) { writer throws(ArchiveError) in
      try write(range, to: writer)
      return range
    } isWanted: { () throws(ArchiveError) in
      try isUnerased(&archived)
    }
    guard isMade, try store.drop(archived) else { return nil }
    try removeCovered(in: directory, by: range.end)
    return name
  }

  /// Removes files whose archived events are in another file: shorter ones from which it was made, or longer ones whose
  /// events were not dropped. Only after the log begins at that file's end: until then another process may drop by the
  /// others.
  private func removeCovered(in directory: ArchiveDirectory, by start: EventChain.Head) throws(ArchiveError) {
    let files = try directory.files()
    guard let kept = files.first(where: { $0.last == start.sequence }) else { return }
    let covered = files.filter { $0.first == kept.first && $0 != kept }
    guard !covered.isEmpty, try ArchiveFile.verify(ArchiveFile.open(directory.path(of: kept))).end == start else {
      return
    }
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

  /// An event that does not follow from the previous one stays in the log, so that the operator can find out why.
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

  /// Reads what the log says of erasures since, up to its end.
  private func isUnerased(_ archived: inout ArchivedEvents) throws(ArchiveError) -> Bool {
    let erasures = EventFilter(applicationID: "", kindPrefixes: [ProfileErasure.eventKind])
    while true {
      let page = try store.events(matching: erasures, after: archived.unerasedThrough)
      guard !page.events.contains(where: { $0.event.map(archived.isErased) == true }) else { return false }
      archived.unerasedThrough = max(archived.unerasedThrough, page.through)
      if page.reachesEnd { return true }
    }
  }
}
