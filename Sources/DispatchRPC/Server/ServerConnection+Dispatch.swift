// From whole requests to running handlers: a connection's ready list.

extension ServerConnection {
  func becomeReady(_ stream: Stream) {
    stream.pointee.enter(.ready, at: shard.now)
    enqueueReady(stream)
  }

  /// To be looked after at the end of the read.
  func enqueueReady(_ stream: Stream) {
    guard !isInReadyList(stream) else { return }
    if let lastReady { lastReady.pointee.nextReady = stream } else { firstReady = stream }
    lastReady = stream
  }

  func isInReadyList(_ stream: Stream) -> Bool {
    stream.pointee.nextReady != nil || lastReady == stream
  }

  /// After the read, so that handlers never run inside nghttp2, and a request that was reset at once never runs at all.
  /// What finds no room is taken up as answers leave.
  func dispatchReady() {
    while let stream = firstReady, hasRoomForAnswers, !hasInflatedEnough {
      firstReady = stream.pointee.nextReady
      if firstReady == nil { lastReady = nil }
      stream.pointee.nextReady = nil
      if stream.pointee.isClosed {
        server.streams.put(stream)
      } else if stream.pointee.phase == .ready {
        dispatch(stream)
      } else {
        stream.pointee.streaming?.deliverMessages()
      }
    }
  }

  var hasRoomForAnswers: Bool {
    bufferedResponseBytes <= server.configuration.maxBufferedResponseBytesPerConnection
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

  /// Otherwise it is refused already.
  func isTaken(_ stream: Stream, to route: RPCRouter.Route) -> Bool {
    guard route.isEssential || server.takesCall() else {
      refuseForOverload(stream)
      return false
    }
    return true
  }

  private func begin(_ stream: Stream, _ call: RPCServerContext) {
    stream.pointee.call = call
    if !server.configuration.handlersAdmitCalls { callAdmitted() }
    call.messageWasCompressed = stream.pointee.request.isCompressed
    dropMetadata(stream)
    stream.pointee.enter(.running, at: shard.now)
    shard.needsWakeUpEnd()
  }

  /// Nothing that a handler can call closes the stream before it returns: closing happens in nghttp2 or at a wake-up's end.
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
