// One client's connection: its streams from their first header to their last byte, and its own end.

import CNGHTTP2
import Synchronization

/// Confined to its shard.
final class ServerConnection: HTTP2Connection {
  typealias Stream = UnsafeMutablePointer<ServerStream>

  enum TimerKind {
    static let housekeeping: UInt32 = 1
    static let drainWarning: UInt32 = 2
    static let streamDeadline: UInt32 = 3
    static let graceEnd: UInt32 = 4
  }

  /// A client that never acknowledges the warning is not waited for.
  private static let drainWarningTime = Duration.seconds(1)
  /// Ours among the PINGs.
  static let drainPing: UInt64 = 0x746F_7563_6864_726E
  /// Given back at once, so that no stream holds up another; memory is bounded by the limits on what is buffered.
  private static let connectionWindowBytes: Int32 = 4 << 20

  let server: ServerShard
  let peer: SocketAddress

  private var abuse: AbuseMonitor
  private var drainState = DrainStateMachine()
  private let acceptedAt: MonotonicTime
  private var hasHandshake = false
  private var idleSince: MonotonicTime
  /// Metadata of the calls that have not been handed over.
  private var bufferedMetadataBytes = 0
  /// Requests received in part, or whole and waiting.
  private(set) var bufferedRequestBytes = 0
  /// Answers that the client has not taken.
  private(set) var bufferedResponseBytes = 0
  private var firstStream: Stream?
  /// The one whose headers are coming in; the blocks of two streams never mix (RFC 9113 §4.3).
  private var openingStream: Stream?
  private var firstReady: Stream?
  private var lastReady: Stream?

  init(server: ServerShard, transport: any Transport, peer: SocketAddress) {
    self.server = server
    self.peer = peer
    let now = server.shard.now
    acceptedAt = now
    idleSince = now
    abuse = AbuseMonitor(limits: server.configuration.abuseLimits, now: now)
    super.init(
      shard: server.shard, transport: transport, session: .server(callbacks: ServerCallbacks.table))
  }

  /// False when the connection cannot be served.
  func start() -> Bool {
    guard register(for: .readable) else { return false }
    session.submitSettings(
      [
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
          value: UInt32(clamping: server.configuration.maxConcurrentStreams)),
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
          value: UInt32(clamping: server.configuration.streamWindowBytes)),
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
          value: UInt32(clamping: server.configuration.maxHeaderListBytes)),
        // Spares nghttp2 the dependency tree that nobody uses any more (RFC 9218 §2.1).
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1),
      ],
      connectionWindowBytes: Self.connectionWindowBytes)
    setTimer(TimerKind.housekeeping, after: housekeepingInterval)
    scheduleWrite()
    return true
  }

  func drain() {
    guard drainState.drain() == .warn else { return }
    session.submitShutdownNotice()
    session.submitPing(Self.drainPing)
    setTimer(TimerKind.drainWarning, after: Self.drainWarningTime)
    scheduleWrite()
  }

  /// However many calls still run then.
  func close(after grace: Duration) {
    setTimer(TimerKind.graceEnd, after: grace)
  }

  override func didReceive() {
    dispatchReady()
  }

  override func didWrite() {
    dispatchReady()
  }

  override func didClose(_ reason: String) {
    while let stream = firstStream {
      close(stream, .connectionLost)
    }
    dispatchReady()
    server.connectionClosed(self)
  }

  override func timerExpired(_ tag: TimerTag) {
    switch tag.kind {
    case TimerKind.housekeeping: keepHouse()
    case TimerKind.drainWarning: finishDrainWarning()
    case TimerKind.streamDeadline: deadlinePassed(stream: tag.streamID)
    case TimerKind.graceEnd: close("the server stopped")
    default: super.timerExpired(tag)
    }
  }
}

// MARK: - What the client does

extension ServerConnection {
  func streamOpened(_ id: Int32) {
    let stream = server.streams.take(id: id, now: shard.now)
    stream.pointee.next = firstStream
    firstStream?.pointee.previous = stream
    firstStream = stream
    openingStream = stream
    session.setUserData(stream, ofStream: id)
  }

