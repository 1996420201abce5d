// A call with one request and one answer: attempts at it, until one counts.

internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// A call that was begun, to cancel it.
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

  private enum Plan {
    case retrying(RetryStateMachine)
    case hedging(HedgingStateMachine)

    /// Sent before the next one that is sent.
    var previousAttempts: Int {
      switch self {
      case .retrying(let machine): machine.attempts - 1
      case .hedging(let machine): machine.attempts - 1
      }
    }
  }

  typealias Completion = @Sendable (Result<RPCResponse, RPCError>) -> Void

  private struct State {
    /// `nil`: the call has not begun, or is over.
    var completion: Completion?
    /// `nil`: nothing is measured.
    var began: MonotonicTime?
    var plan: Plan
    var running: [Attempt] = []
    var nextNumber = 0
    /// Counts timers, because an older one means nothing any more.
    var timer = 0
    var lastFailure: RPCError?
    var isOver = false

    init(plan: Plan) {
      self.plan = plan
    }

    /// `nil`: it has ended before.
    mutating func end(_ number: Int) -> Attempt? {
      running.firstIndex { $0.number == number }.map { running.remove(at: $0) }
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
    let policy = core.policies[path]
    request = RPCClientRequest(
      path: path, message: message, metadata: options.metadata, deadline: options.deadline(policy, now: .now()),
      compression: options.compression)
    waitForReady = options.waitForReady ?? policy.waitForReady
    switch options.attempts ?? policy.attempts {
    case .once: state = Mutex(State(plan: .retrying(RetryStateMachine(nil))))
    case .retry(let policy): state = Mutex(State(plan: .retrying(RetryStateMachine(policy))))
    case .hedge(let policy): state = Mutex(State(plan: .hedging(HedgingStateMachine(policy))))
    }
  }

  /// Ends the call with CANCELLED, unless it ends otherwise at the same time, and resets its stream if a server has it. A call
  /// that has not begun ends as soon as it begins.
  public func cancel() {
    finish(.failure(.cancelledHere))
  }

  /// Once.
  ///
  /// - Parameter completion: runs once.
  func start(_ completion: @escaping Completion) {
    core.counters.calls.add(1, ordering: .relaxed)
    let began = observed.began()
    var delay: Duration?
    let hasBegun = state.withLock { state in
      guard !state.isOver else { return false }
      state.completion = completion
      state.began = began
      if case .hedging(var machine) = state.plan {
        delay = machine.begin()
        state.plan = .hedging(machine)
      }
      return true
    }
    guard hasBegun else {
      core.counters.failures.add(1, ordering: .relaxed)
      observed.callEnded(.cancelled, since: began)
      return completion(.failure(.cancelledHere))
    }
    send()
    if let delay { setTimer(after: delay) }
  }

  /// Once; later results are dropped.
  private func finish(_ result: Result<RPCResponse, RPCError>) {
    let ended = state.withLock { state -> (completion: Completion?, abandoned: [Attempt], began: MonotonicTime?)? in
      guard !state.isOver else { return nil }
      state.isOver = true
      defer { state.completion = nil }
      return (state.completion, state.running, state.began)
    }
    guard let ended else { return }
    // Each of them ends by itself, because only then the sizes of its messages are known.
    for attempt in ended.abandoned { attempt.wait.cancel() }
    guard let completion = ended.completion else { return }
    if case .failure = result { core.counters.failures.add(1, ordering: .relaxed) }
    observed.callEnded(result.code, since: ended.began)
    completion(result)
  }
}

// MARK: - One attempt

extension RPCChannelCall {
  private func send() {
    let begun = state.withLock { state -> (number: Int, previous: Int)? in
      guard !state.isOver else { return nil }
      let number = state.nextNumber
      state.nextNumber += 1
      state.running.append(Attempt(number: number, began: observed.attemptBegan()))
      return (number, state.plan.previousAttempts)
    }
    guard let begun else { return }
    core.counters.attempts.add(1, ordering: .relaxed)
    let lease = pool.lease(deadline: request.deadline, waitForReady: waitForReady) { [self] result in
      switch result {
      case .success(let lease): send(on: lease, number: begun.number, previousAttempts: begun.previous)
      case .failure(let error): hasNoStream(RPCError(error), number: begun.number)
      }
    }
    note(.stream(lease), of: begun.number)
  }

