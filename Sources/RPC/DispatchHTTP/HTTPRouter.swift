package import DispatchRPC
internal import Synchronization

/// The handlers of one address, by path and method. A path is compared as it is sent: nothing in it is decoded.
package struct HTTPRouter: Sendable {
  /// Runs on the server's event loop, so it must not block. It answers by `exchange`, then or later, from any thread.
  package typealias Handler = @Sendable (_ request: HTTPRequest, _ exchange: HTTPExchange) -> Void

  struct Route: Sendable {
    var maximumBodyBytes: Int
    var takesChunks: Bool
    /// Answers a request whose body is longer.
    var tooLarge: HTTPResponse
    var handler: Handler
  }

  enum Match {
    case route(Route)
    case notFound
    /// The methods that the path has.
    case notAllowed([String])
  }

  private var routes: [String: [String: Route]] = [:]
  private var fallbacks: [(prefix: String, route: Route)] = []

  package init() {}

  /// - Parameters:
  ///   - maximumBodyBytes: the limit for a request; a longer one is refused unread.
  ///   - takesChunks: whether the body may have no length before it ends, as some programs send it.
  ///   - tooLarge: the answer to such a request; `nil`: 413.
  package mutating func add(
    _ method: String, _ path: String, maximumBodyBytes: Int, takesChunks: Bool = false, tooLarge: HTTPResponse? = nil,
    handler: @escaping Handler
  ) {
    routes[path, default: [:]][method] = Route(
      maximumBodyBytes: maximumBodyBytes, takesChunks: takesChunks,
      tooLarge: tooLarge ?? .text(.contentTooLarge, "the body may have \(maximumBodyBytes) bytes"), handler: handler)
  }

  /// For GET and HEAD of the paths that begin so and have no route of their own.
  package mutating func addFallback(under prefix: String, handler: @escaping Handler) {
    fallbacks.append(
      (prefix, Route(maximumBodyBytes: 0, takesChunks: false, tooLarge: .text(.contentTooLarge), handler: handler)))
  }

  /// For GET and HEAD, without a body, answered at once.
  package mutating func get(_ path: String, answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) {
    add("GET", path, maximumBodyBytes: 0) { request, exchange in exchange.answer(answer(request)) }
  }

  /// HEAD is GET without the body (RFC 9110 §9.3.2).
  func match(method: String, path: String) -> Match {
    guard let methods = routes[path] else {
      let fallback = ["GET", "HEAD"].contains(method) ? fallbacks.first { path.hasPrefix($0.prefix) } : nil
      return fallback.map { .route($0.route) } ?? .notFound
    }
    if let route = methods[method == "HEAD" ? "GET" : method] { return .route(route) }
    let allowed = methods.keys.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
    return .notAllowed(allowed.sorted())
  }
}

/// Takes the answer to one request, from any thread. If it is dropped without one, the client gets 500.
package final class HTTPExchange: Sendable {
  private let connection: LoopConfined<HTTPConnection>
  private let request: Int
  private let isAnswered = Atomic<Bool>(false)
  private let isClientGone = Atomic<Bool>(false)

  init(_ connection: LoopConfined<HTTPConnection>, _ request: Int) {
    self.connection = connection
    self.request = request
  }

  deinit {
    answer(.text(.serverError))
  }

  /// The event loop of the connection, on which the handler runs.
  package var loop: EventLoop { connection.loop }

  /// Whether an answer would do nothing: there is one, or the connection is closed.
  package var isOver: Bool { isAnswered.load(ordering: .relaxed) || isClientGone.load(ordering: .relaxed) }

  /// The first answer counts.
  package func answer(_ response: HTTPResponse) {
    answer { response }
  }

  /// The first answer counts.
  ///
  /// - Parameter make: runs on the connection's event loop, and only if this is the first answer.
  package func answer(_ make: @escaping @Sendable () -> HTTPResponse) {
    guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
    connection.execute { [request] in $0.answer(make(), to: request) }
  }

  /// Answers at this time if nothing else did. On the connection's event loop only, once for each request.
  ///
  /// - Parameter make: as in `answer`.
  package func answer(at deadline: MonotonicTime, _ make: @escaping @Sendable () -> HTTPResponse) {
    connection.value.setDeadline(deadline) { [weak self] in self?.answer(make) }
  }

  /// The application knows the client: the connection is this caller's, and keeps its place if the caller has no more
  /// than others.
  package func admitted(of caller: String) {
    connection.execute { $0.callAdmitted(of: caller) }
  }

  /// Called by the connection when it is closed.
  func clientLeft() {
    isClientGone.store(true, ordering: .relaxed)
  }
}
