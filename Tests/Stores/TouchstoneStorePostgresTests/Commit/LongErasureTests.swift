import Encodings
import TestSupport
import StoreConformance
import Synchronization
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// An erasure that takes its time, beside commits of the same profile.
struct LongErasureTests {
  /// Its events are many, or another transaction holds a lock on one.
  @Test func noCommitOfTheProfileWaitsForItsEventsToBeErased() async throws {
    try await withStores(1) { uri, stores in
      let store = stores[0]
      try await store.commit(.putProfile(.sample()), events: [.sample("before")])
      #expect(try await store.events().count == 1)
      var erasure: Task<Void, any Error>?
      try await withTransaction("SELECT * FROM events FOR UPDATE", at: uri) {
        erasure = Task { try await store.commit(.eraseProfile(.alice)) }
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'tuple' AND relation = 'events'::regclass"
        try await untilServer(at: uri, answers: "1", to: waiting)
        try await store.commit(.putProfile(try await store.profile()), events: [.sample("meanwhile")])
      }
      try await erasure?.value
      #expect(try await store.profile().version == 0)
      #expect(try await store.events().map(\.isErased) == [true, true, false])
    }
  }

  /// The binding is written before the profile's row, for which the erasure waits.
  @Test func aBindingThatIsAddedWhileTheProfileGoesGoesToo() async throws {
    try await withStores(2) { uri, stores in
      try await stores[0].commit(.putProfile(.sample()))
      let profile = try await stores[1].profile()
      var binding: Task<Void, any Error>?
      var erasure: Task<Void, any Error>?
      // The binding's commit uses its ticket last, and waits because another one is using it. A lock of the table
      // would also stop connections that are just being made.
      let ticket = ExpiringKey.sample()
      let id = Hexadecimal.text(ticket.id.bytes)
      let use = "INSERT INTO used_tickets VALUES (\(ticket.id.spread), \(ticket.expiresAt.microseconds), '\\x\(id)')"
      try await withTransaction(use, at: uri) {
        binding = Task {
          try await stores[1].commit(
            .useTicket(ticket), .putProfile(profile), .putBinding(.sample("b-1")), .putBinding(.sample("b-2")),
            events: [.sample("bound")])
        }
        try await Self.until("1", waitForTransactionsAt: uri)
        erasure = Task { try await stores[0].commit(.eraseProfile(.alice)) }
        try await Self.until("2", waitForTransactionsAt: uri)
      }
      try await binding?.value
      try await erasure?.value
      #expect(try await stores[1].bindings(includingRevoked: true) == [])
      #expect(try await stores[1].profile().version == 0)
      #expect(try await stores[1].events(matching: Self.ofAlice) == [])
      try await Self.expectWholeLog(uri, erased: 1)
    }
  }

  /// They may be any number, and the log's end is locked for all others.
  @Test func revokedBindingsGoBeforeTheLogIsLocked() async throws {
    try await withStores(1) { uri, stores in
      let store = stores[0]
      try await store.commit(
        .putProfile(.sample()), .putBinding(.sample("b-", isRevoked: true)), .putBinding(.sample("active")),
        .putBinding(.sample("of bob", profile: "bob", isRevoked: true)))
      let columns = """
        application_id, profile_id, device_id, device_name, biometry_type, hardware_keys, is_revoked, device_lock_count,
        created_at, version
        """
      let server = try PostgresServer.shared.get()
      try server.execute(
        """
        INSERT INTO bindings (binding_id, \(columns))
        SELECT binding_id || convert_to(n::TEXT, 'UTF8'), \(columns) FROM bindings, generate_series(1, 1200) n
        WHERE binding_id = 'b-'
        """, at: uri)
      var erasure: Task<Void, any Error>?
      try await withTransaction("SELECT * FROM event_chain FOR UPDATE", at: uri) {
        erasure = Task { try await store.commit(.eraseProfile(.alice)) }
        try await untilServer(at: uri, answers: "2", to: "SELECT count(*) FROM bindings")
      }
      try await erasure?.value
      try await untilServer(at: uri, answers: "1", to: "SELECT count(*) FROM bindings")
      #expect(try await store.bindings(profileID: "bob", includingRevoked: true).count == 1)
    }
  }

  /// Waits for `count` waiting commits that have written profiles, and that wait longer than a commit does before it
  /// goes where it delays no other.
  private static func until(_ count: String, waitForTransactionsAt uri: String) async throws {
    try await untilServer(at: uri, answers: count, to: waitingWriters)
  }

