// More calls than an event loop can serve: the refused calls, their answers, and the fate of the others.

import Dispatch
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

/// An event loop in virtual time: each round takes what came during the one before.
private struct SimulatedLoop {
  static let cost: UInt64 = 100_000
  static let refusalCost: UInt64 = 3_000

  /// Nanoseconds since they came, when they were answered.
  private(set) var latencies: [UInt64] = []
  private(set) var refused = 0
  private(set) var shedder = LoadShedder(RPCServerConfiguration.Shedding())
  private var now: UInt64 = 1_000_000_000
  private var next: UInt64 = 1_000_000_000

  /// Calls come evenly, as many times as fast as they can be served.
  ///
  /// - Parameter keepsWaiting: calls that came since the latest one was served wait.
  mutating func run(load: Double, seconds: UInt64, keepsWaiting: Bool = false) {
    let end = now + seconds * 1_000_000_000
    let gap = UInt64(Double(Self.cost) / load)
    if !keepsWaiting { next = now }
    while now < end {
      now = max(now, next)
      round(gap)
    }
  }

  /// The loop stands still after some calls of a round. The next round serves what came meanwhile.
  mutating func stall(milliseconds: UInt64, calls: Int) {
    let began = now
    for _ in 0..<calls { serve(roundBegan: began, came: began) }
    now += milliseconds * 1_000_000
    shedder.roundEnded(at: MonotonicTime(nanoseconds: now))
  }

  /// As many calls at one time.
  mutating func burst(_ calls: Int) {
    let began = now
    for _ in 0..<calls { serve(roundBegan: began, came: began) }
    shedder.roundEnded(at: MonotonicTime(nanoseconds: now))
  }

  private mutating func round(_ gap: UInt64) {
    let began = now
    while next <= began {
      serve(roundBegan: began, came: next)
      next += gap
    }
    shedder.roundEnded(at: MonotonicTime(nanoseconds: now))
  }

  private mutating func serve(roundBegan began: UInt64, came: UInt64) {
    let time = now
    if shedder.takes(false, roundBegan: MonotonicTime(nanoseconds: began), now: MonotonicTime(nanoseconds: time)) {
      now += Self.cost
      latencies.append(now - came)
    } else {
      now += Self.refusalCost
      refused += 1
    }
  }

  /// Forgets what was measured.
  mutating func reset() {
    latencies = []
    refused = 0
  }

  func percentile(_ part: Double) -> UInt64 { latencies.sorted()[Int(Double(latencies.count - 1) * part)] }
}

@Suite struct LoadShedderTests {
  @Test(arguments: [1.5, 3, 10])
  func underOverloadGoodputAndLatencyHold(_ load: Double) {
    var loop = SimulatedLoop()
    loop.run(load: load, seconds: 2)
    loop.reset()
    loop.run(load: load, seconds: 10)
    let goodput = Double(loop.latencies.count) * Double(SimulatedLoop.cost) / 10e9
    // The cost of refusals is lost: at ten times the load, 27 µs for each call served.
    #expect(goodput > (load > 3 ? 0.7 : 0.9))
    #expect(loop.percentile(0.99) < 65_000_000)
  }

  @Test func withinCapacityNothingIsRefused() {
    var loop = SimulatedLoop()
    loop.run(load: 0.95, seconds: 10)
    #expect(loop.refused == 0)
  }

  @Test func aBurstIsServed() {
    var loop = SimulatedLoop()
    loop.run(load: 0.5, seconds: 1)
    // 0.2 s of work.
    loop.burst(2_000)
    loop.run(load: 0.5, seconds: 2)
    #expect(loop.refused == 0)
  }

  /// The process was held up for half a second, as long as an interval, and then serves what came meanwhile.
  @Test(arguments: [1, 20]) func oneStallShedsNothing(calls: Int) {
    var loop = SimulatedLoop()
    loop.run(load: 0.4, seconds: 1)
    loop.stall(milliseconds: 500, calls: calls)
    loop.run(load: 0.4, seconds: 5, keepsWaiting: true)
    #expect(loop.refused == 0)
  }

