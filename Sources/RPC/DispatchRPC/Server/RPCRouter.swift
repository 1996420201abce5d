/// Handles one unary call. Runs on the call's event loop; the bytes are the request message, valid only until it
/// returns. It must not block, and must answer the call, now or later.
public typealias UnaryHandler = @Sendable (_ call: RPCServerCall, _ message: UnsafeRawBufferPointer) -> Void

/// Handles one server-streaming call, as `UnaryHandler` does with the request message; what it returns takes the call's
/// events.
public typealias ServerStreamingHandler =
  @Sendable (_ call: RPCServerStream, _ message: UnsafeRawBufferPointer) -> RPCServerStream.EventHandler

/// Handles one client-streaming or bidirectional call. Runs on the call's event loop when the headers are here; what it
/// returns takes the call's events, of which messages are to be asked for. Neither may block.
public typealias StreamHandler = @Sendable (_ call: RPCServerStream) -> RPCServerStream.EventHandler

/// The methods a server offers.
public struct RPCRouter: Sendable {
  /// One of the four kinds of calls.
  enum Handler: Sendable {
    case unary(UnaryHandler)
    case serverStreaming(ServerStreamingHandler)
    case clientStreaming(StreamHandler)
    case bidirectional(StreamHandler)

    /// The handler begins before there is a message.
    var takesStream: Bool {
      switch self {
      case .unary, .serverStreaming: false
      case .clientStreaming, .bidirectional: true
      }
    }

    var hasOneAnswer: Bool {
      switch self {
      case .unary, .clientStreaming: true
      case .serverStreaming, .bidirectional: false
      }
    }
  }

  /// One reference, for the way of each call.
  final class Route: Sendable {
    let path: String
    let handler: Handler

    /// Answered whatever the load: a health check that failed would stop a server that is merely busy.
    let isEssential: Bool

    init(path: String, handler: Handler) {
      self.path = path
      self.handler = handler
      isEssential = path.hasPrefix("/grpc.health.v1.Health/")
    }
  }

  private(set) var routes: [Route] = []

  /// The methods, each at its place (`RPCServerObserver`).
  public var paths: [String] { routes.map(\.path) }

  public init() {}

  /// - Parameter path: `/package.Service/Method`, once.
  public mutating func register(_ path: String, _ handler: @escaping UnaryHandler) {
    register(path, .unary(handler))
  }

  /// One message in, any number out.
  public mutating func registerServerStreaming(_ path: String, _ handler: @escaping ServerStreamingHandler) {
    register(path, .serverStreaming(handler))
  }

  /// Any number of messages in, one out.
  public mutating func registerClientStreaming(_ path: String, _ handler: @escaping StreamHandler) {
    register(path, .clientStreaming(handler))
  }

  /// Any number of messages both ways, in whatever order the handler likes.
  public mutating func registerBidirectional(_ path: String, _ handler: @escaping StreamHandler) {
    register(path, .bidirectional(handler))
  }

  private mutating func register(_ path: String, _ handler: Handler) {
    precondition(path.utf8.first == UInt8(ascii: "/"), "a path starts with a slash: \(path)")
    precondition(!routes.contains { $0.path == path }, "\(path) is registered twice")
    routes.append(Route(path: path, handler: handler))
  }
}

/// The router as looked up for each call: by bytes, without making a string of the path or counting a reference.
final class RouteTable: Sendable {
  /// A route, and the place of its path in `paths`.
  private struct Entry {
    var path: Range<Int>
    var route: Int
  }

  private let routes: [RPCRouter.Route]
  /// All of them, one behind the other.
  private let paths: [UInt8]
  /// By bucket.
  private let entries: [Entry]
  /// The size of `entries`.
  private let buckets: [Range<Int>]
  private let mask: Int

  init(_ router: RPCRouter) {
    routes = router.routes
    // Four buckets a route: most lookups compare one path.
    let size = max(1, router.routes.count * 4 - 1)
    let mask = (1 << (Int.bitWidth - size.leadingZeroBitCount)) - 1
    var paths: [UInt8] = []
    var chains = [[Entry]](repeating: [], count: mask + 1)
    for (index, route) in router.routes.enumerated() {
      let path = Array(route.path.utf8)
      chains[path.withUnsafeBytes(Self.hash) & mask].append(
        Entry(path: paths.count..<paths.count + path.count, route: index))
      paths += path
    }
    var entries: [Entry] = []
    buckets = chains.map { chain in
      entries += chain
      return entries.count - chain.count..<entries.count
    }
    self.entries = entries
    self.paths = paths
    self.mask = mask
  }

  subscript(index: Int) -> RPCRouter.Route { routes[index] }

  func find(_ path: UnsafeRawBufferPointer) -> Int? {
    for index in buckets[Self.hash(path) & mask] {
      let entry = entries[index]
      let isEqual = paths.withUnsafeBytes { path.equals(UnsafeRawBufferPointer(rebasing: $0[entry.path])) }
      if isEqual { return entry.route }
    }
    return nil
  }

  /// Uses the length and the last eight bytes, because paths differ at their end. Peers cannot add entries, so they
  /// cannot cause collisions.
  private static func hash(_ path: UnsafeRawBufferPointer) -> Int {
    var tail = UInt64(truncatingIfNeeded: path.count)
    if path.count >= 8 {
      tail ^= path.loadUnaligned(fromByteOffset: path.count - 8, as: UInt64.self)
    }
    return Int(truncatingIfNeeded: (tail &* 0x9E37_79B9_7F4A_7C15) >> 40)
  }
}
