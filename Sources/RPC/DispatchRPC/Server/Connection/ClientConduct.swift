/// Judges one connection's frames by what they cost the server. The owner ends the connection at the first offence.
/// Pure; time is an argument.
struct ClientConduct {
  struct Offence {
    var code: HTTP2ErrorCode
    /// For GOAWAY's debug data.
    var reason: StaticString
  }

  /// The least DATA that a window is worth opening for, but for the end of a message.
  private static let tinyWindowBytes = 256
  /// DATA frames from here on make up for tiny ones.
  private static let decentFrameBytes = 1_024

  private var scanner = FrameScanner()
  private var longFields = LongFieldFilter()
  private var abuse: AbuseMonitor
  private var pings: PingStrikes

  init(_ configuration: RPCServerConfiguration, now: MonotonicTime) {
    abuse = AbuseMonitor(limits: configuration.abuseLimits, now: now)
    pings = PingStrikes(configuration.pingEnforcement)
  }

  // MARK: Frames that come

  /// Counts the frames before nghttp2 spends anything on them, and shortens the fields that it cannot read.
  mutating func received(_ bytes: UnsafeMutableRawBufferPointer, at now: MonotonicTime, hasCalls: Bool) -> Offence? {
    var offset = 0
    if longFields.isActive { shortenFields(in: bytes, from: 0) }
    while let header = scanner.next(in: UnsafeRawBufferPointer(bytes), from: &offset) {
      if let offence = received(header, at: now, hasCalls: hasCalls) { return offence }
      longFields.frameBegan(header)
      if longFields.isActive { shortenFields(in: bytes, from: offset) }
    }
    return nil
  }

  /// - Parameter offset: where the present frame's payload goes on.
  private mutating func shortenFields(in bytes: UnsafeMutableRawBufferPointer, from offset: Int) {
    let end = min(offset + scanner.skippedBytes, bytes.count)
    longFields.rewrite(
      UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<end]),
      isFrameComplete: end - offset == scanner.skippedBytes)
  }

  @inline(__always)
  private mutating func received(_ header: FrameScanner.Header, at now: MonotonicTime, hasCalls: Bool) -> Offence? {
    let type = HTTP2FrameType(rawValue: header.type)
    // nghttp2 does not look at PRIORITY, as we announce that we do not (RFC 9113 §6.3).
    if header.stream == 0 && type == .priority { return Offence(code: .protocolError, reason: "priority_on_stream_0") }
    if let event = AbuseMonitor.Event(header) { return record(event, at: now) }
    if type == .headers { abuse.headersReceived() }
    guard type == .ping, pings.received(at: now, hasCalls: hasCalls) == .tooMany else { return nil }
    return Offence(code: .enhanceYourCalm, reason: PingStrikes.tooManyPings)
  }

  /// For events that a frame's header does not show.
  mutating func record(_ event: AbuseMonitor.Event, at now: MonotonicTime) -> Offence? {
    abuse.record(event, at: now) == .abusive ? Offence(code: .enhanceYourCalm, reason: event.reason) : nil
  }

  // MARK: Frames that go

  /// nghttp2 has a frame of ours in its output.
  @inline(__always)
  mutating func sent(_ type: HTTP2FrameType, length: Int) {
    guard type == .headers || type == .data else { return }
    abuse.frameSent()
    pings.forgive()
    if type == .data && length >= Self.decentFrameBytes { abuse.largeFrameSent() }
  }

  /// A handler has answered.
  @inline(__always)
  mutating func callAnswered() {
    abuse.callAnswered()
  }

  /// DATA has less room than it needs: `capacity` bytes.
  @inline(__always)
  mutating func windowCutsData(to capacity: Int, at now: MonotonicTime) -> Offence? {
    capacity < Self.tinyWindowBytes ? record(.tinyWindow, at: now) : nil
  }
}

extension AbuseMonitor.Event {
  /// For GOAWAY's debug data.
  fileprivate var reason: StaticString {
    switch self {
    case .reset: "too_many_resets"
    case .controlFrame: "too_many_control_frames"
    case .unknownFrame: "too_many_unknown_frames"
    case .windowUpdate: "too_many_window_updates"
    case .emptyData: "too_much_empty_data"
    case .refusedStream: "too_many_streams"
    case .invalidFrame: "too_many_invalid_frames"
    case .tinyWindow: "too_many_tiny_windows"
    }
  }
}
