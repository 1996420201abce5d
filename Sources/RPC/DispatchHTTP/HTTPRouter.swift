internal import DispatchRPC
internal import Synchronization

/// The handlers of one address, by path and method. A path is compared as it is sent: nothing in it is decoded.
package struct HTTPRouter: Sendable {
  /// Runs on the server's event loop, so it must not block. It answers by `exchange`, then or later, from any thread.
  package typealias Handler = @Sendable (_ request: HTTPRequest, _ exchange: HTTPExchange) -> Void

  struct Route: Sendable {
    var maximumBodyBytes: Int
    var handler: Handler
  }

  enum Match {
    case route(Route)
    case notFound
    /// The methods that the path has.
    case notAllowed([String])
  }

  private var routes: [String: [String: Route]] = [:]

  package init() {}

  /// - Parameter maximumBodyBytes: the limit for a request; a longer one is refused unread.
  package mutating func add(
    _ method: String, _ path: String, maximumBodyBytes: Int, handler: @escaping Handler
  ) {
    routes[path, default: [:]][method] = Route(maximumBodyBytes: maximumBodyBytes, handler: handler)
  }

  /// For GET and HEAD, without a body, answered at once.
  package mutating func get(_ path: String, answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) {
    add("GET", path, maximumBodyBytes: 0) { request, exchange in exchange.answer(answer(request)) }
  }

  /// HEAD is GET without the body (RFC 9110 §9.3.2).
  func match(method: String, path: String) -> Match {
    guard let methods = routes[path] else { return .notFound }
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

  init(_ connection: LoopConfined<HTTPConnection>, _ request: Int) {
    self.connection = connection
    self.request = request
  }

  deinit {
    answer(.text(.serverError))
  }

  /// The first answer counts.
  package func answer(_ response: HTTPResponse) {
    guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
    connection.execute { [request] in $0.answer(response, to: request) }
  }
}