  /// Those of trailers are passed over: a unary request's mean nothing to us.
  func headerReceived(_ id: Int32, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    guard let stream = openingStream, stream.pointee.id == id else { return }
    stream.pointee.head.add(name, value, limit: server.configuration.maxHeaderListBytes) { server.routes.find($0) }
  }

  func headersReceived(_ stream: Stream) {
    openingStream = nil
    stream.pointee.metadataBytes = stream.pointee.head.metadata.byteCount
    bufferedMetadataBytes += stream.pointee.metadataBytes
    if let refusal = stream.pointee.head.refusal() {
      refuse(stream, refusal)
    } else if bufferedMetadataBytes > server.configuration.maxBufferedMetadataBytesPerConnection {
      refuse(stream, .resourceExhausted, "the connection's unfinished requests have too much metadata")
    } else {
      setDeadline(stream)
      if let route = stream.pointee.head.route, server.routes[route].handler.takesStream {
        becomeReadyForMessages(stream, server.routes[route])
      }
    }
  }

  private func setDeadline(_ stream: Stream) {
    guard let timeout = stream.pointee.head.timeout else { return }
    let deadline = shard.now.advanced(by: .nanoseconds(Int64(clamping: timeout)))
    stream.pointee.deadline = deadline
    stream.pointee.timer = setStreamTimer(TimerKind.streamDeadline, stream: stream.pointee.id, at: deadline)
  }

  func dataReceived(_ stream: Stream, _ bytes: UnsafeRawBufferPointer) {
    if let streaming = stream.pointee.streaming, stream.pointee.phase != .answered {
      streamDataReceived(stream, streaming, bytes)
      return
    }
    session.consume(bytes.count, ofStream: stream.pointee.id)
    guard stream.pointee.phase == .receiving else { return }
    let before = stream.pointee.request.message.count
    do throws(MessageDeframer.Fault) {
      try stream.pointee.request.append(bytes, limit: server.configuration.maxRequestMessageBytes)
    } catch {
      refuse(stream, error)
      return
    }
    requestBytesChanged(by: stream.pointee.request.message.count - before)
    if holdsTooManyRequests {
      refuse(stream, .resourceExhausted, "the connection has too many unfinished requests")
    }
  }

  /// One request of the largest size always fits.
  var holdsTooManyRequests: Bool {
    bufferedRequestBytes
      > max(server.configuration.maxBufferedRequestBytesPerConnection, server.configuration.maxRequestMessageBytes)
  }

  func requestBytesChanged(by count: Int) {
    bufferedRequestBytes += count
    server.requestBytesChanged(by: count)
  }

  /// The call has it now, or nobody wants it any more.
  private func dropMetadata(_ stream: Stream) {
    bufferedMetadataBytes -= stream.pointee.metadataBytes
    stream.pointee.metadataBytes = 0
    stream.pointee.head.dropMetadata()
  }

  /// What was received of a request that nobody will answer any more.
  private func dropRequest(_ stream: Stream) {
    dropMetadata(stream)
    requestBytesChanged(by: -stream.pointee.request.message.count)
    stream.pointee.request.reset()
  }

  /// The client's side of the stream is complete.
  func requestEnded(_ stream: Stream) {
    stream.pointee.isRemoteDone = true
    if let streaming = stream.pointee.streaming {
      streaming.clientEnded()
      enqueueReady(stream)
    }
    guard stream.pointee.phase == .receiving else { return }
    switch stream.pointee.request.completeness {
    case .missing:
      refuse(stream, .internalError, "a unary call has one request message; there is none")
    case .truncated:
      refuse(stream, .internalError, "the request message ends early")
    case .complete where stream.pointee.request.isCompressed:
      refuseCompression(stream)
    case .complete:
      becomeReady(stream)
    }
  }

  /// The client reset a stream, `nil` if it had ended. One that was refused at once cost us as much as any other; only
  /// NO_ERROR after our answer is good manners (RFC 9113 §8.1).
  func resetReceived(_ stream: Stream?, code: UInt32) {
    stream?.pointee.isRemoteReset = true
    let isAnswered = stream?.pointee.isLocalDone ?? true
    if code != HTTP2ErrorCode.noError.rawValue || !isAnswered { record(.reset) }
  }

