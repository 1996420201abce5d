// From a request's bytes to its answer's: a stream of the pool, an attempt on it, another one where nothing was done.

internal import DispatchPool
internal import DispatchRPC

struct Exchange: Sendable {
  /// The first, and two more for a call that surely was not processed: enough to step past a connection or two that the
  /// service is closing, too few to add to its load when it refuses everybody.
  private static let maximumAttempts = 3

  let pool: ConnectionPool<PeerConnection>
  let call: TouchstoneCall
  let request: RPCClientRequest
  let deadline: MonotonicInstant
  let waitForReady: Bool
  /// Called once, on the caller's thread or an event loop.
  let completion: @Sendable (Result<[UInt8], TouchstoneError>) -> Void

  func start() {
    attempt(1)
  }

  private func attempt(_ number: Int) {
    guard !call.isCancelled else { return completion(.failure(.cancelled)) }
    let lease = pool.lease(deadline: deadline, waitForReady: waitForReady) { result in
      switch result {
      case .success(let lease): send(on: lease, attempt: number)
      case .failure(let error): completion(.failure(TouchstoneError(error)))
      }
    }
    call.wait(for: .stream(lease), step: 2 * number)
  }

  private func send(on lease: Lease<PeerConnection>, attempt number: Int) {
    let answer = lease.connection.start(request) { result in
      lease.release()
      received(result, attempt: number)
    }
    if let answer { call.wait(for: .answer(answer), step: 2 * number + 1) }
  }

  private func received(_ result: Result<RPCResponse, RPCError>, attempt number: Int) {
    switch result {
    case .success(let response): completion(.success(response.message))
    case .failure(let error) where error.isUnprocessed && number < Self.maximumAttempts:
      attempt(number + 1)
    case .failure(let error): completion(.failure(TouchstoneError(error)))
    }
  }
}
