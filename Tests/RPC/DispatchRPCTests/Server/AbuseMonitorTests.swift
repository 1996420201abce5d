// Abuse: frames by their headers, buckets, and the allowance that honest traffic earns.

import Testing

@testable import DispatchRPC

@Suite struct AbuseMonitorTests {
  private static var limits: AbuseLimits {
    var limits = AbuseLimits()
    limits.resets = .init(burst: 3, perSecond: 2)
    limits.emptyData = .init(burst: 1, perSecond: 0)
    limits.windowUpdates = .init(burst: 2, perSecond: 0)
    limits.tinyWindows = .init(burst: 1, perSecond: 0)
    return limits
  }

  @Test func toleratesABurstThenARate() {
    var monitor = AbuseMonitor(limits: Self.limits, now: seconds(0))
    for _ in 0..<3 { #expect(monitor.record(.reset, at: seconds(0)) == .tolerated) }
    #expect(monitor.record(.reset, at: seconds(0)) == .abusive)
    for _ in 0..<2 { #expect(monitor.record(.reset, at: seconds(1)) == .tolerated) }
    #expect(monitor.record(.reset, at: seconds(1)) == .abusive)
  }

  @Test func timeSavesUpNoMoreThanTheBurst() {
    var monitor = AbuseMonitor(limits: Self.limits, now: seconds(0))
    for _ in 0..<3 { #expect(monitor.record(.reset, at: seconds(1_000_000)) == .tolerated) }
    #expect(monitor.record(.reset, at: seconds(1_000_000)) == .abusive)
  }

  @Test func countsEachKindAlone() {
    var monitor = AbuseMonitor(limits: Self.limits, now: seconds(0))
    #expect(monitor.record(.emptyData, at: seconds(0)) == .tolerated)
    #expect(monitor.record(.emptyData, at: seconds(9)) == .abusive)
    #expect(monitor.record(.reset, at: seconds(9)) == .tolerated)
  }

  @Test func ourFramesEarnWindowUpdates() {
    var monitor = AbuseMonitor(limits: Self.limits, now: seconds(0))
    for _ in 0..<50 {
      monitor.headersReceived()
      monitor.frameSent()
    }
    for _ in 0..<402 { #expect(monitor.record(.windowUpdate, at: seconds(0)) == .tolerated) }
    #expect(monitor.record(.windowUpdate, at: seconds(0)) == .abusive)
  }

  @Test func whatIsEarnedIsKeptAsTimePassesAndHasALimit() {
    var limits = Self.limits
    limits.windowUpdates = .init(burst: 2, perSecond: 1)
    var monitor = AbuseMonitor(limits: limits, now: seconds(0))
    for _ in 0..<1_000_000 { monitor.frameSent() }
    var tolerated = 0
    while monitor.record(.windowUpdate, at: seconds(1)) == .tolerated { tolerated += 1 }
    #expect((10_000..<10_010).contains(tolerated))
  }

  @Test func answeredCallsEarnResetsAndLargeFramesTinyOnes() {
    var monitor = AbuseMonitor(limits: Self.limits, now: seconds(0))
    monitor.callAnswered()
    for _ in 0..<4 { #expect(monitor.record(.reset, at: seconds(0)) == .tolerated) }
    #expect(monitor.record(.reset, at: seconds(0)) == .abusive)
    monitor.largeFrameSent()
    for _ in 0..<2 { #expect(monitor.record(.tinyWindow, at: seconds(0)) == .tolerated) }
    #expect(monitor.record(.tinyWindow, at: seconds(0)) == .abusive)
  }

  /// As grpc's tools/http2_interop sends them.
  @Test func eachUnknownTypeMayBeTriedOnce() {
    var monitor = AbuseMonitor(limits: AbuseLimits(), now: seconds(0))
    for type in 10...255 as ClosedRange<UInt8> {
      let header = FrameScanner.Header(length: 0, type: type, flags: 0, stream: 0)
      #expect(AbuseMonitor.Event(header).map { monitor.record($0, at: seconds(0)) } == .tolerated)
    }
  }

  @Test(
    arguments: [
      (0, 0, 0, .emptyData), (0, 1, 0, nil), (0, 0, 1, nil), (1, 0, 0, nil), (2, 5, 0, .controlFrame), (3, 4, 0, nil),
      (4, 0, 0, .controlFrame), (4, 0, 1, .controlFrame), (6, 8, 0, nil), (6, 8, 1, .controlFrame),
      (7, 8, 0, .controlFrame), (8, 4, 0, .windowUpdate), (9, 0, 0, nil), (10, 0, 0, .unknownFrame),
      (255, 9, 0, .unknownFrame),
    ] as [(UInt8, Int, UInt8, AbuseMonitor.Event?)])
  func framesCountByTheirHeader(_ type: UInt8, length: Int, flags: UInt8, event: AbuseMonitor.Event?) {
    #expect(AbuseMonitor.Event(FrameScanner.Header(length: length, type: type, flags: flags, stream: 1)) == event)
  }
}

@Suite struct FrameScannerTests {
  private static let frames = [
    Frame.settings(), Frame.ping(), Frame.data(1, [UInt8](repeating: 7, count: 300), flags: 1), Frame.data(3, []),
    Frame(type: 0xFA, flags: 0xFF, stream: 0x7FFF_FFFF, payload: [1]),
  ]
  private static let headers = frames.map {
    FrameScanner.Header(length: $0.payload.count, type: $0.type, flags: $0.flags, stream: $0.stream)
  }

  /// After the preface, which brings a SETTINGS of its own.
  @Test(arguments: [1, 2, 5, 9, 10, 24, 33, 1_000])
  func findsEveryFrameHoweverTheBytesAreCut(_ pieceBytes: Int) {
    var scanner = FrameScanner()
    var rest = (Frame.preface + Self.frames.flatMap(\.bytes))[...]
    var found: [FrameScanner.Header] = []
    while !rest.isEmpty {
      Array(rest.prefix(pieceBytes)).withUnsafeBytes { bytes in
        var offset = 0
        while let header = scanner.next(in: bytes, from: &offset) { found.append(header) }
        #expect(offset == bytes.count)
      }
      rest = rest.dropFirst(pieceBytes)
    }
    #expect(found == [FrameScanner.Header(length: 0, type: 4, flags: 0, stream: 0)] + Self.headers)
  }
}

@Suite struct PingStrikesTests {
  private static func machine(_ change: (inout RPCServerConfiguration.PingEnforcement) -> Void = { _ in })
    -> PingStrikes
  {
    var enforcement = RPCServerConfiguration.PingEnforcement()
    change(&enforcement)
    return PingStrikes(enforcement)
  }

  @Test func theThirdPingTooSoonIsTooMany() {
    var pings = Self.machine()
    for _ in 0..<3 { #expect(pings.received(at: seconds(0), hasCalls: true) == .tolerated) }
    #expect(pings.received(at: seconds(0), hasCalls: true) == .tooMany)
  }

  @Test func pingsInTheirTimeAreInOrder() {
    var pings = Self.machine()
    for count in 0..<20 as Range<UInt64> {
      #expect(pings.received(at: seconds(count * 300), hasCalls: true) == .tolerated)
    }
  }

  /// A8: two hours, as for TCP's keepalive.
  @Test func withoutCallsAPermissionIsNeeded() {
    var pings = Self.machine()
    for count in 0..<3 as Range<UInt64> {
      #expect(pings.received(at: seconds(count * 300), hasCalls: false) == .tolerated)
    }
    #expect(pings.received(at: seconds(900), hasCalls: false) == .tooMany)
    var permitted = Self.machine { $0.permitsWithoutCalls = true }
    for count in 0..<20 as Range<UInt64> {
      #expect(permitted.received(at: seconds(count * 300), hasCalls: false) == .tolerated)
    }
  }

  @Test func everyAnswerForgivesSoThatProbesOfBandwidthAreInOrder() {
    var pings = Self.machine()
    for _ in 0..<10_000 {
      #expect(pings.received(at: seconds(0), hasCalls: true) == .tolerated)
      pings.forgive()
    }
    for _ in 0..<3 { #expect(pings.received(at: seconds(0), hasCalls: true) == .tolerated) }
    #expect(pings.received(at: seconds(0), hasCalls: true) == .tooMany)
  }

  @Test func theIntervalIsTheConfigurations() {
    var pings = Self.machine { $0.minimumInterval = .seconds(10) }
    for count in 0..<20 as Range<UInt64> {
      #expect(pings.received(at: seconds(count * 10), hasCalls: true) == .tolerated)
    }
    for _ in 0..<2 { #expect(pings.received(at: seconds(199), hasCalls: true) == .tolerated) }
    #expect(pings.received(at: seconds(199), hasCalls: true) == .tooMany)
  }
}
