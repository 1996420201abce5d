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

/// A unary call that waits for its one answer. The first answer wins; one for a call that is gone does nothing.
public protocol IncomingCall: AnyObject, Sendable {
  associatedtype Shard: CallShard

  /// `/package.Service/Method`.
  var path: String { get }
  var shard: Shard { get }
  /// Nobody waits for the answer any more.
  var isCancelled: Bool { get }
  /// The first value of this name, in lower case. Looked for anew each time.
  func metadata(_ name: String) -> String?
  func respond(_ message: [UInt8])
  func fail(_ error: RPCError)
}

extension RPCServerCall: IncomingCall {
  public func respond(_ message: [UInt8]) {
    respond(message, initialMetadata: Metadata())
  }
}
