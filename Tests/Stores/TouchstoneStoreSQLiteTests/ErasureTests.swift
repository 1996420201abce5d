import Glibc
import StoreConformance
import Synchronization
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// The traces of an erasure on the disk.
struct ErasureTests {
  /// Enough that pages were split, and rows moved from one to another.
  private static let profileCount = 300

  @Test func nothingOfAnErasedProfileIsInAnyFileOnceItIsAnswered() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      for number in 0..<Self.profileCount { try await fill(store, "somebody \(number).") }
      let erased = stride(from: 7, to: Self.profileCount, by: 41).map { "somebody \($0)." }
      #expect(try erased.allSatisfy { try occurs($0, in: directory) })
      for profile in erased { try await store.commit(.eraseProfile(.sample(profile))) }
      for profile in erased { #expect(try !occurs(profile, in: directory), "\(profile)") }
      #expect(try occurs("somebody 8.", in: directory))
      await store.close()
      for profile in erased { #expect(try !occurs(profile, in: directory), "\(profile)") }

      let verification = try SQLiteAuditLog.verify(directory: directory)
      #expect(verification.fault == nil)
      #expect(verification.erasedCount == UInt64(2 * erased.count))
    }
  }

  /// SQLite splits pages everywhere, and leaves copies of the rows that it moves.
  @Test func nothingIsLeftOfAnErasedProfileWhoseRowsMoved() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      var random = SeededGenerator(seed: 1)
      let profiles = (0..<Self.profileCount).map { _ in "somebody \(UInt32.random(in: 0 ... .max, using: &random))." }
      for profile in profiles { try await fill(store, profile) }
      for _ in 0..<Self.historyCount {
        try await store.commit(events: profiles.shuffled(using: &random).map { .sample(profile: $0) })
      }
      let erased = Set(profiles.prefix(Self.profileCount / 3))
      #expect(try named(in: directory).isSuperset(of: erased))
      for profile in erased { try await store.commit(.eraseProfile(.sample(profile))) }
      #expect(try named(in: directory).isDisjoint(with: erased))
      // Pages that the writer keeps in memory go into the write-ahead log.
      for profile in profiles where !erased.contains(profile) {
        try await store.commit(
          .putProfile(.sample(profile, version: 1)),
          .putBinding(.sample("binding of \(profile)", profile: profile, isRevoked: true, version: 1)))
      }
      #expect(try named(in: directory).isDisjoint(with: erased))
      await store.close()
      #expect(try named(in: directory).isDisjoint(with: erased))
      #expect(try named(in: directory) == Set(profiles).subtracting(erased))
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
    }
  }

  /// Events of each profile, among those of all other ones.
  private static let historyCount = 60

  /// The profiles of which a file has something.
  private func named(in directory: String) throws -> Set<String> {
    var found: Set<String> = []
    for name in try File.names(in: directory) {
      let bytes = try File.read("\(directory)/\(name)")
      var rest = bytes[...]
      while let start = rest.position(of: "somebody ") {
        rest = rest[start...]
        found.insert(String(decoding: rest.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self) + ".")
        rest = rest.dropFirst()
      }
    }
    return found
  }

  /// A reader that is at it keeps the log; what it holds goes with the next checkpoint that finds none.
  @Test func aReaderDoesNotKeepAnErasedProfileForEver() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.checkpointFrames = 50
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await fill(store, "somebody 1.")
      do {
        let reader = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
        let select = Statement("SELECT * FROM events", on: reader)
        #expect(try select.next() != nil)
        try await store.commit(.eraseProfile(.sample("somebody 1.")))
        #expect(try occurs("somebody 1.", in: directory))
        select.reset()
      }
      // Little by little, so that it is not just overwritten.
      let checkpoints = store.statistics.checkpoints
      for _ in 0..<1_000 where store.statistics.checkpoints == checkpoints {
        try await store.commit(events: [.sample()])
      }
      #expect(store.statistics.checkpoints > checkpoints)
      #expect(try !occurs("somebody 1.", in: directory))
      await store.close()
    }
  }

  /// As `touchstone backup` reads, for as long as it takes.
  @Test func nobodyWaitsForAReaderWhenProfilesAreErasedAndAnIdleServiceForgetsThemOnceItIsGone() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      let profiles = (0..<Self.erasedBesideReader).map { "somebody \($0)." }
      for profile in profiles { try await fill(store, profile) }
      do {
        let reader = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM events")
        var durations: [Duration] = []
        for profile in profiles {
          let start = ContinuousClock.now
          try await store.commit(.eraseProfile(.sample(profile)))
          durations.append(.now - start)
        }
        // Most take long on a machine that is busy; where they wait for the reader, all do.
        #expect(try #require(durations.min()) < Self.waitForReader)
        #expect(try profiles.contains { try occurs($0, in: directory) })
      }
      // No commit and no checkpoint comes any more.
      for _ in 0..<1_000 where try !File.read("\(directory)/touchstone.db-wal").isEmpty {
        try await Task.sleep(for: .milliseconds(10))
      }
      for profile in profiles { #expect(try !occurs(profile, in: directory), "\(profile)") }
      await store.close()
    }
  }

  /// Content whose erasure was confirmed is gone soon after the next start.
  @Test func whatAKilledServiceStillHadToEmptyTheNextOneEmpties() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: "\(directory)/running")
      try await fill(store, "somebody 1.")
      let reader = try SQLiteConnection(path: "\(directory)/running/touchstone.db", access: .readOnly)
      try reader.execute("BEGIN; SELECT count(*) FROM events")
      try await store.commit(.eraseProfile(.sample("somebody 1.")))
      let killed = "\(directory)/killed"
      mkdir(killed, 0o700)
      for name in ["touchstone.db", "touchstone.db-wal"] {
        try File.write(File.read("\(directory)/running/\(name)"), to: "\(killed)/\(name)")
      }
      #expect(try occurs("somebody 1.", in: killed))

      let next = try SQLiteStore.open(directory: killed)
      for _ in 0..<1_000 where try !File.read("\(killed)/touchstone.db-wal").isEmpty {
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(try !occurs("somebody 1.", in: killed))
      await next.close()
      try reader.execute("COMMIT")
      await store.close()
    }
  }

  private static let erasedBesideReader = 50
  /// How long emptying the log would wait.
  private static let waitForReader = Duration.milliseconds(100)

  /// The log is searched before the writer's turn comes.
  @Test func whatWasWrittenSinceTheSearchIsErasedTooAndWhatWasErasedSinceIsNotAccountedForAgain() async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite)
      let writer = try BatchWriter(on: connection)
      func write(_ change: Change? = nil, events: [EventDraft] = [], _ erasures: EventErasure...) throws {
        _ = try writer.write([
          .commit(ChangeSet(changes: change.map { [$0] } ?? [], events: events), erasures, { _ in })
        ])
      }
      try write(events: [.sample(), .sample(profile: "bob")])
      // Searched when the log had its first event.
      let found = EventErasure(erasure: .alice, sequences: [1], searchedThrough: 1)
      try write(events: [.sample()])
      try write(.eraseProfile(.alice), found)
      try write(.eraseProfile(.alice), found)
      let events = try EventLog(on: connection).page(
        matching: EventFilter(applicationID: ""), afterSequence: 0, limit: 10
      ).events
      #expect(events.map(\.isErased) == [true, false, true, false, false])
      let accounts = events.suffix(2).map { $0.event?.details.first { $0.key == "erased_events" }?.value }
      #expect(accounts == ["2", "0"])
    }
  }

  private static let longHistory = 2 * ProfileErasure.maximumEventsPerTransaction + 10

  /// The writer is held for one part at a time: what comes during the first is answered before the last. The profile
  /// is there until then: what is written of it meanwhile is its own, and goes too.
  @Test func aCommitDoesNotWaitForAllOfALongErasure() async throws {
    try await withLongErasure(newEvents: 1) { writer, hook in
      let answered = Mutex<[String]>([])
      hook.during(part: 1) {
        let events = [EventDraft.sample("new"), .sample(profile: "bob")]
        writer.submit(.commit(ChangeSet(events: events), [], { _ in answered.withLock { $0.append("commit") } }))
      }
      try await Self.eraseAlice(by: writer)
      answered.withLock { $0.append("erasure") }
      #expect(answered.withLock { $0 } == ["commit", "erasure"])
    } thenIn: { store async throws in
      #expect(try await store.events(matching: Self.ofAlice) == [])
      #expect(try await store.profile().version == 0)
    }
  }

  @Test func aStoreThatIsClosedEndsALongErasureAfterThePartInHand() async throws {
    try await withLongErasure { writer, hook in
      hook.during(part: 2) { writer.close {} }
      await #expect(throws: StoreError.self) { try await Self.eraseAlice(by: writer) }
    } thenIn: { store in
      try await expectRest(after: 2, in: store)
    }
  }

  enum Failure: CaseIterable {
    case readOnlyDisk, lostAuditKey
  }

  /// Whatever fails after the first part: the profile is there until all of it goes.
  @Test(arguments: Failure.allCases) func aFailureInALaterPartLeavesTheProfile(_ failure: Failure) async throws {
    try await withLongErasure { writer, hook in
      hook.during(part: 2) {
        switch failure {
        case .readOnlyDisk: try? hook.connection.execute("PRAGMA query_only = ON")
        case .lostAuditKey: hook.signer.noteSigned()
        }
      }
      await #expect(throws: StoreError.self) { try await Self.eraseAlice(by: writer) }
    } thenIn: { store in
      try await expectRest(after: 1, in: store)
    }
  }

  /// So many parts are gone; a repeated erasure takes the rest and the records.
  private func expectRest(after parts: Int, in store: SQLiteStore) async throws {
    #expect(try await store.profile().version == 1)
    let left = try await store.events(matching: Self.ofAlice, limit: 1_000).count
    #expect(left == Self.longHistory - parts * ProfileErasure.maximumEventsPerTransaction)
    try await store.commit(.eraseProfile(.alice))
    #expect(try await store.profile().version == 0)
    #expect(try await store.events(matching: Self.ofAlice) == [])
  }

  private static let ofAlice = EventFilter(applicationID: Sample.application, profileID: "alice")

  private static func eraseAlice(by writer: WriterQueue) async throws {
    try await commit(ChangeSet(changes: [.eraseProfile(.alice)]), by: writer)
  }

  private static func commit(_ changeSet: ChangeSet, by writer: WriterQueue) async throws {
    let erasures = changeSet.erasures.map { EventErasure(erasure: $0, sequences: [], searchedThrough: 0) }
    try await withCheckedThrowingContinuation { continuation in
      writer.submit(.commit(changeSet, erasures, { continuation.resume(with: $0) }))
    }
  }

  /// A writer whose log has three parts' events of alice; then a store on what it left.
  private func withLongErasure(
    newEvents: Int = 0, _ body: (WriterQueue, PartHook) async throws -> Void,
    thenIn check: (SQLiteStore) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      try await SQLiteStore.open(directory: directory).close()
      let path = "\(directory)/touchstone.db"
      let hook = PartHook(connection: try SQLiteConnection(path: path, access: .readWrite))
      var options = SQLiteStoreOptions()
      options.clock = { hook.begin() }
      let writer = WriterQueue(
        writer: try BatchWriter(on: hook.connection, signer: hook.signer, options: options),
        checkpointer: try Checkpointer(path: path, virtualFileSystem: nil), owesEmptyLog: false, options: options)
      let history = (0..<Self.longHistory).map { _ in EventDraft.sample() }
      try await Self.commit(ChangeSet(changes: [.putProfile(.sample())], events: history), by: writer)
      try await body(writer, hook)
      await withCheckedContinuation { continuation in writer.close { continuation.resume() } }
      let store = try SQLiteStore.open(directory: directory)
      try await check(store)
      await store.close()
      let verification = try SQLiteAuditLog.verify(directory: directory)
      #expect(verification.fault == nil)
      #expect(verification.erasedCount == UInt64(Self.longHistory + newEvents))
    }
  }

  /// An unreadable event was tampered with: it stays for an investigation, the others go.
  @Test func anUnreadableEventIsNamedAndLeftAsItIs() async throws {
    let told = Mutex<[EventChainVerifier.Fault]>([])
    let committed = Mutex<[Int64]>([])
    let path = Mutex("")
    var options = SQLiteStoreOptions()
    options.brokenEventFound = { fault in
      told.withLock { $0.append(fault) }
      // As another process sees it.
      let count = try? SQLiteConnection(path: path.withLock { $0 }, access: .readOnly)
        .integer("SELECT count(*) FROM events WHERE kind = 'log.broken'")
      committed.withLock { $0.append(count ?? -1) }
    }
    try await withTemporaryDirectory { directory in
      path.withLock { $0 = "\(directory)/touchstone.db" }
      let store = try SQLiteStore.open(directory: directory, options: options)
      try await store.commit(events: [.sample(), .sample(), .sample(profile: "bob"), .sample(profile: "bob")])
      try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite)
        .execute("UPDATE events SET details = x'ff' WHERE sequence = 2")
      try await store.commit(.eraseProfile(.alice))
      let kinds = try await store.events(afterSequence: 2).map { $0.event?.kind }
      #expect(kinds.suffix(2) == ["profile.erased", "log.broken"])
      #expect(told.withLock { $0 } == [.altered(sequence: 2)])
      // Told again, but noted once.
      try await store.commit(.eraseProfile(.alice))
      #expect(told.withLock { $0 } == [.altered(sequence: 2), .altered(sequence: 2)])
      #expect(committed.withLock { $0 } == [1, 1])
      #expect(try await store.events(afterSequence: 2).count { $0.event?.kind == "log.broken" } == 1)
      await store.close()
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == .altered(sequence: 2))
    }
  }

  @Test func anErasureAndItsMarkAreThereAfterClosingAndOpening() async throws {
    try await withTemporaryDirectory { directory in
      var store = try SQLiteStore.open(directory: directory)
      try await store.commit(.putProfile(.sample(passcode: .sample())))
      for version in 1...6 as ClosedRange<RecordVersion> {
        try await store.commit(.putProfile(.sample(passcode: .sample(), version: version)))
      }
      try await store.commit(.eraseProfile(.alice))
      await store.close()
      store = try SQLiteStore.open(directory: directory)
      #expect(try await store.profile().version == 0)
      try await store.commit(.putProfile(.sample()))
      #expect(try await store.profile().version > 7)
      await store.close()
    }
  }

  /// A profile, its binding, and two events that name it.
  private func fill(_ store: SQLiteStore, _ profile: String) async throws {
    let verifier = Array("verifier of \(profile)".utf8)
    let events = ["a", "b"].map { kind in
      EventDraft.sample(kind, profile: profile, details: [EventDetail(key: "of", value: profile)])
    }
    try await store.commit(
      .putProfile(.sample(profile, passcode: .sample(verifier: verifier))),
      .putBinding(.sample("binding of \(profile)", profile: profile)), events: events)
  }

  private func occurs(_ text: String, in directory: String) throws -> Bool {
    try File.names(in: directory).contains { name in
      try File.read("\(directory)/\(name)")[...].position(of: text) != nil
    }
  }
}

