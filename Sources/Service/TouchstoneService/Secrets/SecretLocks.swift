// Orders the admissions and verdicts of one secret, one after another (R14).
//
// A lock guards nothing: what holds across processes is the store's compare-and-set. Within this process it spares the
// conflicts, and it is where attempts wait while the whole budget is being verified.

internal import Synchronization
internal import TouchstonePolicy

/// One secret of one profile, by its bytes: the lock's key, and what its verifier is bound to.
struct SecretName: Sendable, Hashable {
  let profile: ProfileName
  /// Application, profile and kind, the texts behind their lengths.
  let bytes: [UInt8]

  /// - Parameter kind: passcode or gesture.
  init(applicationID: String, profileID: String, kind: Factor) {
    profile = ProfileName(applicationID, profileID)
    var bytes: [UInt8] = []
    for text in [applicationID, profileID] {
      withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { bytes += $0 }
      bytes += text.utf8
    }
    self.bytes = bytes + [kind.rawValue]
  }

  /// In UTF-8.
  var application: [UInt8] { Array(profile.applicationID.utf8) }

  static func == (left: SecretName, right: SecretName) -> Bool { left.bytes == right.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// Runs work later: a service's timer, or a simulation's.
public protocol DelayedExecutor: Sendable {
  func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void)
}

/// One queue for each secret that is asked about now.
final class SecretLocks: Sendable {
  /// Attempts at one secret, waiting or at work: no person makes more at one time.
  static let attemptsPerSecret = 256
  /// At all secrets together. Each holds a call, so this is what a flood may take of memory: a few MiB. No application
  /// holds what is left for the others.
  static let attempts = 8_192
  /// How often a waiter that waits for a verdict looks again, because another process may have written it.
  static let interval = Duration.milliseconds(100)
  /// How long anybody waits for a verdict, in intervals: the ten seconds after which one counts as lost.
  static let longestWait = 100

  typealias Step = @Sendable (SecretLock) -> Void

  /// A waiter in the queue.
  struct Waiter: Sendable {
    /// Whose share of all locks and waiters it takes.
    var tenant: FairShares.Tenant
    /// The event loop of its call, on which the step runs.
    var loop: any CallLoop
    var step: Step
    /// Runs instead of the step after the longest wait.
    var expired: @Sendable () -> Void
    /// Runs before the waiter begins to wait for a verdict.
    var parks: @Sendable () -> Void = {}
    /// The tick at which it began to wait for a verdict.
    var waitsSince: Int?
  }

  private struct Lane: Sendable {
    var isTaken = false
    var queue: [Waiter] = []
    /// Waiting for a verdict.
    var parked: [Waiter] = []

    var isEmpty: Bool { !isTaken && queue.isEmpty && parked.isEmpty }
    var count: Int { queue.count + parked.count + (isTaken ? 1 : 0) }

    /// False if another waiter has it.
    mutating func take() -> Bool {
      defer { isTaken = true }
      return !isTaken
    }

    mutating func add(_ waiter: Waiter, at index: Int) -> Entry {
      queue.insert(waiter, at: index)
      return .queued
    }
  }

  private enum Entry { case refused(SecretSchedule.Limit), queued, taken }

  private struct State: Sendable {
    var lanes: [SecretName: Lane] = [:]
    var shares = FairShares(capacity: SecretLocks.attempts)
    var tick = 0
    var isTicking = false
  }

  private let state = Mutex(State())
  private let timer: any DelayedExecutor

  init(timer: any DelayedExecutor) {
    self.timer = timer
  }

  /// For an admission. Runs the waiter's step when it has the lock: before `enter` returns if no waiter is ahead.
  ///
  /// - Returns: the limit where too many wait, and nothing will run.
  func enter(_ name: SecretName, _ waiter: Waiter) -> SecretSchedule.Limit? {
    let entry = state.withLock { state -> Entry in
      var lane = state.lanes[name] ?? Lane()
      if lane.count >= Self.attemptsPerSecret { return .refused(.secret) }
      if let limit = state.shares.limit(for: waiter.tenant) { return .refused(.share(limit)) }
      defer { state.lanes[name] = lane }
      state.shares.take(for: waiter.tenant)
      return lane.take() ? .taken : lane.add(waiter, at: lane.queue.endIndex)
    }
    return run(entry, name, waiter)
  }

