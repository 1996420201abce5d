// A server's stream and its messages on their way to the client, and its end; on the event loop only.

extension RPCServerStream {
  func submitHead(_ metadata: Metadata) {
    guard let stream, !hasSentHead else { return }
    hasSentHead = true
    connection.submitHead(of: stream, metadata, body: ServerCallbacks.readMessages)
    connection.scheduleWrite()
  }

  func append(_ message: [UInt8]) {
    guard stream != nil else { return }
    let limit = connection.server.configuration.maxResponseMessageBytes
    answers += 1
    guard message.count <= limit else {
      abort(.resourceExhausted, "a message has \(message.count) bytes, more than allowed")
      return
    }
    guard !hasOneAnswer || answers == 1 else {
      abort(.internalError, "a client-streaming call has one answer; the handler sent more")
      return
    }
    // Room for this stream is not room for all of the connection's.
    guard connection.hasRoomForAnswers else {
      abort(.resourceExhausted, "the client has too many answers to read first")
      return
    }
    outbox.append(OutgoingMessage(message))
    stream?.pointee.observed.sent(message.count)
    connection.responseBytesChanged(by: MessageOutbox.cost(of: message))
    submitHead(Metadata())
    resumeBody()
  }

  /// Ends the call for its handler. Messages that the handler sent before arrive first.
  func finish(_ ending: Ending) {
    guard stream != nil else { return }
    if case .success = ending, hasOneAnswer, answers == 0 {
      conclude(
        .failure(RPCError(code: .internalError, message: "a client-streaming call has one answer; there is none")))
    } else {
      conclude(ending)
    }
  }

  /// Ends the call for the server, by the client's or the handler's fault. Messages that have not begun to leave are
  /// dropped. A handler's end that is still on its way from another thread comes too late, because it may rely on those
  /// messages.
  func abort(_ code: RPCCode, _ message: String) {
    guard stream != nil else { return }
    _ = expire(.refused)
    cut(code, message)
  }

  func abort(_ fault: MessageDeframer.Fault) {
    switch fault {
    case .tooLarge(let bytes):
      let limit = connection.server.configuration.maxRequestMessageBytes
      abort(.resourceExhausted, "a message has \(bytes) bytes; \(limit) are allowed")
    case .malformedFlag, .extraMessage:
      abort(.internalError, "a message's compression flag is neither 0 nor 1")
    }
  }

  func abort(_ fault: Gzip.Fault) {
    switch fault {
    case .tooLarge:
      let limit = connection.server.configuration.maxRequestMessageBytes
      abort(.resourceExhausted, "a message has more than the \(limit) bytes that are allowed")
    case .malformed:
      abort(.internalError, "a message is not in gzip, as it claims")
    }
  }

  /// After `expire`: ends the call once the message that has begun is complete.
  func cut(_ code: RPCCode, _ message: String) {
    let before = outbox.heldBytes
    outbox.dropUnbegun()
    release(before - outbox.heldBytes)
    conclude(.failure(RPCError(code: code, message: message)))
  }

  private func conclude(_ ending: Ending) {
    guard let stream else { return }
    self.ending = ending
    discardUnread()
    if case .failure(let error) = ending, !hasSentHead {
      detach()
      connection.send(.error(error), on: stream)
    } else {
      submitHead(Metadata())
      resumeBody()
      detach()
      connection.enterAnswered(stream)
    }
  }

  private func resumeBody() {
    connection.scheduleWrite()
    guard isBodyDeferred, let stream else { return }
    isBodyDeferred = false
    connection.session.resumeBody(ofStream: stream.pointee.id)
  }

  enum Output {
    case bytes(Int)
    case last(Int, Ending)
    /// Until there is more.
    case deferred
  }

  /// From nghttp2, when it has room for DATA.
  func write(to buffer: UnsafeMutablePointer<UInt8>, capacity: Int) -> Output {
    let before = outbox.heldBytes
    let count = outbox.write(to: buffer, capacity: capacity)
    release(before - outbox.heldBytes)
    if outbox.isEmpty, let ending { return .last(count, ending) }
    if count > 0 { return .bytes(count) }
    isBodyDeferred = true
    return .deferred
  }

  /// The stream is gone, and with it all that waits.
  func streamClosed() {
    detach()
    discardUnread()
    release(outbox.heldBytes)
    outbox = MessageOutbox()
  }

  private func release(_ count: Int) {
    guard count > 0 else { return }
    connection.responseBytesChanged(by: -count)
    guard quota.release(count), !writableIsDue, events != nil else { return }
    writableIsDue = true
    loop.execute {
      self.writableIsDue = false
      if let events = self.events { events(self, .writable) }
    }
  }
}