  private static let waitingWriters = """
    SELECT count(*) FROM pg_locks AS l WHERE NOT granted AND locktype = 'transactionid'
      AND waitstart < clock_timestamp() - INTERVAL '100 milliseconds' AND EXISTS (
      SELECT 1 FROM pg_locks WHERE pid = l.pid AND granted AND relation = 'profiles'::regclass)
    """

  private static let longHistory = ProfileErasure.maximumEventsPerTransaction + 100
  private static let ofAlice = EventFilter(applicationID: Sample.application, profileID: "alice")

  /// Its second part has to wait for the body.
  private func whileErasing(
    _ store: PostgresStore, at uri: String, _ body: () async throws -> Void
  ) async throws -> Task<Void, any Error> {
    try await store.commit(.putProfile(.sample()), events: (0..<Self.longHistory).map { _ in .sample() })
    #expect(try await store.events(limit: 1_000).count == Self.longHistory)
    var erasure: Task<Void, any Error>?
    try await withTransaction("SELECT * FROM events WHERE sequence = \(Self.longHistory) FOR UPDATE", at: uri) {
      erasure = Task { try await store.commit(.eraseProfile(.alice)) }
      try await untilServer(at: uri, answers: "1", to: Self.waiting("count(*)"))
      try await body()
    }
    return try #require(erasure)
  }

  private static func waiting(_ column: String) -> String {
    "SELECT \(column) FROM pg_locks WHERE locktype = 'tuple' AND relation = 'events'::regclass"
  }

  /// The profile is there until the last part: what is written of it meanwhile is its own, and goes too.
  @Test func whatIsWrittenBetweenTwoPartsOfAnErasureGoesToo() async throws {
    try await withStores(1) { uri, stores in
      let store = stores[0]
      let erasure = try await whileErasing(store, at: uri) {
        #expect(try await store.profile().version == 1)
        try await store.commit(events: [.sample("new")])
      }
      try await erasure.value
      #expect(try await store.events(matching: Self.ofAlice) == [])
      #expect(try await store.profile().version == 0)
      try await Self.expectWholeLog(uri, erased: Self.longHistory + 1)
    }
  }

  @Test func aRepeatedErasureTakesWhatACutOneLeft() async throws {
    try await withStores(1) { uri, stores in
      let store = stores[0]
      let erasure = try await whileErasing(store, at: uri) {
        try PostgresServer.shared.get().execute(Self.waiting("pg_terminate_backend(pid)"), at: uri)
      }
      await #expect(throws: StoreError.self) { try await erasure.value }
      try await untilItServes(store)
      #expect(try await store.profile().version == 1)
      #expect(try await store.events(matching: Self.ofAlice).count == 100)
      try await store.commit(.eraseProfile(.alice))
      #expect(try await store.events(matching: Self.ofAlice) == [])
      try await Self.expectWholeLog(uri)
    }
  }

  private static func expectWholeLog(_ uri: String, erased: Int = longHistory) async throws {
    let verification = try await PostgresAuditLog.verify(uri: uri, options: .small)
    #expect(verification.fault == nil)
    #expect(verification.erasedCount == UInt64(erased))
  }

  /// The store reports it when the event that records it can be read, and only once.
  @Test func aBrokenEventIsNamedAndLeftAsItIs() async throws {
    try await withMigratedDatabase { uri in
      let server = try PostgresServer.shared.get()
      let told = Mutex<[EventChainVerifier.Fault]>([])
      let committed = Mutex<[[String]]>([])
      var options = PostgresStoreOptions.small
      options.brokenEventFound = { fault in
        told.withLock { $0.append(fault) }
        let count = try? server.execute("SELECT count(*) FROM events WHERE kind = 'log.broken'", at: uri)
        committed.withLock { $0.append(count ?? []) }
      }
      try await withStores(1, at: uri, options: options) { stores in
        let store = stores[0]
        try await store.commit(events: [.sample(), .sample(), .sample(profile: "bob")])
        #expect(try await store.events().count == 3)
        try server.execute("UPDATE events SET caller = 'mallory' WHERE sequence = 2", at: uri)
        for _ in 0..<2 { try await store.commit(.eraseProfile(.alice)) }
        let kinds = try await store.events(afterSequence: 3).map { $0.event?.kind }
        #expect(kinds == ["profile.erased", "log.broken", "profile.erased"])
        #expect(try await store.events().map(\.isErased).prefix(3) == [true, false, false])
        #expect(told.withLock { $0 } == [.altered(sequence: 2), .altered(sequence: 2)])
        #expect(committed.withLock { $0 } == [["1"], ["1"]])
      }
    }
  }
}
