/// An event of a streaming call. The handler gets them on the call's event loop, one after the other.
public enum RPCServerStreamEvent {
  /// A message that the handler requested with `request`; the bytes are valid until the handler returns.
  case message(UnsafeRawBufferPointer)
  /// The client has sent all it will. Once, after the last message.
  case end
  /// `isWritable` is true again.
  case writable
}

/// One running call with several messages in at least one direction. End it exactly once with `finish`, `respond` or
/// `fail`. All of it may be called from any thread; what several threads send arrives in no particular order.
///
/// Nothing is lost by being slow: the client may send no more than the stream's window beyond the requested messages,
/// and a handler that waits while `isWritable` is false has little in memory that the client has not taken. `onCancel`
/// reports a cancellation, as for unary calls; no event follows it.
public final class RPCServerStream: RPCServerContext, @unchecked Sendable {
  // Sendable because: `quota` is atomic, the rest is touched only on the event loop.

  public typealias EventHandler = @Sendable (RPCServerStream, RPCServerStreamEvent) -> Void

  /// Handed over in one go, so that a stream of tiny messages does not hold up the others.
  private static let messagesPerTurn = 128

  /// The trailing metadata of a success, or the failure.
  typealias Ending = Result<Metadata, RPCError>

  let quota: SendQuota
  /// A client-streaming call has one answer.
  let hasOneAnswer: Bool

  /// On the event loop only, as all below. `nil` before the handler has begun and after the call has ended.
  private(set) var events: EventHandler?
  private var inbox = MessageInbox()
  var outbox = MessageOutbox()
  var ending: Ending?
  var answers = 0
  var hasSentHead = false
  var isBodyDeferred = false
  private var isDelivering = false
  private var leavingHandler: (@Sendable () -> Void)?
  var writableIsDue = false
  /// The bytes in `inbox`, as they count for the connection.
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
    onLoop { $0.deliverMessages(more: count) }
  }

  /// False while so much waits for the client that a producer should wait for `.writable`.
  public var isWritable: Bool { quota.isWritable }

  /// `body` runs once on the event loop when the connection takes no new calls any more: at its age, at the end of the
  /// client's certificate, and when the server drains. At its grace's end the connection is cut, so a call that has no
  /// end of its own should end with a status, and its client begins it again on another connection. A second `body`
  /// replaces the first.
  public func onConnectionLeaving(_ body: @escaping @Sendable () -> Void) {
    onLoop { stream in
      guard stream.stream != nil else { return }
      stream.leavingHandler = body
      if stream.connection.life.isRefusing { stream.connectionIsLeaving() }
    }
  }

  /// Sends the headers at once, with this metadata; without this call the first message takes them along. Does nothing
  /// once they are sent. Metadata that does not fit into a header list of 8 KiB is left out.
  public func sendInitialMetadata(_ metadata: Metadata) {
    onLoop { $0.submitHead(metadata) }
  }

  /// A client that has too much to take already (`maxBufferedResponseBytesPerStream`) is cut off: it gets no more than
  /// the message that is on its way, and RESOURCE_EXHAUSTED.
  public func send(_ message: [UInt8]) {
    guard !loadMarks().contains(.answered) else { return }
    guard quota.reserve(MessageOutbox.cost(of: message)) else {
      onLoop { $0.abort(.resourceExhausted, "the client does not take the messages") }
      return
    }
    onLoop { $0.append(message) }
  }

  /// Ends the call well, after what was sent.
  public func finish(trailingMetadata: Metadata = Metadata()) {
    end(.success(trailingMetadata))
  }

  /// One message and the end: what a client-streaming call takes.
  public func respond(_ message: [UInt8], trailingMetadata: Metadata = Metadata()) {
    send(message)
    finish(trailingMetadata: trailingMetadata)
  }

  /// Ends the call after what was sent. An error with code OK is a mistake in the handler; the client receives UNKNOWN.
  public func fail(_ error: RPCError) {
    end(.failure(error))
  }

  private func end(_ ending: Ending) {
    let before = mark([.answered, .handled])
    noteHandled(before)
    guard !before.contains(.answered) else { return }
    onLoop { $0.finish(ending) }
  }

  private func onLoop(_ work: @escaping @Sendable (RPCServerStream) -> Void) {
    if loop.isCurrent {
      work(self)
    } else {
      loop.execute { work(self) }
    }
  }
}

// MARK: - Messages from the client, on the event loop only

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

  /// The handler runs outside of nghttp2's callbacks.
  func connectionIsLeaving() {
    guard let leavingHandler else { return }
    self.leavingHandler = nil
    loop.execute { leavingHandler() }
  }

  func clientEnded() {
    inbox.end()
  }

  /// Nothing more is read: the call has ended.
  func discardUnread() {
    events = nil
    leavingHandler = nil
    inbox.discard()
    settle()
  }

  /// Outside of nghttp2's callbacks.
  func deliverMessages(more count: Int) {
    guard stream != nil else { return }
    inbox.request(count)
    deliverMessages()
  }

  /// Runs outside of nghttp2's callbacks. Messages that a handler requests while it handles one are delivered
  /// afterwards.
  func deliverMessages() {
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    for _ in 0..<Self.messagesPerTurn {
      guard let events, stream != nil else { return }
      guard !connection.inflation.isUsedUp else { break }
      loop.needsRoundEnd()
      switch nextStep() {
      case .message: deliverMessage(to: events)
      case .end: events(self, .end)
      case .truncated: abort(.internalError, "the last message ends early")
      case .nothing: return
      }
    }
    loop.execute { self.deliverMessages() }
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
    stream?.pointee.observed.receivedMessage()
    settle()
    guard !message.isCompressed || inflate(&message) else { return }
    messageWasCompressed = message.isCompressed
    message.message.withUnsafeBytes { events(self, .message($0)) }
    inbox.reuse(message)
  }

  /// False when it has ended the call.
  private func inflate(_ message: inout MessageDeframer) -> Bool {
    guard let stream, stream.pointee.head.encoding == .gzip else {
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