  /// The next round of many calls begins before the time that the one before was expected to end.
  @Test func aRoundThatWasShorterThanExpectedHasNoEffect() {
    var shedder = LoadShedder(RPCServerConfiguration.Shedding())
    var now: UInt64 = 1_000_000_000
    for (calls, milliseconds) in [(8, 64), (1, 1), (260, 30), (300, 30)] as [(Int, UInt64)] {
      let began = MonotonicTime(nanoseconds: now)
      for _ in 0..<calls {
        let isTaken = shedder.takes(false, roundBegan: began, now: MonotonicTime(nanoseconds: now))
        #expect(isTaken)
      }
      now += milliseconds * 1_000_000
      shedder.roundEnded(at: MonotonicTime(nanoseconds: now))
    }
  }

  @Test func whenTheOverloadIsOverAllAreServed() {
    var loop = SimulatedLoop()
    loop.run(load: 3, seconds: 2)
    #expect(loop.shedder.isShedding && loop.refused > 0)
    loop.run(load: 0.5, seconds: 1)
    loop.reset()
    loop.run(load: 0.5, seconds: 1)
    #expect(!loop.shedder.isShedding && loop.refused == 0)
  }

  /// A machine so slow that few calls make a long round sheds none of them.
  @Test func fewCallsAreNoQueue() {
    var shedder = LoadShedder(RPCServerConfiguration.Shedding())
    var now: UInt64 = 1_000_000_000
    for _ in 0..<100 {
      let began = MonotonicTime(nanoseconds: now)
      for _ in 0..<256 {
        let taken = shedder.takes(false, roundBegan: began, now: MonotonicTime(nanoseconds: now))
        #expect(taken)
        now += 10_000_000
      }
      shedder.roundEnded(at: MonotonicTime(nanoseconds: now))
    }
  }

  /// A round of the flood's calls, then of calls that are the only ones of their connections: as many of these are
  /// taken as of all calls in any case.
  @Test func aConnectionsOnlyCallIsRefusedLast() {
    var shedder = LoadShedder(RPCServerConfiguration.Shedding())
    var now: UInt64 = 1_000_000_000
    func round(_ calls: Int, areOnlyCalls: Bool) -> Int {
      (0..<calls).count { _ in
        let isTaken = shedder.takes(
          areOnlyCalls, roundBegan: MonotonicTime(nanoseconds: began), now: MonotonicTime(nanoseconds: now))
        if isTaken { now += 200_000 }
        return isTaken
      }
    }
    var began = now
    for _ in 0..<20 {
      began = now
      _ = round(900, areOnlyCalls: false)
      shedder.roundEnded(at: MonotonicTime(nanoseconds: now))
    }
    #expect(shedder.isShedding)
    began = now
    #expect(round(900, areOnlyCalls: false) == 256)
    #expect(round(300, areOnlyCalls: true) == 256)
  }
}

