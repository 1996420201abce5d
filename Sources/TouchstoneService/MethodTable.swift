// Which handler serves which method: for the RPC server, or for whoever calls in the same process.

public import DispatchRPC
internal import TouchstoneCodec

/// The methods that a service serves.
public struct MethodTable: Sendable {
  /// Runs on the call's shard; the bytes are the request message, valid only until it returns.
  public typealias Handler = @Sendable (any IncomingCall, UnsafeRawBufferPointer) -> Void
  /// Takes a stream's events, on its shard.
  public typealias StreamEvents = @Sendable (RPCServerStreamEvent) -> Void
  /// As `Handler`; what it returns takes the events after the request.
  public typealias ServerStreamingHandler =
    @Sendable (any IncomingStream, UnsafeRawBufferPointer) -> StreamEvents
  /// Runs before there is a message; each is to be asked for.
  public typealias BidirectionalHandler = @Sendable (any IncomingStream) -> StreamEvents

  private enum Kind {
    case unary(Handler)
    case serverStreaming(ServerStreamingHandler)
    case bidirectional(BidirectionalHandler)
  }

  private var methods: [(path: String, kind: Kind)] = []

  mutating func add(_ path: String, _ handler: @escaping Handler) {
    methods.append((path, .unary(handler)))
  }

  /// One message in, any number out.
  mutating func addServerStreaming(_ path: String, _ handler: @escaping ServerStreamingHandler) {
    methods.append((path, .serverStreaming(handler)))
  }

  /// Any number of messages both ways.
  mutating func addBidirectional(_ path: String, _ handler: @escaping BidirectionalHandler) {
    methods.append((path, .bidirectional(handler)))
  }

  /// `/package.Service/Method`, each once.
  public var paths: [String] { methods.map(\.path) }

  /// For an RPC server.
  public var router: RPCRouter {
    var router = RPCRouter()
    for method in methods {
      switch method.kind {
      case .unary(let handler):
        router.register(method.path) { call, message in handler(call, message) }
      case .serverStreaming(let handler):
        router.registerServerStreaming(method.path) { stream, message in
          let events = handler(stream, message)
          return { _, event in events(event) }
        }
      case .bidirectional(let handler):
        router.registerBidirectional(method.path) { stream in
          let events = handler(stream)
          return { _, event in events(event) }
        }
      }
    }
    return router
  }

  // MARK: For a caller in the same process

  /// What the RPC server does with a unary call, without its sockets. Call it on the call's shard, and
  /// `TouchstoneService.wakeUpEnded` after it.
  public func dispatch(_ call: some IncomingCall, _ message: UnsafeRawBufferPointer) {
    guard case .unary(let handler) = kind(of: call.path) else { return call.fail(.notServed(call.path)) }
    handler(call, message)
  }

  /// As `dispatch`, of a stream; what it returns takes the stream's events, as long as it has not ended.
  ///
  /// - Parameter message: the one request of a server-streaming call; `nil` for a bidirectional one.
  public func open(_ stream: some IncomingStream, _ message: UnsafeRawBufferPointer?) -> StreamEvents {
    switch (kind(of: stream.path), message) {
    case (.serverStreaming(let handler), let message?): return handler(stream, message)
    case (.bidirectional(let handler), nil): return handler(stream)
    default:
      stream.fail(.notServed(stream.path))
      return { _ in }
    }
  }

  private func kind(of path: String) -> Kind? {
    methods.first { $0.path == path }?.kind
  }
}

extension RPCError {
  fileprivate static func notServed(_ path: String) -> RPCError {
    RPCError(code: .unimplemented, message: "\(path) is not served")
  }
}
