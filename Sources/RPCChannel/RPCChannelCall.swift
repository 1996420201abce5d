// A call with one request and one answer: a stream of the pool, an attempt on it, another one where that is allowed.

internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// A call that was begun, to cancel it.
public final class RPCChannelCall: Sendable {
  /// What the call waits for.
  private enum Wait: Sendable {
    case stream(LeaseRequest)
    case answer(RPCClientCall)

    func cancel() {
      switch self {
      case .stream(let request): request.cancel()
      case .answer(let call): call.cancel()
      }
    }
  }

  private struct State {
    var isCancelled = false
    var wait: Wait?
    /// Counts the waits: one that is over by the time it is noted must not replace its successor.
    var step = 0
  }

  private static let maximumAttempts = 3

  private let channel: RPCChannel
  private let request: RPCClientRequest
  private let waitForReady: Bool
  private let completion: @Sendable (Result<RPCResponse, RPCError>) -> Void
  private let state = Mutex(State())

  init(
    _ channel: RPCChannel, _ path: String, _ message: [UInt8], _ options: RPCCallOptions,
    completion: @escaping @Sendable (Result<RPCResponse, RPCError>) -> Void
  ) {
    let policy = channel.configuration.policy(path)
    self.channel = channel
    request = RPCClientRequest(
      path: path, message: message, metadata: options.metadata, deadline: options.deadline(policy, now: .now()))
    waitForReady = options.waitForReady ?? policy.waitForReady
    self.completion = completion
  }

  /// The call ends with CANCELLED, unless it ends otherwise at the same time. The server is told.
  public func cancel() {
    let wait = state.withLock { state in
      state.isCancelled = true
      return state.wait
    }
    wait?.cancel()
  }

  func start() {
    attempt(1)
  }

  private func attempt(_ number: Int) {
    guard !state.withLock({ $0.isCancelled }) else { return completion(.failure(.cancelledHere)) }
    let deadline = request.deadline.map { MonotonicInstant(nanoseconds: $0.nanoseconds) }
    let lease = channel.pool.lease(deadline: deadline, waitForReady: waitForReady) { [self] result in
      switch result {
      case .success(let lease): send(on: lease, attempt: number)
      case .failure(let error): completion(.failure(RPCError(error)))
      }
    }
    wait(for: .stream(lease), step: 2 * number)
  }

  private func send(on lease: Lease<ChannelConnection>, attempt number: Int) {
    guard let connection = lease.connection.current else {
      lease.release()
      return received(.failure(.connectionClosed), attempt: number)
    }
    let answer = connection.start(request) { [self] result in
      lease.release()
      received(result, attempt: number)
    }
    wait(for: .answer(answer), step: 2 * number + 1)
  }

  private func received(_ result: Result<RPCResponse, RPCError>, attempt number: Int) {
    if case .failure(let error) = result, error.isUnprocessed, number < Self.maximumAttempts {
      attempt(number + 1)
    } else {
      completion(result)
    }
  }

  private func wait(for wait: Wait, step: Int) {
    let isCancelled = state.withLock { state in
      guard step > state.step else { return false }
      state.step = step
      state.wait = wait
      return state.isCancelled
    }
    if isCancelled { wait.cancel() }
  }
}

extension RPCError {
  static let cancelledHere = RPCError(code: .cancelled, message: "cancelled by the caller")
  static let connectionClosed = RPCError(
    code: .unavailable, message: "the connection has closed", progress: .unsent)

  init(_ error: PoolError) {
    switch error {
    case .timedOut(let lastFailure?): self.init(code: .deadlineExceeded, message: "no connection: \(lastFailure)")
    case .timedOut(nil): self.init(code: .deadlineExceeded, message: "no stream became free in time")
    case .unreachable(let lastFailure): self.init(code: .unavailable, message: "no connection: \(lastFailure)")
    case .tooManyWaiting: self.init(code: .resourceExhausted, message: "too many calls wait for a stream")
    case .cancelled: self = .cancelledHere
    case .draining: self.init(code: .cancelled, message: "the channel is closed")
    }
  }
}