@Suite struct RunningCallLimitTests {
  private static func milliseconds(_ value: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: value * 1_000_000) }

  private static func limit() -> RunningCallLimit {
    RunningCallLimit(target: .milliseconds(100), interval: .milliseconds(250), greatestLimit: 4_096)
  }

  /// Ten answers each ms, from `start` on for a second.
  private static func answer(_ limit: inout RunningCallLimit, after latency: UInt64, from start: UInt64) {
    for time in start...start + 1_000 {
      for _ in 0..<10 { limit.answered(callBegan: milliseconds(time - latency), now: milliseconds(time)) }
    }
  }

  @Test func aStandingQueueIsCutToWhatIsAnsweredWithinTheTarget() {
    var limit = Self.limit()
    Self.answer(&limit, after: 400, from: 1_000)
    #expect((990...1_010).contains(limit.limit))
  }

  /// A disk that is held up once: everything of one interval is late.
  @Test func oneSlowIntervalRefusesNothing() {
    var limit = Self.limit()
    Self.answer(&limit, after: 10, from: 1_000)
    for time in stride(from: 2_600, through: 2_900, by: 100) as StrideThrough<UInt64> {
      limit.answered(callBegan: Self.milliseconds(2_001), now: Self.milliseconds(time))
    }
    Self.answer(&limit, after: 10, from: 2_901)
    #expect(limit.limit == 4_096)
  }

  @Test func oneFastAnswerAnIntervalIsEnough() {
    var limit = Self.limit()
    for time in stride(from: 1_000, to: 5_000, by: 10) as StrideTo<UInt64> {
      limit.answered(callBegan: Self.milliseconds(time - 900), now: Self.milliseconds(time))
      if time % 200 == 0 { limit.answered(callBegan: Self.milliseconds(time - 99), now: Self.milliseconds(time)) }
    }
    #expect(limit.limit == 4_096)
  }

  /// Refusals, caches, whatever handlers answer before they return.
  @Test func answersGivenAtOnceHideNoQueue() {
    var limit = Self.limit()
    for time in 1_000...2_000 as ClosedRange<UInt64> {
      for _ in 0..<10 {
        limit.answered(callBegan: Self.milliseconds(time - 400), now: Self.milliseconds(time))
        limit.answered(callBegan: Self.milliseconds(time), now: Self.milliseconds(time))
      }
    }
    #expect((990...1_010).contains(limit.limit))
  }

  @Test func whenTheQueueIsGoneTheLimitGrowsAgain() {
    var limit = Self.limit()
    Self.answer(&limit, after: 400, from: 1_000)
    let cut = limit.limit
    Self.answer(&limit, after: 10, from: 3_000)
    #expect(limit.limit > cut && limit.limit < 4_096)
    for start in stride(from: 5_000, to: 15_000, by: 1_000) as StrideTo<UInt64> {
      Self.answer(&limit, after: 10, from: start)
    }
    #expect(limit.limit == 4_096)
  }

  @Test func aConnectionsOnlyCallHasRoomOfItsOwn() {
    var limit = Self.limit()
    Self.answer(&limit, after: 400, from: 1_000)
    let cut = limit.limit
    #expect(limit.takes(cut - 1, false) && !limit.takes(cut, false))
    #expect(limit.takes(cut, true) && limit.takes(cut + 255, true) && !limit.takes(cut + 256, true))
  }

  @Test func fewAreNeverRefusedHoweverSlow() {
    var limit = Self.limit()
    for second in 100..<200 as Range<UInt64> {
      limit.answered(callBegan: Self.milliseconds((second - 60) * 1_000), now: Self.milliseconds(second * 1_000))
    }
    #expect(limit.limit == RunningCallLimit.leastLimit)
  }
}

@Suite(.mustEnd) struct OverloadTests {
  private static let details: [UInt8] = [8, 14, 18, 0]

