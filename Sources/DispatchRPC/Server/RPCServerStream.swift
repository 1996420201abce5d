// A streaming call as its handler sees it: messages in as they are asked for, messages out as they are taken.

/// What a streaming call brings its handler, on the call's shard and one after the other.
public enum RPCServerStreamEvent {
  /// One of those asked for with `request`; the bytes are valid until the handler returns.
  case message(UnsafeRawBufferPointer)
  /// The client has sent all it will. Once, after the last message.
  case end
  /// `isWritable` is true again.
  case writable
}

/// One running call with several messages in at least one direction. End it exactly once with `finish`, `respond` or `fail`.
/// All of it may be called from any thread; what several threads send arrives in no particular order.
///
/// Nothing is lost by being slow: the client may send no more than the stream's window beyond what was asked for, and a
/// handler that waits while `isWritable` is false has little in memory that the client has not taken. Its cancellation is
/// told as that of unary calls, by `onCancel`; no event follows it.
public final class RPCServerStream: RPCServerContext, @unchecked Sendable {
  // Sendable because: `quota` is atomic, the rest is touched only on the shard.

  public typealias EventHandler = @Sendable (RPCServerStream, RPCServerStreamEvent) -> Void

  /// Handed over in one go, so that a stream of tiny messages does not hold up the others.
  private static let messagesPerTurn = 128

  enum Ending {
    case success(Metadata)
    case failure(RPCError)
  }

  private let quota: SendQuota
  /// A client-streaming call has one answer.
  private let hasOneAnswer: Bool

  /// On the shard only, as all below. `nil` before the handler has begun and after the call has ended.
  private var events: EventHandler?
  private var inbox = MessageInbox()
  private var outbox = MessageOutbox()
  private var ending: Ending?
  private var answers = 0
  private(set) var hasSentHead = false
  /// Known with the head.
  private var compression = RPCCompression.identity
  private var isBodyDeferred = false
  private var isDelivering = false
  private var writableIsDue = false
  /// Of `inbox`, as they count for the connection.
  private var countedBytes = 0

  init(
    route: RPCRouter.Route, deadline: MonotonicTime?, metadata: EncodedMetadata, connection: ServerConnection,
    stream: UnsafeMutablePointer<ServerStream>
  ) {
    quota = SendQuota(limit: connection.server.configuration.maxBufferedResponseBytesPerStream)
    hasOneAnswer = route.handler.hasOneAnswer
    super.init(
      route: route, deadline: deadline, metadata: metadata, connection: connection, stream: stream,
      isStreaming: true)
  }

  /// Asks for that many messages more; `.max` for all. None comes unasked.
  public func request(_ count: Int) {
    onShard { $0.deliverMessages(more: count) }
  }

  /// False while so much waits for the client that a producer should wait for `.writable`.
  public var isWritable: Bool { quota.isWritable }

  /// The headers go out at once, with this; otherwise the first message takes them along. Too late once they are out. What
  /// does not fit into a header list of 8 KiB is left out.
  ///
  /// - Parameter compression: of the messages that follow, where the client reads it; otherwise they go out as they are.
  public func sendInitialMetadata(_ metadata: Metadata, compression: RPCCompression = .identity) {
    onShard { $0.submitHead(metadata, compression) }
  }

  /// A client that has too much to take already (`maxBufferedResponseBytesPerStream`) is cut off: it gets no more than the
  /// message that is on its way, and RESOURCE_EXHAUSTED.
  ///
  /// - Parameter compressed: false for a message that is sent as it is, whatever was said for the stream.
  public func send(_ message: [UInt8], compressed: Bool = true) {
    guard !loadMarks().contains(.answered) else { return }
    guard quota.reserve(MessageOutbox.cost(of: message)) else {
      onShard { $0.abort(.resourceExhausted, "the client does not take the messages") }
      return
    }
    onShard { $0.append(message, compressed: compressed) }
  }

  /// Ends the call well, after what was sent.
  public func finish(trailingMetadata: Metadata = Metadata()) {
    end(.success(trailingMetadata))
  }

  /// One message and the end: what a client-streaming call takes.
  public func respond(_ message: [UInt8], trailingMetadata: Metadata = Metadata(), compressed: Bool = true) {
    send(message, compressed: compressed)
    finish(trailingMetadata: trailingMetadata)
  }

  /// Ends the call after what was sent. An error with code OK is a mistake in the handler; the client is told UNKNOWN.
  public func fail(_ error: RPCError) {
    end(.failure(error))
  }

  private func end(_ ending: Ending) {
    let before = mark([.answered, .handled])
    noteHandled(before)
    guard !before.contains(.answered) else { return }
    onShard { $0.finish(ending) }
  }

