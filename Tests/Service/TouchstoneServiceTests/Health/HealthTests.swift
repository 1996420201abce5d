import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneStore

@testable import TouchstoneService

/// grpc.health.v1, as load balancers see it.
struct HealthTests {
  private static let known = [
    "", "touchstone.v1.AdministrationService", "touchstone.v1.BindingService", "touchstone.v1.EvaluationService",
    "touchstone.v1.SecretService", "touchstone.v1.TokenService",
  ]
  private static let unknown = [
    "touchstone.v1.NoService", "touchstone.v1.To\u{212A}enService", "/", "grpc.health.v1.Health",
  ]

  private let bench = InProcessService()

  @Test(arguments: known) func whatIsKnownServes(_ service: String) throws {
    #expect(try check(service) == .serving)
  }

  @Test(arguments: unknown) func whatIsUnknownIsNotFound(_ service: String) throws {
    let error = #expect(throws: RPCError.self) { try check(service) }
    #expect(error?.code == .notFound)
  }

  @Test func theListHasEveryServiceOnce() throws {
    let list: GRPCHealth.ListResponse = try bench.call("/grpc.health.v1.Health/List", GRPCHealth.ListRequest())
    #expect(list.statuses.map(\.key).sorted() == Self.known)
    #expect(list.statuses.allSatisfy { $0.value?.status == .serving })
  }

  // MARK: The version

  private static let health = ["Check", "List", "Watch"].map { "/grpc.health.v1.Health/\($0)" }

  @Test(arguments: health) func callersLearnTheVersion(_ path: String) throws {
    bench.service.replaceCallers([CallerDefinition("shop", .dns("shop.example.org"), keys: [TestKey.shop])])
    for call in [
      try bench.begin(path, GRPCHealth.CheckRequest(), by: .certified(dns: ["shop.example.org"])),
      try bench.begin(path, GRPCHealth.CheckRequest(), key: TestKey.shop),
    ] {
      #expect(call.initialMetadata.first("touchstone-version") == InProcessService.version)
    }
    // Without callers, every process on this machine is one.
    bench.service.replaceCallers(nil)
    let call = try bench.begin(path, GRPCHealth.CheckRequest())
    #expect(call.initialMetadata.first("touchstone-version") == InProcessService.version)
  }

  @Test(arguments: health) func strangersLearnOnlyTheStatus(_ path: String) throws {
    bench.service.replaceCallers([CallerDefinition("shop", keys: [TestKey.shop])])
    for peer in [RPCPeer.unix, .stranger, .encrypted, .certified(dns: ["x.example.org"])] {
      let call = try bench.begin(path, GRPCHealth.CheckRequest(), by: peer)
      #expect(call.initialMetadata.isEmpty && !call.sent.isEmpty)
    }
    #expect(bench.store.records.events.isEmpty)
  }

  /// A stolen key cannot be tried here unseen.
  @Test func aWrongKeyIsAnEventAndGetsTheStatus() throws {
    bench.service.replaceCallers([CallerDefinition("shop", keys: [TestKey.shop])])
    let call = try bench.begin("/grpc.health.v1.Health/Check", GRPCHealth.CheckRequest(), key: TestKey.unknown)
    #expect(call.initialMetadata.isEmpty && call.error == nil)
    bench.settle()
    let events = bench.store.records.events.compactMap(\.event)
    #expect(events.map(\.kind) == ["call.refused"])
    #expect(events.first?.details.contains(EventDetail(key: "reason", value: "KEY_UNKNOWN")) == true)
  }

  // MARK: The store

  @Test func whoWatchesHearsHowItStandsAndWhatChanges() throws {
    let watch = try watch("")
    #expect(try statuses(watch) == [.serving])
    bench.store.failReads(.unavailable)
    failACall()
    #expect(try statuses(watch) == [.serving, .notServing])
    #expect(try check("touchstone.v1.TokenService") == .notServing)
    // Again and again, nothing new.
    for _ in 0..<3 { bench.timer.fire() }
    failACall()
    #expect(try statuses(watch) == [.serving, .notServing])

    bench.store.recover()
    bench.timer.fire()
    #expect(try statuses(watch) == [.serving, .notServing, .serving])
    #expect(try check("") == .serving)
  }

  /// The sweep fails, too.
  @Test func anIdleServiceWithAStoreThatIsDownDoesNotServe() throws {
    let watch = try watch("")
    bench.store.failReads(.unavailable)
    bench.service.storeFailed()
    bench.settle()
    #expect(try statuses(watch) == [.serving, .notServing])
    #expect(try check("") == .notServing)
    bench.store.recover()
    bench.timer.fire()
    #expect(try statuses(watch) == [.serving, .notServing, .serving])
  }

  /// It had a reason of its own.
  @Test func aFailureWithAStoreThatWorksChangesNothing() throws {
    let watch = try watch("")
    bench.store.failCommits(.unavailable, times: 1)
    failACall()
    bench.timer.fire()
    #expect(try statuses(watch) == [.serving])
  }

  @Test func whoIsSlowHearsTheLastWordAlone() throws {
    let watch = try watch("", room: 1)
    bench.store.failReads(.unavailable)
    failACall()
    bench.store.recover()
    bench.timer.fire()
    bench.store.failReads(.unavailable)
    failACall()
    #expect(try statuses(watch) == [.serving])
    watch.take()
    #expect(try statuses(watch) == [.serving, .notServing])
  }