  private static func configuration() -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.maxRunningCallsPerLoop = 1
    configuration.overloadError = RPCError(code: .resourceExhausted, message: "später, 100 %")
    configuration.overloadError.metadata.append("grpc-status-details-bin", binary: details)
    configuration.retryPushback = .milliseconds(250)
    return configuration
  }

  /// Every handler takes longer than its target, so each answer that counts lowers the limit of running calls.
  private static func limitingSlowHandlers() -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.shedding?.target = .seconds(60)
    configuration.shedding?.interval = .nanoseconds(1)
    configuration.shedding?.handlerTarget = .nanoseconds(1)
    configuration.maxConcurrentStreams = 1_000
    return configuration
  }

  @Test func theRefusedAreToldWhenToTryAgain() async throws {
    let loopback = try Loopback(Self.configuration())
    let client = try await loopback.connect()
    async let held = client.call("Hold")
    let running = await loopback.held.next()
    for _ in 0..<3 {
      let error = await client.failure("Echo")
      #expect(error.code == .resourceExhausted && error.message == "später, 100 %")
      #expect(error.metadata.first("grpc-retry-pushback-ms") == "250")
      #expect(error.metadata.firstBinary("grpc-status-details-bin") == Self.details)
    }
    running.respond([1])
    _ = try await held
    try await client.expectEcho([2])
  }

  @Test func handlersThatWaitInAQueueLimitHowManyMayRun() async throws {
    let loopback = try Loopback(Self.limitingSlowHandlers())
    let client = try await loopback.connect()
    // Each takes longer than a nanosecond, and the interval ends between them.
    for _ in 0..<3 {
      async let answer = client.call("Hold")
      let held = await loopback.held.next()
      held.respond([])
      _ = try await answer
    }
    let results = Box<Result<RPCResponse, RPCError>>()
    let request = RPCClientRequest(path: "/test/Hold", message: [])
    for _ in 0..<RunningCallLimit.leastLimit + 10 { client.connection.start(request) { results.put($0) } }
    for _ in 0..<10 {
      guard case .failure(let error) = await results.next() else { return #expect(Bool(false), "none is answered yet") }
      #expect(error.metadata.first("grpc-retry-pushback-ms") == "1000")
    }
    for _ in 0..<RunningCallLimit.leastLimit { await loopback.held.next().respond([]) }
    for _ in 0..<RunningCallLimit.leastLimit { _ = try await results.next().get() }
  }

  /// They are answered whatever the load, and are no measure of it.
  @Test func healthChecksLeaveTheCallsTheirLimit() async throws {
    let loopback = try Loopback(Self.limitingSlowHandlers()) { router in
      router.register("/grpc.health.v1.Health/Check") { call, _ in
        DispatchQueue.global().async { call.respond([]) }
      }
    }
    let client = try await loopback.connect()
    let results = Box<Result<RPCResponse, RPCError>>()
    for _ in 0..<3 {
      client.connection.start(RPCClientRequest(path: "/grpc.health.v1.Health/Check", message: [])) { results.put($0) }
      _ = try await results.next().get()
    }
    let count = RunningCallLimit.leastLimit + 10
    for _ in 0..<count {
      client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { results.put($0) }
    }
    try await loopback.answerAll(count, results)
  }

  /// However many wait for something to happen.
  @Test func streamsThatWaitLeaveTheCallsTheirLimit() async throws {
    var configuration = Self.limitingSlowHandlers()
    configuration.maxRunningCallsPerLoop = RunningCallLimit.leastLimit * 2
    let loopback = try Loopback(configuration)
    let client = try await loopback.connect()
    let streams = (0..<RunningCallLimit.leastLimit + 1).map { _ in client.open("Hold") }
    for _ in streams { _ = await loopback.heldStreams.next() }
    // All of these are slower than the target.
    for _ in 0..<10 { try await client.expectEcho([1], by: "Later") }
    for stream in streams { stream.stream.cancel() }
  }

  @Test func callsThatWaitForTheirTurnTakeNoRoom() async throws {
    let loopback = try Loopback(Self.configuration())
    let client = try await loopback.connect()
    async let first = client.call("Hold")
    let waiting = await loopback.held.next()
    waiting.startWaiting()
    waiting.startWaiting()
    async let second = client.call("Hold")
    let running = await loopback.held.next()
    let error = await client.failure("Echo")
    #expect(error.code == .resourceExhausted)
    running.respond([])
    _ = try await second
    try await client.expectEcho([1])

    waiting.stopWaiting()
    waiting.stopWaiting()
    let other = await client.failure("Echo")
    #expect(other.code == .resourceExhausted)
    waiting.startWaiting()
    waiting.respond([])
    _ = try await first
    // After its answer it takes and returns nothing.
    waiting.stopWaiting()
    async let third = client.call("Hold")
    let last = await loopback.held.next()
    let full = await client.failure("Echo")
    #expect(full.code == .resourceExhausted)
    last.respond([])
    _ = try await third
    try await client.expectEcho([2])
  }

  /// However long they waited.
  @Test func callsThatWaitedForTheirTurnLeaveTheCallsTheirLimit() async throws {
    let loopback = try Loopback(Self.limitingSlowHandlers())
    let client = try await loopback.connect()
    for _ in 0..<3 {
      async let answer = client.call("Hold")
      let held = await loopback.held.next()
      held.startWaiting()
      held.stopWaiting()
      held.respond([])
      _ = try await answer
    }
    let results = Box<Result<RPCResponse, RPCError>>()
    let request = RPCClientRequest(path: "/test/Hold", message: [])
    let count = RunningCallLimit.leastLimit + 10
    for _ in 0..<count { client.connection.start(request) { results.put($0) } }
    try await loopback.answerAll(count, results)
  }

  /// A server that is busy is not ill.
  @Test func healthIsAlwaysTold() async throws {
    let loopback = try Loopback(Self.configuration()) { router in
      router.register("/grpc.health.v1.Health/Check") { call, message in call.respond(Array(message)) }
    }
    let client = try await loopback.connect()
    async let held = client.call("Hold")
    let running = await loopback.held.next()
    let request = RPCClientRequest(path: "/grpc.health.v1.Health/Check", message: [5])
    let result = await withCheckedContinuation { done in client.connection.start(request) { done.resume(returning: $0) }
    }
    #expect(try result.get().message == [5])
    running.respond([])
    _ = try await held
  }

  @Test func streamsAreRefusedAsCallsAre() async throws {
    var configuration = Self.configuration()
    configuration.maxRunningCallsPerLoop = 0
    let loopback = try Loopback(configuration)
    let client = try await loopback.connect()
    for method in ["Chat", "Total", "Count"] {
      let request = RPCClientRequest(path: "/stream/\(method)", message: [1])
      let result = await withCheckedContinuation { done in
        client.connection.start(request) { done.resume(returning: $0) }
      }
      guard case .failure(let error) = result else { return #expect(Bool(false), "\(method) is not refused") }
      #expect(error.metadata.first("grpc-retry-pushback-ms") == "250")
    }
  }

  /// Calls that burn 2 ms each, sent faster than that: the first are served late, and the rest early or not at all.
  @Test func whatComesTooFastIsRefusedEarly() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.shedding?.target = .milliseconds(5)
    configuration.shedding?.interval = .milliseconds(20)
    configuration.shedding?.callsAlwaysTaken = 32
    configuration.maxConcurrentStreams = 1_000
    let loopback = try Loopback(configuration) { router in
      router.register("/test/Burn") { call, _ in
        let end = MonotonicTime.now().advanced(by: .milliseconds(2))
        while MonotonicTime.now() < end {}
        call.respond([])
      }
    }
    let client = try await loopback.connect()
    let results = Box<Result<RPCResponse, RPCError>>()
    let request = RPCClientRequest(path: "/test/Burn", message: [])
    for _ in 0..<500 { client.connection.start(request) { results.put($0) } }
    var served = 0
    for _ in 0..<500 {
      switch await results.next() {
      case .success: served += 1
      case .failure(let error):
        #expect(error.code == .unavailable && error.metadata.first("grpc-retry-pushback-ms") == "1000")
      }
    }
    #expect((32..<250).contains(served))
    try await client.expectEcho([1])
  }
}

extension Loopback {
  /// Lets all calls begin before it answers the first one: that answer took longer than the target, and lowers the
  /// limit.
  fileprivate func answerAll(_ count: Int, _ results: Box<Result<RPCResponse, RPCError>>) async throws {
    var running: [RPCServerCall] = []
    while running.count < count { running.append(await held.next()) }
    for call in running { call.respond([]) }
    for _ in 0..<count { _ = try await results.next().get() }
  }
}
