// From whole requests to running handlers: a connection's ready list.

extension ServerConnection {
  func becomeReady(_ stream: Stream) {
    stream.pointee.enter(.ready, at: loop.now)
    ready.add(stream)
  }

  /// After the read, so that handlers never run inside nghttp2, and a request that was reset at once never runs at all.
  /// Requests that find no room are taken up as answers leave.
  func dispatchReady() {
    while !ready.isEmpty, hasRoomForAnswers, !inflation.isUsedUp, let stream = ready.removeFirst() {
      if stream.pointee.isClosed {
        server.streams.put(stream)
      } else if stream.pointee.phase == .ready {
        dispatch(stream)
      } else {
        stream.pointee.streaming?.deliverMessages()
      }
    }
  }

  private func dispatch(_ stream: Stream) {
    guard let index = stream.pointee.head.route else { preconditionFailure("a refused stream never becomes ready") }
    let route = routes[index]
    switch route.handler {
    case .unary(let handler):
      guard isTaken(stream, to: route), inflateRequest(stream) else { return }
      let call = RPCServerCall(
        route: route, deadline: stream.pointee.deadline, metadata: stream.pointee.head.metadata, connection: self,
        stream: stream)
      begin(stream, call)
      handOver(stream) { handler(call, $0) }
    case .serverStreaming(let handler):
      guard isTaken(stream, to: route), inflateRequest(stream) else { return }
      let call = openStreaming(stream, route)
      begin(stream, call)
      handOver(stream) { call.begin(handler(call, $0)) }
    case .clientStreaming(let handler), .bidirectional(let handler):
      guard let call = stream.pointee.streaming else { preconditionFailure("a stream is opened by its headers") }
      begin(stream, call)
      call.begin(handler(call))
      call.deliverMessages()
    }
  }

  /// False when the call is refused already.
  func isTaken(_ stream: Stream, to route: RPCRouter.Route) -> Bool {
    guard route.isEssential || server.takesCall(isConnectionsOnlyCall: streams.count == 1) else {
      refuseForOverload(stream)
      return false
    }
    return true
  }

  private func begin(_ stream: Stream, _ call: RPCServerContext) {
    stream.pointee.call = call
    if !server.configuration.handlersAdmitCalls { callAdmitted(of: "") }
    call.messageWasCompressed = stream.pointee.request.isCompressed
    dropMetadata(stream)
    stream.pointee.enter(.running, at: loop.now)
    loop.needsRoundEnd()
  }

  /// A handler cannot close the stream before it returns: streams are closed in nghttp2's callbacks or at a round's
  /// end.
  @inline(__always)
  private func handOver(_ stream: Stream, to handler: (UnsafeRawBufferPointer) -> Void) {
    var request = MessageDeframer()
    swap(&request, &stream.pointee.request)
    requestBytesChanged(by: -request.message.count)
    request.message.withUnsafeBytes(handler)
    request.reset()
    swap(&request, &stream.pointee.request)
  }
}
