import TestSupport
import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// A database that its own tools put back to an earlier time.
struct RestorationTests {
  private static let now = Sample.now + .seconds(3_600)

  /// A ticket that it would accept may have been used since.
  @Test func whoServesSinceBeforeIsRefusedFromTheFirstCommitOn() async throws {
    try await withServed { uri, stores in
      let store = stores[0]
      try await store.commit(.putDevice(.sample("phone-1", failures: 1)))
      _ = try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      #expect(await refusal { try await store.commit(.useTicket(.sample())) } == .otherLineage)
      #expect(await refusal { try await store.probe() } == .otherLineage)
      // It returns its records of tokens no longer, either.
      #expect(await refusal { _ = try await store.device(id: "phone-1") } == .otherLineage)
      #expect(await refusal { _ = try await store.events() } == .otherLineage)
      #expect(try PostgresServer.shared.get().execute("SELECT count(*) FROM used_tickets", at: uri) == ["0"])
    }
  }

  @Test func soIsAnErasure() async throws {
    try await withServed { uri, stores in
      try await stores[0].commit(.putProfile(.sample()))
      _ = try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      #expect(await refusal { try await stores[0].commit(.eraseProfile(.sample("alice"))) } == .otherLineage)
      #expect(try PostgresServer.shared.get().execute("SELECT count(*) FROM profiles", at: uri) == ["1"])
    }
  }

  /// By sweeping, as it does every few seconds.
  @Test func whoCommitsNothingFindsOut() async throws {
    try await withServed { uri, stores in
      _ = try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      #expect(await refusal { _ = try await stores[0].sweep(before: Sample.now) } == .otherLineage)
      #expect(await refusal { _ = try await stores[0].token(.sample()) } == .otherLineage)
    }
  }

  @Test func whoBeginsAfterwardsServesInALineOfItsOwn() async throws {
    try await withServed { uri, stores in
      try await stores[0].commit(events: [.sample(), .sample()])
      let restoration = try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      #expect(restoration.last.sequence == 2)
      try await withStores(1, at: uri) { new in
        #expect(new[0].lineage != stores[0].lineage)
        try await new[0].commit(events: [.sample()])
        let events = try await new[0].events()
        #expect(events.map(\.sequence) == [1, 2, 3, 4])
        #expect(events[2].event?.kind == "store.restored")
        #expect(events[2].event?.details == [EventDetail(key: "last_sequence", value: "2")])
        #expect(events[2].hash == restoration.head.hash)
      }
      #expect(try await PostgresAuditLog.verify(uri: uri, options: .small).fault == nil)
    }
  }

  /// The server's clock was ahead for seconds: a new line of history is the way out.
  @Test func aNewLineOfHistoryResetsTheSweepMark() async throws {
    try await withServed { uri, stores in
      let hoursAhead = PostgresStoreOptions.small.clock() + .seconds(8 * 3_600)
      let mark = "UPDATE sweep_mark SET swept_before = \(hoursAhead.microseconds)"
      try PostgresServer.shared.get().execute(mark, at: uri)
      #expect(try await stores[0].sweep(before: Sample.now).sweptBefore == hoursAhead)
      _ = try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      try await withStores(1, at: uri) { new in
        try await new[0].commit(.useTicket(.sample(expiresAt: PostgresStoreOptions.small.clock())))
      }
    }
  }

  @Test func whatIsNotOursAndWholeIsLeftAlone() async throws {
    try await withDatabase { uri in
      _ = await #expect(throws: StoreOpenError.self) {
        try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      }
    }
    try await withServed { uri, stores in
      try await stores[0].commit(events: [.sample()])
      _ = try await stores[0].events()
      try PostgresServer.shared.get().execute("UPDATE events SET caller = '\\x00'", at: uri)
      await #expect(throws: StoreOpenError.self) {
        try await PostgresRestoration.begin(uri: uri, at: Self.now, options: .small)
      }
      try await stores[0].probe()
    }
  }

  private func refusal(_ body: () async throws -> Void) async -> StoreError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? StoreError
    }
  }

  private func withServed(_ body: (String, [PostgresStore]) async throws -> Void) async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: .small)
      try await withStores(1, at: uri) { try await body(uri, $0) }
    }
  }
}
