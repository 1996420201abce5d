// Requests: granted, let wait, or refused.

extension PoolStateMachine {
  /// Nothing can be leased now and nothing is about to be.
  var isUnreachable: Bool {
    guard group.counts.serving == 0, group.counts.connecting == 0 else { return false }
    if group.listed == 0 { return resolution == .failed }
    return group.listedEndpoints.allSatisfy { group.endpoints[$0].backoff.isWaiting }
  }

  private var failureWhileDisconnected: String? {
    guard group.counts.serving == 0 else { return nil }
    let hasFailed =
      resolution == .failed || group.endpoints.contains { $0.backoff.consecutiveFailures > 0 }
    return hasFailed ? lastFailure : nil
  }

  mutating func leaseNow() -> ConnectionID? {
    life == .running ? group.lease(configuration.balancing) : nil
  }

  func refusal(deadline: MonotonicTime?, waitForReady: Bool, now: MonotonicTime) -> PoolError? {
    switch life {
    case .draining, .drained: return .draining
    case .dormant, .running: break
    }
    if let deadline, deadline <= now { return .timedOut(lastFailure: failureWhileDisconnected) }
    if isUnreachable, !waitForReady { return .unreachable(lastFailure: lastFailure) }
    return queue.count < configuration.maximumWaiting ? nil : .tooManyWaiting
  }

  /// Gives what is free to the requests that came first. A request whose deadline has passed gets no lease, as it would
  /// waste it.
  mutating func serveWaiting(now: MonotonicTime, into action: inout PoolAction) {
    while let request = queue.first {
      if let deadline = request.deadline, deadline <= now {
        answer([request], with: .timedOut(lastFailure: failureWhileDisconnected), into: &action)
      } else if let connection = group.lease(configuration.balancing) {
        action.answers.append(.init(request: request.id, result: .success(connection)))
      } else {
        return
      }
      queue.remove(request.id)
    }
  }

  mutating func failExpired(now: MonotonicTime, into action: inout PoolAction) {
    let expired = queue.removeAll { $0.deadline.map { $0 <= now } ?? false }
    answer(expired, with: .timedOut(lastFailure: failureWhileDisconnected), into: &action)
  }

  mutating func failUnreachable(into action: inout PoolAction) {
    guard isUnreachable else { return }
    answer(queue.removeAll { !$0.waitsForReady }, with: .unreachable(lastFailure: lastFailure), into: &action)
  }

  func answer(_ requests: [RequestQueue.Request], with error: PoolError, into action: inout PoolAction) {
    action.answers += requests.map { .init(request: $0.id, result: .failure(error)) }
  }
}
