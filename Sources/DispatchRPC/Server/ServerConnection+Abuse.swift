// What a server's connection does about frames that no honest client sends, or not as many.

extension ServerConnection {
  /// Counts frames before nghttp2 spends anything on them. False when they are too many.
  func count(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    // Once in and out of the object, not for every frame.
    var scanner = self.scanner
    defer { self.scanner = scanner }
    while let header = scanner.next(in: bytes, from: &offset) {
      // nghttp2 does not look at PRIORITY, as we announce that we do not (RFC 9113 §6.3).
      if header.stream == 0 && HTTP2FrameType(rawValue: header.type) == .priority {
        terminate(.protocolError, "priority_on_stream_0")
        return false
      }
      if let event = AbuseMonitor.Event(header) {
        record(event)
      } else {
        switch HTTP2FrameType(rawValue: header.type) {
        case .headers: abuse.headersReceived()
        case .ping: pingReceived()
        default: break
        }
      }
      guard isOpen else { return false }
    }
    return true
  }

  func record(_ event: AbuseMonitor.Event) {
    if abuse.record(event, at: shard.now) == .abusive { terminate(.enhanceYourCalm, event.reason) }
  }

  private func pingReceived() {
    if pings.received(at: shard.now, hasCalls: firstStream != nil) == .tooMany {
      terminate(.enhanceYourCalm, PingStrikes.tooManyPings)
    }
  }

  /// nghttp2 has a frame of ours in its output.
  @inline(__always)
  func frameSent(_ type: HTTP2FrameType, length: Int) {
    switch type {
    case .headers:
      abuse.frameSent()
      pings.forgive()
    case .data:
      abuse.frameSent()
      pings.forgive()
      if length >= Self.decentFrameBytes { abuse.largeFrameSent() }
    default:
      break
    }
  }

  /// DATA has less room than it needs: `capacity` bytes.
  func windowCutsData(to capacity: Int) {
    if capacity < Self.tinyWindowBytes { record(.tinyWindow) }
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
