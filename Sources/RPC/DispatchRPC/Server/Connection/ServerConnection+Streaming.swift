// A server's connection and its streaming calls: their messages as they come, and frames filled with those that go.

extension ServerConnection {
  /// The headers of a call are complete whose handler begins before there is a message.
  func becomeReadyForMessages(_ stream: Stream, _ route: RPCRouter.Route) {
    guard isTaken(stream, to: route) else { return }
    _ = openStreaming(stream, route)
    becomeReady(stream)
  }

  /// It counts as running from here on.
  func openStreaming(_ stream: Stream, _ route: RPCRouter.Route) -> RPCServerStream {
    let call = RPCServerStream(
      route: route, deadline: stream.pointee.deadline, metadata: stream.pointee.head.metadata, connection: self,
      stream: stream)
    stream.pointee.streaming = call
    return call
  }

  func streamDataReceived(_ stream: Stream, _ streaming: RPCServerStream, _ bytes: UnsafeRawBufferPointer) {
    session.consumeConnection(bytes.count)
    do throws(MessageDeframer.Fault) {
      try streaming.receive(bytes)
    } catch {
      streaming.abort(error)
      return
    }
    guard !holdsTooManyRequests else {
      streaming.abort(.resourceExhausted, "the connection has too many messages that wait to be read")
      return
    }
    ready.add(stream)
  }

  func giveWindowBack(_ count: Int, on stream: Stream) {
    giveWindowBack(count, ofStream: stream.pointee.id)
  }

  /// From nghttp2, when it has room for DATA.
  func readMessages(
    _ stream: Stream, to buffer: UnsafeMutablePointer<UInt8>, capacity: Int
  ) -> RPCServerStream.Output {
    guard let streaming = stream.pointee.streaming else { preconditionFailure("a stream's body is a stream's") }
    let output = streaming.write(to: buffer, capacity: capacity)
    switch output {
    case .bytes(let count):
      stream.pointee.since = loop.now
      if count == capacity { punish(conduct.windowCutsData(to: capacity, at: loop.now)) }
    case .last(_, .success(let metadata)): submitTrailers(of: stream, metadata)
    case .last(_, .failure(let error)): submitTrailers(of: stream, error)
    case .deferred: break
    }
    return output
  }
}
