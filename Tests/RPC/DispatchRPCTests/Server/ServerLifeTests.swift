// A server's connections in the course of time: probed, too old, too slow, too often probed.

import Glibc
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct ServerLifeTests {
  private static func configuration(_ change: (inout RPCServerConfiguration) -> Void) -> RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.housekeepingInterval = .milliseconds(20)
    change(&configuration)
    return configuration
  }

  // MARK: Keepalive

  @Test func aClientThatAnswersNoPingIsGivenUp() async throws {
    let loopback = try Loopback(
      Self.configuration {
        $0.keepalive.interval = .milliseconds(50)
        $0.keepalive.timeout = .milliseconds(50)
      })
    let bytes = try #require(await RawPeer(loopback.address).exchange(Frame.preface), "the connection stays open")
    #expect(Frame.parse(bytes).count { $0.type == 6 && $0.flags == 0 } == 1)
  }

  @Test func aClientThatAnswersPingsStays() async throws {
    let loopback = try Loopback(
      Self.configuration {
        $0.keepalive.interval = .milliseconds(10)
        $0.keepalive.timeout = .seconds(60)
      })
    let client = try await loopback.connect()
    let error = await client.failure("Hold", timeout: .milliseconds(100))
    #expect(error.code == .deadlineExceeded)
    try await client.expectEcho([1])
  }

  @Test func theKernelGivesUpAsSoonAsKeepaliveDoes() async throws {
    let loopback = try Loopback(Self.configuration { $0.keepalive.timeout = .milliseconds(12_345) })
    let client = try await loopback.connect()
    async let answer = client.call("Hold")
    let held = await loopback.held.next()
    var timeout: UInt32 = 0
    var size = socklen_t(MemoryLayout<UInt32>.size)
    getsockopt(held.connection.transport.descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &timeout, &size)
    #expect(timeout == 12_345)
    held.respond([])
    _ = try await answer
  }

  // MARK: Memory

  /// Waits for it up to the suite's time limit.
  @Test func anIdleConnectionGivesMemoryBackAndServesOn() async throws {
    let loopback = try Loopback(Self.configuration { _ in })
    let client = try await loopback.connect()
    async let answer = client.call("Hold")
    let held = await loopback.held.next()
    let connection = LoopConfined(held.connection, on: held.connection.loop)
    held.respond([])
    _ = try await answer
    while await Self.residentBytes(ofSessionOf: connection) > 0 { try Task.checkCancellation() }
    try await client.expectEcho([1])
  }

  private static func residentBytes(ofSessionOf connection: LoopConfined<ServerConnection>) async -> Int {
    await withCheckedContinuation { done in
      connection.execute { connection in
        let memory = connection.session.memory.pointee
        done.resume(
          returning: [memory.frame, memory.streams].compactMap { $0 }.reduce(0) {
            $0 + DispatchRPCTests.residentBytes(of: $1)
          })
      }
    }
  }

  // MARK: The client's PINGs (A8)

  @Test func tooManyPingsAreToldSo() async throws {
    let loopback = try Loopback()
    let pings = (0..<4).flatMap { _ in Frame.ping().bytes }
    let bytes = try #require(
      await RawPeer(loopback.address).exchange(Frame.preface + pings), "the connection stays open")
    let goaway = try #require(Frame.parse(bytes).first { $0.goawayCode == .enhanceYourCalm })
    #expect(goaway.payload.dropFirst(8).elementsEqual("too_many_pings".utf8))
  }

  /// C-core and Go send one with every few answers, to find out the bandwidth.
  @Test func aPingForEachAnswerIsInOrder() async throws {
    let loopback = try Loopback()
    let peer = RawPeer(loopback.address)
    _ = await peer.exchange(Frame.preface) { $0.contains { $0.type == 4 } }
    for index in 0..<50 as Range<UInt32> {
      let id = index * 2 + 1
      let body = Frame.data(id, [0, 0, 0, 0, 0], flags: Frame.endStream).bytes
      let frames = await peer.exchange(Frame.headers(id, Frame.call("/test/Echo")).bytes + body + Frame.ping().bytes) {
        frames in
        frames.contains { $0.type == 6 } && frames.contains { $0.ends(id) }
      }
      #expect(!frames.contains { $0.type == 7 })
    }
  }

  // MARK: Age (A9)

  @Test func aConnectionComesOfAge() async throws {
    let loopback = try Loopback(Self.configuration { $0.maxConnectionAge = .milliseconds(60) })
    let bytes = await RawPeer(loopback.address).exchange(Frame.preface)
    #expect(Frame.parse(try #require(bytes, "the connection stays open")).contains { $0.goawayCode == .noError })
  }

  /// Makes the call's connection as old as it may become, however long the call took to get here.
  private static func age(_ call: RPCServerCall, grace: Duration?) {
    LoopConfined(call.connection, on: call.loop).execute { connection in
      connection.life.term = ConnectionTerm(
        maxAge: .zero, ageGrace: grace, idleTimeout: .seconds(900), acceptedAt: connection.loop.now, jitter: .none)
      connection.reviewLife()
    }
  }

  @Test func anOldConnectionIsAskedToLeaveAndItsCallsEndWell() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    async let answer = client.call("Hold")
    let held = await loopback.held.next()
    Self.age(held, grace: nil)
    await client.expectGoingAway()
    held.respond([7])
    #expect(try await answer.message == [7])
    _ = await client.closed()
  }

  @Test func theGraceOfAnOldConnectionEnds() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect()
    let result = Box<Result<RPCResponse, RPCError>>()
    client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { result.put($0) }
    Self.age(await loopback.held.next(), grace: .milliseconds(60))
    #expect(await loopback.cancellations.next() == .connectionLost)
    guard case .failure(let error) = await result.next() else { return #expect(Bool(false), "nobody answered") }
    #expect(error.code == .unavailable)
  }

  // MARK: Those who take their time

  @Test func headersThatTrickleEndTheConnection() async throws {
    let loopback = try Loopback(Self.configuration { $0.headerTimeout = .milliseconds(60) })
    let begun = Frame.headers(1, Frame.call("/test/Echo"), flags: 0).bytes
    let bytes = try #require(
      await RawPeer(loopback.address).exchange(Frame.preface + begun), "the connection stays open")
    let goaway = try #require(Frame.parse(bytes).first { $0.goawayCode == .enhanceYourCalm })
    #expect(goaway.payload.dropFirst(8).elementsEqual("headers_too_slow".utf8))
  }

  /// Nothing looks after an idle connection before one of its own times; its next call wakes the housekeeping.
  @Test func aRequestThatStallsAfterAnIdleTimeIsReset() async throws {
    let loopback = try Loopback(Self.configuration { $0.requestTimeout = .milliseconds(60) })
    let peer = RawPeer(loopback.address)
    _ = await peer.exchange(Frame.preface) { $0.contains { $0.type == 4 } }
    // Some rounds of housekeeping pass.
    let other = try await loopback.connect()
    _ = await other.failure("Hold", timeout: .milliseconds(100))
    let frames = await peer.exchange(Frame.headers(1, Frame.call("/test/Echo")).bytes) { $0.contains { $0.type == 3 } }
    #expect(frames.contains { $0.type == 3 && $0.stream == 1 })
  }

  @Test func aConnectionWhoseCallsStallByTheDozenEnds() async throws {
    let loopback = try Loopback(Self.configuration { $0.requestTimeout = .milliseconds(60) })
    let halfOpen = (0..<40 as Range<UInt32>).flatMap { Frame.headers($0 * 2 + 1, Frame.call("/test/Echo")).bytes }
    let bytes = try #require(await RawPeer(loopback.address).exchange(Frame.preface + halfOpen), "it stays open")
    #expect(Frame.parse(bytes).contains { $0.goawayCode == .enhanceYourCalm })
  }

  @Test func answersReadByTheByteEndTheConnection() async throws {
    // None comes back, however slow the machine.
    let loopback = try Loopback(Self.configuration { $0.abuseLimits.tinyWindows = .init(burst: 20, perSecond: 0) })
    let tinyWindow = Frame(type: 4, payload: [0, 4, 0, 0, 0, 1]).bytes
    let body = Frame.data(1, [0, 0, 0, 1, 0] + [UInt8](repeating: 7, count: 256), flags: Frame.endStream).bytes
    let call = Frame.headers(1, Frame.call("/test/Echo")).bytes + body
    let peer = RawPeer(loopback.address)
    _ = await peer.exchange(Frame.preface + tinyWindow + call) { $0.contains { $0.type == 0 } }
    var isEnded = false
    for _ in 0..<30 where !isEnded {
      let frames = await peer.exchange(Frame.windowUpdate(1, 1).bytes) { $0.contains { $0.type == 0 || $0.type == 7 } }
      isEnded = frames.contains { $0.goawayCode == .enhanceYourCalm }
    }
    #expect(isEnded)
  }

  @Test func anAnswerThatNobodyTakesIsReset() async throws {
    let loopback = try Loopback(Self.configuration { $0.responseTimeout = .milliseconds(60) })
    let zeroWindow = Frame(type: 4, payload: [0, 4, 0, 0, 0, 0]).bytes
    let body = Frame.data(1, [0, 0, 0, 0, 1, 7], flags: Frame.endStream).bytes
    let call = Frame.headers(1, Frame.call("/test/Echo")).bytes + body
    let frames = await RawPeer(loopback.address).exchange(Frame.preface + zeroWindow + call) {
      $0.contains { $0.type == 3 }
    }
    #expect(frames.contains { $0.type == 3 && $0.stream == 1 })
  }
}
