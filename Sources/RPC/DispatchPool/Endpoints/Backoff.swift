/// When to try an endpoint again: one for all of its connections.
///
/// Failures while waiting belong to the round that is being waited for and change nothing. The wait is measured from
/// the failure. A success ends it, but is only believed once the connection has lived for `initialDelay`: a peer that
/// accepts and hangs up is met with growing waits too, not with a busy loop.
struct Backoff {
  private let configuration: BackoffConfiguration
  private(set) var consecutiveFailures = 0
  /// When the wait is over; `nil` while not waiting.
  private(set) var retryAt: MonotonicTime?
  /// The last attempt failed: try with one connection before opening more.
  private(set) var isProbing = false
  /// The latest success, until a failure was weighed against it.
  private var succeededAt: MonotonicTime?

  init(configuration: BackoffConfiguration) {
    self.configuration = configuration
  }

  var isWaiting: Bool { retryAt != nil }

  mutating func succeeded(at now: MonotonicTime) {
    retryAt = nil
    isProbing = false
    succeededAt = now
  }

  /// A connection was lost after `lifetime`. Does that count as a failure?
  func isFailure(lifetime: Duration) -> Bool {
    lifetime < configuration.initialDelay
  }

  /// - Parameter jitter: uniform in -1...1.
  mutating func failed(at now: MonotonicTime, jitter: Double) {
    guard !isWaiting else { return }
    if let succeededAt, !isFailure(lifetime: now - succeededAt) {
      consecutiveFailures = 0
    }
    succeededAt = nil
    isProbing = true
    consecutiveFailures += 1
    retryAt = now + configuration.delay(after: consecutiveFailures, jitter: jitter)
  }

  /// Ends a wait that is over.
  mutating func timePassed(to now: MonotonicTime) {
    if let retryAt, retryAt <= now {
      self.retryAt = nil
    }
  }
}
