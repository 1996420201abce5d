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

  private enum Phase: Sendable {
    case idle
    /// The round with this number begins later, unless it is brought forward.
    case scheduled(UInt64)
    case running
  }

  private struct State: Sendable {
    var phase = Phase.idle
    var isClosed = false
    /// Commits with events since the last round began.
    var newCommits = 0
    /// Rounds that were scheduled.
    var scheduledRounds: UInt64 = 0
    /// Waiters for the next round.
    var waiters: [Waiter] = []

    /// `delay`: `nil`: at once, also where a round is scheduled.
    mutating func start(after delay: Duration?) -> Start {
      switch (phase, delay) {
      case (.running, _), (.scheduled, .some): return .none
      case (.idle, nil), (.scheduled, nil):
        phase = .running
        return .now
      case (.idle, .some(let delay)):
        scheduledRounds += 1
        phase = .scheduled(scheduledRounds)
        return .later(scheduledRounds, delay)
      }
    }
  }

  /// Whether a request begins a round.
  private enum Start {
    case none
    case now
    case later(UInt64, Duration)
  }

  private let lane: ConnectionLane
  /// How long a round waits while another transaction holds the log's end.
  private let patience: Duration
  private let interval: Duration
  private let quietInterval: Duration
  private let signal: EventSignal
  private let state = Mutex(State())
  /// The end of the log in the latest signal.
  private let toldSequence = Atomic<UInt64>(0)
  private let watch: Mutex<SealingWatch>
  private let sealingStopped: @Sendable (String) -> Void
  private let queue = DispatchQueue(label: "touchstone.postgres.sealer")
  private let news: any DispatchSourceTimer

  /// From so many commits on a round waits no longer: it seals them in a few steps, and the next reader waits little.
  private static let commitsInRound = 500

  /// The interval for sealing events for which no reader waits, which dead processes left.
  private static let unobservedTicks = 25

  init(lane: ConnectionLane, options: PostgresStoreOptions, signal: EventSignal) {
    self.lane = lane
    patience = options.listTimeout
    self.signal = signal
    interval = options.sealInterval
    quietInterval = max(options.sealInterval, options.quietSealInterval)
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
    request(delay: delay) { state in state.newCommits += 1 }
  }

  /// How long a round waits for which no reader waits. A reader of another process looks for unsealed events itself.
  private var delay: Duration { signal.isObserved ? interval : quietInterval }

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
  ///
  /// - Parameter delay: `nil`: a reader waits.
  @discardableResult
  private func request(delay: Duration?, _ note: (inout State) -> Void) -> Bool {
    let (isAccepted, start) = state.withLock { state -> (Bool, Start) in
      guard !state.isClosed else { return (false, .none) }
      note(&state)
      return (true, state.start(after: state.newCommits < Self.commitsInRound ? delay : nil))
    }
    perform(start)
    return isAccepted
  }

  private func perform(_ start: Start) {
    switch start {
    case .none: break
    case .now: round()
    case .later(let number, let delay):
      let time = MonotonicTime.now() + delay
      queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds)) { self.roundIsDue(number) }
    }
  }

  private func roundIsDue(_ number: UInt64) {
    let isDue = state.withLock { state in
      guard case .scheduled(number) = state.phase, !state.isClosed else { return false }
      state.phase = .running
      return true
    }
    if isDue { round() }
  }

  private func round() {
    let waiters = state.withLock { state in
      state.newCommits = 0
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
    let start = state.withLock { state -> Start in
      state.phase = .idle
      // If the database is unreachable, the next commit or the next look for news tries again.
      guard !state.isClosed, !state.waiters.isEmpty || (state.newCommits > 0 && failure == nil) else { return .none }
      let isUrgent = !state.waiters.isEmpty || state.newCommits >= Self.commitsInRound
      return state.start(after: isUrgent ? nil : delay)
    }
    perform(start)
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
      if hasUnsealed { request(delay: nil) { state in state.newCommits += 1 } }
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