  func streamClosed(_ stream: Stream, code: UInt32) {
    let isOurReset = code != HTTP2ErrorCode.noError.rawValue && !stream.pointee.isRemoteReset
    if isOurReset && !stream.pointee.isLocalDone { record(.reset) }
    close(stream, .reset)
  }

  func settingsReceived() {
    hasHandshake = true
  }

  func pingAcknowledged(_ payload: UInt64) {
    if payload == Self.drainPing { finishDrainWarning() }
  }

  func record(_ event: AbuseMonitor.Event) {
    if abuse.record(event, at: shard.now) == .abusive { session.terminate(.enhanceYourCalm) }
  }
}

// MARK: - Dispatch

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

  /// After the read, so that handlers never run inside nghttp2, and a request that was reset at once never runs at all.
  /// What finds no room is taken up as answers leave.
  private func dispatchReady() {
    while let stream = firstReady, hasRoomForAnswers {
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
    let route = server.routes[index]
    switch route.handler {
    case .unary(let handler):
      guard isWithinRunningLimit(stream) else { return }
      let call = RPCServerCall(
        path: route.path, deadline: stream.pointee.deadline, metadata: stream.pointee.head.metadata, connection: self,
        stream: stream)
      begin(stream, call)
      handOver(stream) { handler(call, $0) }
    case .serverStreaming(let handler):
      guard isWithinRunningLimit(stream) else { return }
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

  func isWithinRunningLimit(_ stream: Stream) -> Bool {
    guard server.runningCalls.load(ordering: .relaxed) < server.configuration.maxRunningCallsPerShard else {
      refuse(stream, .unavailable, "the server is at its limit of running calls")
      return false
    }
    return true
  }

  private func begin(_ stream: Stream, _ call: RPCServerContext) {
    stream.pointee.call = call
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
    stream.pointee.request = request
  }
}

// MARK: - Answers

extension ServerConnection {
  /// The answer to a running call.
  func send(_ answer: RPCServerAnswer, on stream: Stream) {
    switch answer {
    case .message(let message, let initial, let trailing):
      guard message.count <= server.configuration.maxResponseMessageBytes else {
        sendStatus(.resourceExhausted, "the answer has \(message.count) bytes, more than allowed", on: stream)
        return
      }
      // Room at dispatch is not room now: all that ran at once may be answered at once.
      guard hasRoomForAnswers else {
        sendStatus(.resourceExhausted, "the client has too many answers to read first", on: stream)
        return
      }
      enterAnswered(stream)
      stream.pointee.response = OutgoingMessage(message)
      stream.pointee.trailingMetadata = trailing
      responseBytesChanged(by: message.count)
      submitHead(of: stream, initial, body: ServerCallbacks.readResponse)
    case .error(let error):
      let code = error.code == .ok ? .unknown : error.code
      sendStatus(code, error.message, metadata: error.metadata, on: stream)
    }
  }

  func responseBytesChanged(by count: Int) {
    bufferedResponseBytes += count
    server.responseBytesChanged(by: count)
  }

  func enterAnswered(_ stream: Stream) {
    stream.pointee.call = nil
    dropRequest(stream)
    stream.pointee.streaming?.discardUnread()
    stream.pointee.enter(.answered, at: shard.now)
    scheduleWrite()
  }

  func submitHead(of stream: Stream, _ initial: Metadata, body read: @escaping nghttp2_data_source_read_callback) {
    let body = nghttp2_data_provider(
      source: nghttp2_data_source(ptr: UnsafeMutableRawPointer(stream)), read_callback: read)
    if initial.isEmpty {
      session.submitResponse(
        stream: stream.pointee.id, ResponseFields.head, ResponseFields.headCount, body: body)
      return
    }
    shard.headerBlock.removeAll()
    ResponseFields.addHead(to: &shard.headerBlock)
    shard.headerBlock.add(initial, listLimitBytes: ResponseFields.listLimitBytes)
    shard.headerBlock.withFields { session.submitResponse(stream: stream.pointee.id, $0, $1, body: body) }
  }

  /// From nghttp2, when it has room for DATA. The number of bytes, and whether they were the last.
  func readResponse(
    _ stream: Stream, to buffer: UnsafeMutablePointer<UInt8>, capacity: Int
  ) -> (count: Int, isLast: Bool) {
    let count = stream.pointee.response.write(to: buffer, capacity: capacity)
    guard stream.pointee.response.remainingBytes == 0 else { return (count, false) }
    submitTrailers(of: stream, stream.pointee.trailingMetadata)
    return (count, true)
  }

  /// Of a success. Within nghttp2's callback for DATA, so that they come after it.
  func submitTrailers(of stream: Stream, _ metadata: Metadata) {
    stream.pointee.isLocalDone = true
    if metadata.isEmpty {
      session.submitTrailer(stream: stream.pointee.id, ResponseFields.okTrailer, 1)
    } else {
      shard.headerBlock.removeAll()
      shard.headerBlock.add("grpc-status", "0")
      shard.headerBlock.add(metadata, listLimitBytes: ResponseFields.listLimitBytes)
      shard.headerBlock.withFields { session.submitTrailer(stream: stream.pointee.id, $0, $1) }
    }
  }

  /// As above, of a failure.
  func submitTrailers(of stream: Stream, _ error: RPCError) {
    stream.pointee.isLocalDone = true
    shard.headerBlock.removeAll()
    addStatus(error.code == .ok ? .unknown : error.code, error.message)
    shard.headerBlock.add(error.metadata, listLimitBytes: ResponseFields.listLimitBytes)
    shard.headerBlock.withFields { session.submitTrailer(stream: stream.pointee.id, $0, $1) }
  }

  private func addStatus(_ code: RPCCode, _ message: String) {
    shard.headerBlock.add("grpc-status", String(code.rawValue))
    if !message.isEmpty {
      shard.headerBlock.add("grpc-message") { PercentEncoding.encode(message, into: &$0) }
    }
  }

  /// A response of trailers only.
  private func sendStatus(
    _ code: RPCCode, _ message: String, metadata: Metadata = Metadata(), acceptedEncodings: Bool = false,
    on stream: Stream
  ) {
    shard.headerBlock.removeAll()
    ResponseFields.addHead(to: &shard.headerBlock)
    addStatus(code, message)
    if acceptedEncodings { shard.headerBlock.add("grpc-accept-encoding", "identity") }
    shard.headerBlock.add(metadata, listLimitBytes: ResponseFields.listLimitBytes)
    submitHeadersOnly(stream)
  }

  /// Ends the stream with what the header block holds.
  private func submitHeadersOnly(_ stream: Stream) {
    enterAnswered(stream)
    stream.pointee.isLocalDone = true
    shard.headerBlock.withFields { session.submitResponse(stream: stream.pointee.id, $0, $1, body: nil) }
  }

  /// Our side of the stream is with the peer. What the client may still have to say is no longer wanted (RFC 9113 §8.1);
  /// nghttp2 would drop the response if it were reset any sooner.
  func responseSent(_ stream: Stream) {
    if !stream.pointee.isRemoteDone { session.submitReset(.noError, stream: stream.pointee.id) }
  }

  /// nghttp2 gave up on a header block of the response, so the client would wait in vain.
  func responseNotSent(_ stream: Stream) {
    stream.pointee.isLocalDone = true
    session.submitReset(.internalError, stream: stream.pointee.id)
  }
}

// MARK: - Refusals

extension ServerConnection {
  func refuse(_ stream: Stream, _ code: RPCCode, _ message: String) {
    sendStatus(code, message, on: stream)
  }

  private func refuse(_ stream: Stream, _ refusal: RequestHead.Refusal) {
    switch refusal {
    case .status(let code, let message):
      refuse(stream, code, message.rawValue)
    case .http(let refusal):
      shard.headerBlock.removeAll()
      switch refusal {
      case .methodNotAllowed:
        shard.headerBlock.add(":status", "405")
        shard.headerBlock.add("allow", "POST")
      case .unsupportedMediaType:
        shard.headerBlock.add(":status", "415")
      }
      submitHeadersOnly(stream)
    }
  }

  private func refuse(_ stream: Stream, _ fault: MessageDeframer.Fault) {
    switch fault {
    case .tooLarge(let bytes):
      let limit = server.configuration.maxRequestMessageBytes
      refuse(stream, .resourceExhausted, "the request has \(bytes) bytes; \(limit) are allowed")
    case .extraMessage:
      refuse(stream, .internalError, "a unary call has one request message; there are more")
    case .malformedFlag:
      refuse(stream, .internalError, "the message's compression flag is neither 0 nor 1")
    }
  }

  /// grpc/grpc doc/compression.md: UNIMPLEMENTED with what we do accept; a flag without an encoding is a broken client.
  private func refuseCompression(_ stream: Stream) {
    if stream.pointee.head.hasForeignEncoding {
      sendStatus(.unimplemented, "compressed requests are not read", acceptedEncodings: true, on: stream)
    } else {
      refuse(stream, .internalError, "a message is marked as compressed, but there is no grpc-encoding")
    }
  }
}

// MARK: - Time

extension ServerConnection {
  private var housekeepingInterval: Duration {
    min(server.configuration.housekeepingInterval, server.configuration.handshakeTimeout)
  }

  private func deadlinePassed(stream id: Int32) {
    guard let pointer = session.userData(ofStream: id) else { return }
    let stream = pointer.assumingMemoryBound(to: ServerStream.self)
    stream.pointee.timer = nil
    switch stream.pointee.phase {
    case .receiving, .ready:
      refuse(stream, .deadlineExceeded, "the deadline passed before the request was complete")
    case .running:
      guard let call = stream.pointee.call, call.expire(.deadline) else { return }
      if let streaming = stream.pointee.streaming {
        streaming.cut(.deadlineExceeded, "the deadline passed")
      } else {
        call.detach()
        sendStatus(.deadlineExceeded, "the deadline passed", on: stream)
      }
    case .answered:
      session.submitReset(.cancel, stream: id)
      scheduleWrite()
    }
  }

  private func finishDrainWarning() {
    guard drainState.warningSeen() == .refuseNewStreams else { return }
    cancelTimer(TimerKind.drainWarning)
    session.submitGoaway(.noError)
    scheduleWrite()
  }

  /// Looks after everything that may stall for ever.
  private func keepHouse() {
    let now = shard.now
    setTimer(TimerKind.housekeeping, after: housekeepingInterval)
    if !hasHandshake && acceptedAt.advanced(by: server.configuration.handshakeTimeout) <= now {
      close("no HTTP/2 preface in time")
    } else if let blockedSince, blockedSince.advanced(by: server.configuration.responseTimeout) <= now {
      close("the client does not read")
    } else if firstStream == nil && idleSince.advanced(by: server.configuration.idleTimeout) <= now {
      drain()
    } else {
      resetStalledStreams(at: now)
    }
  }

  private func resetStalledStreams(at now: MonotonicTime) {
    var current = firstStream
    while let stream = current {
      current = stream.pointee.next
      let limit: Duration
      switch stream.pointee.phase {
      case .receiving: limit = server.configuration.requestTimeout
      case .answered: limit = server.configuration.responseTimeout
      case .ready, .running: continue
      }
      if stream.pointee.since.advanced(by: limit) <= now {
        session.submitReset(.cancel, stream: stream.pointee.id)
        scheduleWrite()
      }
    }
  }
}

// MARK: - The end of a stream

extension ServerConnection {
  /// nghttp2 no longer knows it.
  private func close(_ stream: Stream, _ reason: RPCCancellation) {
    if let call = stream.pointee.call {
      call.cancel(reason)
      call.detach()
      stream.pointee.call = nil
    }
    if let timer = stream.pointee.timer { shard.cancelTimer(timer) }
    responseBytesChanged(by: -stream.pointee.response.messageBytes)
    stream.pointee.streaming?.streamClosed()
    dropRequest(stream)
    unlink(stream)
    if openingStream == stream { openingStream = nil }
    if isInReadyList(stream) {
      stream.pointee.isClosed = true
    } else {
      server.streams.put(stream)
    }
  }

  private func isInReadyList(_ stream: Stream) -> Bool {
    stream.pointee.nextReady != nil || lastReady == stream
  }

  private func unlink(_ stream: Stream) {
    if let previous = stream.pointee.previous {
      previous.pointee.next = stream.pointee.next
    } else {
      firstStream = stream.pointee.next
    }
    stream.pointee.next?.pointee.previous = stream.pointee.previous
    stream.pointee.next = nil
    stream.pointee.previous = nil
    if firstStream == nil { idleSince = shard.now }
  }
}
