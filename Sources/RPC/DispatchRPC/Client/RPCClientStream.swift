/// An event of a call. The caller gets them on the connection's event loop, one after the other.
public enum RPCClientStreamEvent {
  /// The server's initial metadata; absent if the server answers with nothing but a status.
  case initialMetadata(Metadata)
  /// One of those asked for with `request`; the bytes are valid until the handler returns.
  case message(UnsafeRawBufferPointer)
  /// `isWritable` is true again.
  case writable
  /// Once, as the last: the status OK with its trailing metadata, or why not. A status of the server's comes after all
  /// of its messages, so only once these were asked for; a failure on our side comes at once and drops what waits.
  case end(Result<Metadata, RPCError>)
}

/// One running call on a client connection. All of it may be called from any thread; what several threads send leaves
/// in no particular order.
///
/// Nothing is lost by being slow: the server may send no more than the stream's window beyond the requested messages,
/// and a producer that waits while `isWritable` is false has little in memory that the server has not taken.
public final class RPCClientStream: @unchecked Sendable {
  // Sendable because: `quota` is atomic, the other constants are constant, the rest is touched only on the loop.

  public typealias EventHandler = @Sendable (RPCClientStream, RPCClientStreamEvent) -> Void

  /// Handed over in one go, so that a stream of tiny messages does not hold up the others.
  private static let messagesPerTurn = 128

  private enum State {
    case running
    /// The result is delivered once all that came before is read.
    case serverEnded(Result<Metadata, RPCError>)
    /// The error is delivered next.
    case failed(RPCError)
    case over
  }

  let loop: EventLoop
  private let maxMessageBytes: Int
  let quota: SendQuota

  /// On the loop only, as all below. `nil` once the end was delivered.
  private(set) var events: EventHandler?
  private var state = State.running
  /// `nil` before the call has begun, and once nghttp2 is done with it.
  private(set) var connection: ClientConnection?
  private(set) var streamID: Int32?
  private var inbox = MessageInbox()
  /// The connection's, from the beginning of the call.
  private var unread: UnreadBudget?
  /// The bytes that `unread` last counted for this stream.
  private(set) var unreadBytes = 0
  var outbox = MessageOutbox()
  private var initialMetadata: EncodedMetadata?
  /// The sizes of the messages so far. Use it on the event loop only; in the event `.end` it is the call's.
  public internal(set) var messageBytes = RPCMessageBytes()
  var isSendingDone = false
  var isBodyDeferred = false
  private var isDelivering = false
  private var deliveryIsDue = false
  var writableIsDue = false

  init(loop: EventLoop, configuration: RPCClientConfiguration, events: @escaping EventHandler) {
    self.loop = loop
    self.events = events
    maxMessageBytes = configuration.maxResponseMessageBytes
    quota = SendQuota(limit: configuration.maxBufferedRequestBytesPerStream)
  }

  deinit {
    guard unreadBytes > 0, let unread, let streamID else { return }
    let count = unreadBytes
    LoopConfined(unread, on: loop).execute { budget in
      budget.change(by: -count)
      budget.forget(streamID)
    }
  }

  /// Asks for that many messages more; `.max` for all. None comes unasked.
  public func request(_ count: Int) {
    onLoop { stream in
      stream.inbox.request(count)
      stream.deliverEvents()
    }
  }

  /// False while so much waits for the server that a producer should wait for `.writable`.
  public var isWritable: Bool { quota.isWritable }

  /// From here on it is false, counted as by `cost`.
  public static let highWaterBytes = SendQuota.highWaterBytes

  /// The bytes that a message counts for while it waits.
  public static func cost(of message: [UInt8]) -> Int { MessageOutbox.cost(of: message) }

  /// Does nothing after `finishSending`, and after the call's end. If too much waits already
  /// (`maxBufferedRequestBytesPerStream`), the call fails with RESOURCE_EXHAUSTED.
  public func send(_ message: [UInt8]) {
    let isAccepted = quota.reserve(MessageOutbox.cost(of: message))
    onLoop { stream in
      if isAccepted {
        stream.append(message)
      } else {
        stream.abort(RPCError(code: .resourceExhausted, message: "the server does not take the messages"))
      }
    }
  }

  /// No more will be sent; the answers still come.
  public func finishSending() {
    onLoop { stream in
      stream.isSendingDone = true
      stream.resumeBody()
    }
  }

  /// Fails the call with CANCELLED, and resets its stream if the server has it. Does nothing after the call's end.
  public func cancel() {
    onLoop { $0.abort(.cancelled) }
  }

  private func onLoop(_ work: @escaping @Sendable (RPCClientStream) -> Void) {
    if loop.isCurrent {
      work(self)
    } else {
      loop.execute { work(self) }
    }
  }
}

