// The handler of each method, for the RPC server and for callers in the same process.

public import DispatchRPC
internal import TouchstoneCodec

/// The methods that a service serves.
public struct MethodTable: Sendable {
  /// Runs on the call's event loop. The bytes are the request message, valid only until the handler returns.
  public typealias UnaryHandler = @Sendable (any IncomingCall, UnsafeRawBufferPointer) -> Void
  /// Takes a stream's events, on its event loop.
  public typealias StreamEvents = @Sendable (RPCServerStreamEvent) -> Void
  /// As `UnaryHandler`; the function that it returns takes the events after the request.
  public typealias ServerStreamingHandler =
    @Sendable (any IncomingStream, UnsafeRawBufferPointer) -> StreamEvents
  /// Runs before there is a message. Each message must be requested.
  public typealias BidirectionalHandler = @Sendable (any IncomingStream) -> StreamEvents

  /// Takes the events of a stream that has ended.
  static let noEvents: StreamEvents = { _ in }

  enum Handler {
    case unary(UnaryHandler)
    case serverStreaming(ServerStreamingHandler)
    case bidirectional(BidirectionalHandler)
  }

  private var methods: [(path: String, handler: Handler)] = []

  mutating func add(_ method: MethodDescriptor, _ handler: Handler) {
    switch (method.kind, handler) {
    case (.unary, .unary), (.serverStreaming, .serverStreaming), (.bidirectional, .bidirectional): break
    default: preconditionFailure("\(method.path) is of another kind")
    }
    methods.append((method.path, handler))
  }

  /// `/package.Service/Method`, each once.
  public var paths: [String] { methods.map(\.path) }

  /// The routes for an RPC server.
  public var router: RPCRouter {
    var router = RPCRouter()
    for method in methods {
      switch method.handler {
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

  /// Does with a unary call what the RPC server does, without its sockets. Must be called on the call's event loop, and
  /// `TouchstoneService.roundEnded` after it.
  public func dispatch(_ call: some IncomingCall, _ message: UnsafeRawBufferPointer) {
    guard case .unary(let handler) = handler(of: call.path) else { return call.fail(.notServed(call.path)) }
    handler(call, message)
  }

  /// As `dispatch`, for a stream. The function that it returns takes the stream's events until the stream ends.
  ///
  /// - Parameter message: the one request of a server-streaming call; `nil` for a bidirectional one.
  public func open(_ stream: some IncomingStream, _ message: UnsafeRawBufferPointer?) -> StreamEvents {
    switch (handler(of: stream.path), message) {
    case (.serverStreaming(let handler), let message?): return handler(stream, message)
    case (.bidirectional(let handler), nil): return handler(stream)
    default:
      stream.fail(.notServed(stream.path))
      return Self.noEvents
    }
  }

  private func handler(of path: String) -> Handler? {
    methods.first { $0.path == path }?.handler
  }
}

extension RPCError {
  fileprivate static func notServed(_ path: String) -> RPCError {
    RPCError(code: .unimplemented, message: "\(path) is not served")
  }
}