  private func send(on lease: Lease<ChannelConnection>, number: Int, previousAttempts: Int) {
    // The call may have ended while the lease was on its way: it must not take effect.
    guard !state.withLock({ $0.isOver }) else {
      lease.release()
      return attemptEnded(number, .cancelled, RPCMessageBytes())
    }
    if let refusal = core.refusal(of: request.metadata, on: lease.connection) {
      lease.release()
      attemptEnded(number, refusal.code, RPCMessageBytes())
      return finish(.failure(refusal))
    }
    var request = request
    if previousAttempts > 0 { request.metadata = request.metadata.withPreviousAttempts(previousAttempts) }
    let answer = lease.connection.connection.startMeasured(request) { [self] result, bytes in
      switch result {
      case .success(let response):
        lease.release(.succeeded)
        core.attemptSucceeded()
        attemptEnded(number, .ok, bytes)
        finish(.success(response))
      case .failure(let error):
        lease.release(LeaseOutcome(error))
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
      if let place = state.running.firstIndex(where: { $0.number == number }) { state.running[place].note(wait) }
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

  private enum Next {
    case nothing
    case finish(RPCError)
    case send(thenAfter: Duration?)
    case wait(Duration)

    init(_ decision: HedgingStateMachine.Decision, _ error: RPCError) {
      switch decision {
      case .finish: self = .finish(error)
      case .send(let delay): self = .send(thenAfter: delay)
      case .waitThen(let delay): self = .wait(delay)
      case .wait: self = .nothing
      }
    }
  }

  private func failed(_ error: RPCError, _ failure: AttemptFailure, number: Int, _ bytes: RPCMessageBytes) {
    attemptEnded(number, error.code, bytes)
    let next = state.withLock { state -> Next in
      guard !state.isOver else { return .nothing }
      let told = error.after(state.lastFailure)
      state.lastFailure = error
      switch state.plan {
      case .retrying(var machine):
        defer { state.plan = .retrying(machine) }
        return retry(&machine, told, failure)
      case .hedging(var machine):
        defer { state.plan = .hedging(machine) }
        return Next(core.withThrottle { machine.attemptFailed(failure, throttle: &$0) }, told)
      }
    }
    perform(next)
  }

  private func retry(_ machine: inout RetryStateMachine, _ error: RPCError, _ failure: AttemptFailure) -> Next {
    let before = machine.attempts
    let jitter = Double.random(in: -1...1)
    let decision = core.withThrottle {
      machine.attemptFailed(failure, isCommitted: false, throttle: &$0, jitter: jitter)
    }
    switch decision {
    case .fail: return .finish(error)
    case .retry(let delay) where !endsBeforeDeadline(delay): return .finish(error)
    case .retry(let delay):
      if machine.attempts > before { core.counters.retries.add(1, ordering: .relaxed) }
      return delay > .zero ? .wait(delay) : .send(thenAfter: nil)
    }
  }

  /// To wait for an attempt that will not be made only hides the error for longer.
  private func endsBeforeDeadline(_ delay: Duration) -> Bool {
    guard delay > .zero, let deadline = request.deadline else { return true }
    return MonotonicTime.now().advanced(by: delay) < deadline
  }

  private func perform(_ next: Next) {
    switch next {
    case .nothing: break
    case .finish(let error): finish(.failure(error))
    case .wait(let delay): setTimer(after: delay)
    case .send(let delay):
      send()
      if let delay { setTimer(after: delay) }
    }
  }

  private func setTimer(after delay: Duration) {
    let timer = state.withLock { state in
      state.timer += 1
      return state.timer
    }
    core.after(delay) { [self] in timerFired(timer) }
  }

  private func timerFired(_ timer: Int) {
    let next = state.withLock { state -> Next in
      guard !state.isOver, state.timer == timer else { return .nothing }
      switch state.plan {
      case .retrying:
        return .send(thenAfter: nil)
      case .hedging(var machine):
        defer { state.plan = .hedging(machine) }
        let decision = core.withThrottle { machine.timerFired($0) }
        if case .send = decision { core.counters.hedges.add(1, ordering: .relaxed) }
        return Next(decision, state.lastFailure ?? .cancelledHere)
      }
    }
    perform(next)
  }
}