// MARK: - The call, on the loop only

extension RPCClientStream {
  /// nghttp2 may still bring something.
  var isRunning: Bool {
    if case .running = state { true } else { false }
  }

  func attach(_ connection: ClientConnection) {
    self.connection = connection
    unread = connection.unread
  }

  func hasStarted(_ id: Int32) {
    streamID = id
  }

  private func abort(_ error: RPCError) {
    switch state {
    case .running:
      // It tells the server, and calls `fail`.
      if let streamID { connection?.fail(stream: streamID, error) }
    case .serverEnded:
      fail(error)
    case .failed, .over:
      break
    }
  }

  /// Ends the call for a reason on our side of the wire.
  func fail(_ error: RPCError) {
    switch state {
    case .running, .serverEnded: state = .failed(error)
    case .failed, .over: return
    }
    inbox.discard()
    noteUnread()
    detach()
  }

  /// The stream is closed; what it brought is still to be read.
  func serverEnded(_ outcome: Result<Metadata, RPCError>) {
    state = .serverEnded(outcome)
    inbox.end()
    if unreadBytes > 0, let streamID { unread?.hasEnded(self, id: streamID) }
    detach()
  }

  private func detach() {
    connection = nil
    release(outbox.heldBytes)
    outbox = MessageOutbox()
    deliverLater()
  }
}

// MARK: - Events, on the loop only

extension RPCClientStream {
  private enum Step {
    case initialMetadata(EncodedMetadata)
    case message
    case end(Result<Metadata, RPCError>)
    case nothing
  }

  func headReceived(_ metadata: EncodedMetadata) {
    initialMetadata = metadata
    deliverLater()
  }

  func receive(_ bytes: UnsafeRawBufferPointer) {
    do throws(MessageDeframer.Fault) {
      try inbox.receive(bytes, limit: maxMessageBytes)
      noteUnread()
    } catch {
      abort(ClientConnection.error(error))
      return
    }
    giveWindowBack()
    deliverLater()
  }

  /// Outside of nghttp2's callbacks.
  private func deliverLater() {
    guard !deliveryIsDue else { return }
    deliveryIsDue = true
    loop.execute {
      self.deliveryIsDue = false
      self.deliverEvents()
    }
  }

  /// Messages that a handler requests while it handles an event are handed over afterwards.
  private func deliverEvents() {
    guard !isDelivering else { return }
    isDelivering = true
    defer { isDelivering = false }
    for _ in 0..<Self.messagesPerTurn {
      guard let events else { return }
      switch nextStep() {
      case .initialMetadata(let metadata):
        events(self, .initialMetadata(metadata.decoded()))
      case .message:
        deliverMessage(to: events)
      case .end(let outcome):
        state = .over
        self.events = nil
        events(self, .end(outcome))
      case .nothing:
        return
      }
    }
    deliverLater()
  }

  private func nextStep() -> Step {
    if case .failed(let error) = state { return .end(.failure(error)) }
    if let metadata = initialMetadata {
      initialMetadata = nil
      return .initialMetadata(metadata)
    }
    switch nextOfInbox() {
    case .message: return .message
    case .end: return end { .success($0) }
    case .truncated: return end { _ in .failure(.truncated) }
    case .nothing: return .nothing
    }
  }

  /// - Parameter success: turns a success of the server into the call's result.
  private func end(_ success: (Metadata) -> Result<Metadata, RPCError>) -> Step {
    guard case .serverEnded(let outcome) = state else { return .nothing }
    return .end(outcome.flatMap(success))
  }

  private func nextOfInbox() -> MessageInbox.Next {
    do throws(MessageDeframer.Fault) {
      let next = try inbox.next(limit: maxMessageBytes)
      noteUnread()
      giveWindowBack()
      return next
    } catch {
      abort(ClientConnection.error(error))
      return .nothing
    }
  }

  private func deliverMessage(to events: EventHandler) {
    let message = inbox.takeMessage()
    noteUnread()
    messageBytes.received += message.message.count
    guard !message.isCompressed else { return abort(.compressedUnasked) }
    message.message.withUnsafeBytes { events(self, .message($0)) }
    inbox.reuse(message)
  }

  private func noteUnread() {
    let held = inbox.heldBytes
    unread?.change(by: held - unreadBytes)
    unreadBytes = held
    if held == 0, let streamID { unread?.forget(streamID) }
  }

  private func giveWindowBack() {
    let taken = inbox.collectTaken()
    guard taken > 0, let connection, let streamID else { return }
    connection.giveWindowBack(taken, ofStream: streamID)
  }
}

extension RPCError {
  fileprivate static let truncated = RPCError(code: .internalError, message: "the last message ends early")
}
