// Moves committed events into the chain soon after their commit, or at once before the log is read.

internal import Dispatch
internal import DispatchPool
internal import Synchronization
internal import TouchstoneStore

/// One round at a time; requests that come meanwhile share the next one. Rounds of several processes wait for each
/// other at the chain's row, and no other work waits for them.
///
/// Events of a process that died are sealed by the next round of another process, or when it looks for news.
///
/// `@unchecked Sendable`: a Dispatch source may be set and cancelled from any thread.
final class EventSealer: @unchecked Sendable {
  typealias Waiter = @Sendable (PostgresError?) -> Void

  private struct State: Sendable {
    /// A round is running, or scheduled.
    var isBusy = false
    var isClosed = false
    /// Events were committed since the last round began.
    var hasNew = false
    /// Waiters for the next round.
    var waiters: [Waiter] = []
  }

  private let lane: ConnectionLane
  /// How long a round waits while another transaction holds the log's end.
  private let patience: Duration
  private let interval: Duration
  private let signal: EventSignal
  private let state = Mutex(State())
  /// The end of the log in the latest signal.
  private let toldSequence = Atomic<UInt64>(0)
  private let watch: Mutex<SealingWatch>
  private let sealingStopped: @Sendable (String) -> Void
  private let queue = DispatchQueue(label: "touchstone.postgres.sealer")
  private let news: any DispatchSourceTimer

  /// The interval for sealing events for which no reader waits, which dead processes left.
  private static let unobservedTicks = 25

  init(lane: ConnectionLane, options: PostgresStoreOptions, signal: EventSignal) {
    self.lane = lane
    patience = options.listTimeout
    self.signal = signal
    interval = options.sealInterval
    watch = Mutex(SealingWatch(patience: options.sealingPatience))
    sealingStopped = options.sealingStopped
    news = DispatchSource.makeTimerSource(queue: queue)
    news.schedule(deadline: .now(), repeating: options.newsInterval.dispatchInterval)
  }

  /// `reads`: used for a short query at each interval.
  func start(reads: ConnectionLane) {
    let ticks = Mutex(0)
    news.setEventHandler { [weak self] in
      guard let self else { return }
      let isDue = ticks.withLock { ticks in
        ticks = (ticks + 1) % Self.unobservedTicks
        return ticks == 0
      }
      if signal.isObserved || isDue { lookForNews(reads) }
    }
    news.activate()
  }

  /// Everything committed before this call is sealed when the waiter is called.
  func seal(_ waiter: @escaping Waiter) {
    let isAccepted = request(delay: nil) { state in state.waiters.append(waiter) }
    if !isAccepted { waiter(.notSent("the store is closed")) }
  }

  /// Events were committed: seal them soon.
  func noteCommitted() {
    request(delay: interval) { state in state.hasNew = true }
  }

  /// Answers the waiters. A running round ends by itself.
  func close() {
    news.cancel()
    let waiters = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(.notSent("the store is closed")) }
  }

  // MARK: Rounds

  /// False once closed.
  @discardableResult
  private func request(delay: Duration?, _ note: (inout State) -> Void) -> Bool {
    let (isAccepted, mustBegin) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      note(&state)
      defer { state.isBusy = true }
      return (true, !state.isBusy)
    }
    if mustBegin { begin(after: delay) }
    return isAccepted
  }

  private func begin(after delay: Duration?) {
    guard let delay else { return round() }
    let time = MonotonicTime.now() + delay
    queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds)) { self.round() }
  }

  private func round() {
    let waiters = state.withLock { state in
      state.hasNew = false
      defer { state.waiters = [] }
      return state.waiters
    }
    Task {
      var failure: PostgresError?
      do throws(PostgresError) {
        let end = try await sealAll()
        for waiter in waiters { waiter(nil) }
        tell(end)
      } catch {
        failure = error
        for waiter in waiters { waiter(error) }
        if let reason = watch.withLock({ $0.failed(with: error, at: .now()) }) { sealingStopped(reason) }
      }
      ended(failure)
    }
  }

  private func ended(_ failure: PostgresError?) {
    let (hasWaiters, isNeeded) = state.withLock { state in
      // If the database is unreachable, the next commit or the next look for news tries again.
      let isNeeded = !state.isClosed && (!state.waiters.isEmpty || (state.hasNew && failure == nil))
      state.isBusy = isNeeded
      return (!state.waiters.isEmpty, isNeeded)
    }
    if isNeeded { begin(after: hasWaiters ? nil : interval) }
  }

  /// Returns the log's end.
  private func sealAll() async throws(PostgresError) -> UInt64 {
    let end = MonotonicTime.now() + patience
    while true {
      do throws(PostgresError) {
        return try await sealUnlessLocked()
      } catch {
        // It has waited for the lock as long as one statement may.
        guard case .server(.lockNotAvailable, _) = error, .now() < end else { throw error }
      }
    }
  }

  /// Usually there is nothing to seal, and then nothing is locked.
  private func sealUnlessLocked() async throws(PostgresError) -> UInt64 {
    let found = try await lane.run([StatementCall(.hasUnsealedEvents)], isQuestion: true)
    guard var row = found.first?.first else { throw .corrupt("the audit log has no head") }
    guard row.boolean() else { return row.version() }
    // A commit whose answer was lost left all of its events or none.
    return try await lane.withSession(isRepeatable: true) { session throws(PostgresError) in
      var chain = try await LockedEventChain(in: session)
      try await chain.seal()
      let end = chain.head.sequence
      try await chain.commit()
      return end
    }
  }

  /// See `PostgresStore.unsealedFor`.
  var unsealedFor: Duration { watch.withLock { $0.age(at: .now()) } }

  // MARK: News

  private func lookForNews(_ reads: ConnectionLane) {
    reads.run([StatementCall(.hasUnsealedEvents)], isQuestion: true) { [self] result in
      guard case .success(let results) = result, var row = results.first?.first else { return }
      let hasUnsealed = row.boolean()
      let end = row.version()
      let alarm = watch.withLock { $0.looked(hasUnsealed: hasUnsealed, end: end, at: .now()) }
      if let alarm { sealingStopped(alarm) }
      tell(end)
      if hasUnsealed { request(delay: nil) { state in state.hasNew = true } }
    }
  }

  private func tell(_ sequence: UInt64) {
    if toldSequence.max(sequence, ordering: .relaxed).oldValue < sequence { signal.ring() }
  }
}

extension Duration {
  fileprivate var dispatchInterval: DispatchTimeInterval {
    .nanoseconds(Int(clamping: components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000))
  }
}
