// The server's side of a call, as the client sees it come: its head, its messages, its end.

extension ClientConnection {
  func headReceived(_ stream: ClientStream, id: Int32) {
    if let refusal = stream.head.refusal() {
      fail(stream, id, refusal)
    } else if let streaming = stream.streaming, stream.head.isInitial, streaming.isRunning {
      streaming.headReceived(stream.head.initialMetadata)
    }
  }

  func dataReceived(_ stream: ClientStream, id: Int32, _ bytes: UnsafeRawBufferPointer) {
    if let streaming = stream.streaming, streaming.isRunning {
      session.consumeConnection(bytes.count)
      streaming.receive(bytes)
    } else {
      session.consume(bytes.count, ofStream: id)
      guard !stream.isComplete else { return }
      do throws(MessageDeframer.Fault) {
        try stream.receive(bytes, limit: configuration.maxResponseMessageBytes, unread)
      } catch {
        fail(stream, id, Self.error(error))
      }
    }
    if unread.isExceeded { failGreediest() }
  }

  /// The call that holds the most makes room for the others, be it that its caller is slow to read what has ended.
  private func failGreediest() {
    let error = RPCError(code: .resourceExhausted, message: "the connection holds more unread messages than allowed")
    let running = streams.lazy.filter { !$0.value.isComplete }.max { $0.value.unreadBytes < $1.value.unreadBytes }
    if let ended = unread.greediestEnded, ended.unreadBytes > running?.value.unreadBytes ?? 0 {
      ended.fail(error)
    } else if let running {
      fail(running.value, running.key, error)
    }
  }

  /// END_STREAM: the response is whole. If the request is not, the client resets the stream, because the server does
  /// not wait for the rest (RFC 9113 §8.1).
  func serverEnded(_ stream: ClientStream, id: Int32) {
    stream.serverHasEnded = true
    guard !session.hasSentEnd(ofStream: id), !stream.isComplete else { return }
    settle(stream, .noError)
    session.submitReset(.noError, stream: id)
    scheduleWrite()
  }

  func streamClosed(_ id: Int32, code: HTTP2ErrorCode) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    if let timer = stream.timer { loop.cancelTimer(timer) }
    stream.endsReceiving(unread)
    if !stream.isComplete { settle(stream, code) }
  }

  private func settle(_ stream: ClientStream, _ code: HTTP2ErrorCode) {
    stream.endsReceiving(unread)
    let outcome = outcome(of: stream, code)
    if let streaming = stream.streaming {
      streaming.serverEnded(outcome)
    } else {
      stream.complete(outcome.flatMap { response(stream, $0) }, on: loop)
    }
  }

  /// The trailing metadata of a success. A stream that was closed before its end was reset, whatever the code says.
  /// A server whose own deadline passed may have no other word for it than CANCEL, and comes before this call's timer
  /// if one wake-up finds both.
  private func outcome(of stream: ClientStream, _ code: HTTP2ErrorCode) -> Result<Metadata, RPCError> {
    if !stream.isSent { return .failure(.unsent("the call was not sent")) }
    if code == .cancel, let deadline = stream.deadline, deadline <= loop.now {
      return .failure(stream.marked(Self.deadlineExceeded))
    }
    if code != .noError || !stream.serverHasEnded { return .failure(stream.marked(Self.error(resetWith: code))) }
    return stream.head.outcome().mapError(stream.marked)
  }

  private func response(_ stream: ClientStream, _ trailing: Metadata) -> Result<RPCResponse, RPCError> {
    switch stream.response.completeness {
    case .complete where stream.response.isCompressed:
      return .failure(.compressedUnasked)
    case .complete:
      return .success(
        RPCResponse(
          message: stream.response.message, initialMetadata: stream.head.initialMetadata.decoded(),
          trailingMetadata: trailing))
    case .missing:
      return .failure(RPCError(code: .internalError, message: "the call succeeded without a response message"))
    case .truncated:
      return .failure(RPCError(code: .internalError, message: "the response message ends early"))
    }
  }

  static func error(_ fault: MessageDeframer.Fault) -> RPCError {
    switch fault {
    case .tooLarge(let bytes):
      RPCError(code: .resourceExhausted, message: "a response has \(bytes) bytes, more than allowed")
    case .extraMessage:
      RPCError(code: .internalError, message: "a unary call has one response message; there are more")
    case .malformedFlag:
      RPCError(code: .internalError, message: "the message's compression flag is neither 0 nor 1")
    }
  }

  private static func error(resetWith code: HTTP2ErrorCode) -> RPCError {
    RPCError(
      code: RPCCode(resetWith: code), message: "the stream was reset, HTTP/2 error code \(code.rawValue)",
      progress: code == .refusedStream ? .unprocessed : .sent)
  }
}

extension RPCError {
  /// The client names no encoding that it reads (`grpc-accept-encoding`).
  static let compressedUnasked = RPCError(code: .internalError, message: "a message is compressed, unasked")
}
