// One call as the handlers see it: of the RPC server, or of a simulation in the same process.

public import DispatchRPC

/// Where calls run, one after the other: each shard works for itself.
public protocol CallShard: Sendable {
  /// From 0, below the service's `shardCount`.
  var index: Int { get }
  /// True where the asker runs on this shard right now.
  var isCurrent: Bool { get }
  /// From any thread: runs soon on the shard, in the order given.
  func execute(_ work: @escaping @Sendable () -> Void)
}

extension RPCShard: CallShard {}

/// What a call of any kind says of itself, and how it is refused.
public protocol IncomingContext: AnyObject, Sendable {
  associatedtype Shard: CallShard

  /// `/package.Service/Method`.
  var path: String { get }
  var shard: Shard { get }
  /// Who is at the other end, as far as the transport knows.
  var peer: RPCPeer { get }
  /// Whatever is to be kept with the connection; gone with it. On the shard only.
  var connectionNote: (any AnyObject & Sendable)? { get set }
  /// Nobody waits for the answer any more.
  var isCancelled: Bool { get }
  /// The first value of this name, in lower case. Looked for anew each time.
  func metadata(_ name: String) -> String?
  /// Tells the transport that the caller is known and may call the method. On the shard only.
  func admitted()
  /// Of a stream: after what was sent. For a call that is gone it does nothing.
  func fail(_ error: RPCError)
}

extension IncomingContext {
  /// A call without a connection keeps nothing.
  public var connectionNote: (any AnyObject & Sendable)? {
    get { nil }
    set {}
  }

  public func admitted() {}
}

/// A unary call that waits for its one answer. The first answer wins; one for a call that is gone does nothing.
public protocol IncomingCall: IncomingContext {
  func respond(_ message: [UInt8])
}

extension RPCServerCall: IncomingCall {
  public func respond(_ message: [UInt8]) {
    respond(message, initialMetadata: Metadata())
  }
}

/// A call that takes several messages to its caller, and may bring several.
///
/// Its events come on its shard, one after the other, to whatever its handler returned; none comes after its end.
public protocol IncomingStream: IncomingContext {
  /// False while so much waits for the caller that a producer should wait for `.writable`.
  var isWritable: Bool { get }
  /// Tells the caller that the call was taken, long before there may be anything to send.
  func accept()
  /// Asks for so many messages more. None comes unasked.
  func request(_ count: Int)
  func send(_ message: [UInt8])
  /// Ends the call well, after what was sent.
  func finish()
  /// `body` runs once on the shard where the call ends without the handler's doing; at once if it already has.
  func onCancel(_ body: @escaping @Sendable () -> Void)
}

extension RPCServerStream: IncomingStream {
  public func accept() {
    sendInitialMetadata(Metadata())
  }

  public func send(_ message: [UInt8]) {
    send(message, compressed: true)
  }

  public func finish() {
    finish(trailingMetadata: Metadata())
  }

  public func onCancel(_ body: @escaping @Sendable () -> Void) {
    onCancel { (_: RPCCancellation) in body() }
  }
}
