// A request's way back.

internal import DispatchRPC
internal import Synchronization

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
