internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// A call with one request and one answer, one attempt after the other, until one counts. Its caller can cancel it.
public final class RPCChannelCall: Sendable {
  /// The step that an attempt waits for, to cancel it.
  private enum Wait: Sendable {
    case nothing
    case stream(LeaseRequest)
    case answer(RPCClientCall)

    func cancel() {
      switch self {
      case .nothing: break
      case .stream(let request): request.cancel()
      case .answer(let call): call.cancel()
      }
    }
  }

  private struct Attempt {
    /// Events of an earlier attempt mean nothing any more.
    let number: Int
    /// `nil`: nothing is measured.
    let began: MonotonicTime?
    var wait = Wait.nothing

    /// The answer is the last thing to wait for: a lease that is noted late must not replace it.
    mutating func note(_ wait: Wait) {
      if case .answer = self.wait { return }
      self.wait = wait
    }
  }

  typealias Completion = @Sendable (Result<RPCResponse, RPCError>) -> Void

  private struct State {
    /// `nil`: the call has not begun, or is over.
    var completion: Completion?
    /// `nil`: nothing is measured.
    var began: MonotonicTime?
    var retries: RetryStateMachine
    var lastFailure: RPCError?
    /// `nil`: none runs.
    var running: Attempt?
    var lastNumber = 0
    var isOver = false

    init(_ attempts: RPCAttempts) {
      retries = RetryStateMachine(attempts.retryPolicy)
    }

    /// `nil`: it has ended before.
    mutating func end(_ number: Int) -> Attempt? {
      guard let attempt = running, attempt.number == number else { return nil }
      running = nil
      return attempt
    }
  }

  private let core: ChannelCore
  private let pool: ConnectionPool<ChannelConnection>
  private let request: RPCClientRequest
  private let waitForReady: Bool
  private let observed: ObservedMethod
  private let state: Mutex<State>

  init(_ channel: RPCChannel, _ path: String, _ message: [UInt8], _ options: RPCCallOptions) {
    core = channel.core
    pool = channel.pool
    observed = ObservedMethod(path, of: core)
    let policy = core.policy(of: path)
    request = RPCClientRequest(
      path: path, message: message, metadata: options.metadata, deadline: options.deadline(policy, now: .now()))
    waitForReady = options.waitForReady ?? policy.waitForReady
    state = Mutex(State(options.attempts ?? policy.attempts))
  }

  /// Ends the call with CANCELLED, unless it ends otherwise at the same time, and resets its stream if a server has it.
  /// A call that has not begun ends as soon as it begins.
  public func cancel() {
    finish(.failure(.cancelledHere))
  }

  /// Once.
  ///
  /// - Parameter completion: runs once.
  func start(_ completion: @escaping Completion) {
    let began = observed.began()
    let hasBegun = state.withLock { state in
      guard !state.isOver else { return false }
      state.completion = completion
      state.began = began
      return true
    }
    guard hasBegun else {
      core.counters.failures.add(1, ordering: .relaxed)
      observed.callEnded(.cancelled, since: began)
      return completion(.failure(.cancelledHere))
    }
    send()
  }

  /// Once; later results are dropped.
  private func finish(_ result: Result<RPCResponse, RPCError>) {
    let ended = state.withLock { state -> (completion: Completion?, abandoned: Attempt?, began: MonotonicTime?)? in
      guard !state.isOver else { return nil }
      state.isOver = true
      defer { state.completion = nil }
      return (state.completion, state.running, state.began)
    }
    guard let ended else { return }
    // It ends by itself, because only then the sizes of its messages are known.
    ended.abandoned?.wait.cancel()
    guard let completion = ended.completion else { return }
    if case .failure = result { core.counters.failures.add(1, ordering: .relaxed) }
    observed.callEnded(result.code, since: ended.began)
    completion(result)
  }
}

// MARK: - One attempt

extension RPCChannelCall {
  private func send() {
    let number = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.lastNumber += 1
      state.running = Attempt(number: state.lastNumber, began: observed.attemptBegan())
      return state.lastNumber
    }
    guard let number else { return }
    core.counters.attempts.add(1, ordering: .relaxed)
    let lease = pool.lease(deadline: request.deadline, waitForReady: waitForReady) { [self] result in
      switch result {
      case .success(let lease): send(on: lease, number: number)
      case .failure(let error): hasNoStream(RPCError(error), number: number)
      }
    }
    note(.stream(lease), of: number)
  }

  private func send(on lease: Lease<ChannelConnection>, number: Int) {
    // The call may have ended while the lease was on its way: it must not take effect.
    guard let previous = state.withLock({ $0.isOver ? nil : $0.retries.attempts - 1 }) else {
      lease.release()
      return attemptEnded(number, .cancelled, RPCMessageBytes())
    }
    if let refusal = core.refusal(of: request.metadata, on: lease.connection) {
      lease.release()
      attemptEnded(number, refusal.code, RPCMessageBytes())
      return finish(.failure(refusal))
    }
    var request = request
    if previous > 0 { request.metadata = request.metadata.withPreviousAttempts(previous) }
    let answer = lease.connection.connection.startMeasured(request) { [self] result, bytes in
      switch result {
      case .success(let response):
        lease.release()
        core.attemptSucceeded()
        attemptEnded(number, .ok, bytes)
        finish(.success(response))
      case .failure(let error):
        lease.release()
        failed(error, AttemptFailure(error), number: number, bytes)
      }
    }
    note(.answer(answer), of: number)
  }

  private func attemptEnded(_ number: Int, _ code: RPCCode, _ bytes: RPCMessageBytes) {
    if let attempt = state.withLock({ $0.end(number) }) { observed.attemptEnded(code, since: attempt.began, bytes) }
  }

  private func note(_ wait: Wait, of number: Int) {
    let isAbandoned = state.withLock { state in
      if state.running?.number == number { state.running?.note(wait) }
      return state.isOver
    }
    if isAbandoned { wait.cancel() }
  }
}

// MARK: - After a failure

extension RPCChannelCall {
  /// The pool has nowhere to send the call: it is not repeated at once, although nothing was sent.
  private func hasNoStream(_ error: RPCError, number: Int) {
    failed(error, AttemptFailure(code: error.code), number: number, RPCMessageBytes())
  }

  private func failed(_ error: RPCError, _ failure: AttemptFailure, number: Int, _ bytes: RPCMessageBytes) {
    attemptEnded(number, error.code, bytes)
    let failed = state.withLock { state -> (told: RPCError, decision: RetryStateMachine.OnFailure)? in
      guard !state.isOver else { return nil }
      defer { state.lastFailure = error }
      let decision = core.withThrottle {
        state.retries.attemptFailed(failure, throttle: &$0, jitter: Double.random(in: -1...1))
      }
      return (error.after(state.lastFailure), decision)
    }
    guard let failed else { return }
    switch failed.decision {
    case .repeat: send()
    case .retry(let delay) where isInTime(delay):
      core.counters.retries.add(1, ordering: .relaxed)
      core.after(delay) { [self] in send() }
    case .retry, .fail: finish(.failure(failed.told))
    }
  }

  /// To wait for an attempt that will not be made only hides the error for longer.
  private func isInTime(_ delay: Duration) -> Bool {
    request.deadline.map { MonotonicTime.now().advanced(by: delay) < $0 } ?? true
  }
}
