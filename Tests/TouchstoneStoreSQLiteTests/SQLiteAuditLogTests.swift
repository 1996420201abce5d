import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStoreSQLite

/// R41: the chain verifies, and one altered, dropped or reordered event is named.
struct SQLiteAuditLogTests {
  @Test func anUntouchedLogVerifiesBesideARunningStoreAndAfterIt() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: (0..<10).map { .sample("event.\($0)") })
      let running = try SQLiteAuditLog.verify(directory: directory)
      #expect(running.verifiedCount == 10)
      #expect(running.fault == nil)
      #expect(running.head == (try await store.eventChainHead()))
      await store.close()
      #expect(try SQLiteAuditLog.verify(directory: directory) == running)
    }
  }

  @Test(
    arguments: [
      ("UPDATE events SET profile_id = 'mallory' WHERE sequence = 4", .altered(sequence: 4)),
      ("UPDATE events SET details = x'ff' WHERE sequence = 4", .altered(sequence: 4)),
      ("UPDATE events SET hash = zeroblob(32) WHERE sequence = 4", .altered(sequence: 4)),
      ("DELETE FROM events WHERE sequence = 1", .missing(sequence: 1)),
      ("DELETE FROM events WHERE sequence = 4", .missing(sequence: 4)),
      ("DELETE FROM events WHERE sequence = 10", .missing(sequence: 10)),
      ("DELETE FROM events", .missing(sequence: 1)),
      (
        """
        UPDATE events SET sequence = 11 WHERE sequence = 4; UPDATE events SET sequence = 4 WHERE sequence = 5;
        UPDATE events SET sequence = 5 WHERE sequence = 11
        """, .altered(sequence: 4)
      ),
      ("UPDATE event_chain SET hash = zeroblob(32)", .altered(sequence: 10)),
    ] as [(String, EventChainVerifier.Fault)])
  func whatWasDoneToTheLogIsNamed(_ tampering: String, fault: EventChainVerifier.Fault) async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: (0..<10).map { .sample("event.\($0)") })
      await store.close()
      try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite).execute(tampering)
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == fault)
    }
  }

  @Test func whatIsNoStoreIsNotVerified() async throws {
    try await withTemporaryDirectory { directory in
      #expect(throws: StoreOpenError.self) { try SQLiteAuditLog.verify(directory: directory) }
      try File.write(
        Array("not a database, but long enough to have a header of one hundred bytes".utf8),
        to: "\(directory)/touchstone.db")
      #expect(throws: StoreOpenError.self) { try SQLiteAuditLog.verify(directory: directory) }
    }
  }
}