  @Test func anUnknownServiceIsWatchedAsUnknown() throws {
    let watch = try watch("touchstone.v1.NoService")
    bench.store.failReads(.unavailable)
    failACall()
    #expect(try statuses(watch) == [.serviceUnknown])
    #expect(watch.ending == nil)
  }

  // MARK: The end

  @Test func drainingIsTheLastWord() throws {
    let watches = try [watch(""), watch("touchstone.v1.TokenService")]
    bench.service.beginDraining()
    bench.settle()
    for watch in watches {
      #expect(try statuses(watch) == [.serving, .notServing])
      #expect(watch.error?.code == .unavailable)
    }
    #expect(try check("") == .notServing)
    #expect(try watch("").error?.code == .unavailable)
  }

  @Test func theOldestStrangerMakesRoomAndKnownCallersStay() throws {
    let caller = InProcessConnection(.unix)
    let early = try watch("", on: caller)
    caller.admit("bank")
    let strangers = try (0..<Health.maximumWatchers).map {
      try watch("", by: .stranger(at: "192.0.2.\($0 / Health.maximumStrangersPerPeer)"))
    }
    // The caller has one place, and the last stranger has taken the first one's.
    #expect(strangers.map { $0.error?.code }.prefix(2) == [.unavailable, nil])
    #expect(try statuses(strangers[0]) == [.serving])
    let late = try watch("", on: caller)
    #expect(strangers.map { $0.error?.code }.prefix(3) == [.unavailable, .unavailable, nil])
    #expect(early.ending == nil && late.ending == nil)
    #expect(strangers.dropFirst(2).allSatisfy { $0.ending == nil })
  }

  @Test func onlyAllCallersTogetherLeaveNoPlace() throws {
    let caller = InProcessConnection(.stranger(at: "192.0.2.7"))
    caller.admit("bank")
    let watches = try (0..<Health.maximumWatchers).map { _ in try watch("", on: caller) }
    #expect(watches.allSatisfy { $0.ending == nil })
    let refused = try watch("", by: .stranger(at: "192.0.2.8"))
    #expect(refused.error?.code == .resourceExhausted)
    #expect(refused.error?.quotas.map(\.subject) == ["server"])
    #expect(refused.error?.retryDelay != nil)
    watches[7].cancel()
    #expect(try watch("", by: .stranger(at: "192.0.2.8")).ending == nil)
  }

  @Test(arguments: [
    // From port to port, …
    (["192.0.2.7"], "192.0.2.8"), (["127.0.0.1"], "127.0.0.2"), (["::1"], "127.0.0.1"),
    // … and with all the addresses that one has.
    (["2001:db8::1", "2001:db8::2", "2001:db8::ffff:0:0:1"], "2001:db8:0:1::1"),
  ])
  func onePeerDoesNotTakeThePlacesOfAll(_ hosts: [String], _ other: String) throws {
    let places = (0..<Health.maximumStrangersPerPeer)
    let peers = places.map { RPCPeer.stranger(at: hosts[$0 % hosts.count], port: UInt16(10_000 + $0)) }
    let watches = try peers.map { try watch("", by: $0) }
    #expect(watches.allSatisfy { $0.ending == nil })
    #expect(try watch("", by: .stranger(at: other)).ending == nil)
    #expect(watches.allSatisfy { $0.ending == nil })
    #expect(try watch("", by: .stranger(at: hosts[0])).ending == nil)
    #expect(watches[0].error?.code == .unavailable)
    #expect(watches.dropFirst().allSatisfy { $0.ending == nil })
  }

  // MARK: Calls

  private func check(_ service: String) throws -> GRPCHealth.CheckResponse.ServingStatus {
    let answer: GRPCHealth.CheckResponse = try bench.call(
      "/grpc.health.v1.Health/Check", GRPCHealth.CheckRequest(service: service))
    return answer.status
  }

  private func watch(_ service: String, room: Int = .max, by peer: RPCPeer? = nil) throws -> InProcessCall {
    try bench.begin("/grpc.health.v1.Health/Watch", GRPCHealth.CheckRequest(service: service), by: peer, room: room)
  }

  private func watch(_ service: String, on connection: InProcessConnection) throws -> InProcessCall {
    bench.begin(
      "/grpc.health.v1.Health/Watch", message: try GRPCHealth.CheckRequest(service: service).encoded(), on: connection)
  }

  private func statuses(_ watch: InProcessCall) throws -> [GRPCHealth.CheckResponse.ServingStatus] {
    try watch.messages(GRPCHealth.CheckResponse.self).map(\.status)
  }

  private func failACall() {
    let request = V1.EraseProfileRequest(applicationID: "bank", profileID: "alice", reason: "ticket 4711")
    let read = V1.ListBindingsRequest(applicationID: "bank", profileID: "alice")
    _ = try? bench.call(
      "/touchstone.v1.BindingService/ListBindings", read, answer: V1.ListBindingsResponse.self)
    _ = try? bench.call(
      "/touchstone.v1.AdministrationService/EraseProfile", request, answer: V1.EraseProfileResponse.self)
  }
}