/// Runs a test's code on the writer's queue, in the transaction of an erasure's part: the writer reads the clock there.
///
/// `@unchecked Sendable`: `connection` is touched on the writer's queue alone.
private final class PartHook: @unchecked Sendable {
  private struct State {
    var transactionsLeft: Int?
    var body: @Sendable () -> Void = {}
  }

  let connection: SQLiteConnection
  let signer = AccountSigner(review: .none)
  private let state = Mutex(State())

  init(connection: SQLiteConnection) {
    self.connection = connection
  }

  /// The next transaction is the first part.
  func during(part: Int, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0 = State(transactionsLeft: part, body: body) }
  }

  func begin() -> UnixTime {
    let body = state.withLock { state in
      state.transactionsLeft = state.transactionsLeft.map { $0 - 1 }
      return state.transactionsLeft == 0 ? state.body : nil
    }
    body?()
    return Sample.now
  }
}

extension ArraySlice<UInt8> {
  fileprivate func position(of text: String) -> Index? {
    let pattern = Array(text.utf8)
    return withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return nil }
      var offset = 0
      while let first = memchr(start + offset, Int32(pattern[0]), bytes.count - offset) {
        offset = UnsafeRawPointer(first) - start
        guard offset + pattern.count <= bytes.count else { break }
        if memcmp(first, pattern, pattern.count) == 0 { return startIndex + offset }
        offset += 1
      }
      return nil
    }
  }
}

extension BatchWriter {
  /// With nothing in memory.
  fileprivate convenience init(
    on connection: SQLiteConnection, signer: AccountSigner = AccountSigner(review: .none),
    options: SQLiteStoreOptions = SQLiteStoreOptions()
  ) throws(SQLiteError) {
    let start = UnixTime(microseconds: 0)
    try self.init(
      on: connection,
      committed: CommittedState(options: options, evaluationsCompleteFrom: start, tokensCompleteFrom: start),
      signer: signer, options: options)
  }
}
