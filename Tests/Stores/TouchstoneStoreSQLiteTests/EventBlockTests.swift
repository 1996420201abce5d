import Glibc
import StoreConformance
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// How events are found by their names, and how few bytes that leaves a login to write.
struct EventBlockTests {
  @Test func aLogsBlocksAreThoseOfItsKeptEvents() {
    func numbers(after start: UInt64, through end: UInt64) -> [UInt64] {
      EventBlock.all(after: start, through: end).map(\.number)
    }
    #expect(numbers(after: 0, through: 0) == [])
    #expect(numbers(after: 0, through: 255) == [0])
    #expect(numbers(after: 0, through: 256) == [0, 1])
    #expect(numbers(after: 254, through: 600) == [0, 1, 2])
    #expect(numbers(after: 255, through: 600) == [1, 2])
    #expect(numbers(after: .max, through: 600) == [])
    #expect(EventBlock(of: 600).first == 512 && EventBlock(of: 600).last == 767)
  }

  /// Whole blocks by their names, and the block at the end by its events.
  @Test func eachProfilesEventsAreFoundAndNoOthers() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store)
      try await expectAllFound(in: store, erased: [])
      #expect(try blocks(in: directory) == [0, 1])
      try await store.commit(.eraseProfile(.sample("p3")))
      try await expectAllFound(in: store, erased: ["p3"])
      await store.close()
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
    }
  }

  /// Someone who can write the file may rewrite them, too.
  @Test func anEventThatItsBlocksNamesLackIsHidden() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store)
      await store.close()
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
      try execute("DELETE FROM event_blocks WHERE block = 0", on: directory)
      // A search reads its events.
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
      try execute(
        """
        UPDATE event_blocks
        SET names = CAST(substr(names, 1, 24) || x'0000000000000000' || substr(names, 33) AS BLOB)
        """, on: directory)
      let verification = try SQLiteAuditLog.verify(directory: directory)
      #expect(verification.fault == .hidden(sequence: 259))
      #expect(verification.verifiedCount == 258)
    }
  }

  @Test func aBlockGoesWithTheLastOfItsArchivedEvents() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await store.signAccounts(with: .sample)
      try await fill(store)
      for (end, kept) in [(100, [0, 1]), (520, [])] as [(UInt64, [Int64])] {
        try await store.dropEvents(through: end)
        while try await store.sweep(before: Sample.now).hasMore {}
        #expect(try blocks(in: directory) == kept)
        #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
      }
      await store.close()
    }
  }

  // MARK: Earlier versions

  @Test func anEarlierVersionsStoreIsServedAndItsBackupRestored() async throws {
    try await withTemporaryDirectory { parent in
      let directory = "\(parent)/data"
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store)
      await store.close()
      try makeEarlier(directory)
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
      _ = try SQLiteBackup.write(directory: directory, to: "\(parent)/backup")
      let backup = try FileDescriptor(opening: "\(parent)/backup", flags: O_RDONLY)
      _ = try SQLiteBackup.restore(
        from: "\(parent)/backup", [], reading: backup.number, to: "\(parent)/restored", at: Sample.now
      ) { _ in }
      for directory in [directory, "\(parent)/restored"] {
        let store = try SQLiteStore.open(directory: directory)
        #expect(try blocks(in: directory) == [0, 1])
        try await expectAllFound(in: store, erased: [])
        try await store.commit(.eraseProfile(.sample("p3")))
        try await expectAllFound(in: store, erased: ["p3"])
        await store.close()
        #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
        #expect(try SQLiteBackup.write(directory: directory, to: "\(directory).copy").events.fault == nil)
      }
    }
  }

  @Test(arguments: [
    "UPDATE events SET caller = 'mallory' WHERE sequence = 20", "UPDATE event_chain SET sequence = 1 << 62",
    "DROP INDEX archivings",
  ])
  func anEarlierVersionsStoreThatIsNotAsItWasWrittenIsLeftAsItIs(_ tampering: String) async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await fill(store)
      await store.close()
      try makeEarlier(directory)
      try execute(tampering, on: directory)
      let before = try File.read("\(directory)/touchstone.db")
      let refused = #expect(throws: StoreOpenError.self) { try SQLiteStore.open(directory: directory) }
      #expect(refused?.code == .corrupt)
      #expect(try File.read("\(directory)/touchstone.db") == before)
      #expect(try File.names(in: directory) == ["touchstone.db", "touchstone.lock"])
    }
  }

  // MARK: Pages

  /// A login alone in its commit changes pages of the event, the evaluation, the last use and the chain's head.
  @Test func aLoginsCommitWritesFewBytes() async throws {
    try await withTemporaryDirectory { directory in
      var options = SQLiteStoreOptions()
      options.checkpointFrames = .max
      let store = try SQLiteStore.open(directory: directory, options: options)
      for number in 0..<80 {
        try await store.commit(.putBinding(.sample("b-\(number)", lastUsedAt: Sample.now)), events: [.sample()])
      }
      let before = store.statistics.walFrames
      let logins = 1_024
      for number in 0..<logins {
        let time = Sample.now + .milliseconds(number)
        try await store.commit(
          .putEvaluation(EvaluationRecord(key: .sample(expiresAt: time + .seconds(120)))),
          .touchBinding(id: "b-\(number * 7 % 80)", version: 1, lastUsedAt: time),
          events: [.sample(details: [EventDetail(key: "evaluation", value: String(repeating: "x", count: 100))])])
      }
      let frames = store.statistics.walFrames - before
      await store.close()
      let bytes = frames * (DatabaseFile.pageSize + 24) / logins
      #expect(bytes < 6 << 10, "\(Double(frames) / Double(logins)) pages")
    }
  }

  // MARK: Logs

  /// Two blocks, and a part of a third one.
  private static let eventCount = 600
  private static let applications = [Sample.application, "com.example.shop"]

  private func fill(_ store: SQLiteStore) async throws {
    try await store.commit(
      events: (0..<Self.eventCount).map { .sample(application: Self.applications[$0 / 3 % 2], profile: "p\($0 % 7)") })
  }

  private func expectAllFound(in store: SQLiteStore, erased: Set<String>) async throws {
    let all = try await store.events()
    for application in Self.applications + ["none"] {
      for profile in [""] + (0..<8).map({ "p\($0)" }) {
        let filter = EventFilter(applicationID: application, profileID: profile)
        let found = try await store.events(matching: filter)
        #expect(found == all.filter(filter.includes))
        let isThere = application != "none" && profile != "p7"
        #expect(found.isEmpty == !isThere || erased.contains(profile))
        #expect(try await store.events(matching: filter, afterSequence: 300) == found.filter { $0.sequence > 300 })
      }
    }
  }

  private func blocks(in directory: String) throws -> [Int64] {
    let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readOnly)
    let select = Statement("SELECT block FROM event_blocks ORDER BY block", on: connection)
    var blocks: [Int64] = []
    while var row = try select.next() { blocks.append(row.integer()) }
    return blocks
  }

  /// As version 2 made it.
  private func makeEarlier(_ directory: String) throws {
    try execute(
      "DROP TABLE backups; DROP TABLE event_blocks; \(Schema.indexOfEvents); PRAGMA user_version = 2", on: directory)
  }

  private func execute(_ sql: String, on directory: String) throws {
    try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite).execute(sql)
  }
}
