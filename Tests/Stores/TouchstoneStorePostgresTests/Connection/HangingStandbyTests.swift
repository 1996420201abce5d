import TestSupport
import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// Where a synchronous standby does not answer, each commit waits in a process of the server, which does not notice
/// that its client is gone.
struct HangingStandbyTests {
  private static let givenUp = 6
  private static let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

  private static func migratedServer() async throws -> (PostgresServer, uri: String) {
    let server = try PostgresServer()
    let uri = try server.makeSchema()
    _ = try await PostgresMigration.run(uri: uri, options: .small)
    return (server, uri)
  }

  @Test func processesThatNobodyListensToDoNotPileUp() async throws {
    let (server, uri) = try await Self.migratedServer()
    var options = PostgresStoreOptions.small
    options.callTimeout = .milliseconds(200)
    options.writeConnections = 2
    options.listConnections = 1
    try await withStores(1, at: uri, options: options) { stores in
      try server.setStandbys("nobody", at: uri)
      // The server takes its time to apply the setting.
      try await eventually { await refusal(of: 0, by: stores[0]) != nil }
      var refused = 1
      while refused < Self.givenUp {
        if await refusal(of: refused, by: stores[0]) == .inDoubt { refused += 1 }
      }
      // One for each would be left; those that were cancelled end soon.
      let clock = ContinuousClock()
      let end = clock.now + .seconds(20)
      // And the one that seals.
      let bound = options.writeConnections + options.listConnections + 1
      var processes = Int.max
      while processes > bound, clock.now < end { processes = Int(try server.execute(Self.waiting, at: uri)[0]) ?? .max }
      #expect(processes <= bound)
      try server.setStandbys("", at: uri)
    }
    // A commit in doubt is there or is not, as ever, and nothing waits any more.
    try await withStores(1, at: uri) { stores in
      for number in 0..<Self.givenUp {
        let device = try await stores[0].device(id: "phone-\(number)")
        try await stores[0].commit(.putDevice(.sample(device.deviceID, failures: 2, version: device.version)))
      }
    }
  }

  /// The store cancels the wait of the first one, which leaves its mark: the second one must not take that for its own.
  @Test func aConfirmationThatIsSentAgainWaitsAgain() async throws {
    let (server, uri) = try await Self.migratedServer()
    var options = PostgresStoreOptions.small
    // Time for a second one.
    options.callTimeout = .seconds(2)
    try await withStores(1, at: uri, options: options) { stores in
      try server.setStandbys("nobody", at: uri)
      try await eventually { await refusal(of: 0, by: stores[0]) != nil }
      #expect(await StoreConformance.errorCode { try await stores[0].confirm() } == .unavailable)
      try server.setStandbys("", at: uri)
    }
  }

  /// R37: an unknown binding has no row, so its refusals wait for none.
  @Test func refusalsAboutOneBindingWaitTogether() async throws {
    let (server, uri) = try await Self.migratedServer()
    var options = PostgresStoreOptions.small
    // Both still wait when a machine that is busy comes to look.
    options.callTimeout = .seconds(8)
    try await withStores(2, at: uri, options: options) { stores in
      try await stores[0].commit(.putBinding(.sample("b")))
      try server.setStandbys("nobody", at: uri)
      try await eventually { await refusal(of: 0, by: stores[0]) != nil }
      // Each from a process of its own, and not the one that waits above.
      for store in stores {
        store.commit(
          ChangeSet(changes: [.requireBinding(id: "b", version: 1), .notePosture(bindingID: "b", .sample())])
        ) { _ in }
      }
      let together = """
        SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE wait_event = 'SyncRep' AND relation = 'commit_marks'::regclass
          AND pid NOT IN (SELECT pid FROM pg_locks WHERE relation = 'devices'::regclass)
        """
      let clock = ContinuousClock()
      let end = clock.now + options.callTimeout
      var count = 0
      while count < stores.count, clock.now < end { count = try Int(server.execute(together, at: uri)[0]) ?? 0 }
      // On a slow machine, the commit that timed out above may be waiting for its confirmation beside them.
      #expect(count >= stores.count)
      try server.setStandbys("", at: uri)
    }
  }

  private func refusal(of number: Int, by store: any Store) async -> StoreError.Code? {
    await StoreConformance.errorCode {
      let device = try await store.device(id: "phone-\(number)")
      try await store.commit(.putDevice(.sample(device.deviceID, failures: 1, version: device.version)))
    }
  }
}

extension PostgresServer {
  fileprivate func setStandbys(_ names: String, at uri: String) throws {
    try execute("ALTER SYSTEM SET synchronous_standby_names = '\(names)'", at: uri)
    try execute("SELECT pg_reload_conf()", at: uri)
  }
}
