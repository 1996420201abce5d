import DispatchPool
import TestSupport
import StoreConformance
import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// A confirmed commit holds, and an unconfirmed one is found out, however the server and the way to it fail.
struct FaultTests {
  /// The options of calls that are to fail. The other calls have as much time, on a machine that is busy.
  private static let shortOptions: PostgresStoreOptions = {
    var options = PostgresStoreOptions.small
    options.callTimeout = .seconds(10)
    return options
  }()

  @Test func aCommitWhoseAnswerIsLostIsFoundToBeDone() async throws {
    try await withFaultyWay { way, store, witness in
      way.setMode(.losesAnswers)
      async let answer: Void = store.commit(.putDevice(.sample("phone-1", failures: 1)), events: [.sample()])
      try await eventually { try await witness.device(id: "phone-1").version > 0 }
      way.setMode(.open)
      way.cut()
      try await answer
      #expect(try await witness.device(id: "phone-1").version == 1)
      #expect(try await witness.events().count == 1)
    }
  }

  @Test func aCommitThatWasCutShortIsFoundNotToBeDoneAndNeverIs() async throws {
    try await withFaultyWay { way, store, witness in
      var cutDevice: String?
      for number in 1...20 where cutDevice == nil {
        let device = "phone-\(number)"
        way.setMode(.standsStill)
        let losses = way.lossCount
        async let refusal = StoreConformance.errorCode {
          try await store.commit(.putDevice(.sample(device, failures: 1)))
        }
        try await eventually { way.lossCount > losses }
        way.setMode(.open)
        way.cut()
        let code = await refusal
        // A connection that was being made when the way was cut makes the pool wait before the next, and refuse calls
        // meanwhile.
        try await untilItServes(store)
        // If it was the sealer that met the standstill, the commit is done.
        guard let code else { continue }
        #expect(code == .unavailable)
        cutDevice = device
      }
      let device = try #require(cutDevice)
      #expect(try await witness.device(id: device).version == 0)
      try await store.commit(.putDevice(.sample(device, failures: 1)))
    }
  }

  /// Not only where the time for an answer has passed.
  @Test func aSessionThatTheServerEndsWithAWordIsFoundToHaveEnded() async throws {
    var options = PostgresStoreOptions.small
    options.callTimeout = .seconds(1_200)
    try await withFaultyWay(options: options) { way, store, _ in
      for _ in 1...20 {
        way.setMode(.standsStill)
        let losses = way.lossCount
        let start = ContinuousClock.now
        async let answer = StoreConformance.errorCode { try await store.commit(events: [.sample()]) }
        try await eventually { way.lossCount > losses }
        way.setMode(.open)
        way.endSessions()
        // Done, where it was the sealer that met the standstill.
        #expect(await [nil, .unavailable].contains(answer))
        // The time for an answer is so long that no busy machine takes as much.
        #expect(.now - start < options.answerTimeout)
      }
    }
  }

  @Test func aCommitIsInDoubtWhereTheDatabaseCannotBeAsked() async throws {
    try await withFaultyWay(options: Self.shortOptions) { way, store, witness in
      way.setMode(.losesAnswers)
      async let refusal = StoreConformance.errorCode {
        try await store.commit(.putDevice(.sample("phone-1", failures: 1)))
      }
      try await eventually { try await witness.device(id: "phone-1").version > 0 }
      way.setMode(.closed)
      way.cut()
      #expect(await refusal == .inDoubt)
    }
  }

  /// The way stands still while a round of sealing waits for an answer, and goes on without a word to it. Lists have
  /// ten minutes.
  @Test(.mustEnd) func whoReadsTheLogDoesNotWaitForARoundThatLostItsWay() async throws {
    var options = Self.shortOptions
    options.listTimeout = .seconds(600)
    try await withFaultyWay(options: options) { way, store, _ in
      try await withTransaction("SELECT * FROM event_chain FOR UPDATE", at: way.directURI) {
        try await store.commit(events: [.sample()])
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'tuple' AND relation = 'event_chain'::regclass"
        try await untilServer(at: way.directURI, answers: "1", to: waiting)
        way.setMode(.standsStill)
      }
      try await eventually { way.lossCount > 0 }
      way.setMode(.open)
      try await untilItServes(store)
      #expect(try await store.events().count == 1)
    }
  }

