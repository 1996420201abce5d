// A client's stream and its messages on their way to the server; on the event loop only.

extension RPCClientStream {
  enum Output {
    case bytes(Int)
    case last(Int)
    /// Until there is more.
    case deferred
  }

  /// From nghttp2, when it has room for DATA.
  func write(to buffer: UnsafeMutablePointer<UInt8>, capacity: Int) -> Output {
    let before = outbox.heldBytes
    let count = outbox.write(to: buffer, capacity: capacity)
    release(before - outbox.heldBytes)
    if outbox.isEmpty && isSendingDone { return .last(count) }
    if count > 0 { return .bytes(count) }
    isBodyDeferred = true
    return .deferred
  }

  func append(_ message: [UInt8]) {
    guard isRunning, !isSendingDone else {
      _ = quota.release(MessageOutbox.cost(of: message))
      return
    }
    outbox.append(OutgoingMessage(message))
    messageBytes.sent += message.count
    resumeBody()
  }

  func resumeBody() {
    connection?.scheduleWrite()
    guard isBodyDeferred, let connection, let streamID else { return }
    isBodyDeferred = false
    connection.session.resumeBody(ofStream: streamID)
  }

  func release(_ count: Int) {
    guard quota.release(count), !writableIsDue, isRunning else { return }
    writableIsDue = true
    loop.execute {
      self.writableIsDue = false
      if self.isRunning, let events = self.events { events(self, .writable) }
    }
  }
}
