import StoreConformance
import TestSupport
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
      (copying(10, to: "11"), .unexpected(sequence: 11)), (copying(10, to: "700"), .unexpected(sequence: 700)),
      (copying(1, to: "0"), .unexpected(sequence: 0)),
      (copying(1, to: "-1"), .unexpected(sequence: UInt64(bitPattern: -1))),
      ("UPDATE events SET salt = NULL WHERE sequence = 4", .altered(sequence: 4)),
      ("UPDATE events SET salt = randomblob(16) WHERE sequence = 4", .altered(sequence: 4)),
      ("UPDATE events SET digest = zeroblob(32) WHERE sequence = 4", .altered(sequence: 4)),
      ("UPDATE events SET profile_id = NULL, kind = NULL WHERE sequence = 4", .altered(sequence: 4)),
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

  @Test func erasedEventsAreCountedAndOneThatNoErasureAccountsForIsNamed() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: (0..<10).map { .sample("event.\($0)", profile: $0 < 4 ? "alice" : "bob") })
      let bobs = try await store.events()[6]
      try await store.commit(.eraseProfile(.alice))
      await store.close()
      let verification = try SQLiteAuditLog.verify(directory: directory)
      #expect(verification.fault == nil)
      #expect(verification.verifiedCount == 11)
      #expect(verification.erasedCount == 4)

      // As carefully as an erasure would have done it.
      let connection = try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite)
      let erased = ErasedEvent(sequence: bobs.sequence, digest: bobs.content.digest)
      #expect(try EventLog(on: connection).erase(bobs.sequence, by: .sample("bob")) == .erasable(erased))
      let tampered = try SQLiteAuditLog.verify(directory: directory)
      #expect(tampered.fault == .removed(sequence: bobs.sequence))
      #expect(tampered.verifiedCount == bobs.sequence - 1)
    }
  }

  @Test func erasuresBesideAVerificationAreNoTampering() async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      for profile in 0..<40 {
        try await store.commit(events: (0..<50).map { _ in .sample(profile: "\(profile)") })
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for profile in 0..<40 { try await store.commit(.eraseProfile(.sample("\(profile)"))) }
        }
        group.addTask {
          for _ in 0..<20 {
            let verification = try SQLiteAuditLog.verify(directory: directory)
            #expect(verification.fault == nil)
            #expect(verification.verifiedCount >= 2_000)
          }
        }
        try await group.waitForAll()
      }
      #expect(try SQLiteAuditLog.verify(directory: directory).erasedCount == 2_000)
      await store.close()
    }
  }

  @Test(arguments: ["plain", "with ? # % and ü"])
  func aVerificationLeavesNothingBehind(_ name: String) async throws {
    try await withTemporaryDirectory { parent in
      let directory = "\(parent)/\(name)"
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: [.sample()])
      await store.close()
      let before = try File.read("\(directory)/touchstone.db")
      #expect(try SQLiteAuditLog.verify(directory: directory).verifiedCount == 1)
      #expect(try File.names(in: directory) == ["touchstone.db", "touchstone.lock"])
      #expect(try File.read("\(directory)/touchstone.db") == before)
    }
  }

  @Test func whatAKilledProcessLeftInItsLogIsVerifiedToo() async throws {
    try await withTemporaryDirectory { directory in
      try await withTemporaryDirectory { copy in
        let store = try SQLiteStore.open(directory: directory)
        try await store.commit(events: [.sample(), .sample()])
        for name in ["touchstone.db", "touchstone.db-wal"] {
          try File.write(try File.read("\(directory)/\(name)"), to: "\(copy)/\(name)")
        }
        await store.close()
        #expect(try SQLiteAuditLog.verify(directory: copy).verifiedCount == 2)
      }
    }
  }

  /// As carefully as archiving would have done it, but for its event.
  @Test(arguments: [0, 3] as [UInt64])
  func aBeginningThatNobodyArchivedIsMissedEverywhere(_ archived: UInt64) async throws {
    try await withTemporaryDirectory { directory in
      let store = try SQLiteStore.open(directory: directory)
      try await store.commit(events: (0..<10).map { .sample("event-\($0)") })
      if archived > 0 { try await store.dropEvents(through: archived) }
      await store.close()
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == nil)
      try SQLiteConnection(path: "\(directory)/touchstone.db", access: .readWrite).execute(
        """
        UPDATE event_archive SET sequence = 6, hash = (SELECT hash FROM events WHERE sequence = 6);
        DELETE FROM events WHERE sequence <= 6
        """)
      #expect(try SQLiteAuditLog.verify(directory: directory).fault == .dropped(through: 6))
      let refused = #expect(throws: StoreOpenError.self) { try SQLiteStore.open(directory: directory) }
      #expect(refused?.code == .corrupt)
      #expect(refused?.message.contains("no event says that they were archived") == true)
      #expect(throws: StoreOpenError.self) {
        try SQLiteBackup.write(directory: directory, to: "\(directory)/copy")
      }
    }
  }

  private static func copying(_ sequence: Int, to copy: String) -> String {
    """
    INSERT INTO events SELECT \(copy), hash, digest, salt, time, kind, application_id, profile_id, device_id,
      binding_id, caller, details FROM events WHERE sequence = \(sequence)
    """
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