  /// Events that are sealed twice are sealed once.
  @Test func whoReadsTheLogDoesNotHearOfACutInTheMiddleOfSealing() async throws {
    try await withFaultyWay { way, store, _ in
      var reading: Task<Int, any Error>?
      try await withTransaction("SELECT * FROM event_chain FOR UPDATE", at: way.directURI) {
        try await store.commit(events: [.sample()])
        reading = Task { try await store.events().count }
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'tuple' AND relation = 'event_chain'::regclass"
        try await untilServer(at: way.directURI, answers: "1", to: waiting)
        // A store that loses a connection sooner after it was made waits before the next, and refuses calls meanwhile.
        try await Task.sleep(for: PostgresStoreOptions.small.backoff.initialDelay)
        way.cut()
      }
      #expect(try await reading?.value == 1)
    }
  }

  @Test func callsFailInTimeWhereTheWayStandsStill() async throws {
    try await withFaultyWay(options: Self.shortOptions) { way, store, _ in
      way.setMode(.standsStill)
      let clock = ContinuousClock()
      let start = clock.now
      async let read = StoreConformance.errorCode { _ = try await store.device(id: "phone-1") }
      async let commit = StoreConformance.errorCode { try await store.commit(events: [.sample()]) }
      async let probe = StoreConformance.errorCode { try await store.probe() }
      #expect(await read == .unavailable)
      #expect(await [.inDoubt, .unavailable].contains(commit))
      #expect(await probe == .unavailable)
      // A machine that is busy takes longer than its bound. Without one it would be a list's time, or for ever.
      #expect(start.duration(to: clock.now) < Self.shortOptions.listTimeout)
      way.setMode(.open)
      way.cut()
      try await untilItServes(store)
    }
  }

  @Test func aCommitThatWaitsForARowFailsInTimeAndIsNotDone() async throws {
    try await withStores(1, options: Self.shortOptions) { uri, stores in
      let store = stores[0]
      try await store.commit(.putDevice(.sample("phone-1", failures: 1)))
      let put = Change.putDevice(.sample("phone-1", failures: 2, version: 1))
      try await withTransaction("SELECT * FROM devices FOR UPDATE", at: uri) {
        #expect(await StoreConformance.errorCode { try await store.commit(put) } == .unavailable)
        // Others go on.
        try await store.commit(.putDevice(.sample("phone-2", failures: 1)))
      }
      #expect(try await store.device(id: "phone-1").version == 1)
      try await store.commit(put)
    }
  }

  /// Every answer is right, though connections are cut again and again in the middle of it: a count for each success.
  @Test func noAnswerIsWrongWhereConnectionsAreCutUnderLoad() async throws {
    try await withMigratedDatabase { uri in
      let server = try PostgresServer.shared.get()
      let name = "victim-\(UInt32.random(in: 0 ... .max))"
      try await withStores(1, at: uri + "&application_name=\(name)") { stores in
        try await withCountingLoad(over: stores) { load in
          for _ in 1...5 {
            await load.successes(30)
            try server.execute(
              "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '\(name)'",
              at: uri)
          }
        }
      }
    }
  }

  /// As after a crash. It is back within a second, without a restart of ours.
  @Test func nothingAnsweredIsLostWhereTheServerRestartsUnderLoad() async throws {
    let server = try PostgresServer()
    let uri = try server.makeSchema()
    _ = try await PostgresMigration.run(uri: uri, options: .small)
    try await withStores(2, at: uri) { stores in
      try await withCountingLoad(over: stores) { load in
        for mode in [PostgresServer.StopMode.immediate, .fast] {
          await load.successes(60)
          try server.stop(mode)
          #expect(await StoreConformance.errorCode { _ = try await stores[0].device(id: "a") } == .unavailable)
          try server.start()
        }
        await load.successes(60)
      }
    }
  }
}

/// A store that reaches its database by a way that fails, and one that does not.
private func withFaultyWay(
  options: PostgresStoreOptions = .small,
  _ body: (FaultyWay, PostgresStore, PostgresStore) async throws -> Void
) async throws {
  try await withMigratedDatabase { uri in
    let way = try FaultyWay(to: uri, of: try PostgresServer.shared.get())
    defer { way.close() }
    try await withStores(1, at: uri) { witnesses in
      try await withStores(1, at: way.uri, options: options) { stores in
        // Its connections are there.
        try await untilItServes(stores[0])
        try await body(way, stores[0], witnesses[0])
        way.setMode(.open)
        way.cut()
      }
    }
  }
}
