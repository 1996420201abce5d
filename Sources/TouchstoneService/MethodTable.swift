// Which handler serves which method: for the RPC server, or for whoever calls in the same process.

public import DispatchRPC
internal import TouchstoneCodec

/// The methods that a service serves.
public struct MethodTable: Sendable {
  /// Runs on the call's shard; the bytes are the request message, valid only until it returns.
  public typealias Handler = @Sendable (any IncomingCall, UnsafeRawBufferPointer) -> Void

  private var methods: [(path: String, handler: Handler)] = []

  mutating func add(_ path: String, _ handler: @escaping Handler) {
    methods.append((path, handler))
  }

  /// `/package.Service/Method`, each once.
  public var paths: [String] { methods.map(\.path) }

  /// For an RPC server.
  public var router: RPCRouter {
    var router = RPCRouter()
    for method in methods {
      let handler = method.handler
      router.register(method.path) { call, message in handler(call, message) }
    }
    return router
  }

  /// For a caller in the same process: what the RPC server does with a call, without its sockets. Call it on the call's
  /// shard, and `TouchstoneService.wakeUpEnded` after it.
  public func dispatch(_ call: some IncomingCall, _ message: UnsafeRawBufferPointer) {
    guard let method = methods.first(where: { $0.path == call.path }) else {
      return call.fail(RPCError(code: .unimplemented, message: "\(call.path) is not served"))
    }
    method.handler(call, message)
  }
}