  private func onShard(_ work: @escaping @Sendable (RPCServerStream) -> Void) {
    if shard.isCurrent {
      work(self)
    } else {
      shard.execute { work(self) }
    }
  }
}

// MARK: - Messages from the client, on the shard only

extension RPCServerStream {
  /// The handler has begun.
  func begin(_ events: @escaping EventHandler) {
    guard stream != nil else { return }
    self.events = events
  }

  func receive(_ bytes: UnsafeRawBufferPointer) throws(MessageDeframer.Fault) {
    try inbox.receive(bytes, limit: connection.server.configuration.maxRequestMessageBytes)
    settle()
  }

  func clientEnded() {
    inbox.end()
  }

  /// Nothing more is read: the call has ended.
  func discardUnread() {
    events = nil
    inbox.discard()
    settle()
  }

  /// Outside of nghttp2's callbacks.
  func deliverMessages(more count: Int) {
    guard stream != nil else { return }
    inbox.request(count)
    deliverMessages()
  }

  /// Outside of nghttp2's callbacks. What a handler asks for while it handles a message is handed over afterwards.
  func deliverMessages() {
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    for _ in 0..<Self.messagesPerTurn {
      guard let events, stream != nil else { return }
      guard !connection.hasInflatedEnough else { break }
      shard.needsWakeUpEnd()
      switch nextStep() {
      case .message: deliverMessage(to: events)
      case .end: events(self, .end)
      case .truncated: abort(.internalError, "the last message ends early")
      case .nothing: return
      }
    }
    shard.execute { self.deliverMessages() }
  }

  private func nextStep() -> MessageInbox.Next {
    do throws(MessageDeframer.Fault) {
      let next = try inbox.next(limit: connection.server.configuration.maxRequestMessageBytes)
      settle()
      return next
    } catch {
      abort(error)
      return .nothing
    }
  }

  private func deliverMessage(to events: EventHandler) {
    var message = inbox.takeMessage()
    settle()
    guard !message.isCompressed || inflate(&message) else { return }
    messageWasCompressed = message.isCompressed
    message.message.withUnsafeBytes { events(self, .message($0)) }
    inbox.reuse(message)
  }

  /// False when it has ended the call.
  private func inflate(_ message: inout MessageDeframer) -> Bool {
    guard let stream, stream.pointee.head.compression == .gzip else {
      abort(.internalError, "a message is marked as compressed, but there is no grpc-encoding")
      return false
    }
    do throws(Gzip.Fault) {
      try connection.inflate(&message)
      return true
    } catch {
      abort(error)
      return false
    }
  }

  /// Gives the window back for what was taken, and counts what is held.
  private func settle() {
    let held = inbox.heldBytes
    connection.requestBytesChanged(by: held - countedBytes)
    countedBytes = held
    let taken = inbox.collectTaken()
    if taken > 0, let stream { connection.giveWindowBack(taken, on: stream) }
  }
}

// MARK: - Messages to the client, on the shard only

extension RPCServerStream {
  private func submitHead(_ metadata: Metadata, _ wanted: RPCCompression = .identity) {
    guard let stream, !hasSentHead else { return }
    hasSentHead = true
    compression = connection.accepted(wanted, by: stream)
    connection.submitHead(of: stream, metadata, compression, body: ServerCallbacks.readMessages)
    connection.scheduleWrite()
  }

  private func append(_ message: [UInt8], compressed: Bool) {
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
    let outgoing = OutgoingMessage(message, compressed ? compression : .identity, with: shard.gzip)
    outbox.append(outgoing)
    connection.responseBytesChanged(by: MessageOutbox.cost(of: outgoing))
    releaseQuota(message.count - outgoing.messageBytes)
    submitHead(Metadata())
    resumeBody()
  }

  /// The handler's end. What was sent before arrives before.
  private func finish(_ ending: Ending) {
    guard stream != nil else { return }
    if case .success = ending, hasOneAnswer, answers == 0 {
      conclude(
        .failure(RPCError(code: .internalError, message: "a client-streaming call has one answer; there is none")))
    } else {
      conclude(ending)
    }
  }

  /// The server's end, for a reason that is the client's or the handler's fault. What has not begun is not sent. An end of the
  /// handler's that is still on its way from another thread comes too late: it may rely on what is not sent.
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

  private func abort(_ fault: Gzip.Fault) {
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
    releaseQuota(count)
  }

  private func releaseQuota(_ count: Int) {
    guard count > 0, quota.release(count), !writableIsDue, events != nil else { return }
    writableIsDue = true
    shard.execute {
      self.writableIsDue = false
      if let events = self.events { events(self, .writable) }
    }
  }
}
