// How nghttp2's output reaches the socket: in one write a round, as far as the socket takes it.

extension HTTP2Connection {
  /// Frames waiting behind a blocked socket before we stop reading what would cause more.
  private static let queuedFrameLimit = 256
  /// Bytes written to one connection before the others get their turn.
  private static let writeBudgetBytes = 1 << 20
  /// The largest piece nghttp2 hands out: a frame of 16 KiB with its header and padding length.
  private static let largestOutputBytes = (16 << 10) + 10

  /// Output is collected at the end of this round.
  func scheduleWrite() {
    loop.assertIsCurrent()
    guard !writeIsDue, canWrite else { return }
    writeIsDue = true
    loop.needsWrite(self)
  }

  func write() {
    writeIsDue = false
    guard canWrite, sendBlocked(), sendOutput() else { return }
    watch(blocked.isEmpty ? .readable : readinessWhileBlocked)
    guard blocked.isEmpty else { return }
    if lastWordIsSaid || !session.wantsRead && !session.wantsWrite {
      finish()
    } else {
      didWrite()
    }
  }

  private var readinessWhileBlocked: Readiness {
    session.queuedFrameCount > Self.queuedFrameLimit ? .writable : [.readable, .writable]
  }

  /// Sends the bytes that an earlier write left. Returns false if the connection failed.
  private func sendBlocked() -> Bool {
    guard !blocked.isEmpty else { return true }
    switch blocked.withRest(transport.send) {
    case .bytes(let count):
      if blocked.sent(count, at: loop.now) { dropBlocked() }
      return true
    case .wouldBlock:
      return true
    case .ended, .failed:
      close("connection lost while writing")
      return false
    }
  }

  func dropBlocked() {
    let count = blocked.count
    guard count > 0 else { return }
    blocked = BlockedOutput()
    blockedBytesChanged(by: -count)
  }

  /// Fills the event loop's buffer and sends it, until there is no more, the socket is full or others wait for their
  /// turn. False when the connection failed.
  private func sendOutput() -> Bool {
    var budget = Self.writeBudgetBytes
    while blocked.isEmpty {
      guard let count = collectOutput() else {
        close("HTTP/2 session failed")
        return false
      }
      if count == 0 { return true }
      guard send(UnsafeRawBufferPointer(rebasing: buffers.sending[..<count])) else { return false }
      budget -= count
      if budget <= 0 {
        scheduleAnotherTurn()
        return true
      }
    }
    return true
  }

  /// The number of bytes put into the event loop's buffer; `nil` when nghttp2 failed.
  private func collectOutput() -> Int? {
    var count = 0
    while !lastWordIsSaid, count + Self.largestOutputBytes <= buffers.sending.count {
      guard let output = session.nextOutput() else { return nil }
      if output.isEmpty { break }
      precondition(output.count <= buffers.sending.count - count, "nghttp2 hands out single frames of 16 KiB")
      let copy = UnsafeMutableRawBufferPointer(rebasing: buffers.sending[count..<count + output.count])
      copy.copyMemory(from: output)
      if !hasOutput {
        hasOutput = true
        willSendFirst(copy)
      }
      count += output.count
    }
    return count
  }

  private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch transport.send(bytes) {
    case .bytes(bytes.count):
      return true
    case .bytes(let count):
      block(UnsafeRawBufferPointer(rebasing: bytes[count...]))
      return true
    case .wouldBlock:
      block(bytes)
      return true
    case .ended, .failed:
      close("connection lost while writing")
      return false
    }
  }

  private func block(_ rest: UnsafeRawBufferPointer) {
    blocked = BlockedOutput(rest, at: loop.now)
    blockedBytesChanged(by: blocked.count)
  }

  /// In a later round, so that the other connections are written first.
  private func scheduleAnotherTurn() {
    LoopConfined(self, on: loop).execute { $0.scheduleWrite() }
  }
}

/// Output that the socket has not taken yet.
struct BlockedOutput {
  private var bytes: [UInt8] = []
  private var offset = 0
  /// Since when the socket takes nothing; `nil` when nothing waits for it.
  private(set) var since: MonotonicTime?

  init() {}

  init(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) {
    self.bytes = Array(bytes)
    since = now
  }

  var isEmpty: Bool { bytes.isEmpty }

  /// As it counts until all of it is taken.
  var count: Int { bytes.count }

  func withRest<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
  }

  /// The socket has taken some. True when that was the rest.
  mutating func sent(_ count: Int, at now: MonotonicTime) -> Bool {
    offset += count
    since = now
    return offset == bytes.count
  }
}