  /// For a verdict, or where a permit is kept: it goes before all others and is never refused, since there are no more
  /// than permits to verify in.
  func enterAhead(_ name: SecretName, _ waiter: Waiter) {
    let entry = state.withLock { state -> Entry in
      state.shares.take(for: waiter.tenant)
      var lane = state.lanes[name] ?? Lane()
      defer { state.lanes[name] = lane }
      return lane.take() ? .taken : lane.add(waiter, at: lane.queue.startIndex)
    }
    _ = run(entry, name, waiter)
  }

  private func run(_ entry: Entry, _ name: SecretName, _ waiter: Waiter) -> SecretSchedule.Limit? {
    switch entry {
    case .refused(let limit): return limit
    case .queued: return nil
    case .taken:
      waiter.step(SecretLock(at: self, name, waiter))
      return nil
    }
  }

  // MARK: Locks

  /// - Parameter isParking: the waiter waits for a verdict instead of leaving.
  fileprivate func end(_ name: SecretName, of waiter: Waiter, hasVerdict: Bool, isParking: Bool) {
    let (next, mustTick) = state.withLock { state -> (Waiter?, Bool) in
      guard var lane = state.lanes[name] else { preconditionFailure("a lock belongs to a secret that is asked about") }
      if hasVerdict {
        lane.queue += lane.parked
        lane.parked = []
      }
      if isParking {
        var waiter = waiter
        waiter.waitsSince = waiter.waitsSince ?? state.tick
        lane.parked.append(waiter)
      } else {
        state.shares.giveBack(by: waiter.tenant)
      }
      let next = lane.queue.isEmpty ? nil : lane.queue.removeFirst()
      lane.isTaken = next != nil
      state.lanes[name] = lane.isEmpty ? nil : lane
      let mustTick = isParking && !state.isTicking
      if mustTick { state.isTicking = true }
      return (next, mustTick)
    }
    if mustTick { tickLater() }
    if let next { hand(name, to: next) }
  }

  private func hand(_ name: SecretName, to waiter: Waiter) {
    let lock = SecretLock(at: self, name, waiter)
    waiter.loop.execute { waiter.step(lock) }
  }

  // MARK: Waiting for a verdict

  private func tickLater() {
    timer.after(Self.interval) { [weak self] in self?.tick() }
  }

  /// All waiting waiters look again, or give up.
  private func tick() {
    let (due, expired, goesOn) = state.withLock { state -> ([(SecretName, Waiter)], [Waiter], Bool) in
      state.tick += 1
      var due: [(SecretName, Waiter)] = []
      var expired: [Waiter] = []
      // In the names' order, so that a simulation sees the same each time.
      let waiting = state.lanes.filter { !$0.value.parked.isEmpty }.keys
      for name in waiting.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
        guard var lane = state.lanes[name] else { continue }
        let mayWait = { [tick = state.tick] (waiter: Waiter) in
          tick - (waiter.waitsSince ?? tick) < Self.longestWait
        }
        expired += lane.parked.filter { !mayWait($0) }
        lane.queue += lane.parked.filter(mayWait)
        lane.parked = []
        if !lane.isTaken, !lane.queue.isEmpty {
          lane.isTaken = true
          due.append((name, lane.queue.removeFirst()))
        }
        state.lanes[name] = lane.isEmpty ? nil : lane
      }
      for waiter in expired { state.shares.giveBack(by: waiter.tenant) }
      state.isTicking = !waiting.isEmpty
      return (due, expired, state.isTicking)
    }
    if goesOn { tickLater() }
    for waiter in expired { waiter.loop.execute(waiter.expired) }
    for (name, waiter) in due { hand(name, to: waiter) }
  }
}

/// The right to admit or settle at one secret, until it is ended or dropped.
final class SecretLock: Sendable {
  private let locks: SecretLocks
  private let name: SecretName
  private let waiter: SecretLocks.Waiter
  private let isEnded = Atomic<Bool>(false)

  fileprivate init(at locks: SecretLocks, _ name: SecretName, _ waiter: SecretLocks.Waiter) {
    self.locks = locks
    self.name = name
    self.waiter = waiter
  }

  deinit {
    end()
  }

  /// It is the next one's lock.
  func end() {
    end(hasVerdict: false, isParking: false)
  }

  /// A verdict was written, so waiters that wait for one look again.
  func endWithVerdict() {
    end(hasVerdict: true, isParking: false)
  }

  /// The budget is in flight: the waiter's step runs again, in another lock, when a verdict is in or soon.
  func wait() {
    waiter.parks()
    end(hasVerdict: false, isParking: true)
  }

  private func end(hasVerdict: Bool, isParking: Bool) {
    guard !isEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    locks.end(name, of: waiter, hasVerdict: hasVerdict, isParking: isParking)
  }
}
