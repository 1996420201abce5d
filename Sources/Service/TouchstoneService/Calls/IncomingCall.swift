// One call as the handlers see it. It comes from the RPC server, or from a simulation in the same process.

public import DispatchRPC

/// An event loop on which calls run, one after the other. Handlers that wait are tasks that prefer it.
public protocol CallLoop: TaskExecutor {
  /// From 0, below the service's `eventLoopCount`.
  var index: Int { get }
  /// True if the current thread runs this event loop.
  var isCurrent: Bool { get }
  /// Runs `work` soon on the event loop, in the order of the calls. May be called from any thread.
  func execute(_ work: @escaping @Sendable () -> Void)
}

extension CallLoop {
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

extension EventLoop: CallLoop {}

/// The data that every kind of call has, and how it is refused.
public protocol IncomingContext: AnyObject, Sendable {
  associatedtype Loop: CallLoop

  /// `/package.Service/Method`.
  var path: String { get }
  var loop: Loop { get }
  /// The peer, as far as the transport has identified it.
  var peer: RPCPeer { get }
  /// The caller, if this process has identified it already; `nil` for every call that came over a network.
  var identifiedCaller: IdentifiedCaller? { get }
  /// An object that lives as long as the connection. Used on the event loop only.
  var connectionNote: (any AnyObject & Sendable)? { get set }
  /// Whether the place that the call comes from may identify its caller (`CallerByPath`). False on an address before
  /// which proxies stand, because all their clients would be `local`. Read once for each connection.
  var isKnownByPlace: Bool { get }
  /// The caller no longer waits for the answer.
  var isCancelled: Bool { get }
  /// The first value of this name, which is in lower case. Each call searches again.
  func metadata(_ name: String) -> String?
  /// Tells the transport that the caller is known, by this name, and may call the method. Called on the event loop
  /// only.
  func admitted(of caller: String)
  /// The caller whose call was admitted first on the connection; `nil`: none yet. May be read on any thread.
  var admittedCaller: String? { get }
  /// Fails the call; a stream fails after everything that was sent. Does nothing if the call has ended.
  func fail(_ error: RPCError)
}

extension IncomingContext {
  public var identifiedCaller: IdentifiedCaller? { nil }
  public var isKnownByPlace: Bool { true }

  /// A call without a connection keeps nothing.
  public var connectionNote: (any AnyObject & Sendable)? {
    get { nil }
    set {}
  }

  public func admitted(of caller: String) {}
  public var admittedCaller: String? { nil }
}

/// A unary call that waits for its one answer. The first answer counts. An answer to a call that has ended does
/// nothing.
public protocol IncomingCall: IncomingContext {
  /// Tells the transport that the call only waits for its turn now, in a queue that is bounded and fair among callers:
  /// it takes no room from other calls until `stopWaiting`. Both may be called from any thread.
  func startWaiting()
  func stopWaiting()
  /// A transport without metadata leaves it out.
  func respond(_ message: [UInt8], initialMetadata: Metadata)
}

extension IncomingCall {
  /// A transport without a limit of running calls does nothing.
  public func startWaiting() {}
  public func stopWaiting() {}
}

extension RPCServerCall: IncomingCall {
  public func respond(_ message: [UInt8], initialMetadata: Metadata) {
    respond(message, initialMetadata: initialMetadata, trailingMetadata: Metadata())
  }
}

/// A call that sends several messages to its caller, and may receive several.
///
/// Its events come on its event loop, one after the other, to the function that its handler returned. None comes after
/// its end.
public protocol IncomingStream: IncomingContext {
  /// False while so many bytes wait for the caller that a producer should wait for `.writable`.
  var isWritable: Bool { get }
  /// Tells the caller that the call was accepted, long before the first message may be sent.
  func accept(_ initialMetadata: Metadata)
  /// Requests this many more messages. None comes without a request.
  func request(_ count: Int)
  func send(_ message: [UInt8])
  /// Ends the call with the status OK, after everything that was sent.
  func finish()
  /// Runs `body` once on the event loop if the call ends without the handler; at once if it has already ended.
  func onCancel(_ body: @escaping @Sendable (RPCCancellation) -> Void)
  /// Runs `body` once on the event loop when the caller's connection is about to end, and the call with it. A transport
  /// without connections does nothing.
  func onConnectionLeaving(_ body: @escaping @Sendable () -> Void)
}

extension RPCServerStream: IncomingStream {
  public func accept(_ initialMetadata: Metadata) {
    sendInitialMetadata(initialMetadata)
  }

  public func finish() {
    finish(trailingMetadata: Metadata())
  }
}
