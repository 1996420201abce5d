// Orders the admissions and verdicts of one secret, one after another (R14).
//
// The gate is an order, not a guard: what holds across processes is the store's compare-and-set. Within this process it
// spares the conflicts, and it is where attempts wait while the whole budget is being verified.

internal import Synchronization
internal import TouchstonePolicy

/// One secret of one profile, by its bytes: the gate's key, and what its verifier is bound to.
struct SecretName: Sendable, Hashable {
  /// Application, profile and kind, the texts behind their lengths.
  let bytes: [UInt8]

  /// - Parameter kind: passcode or gesture.
  init(applicationID: String, profileID: String, kind: Factor) {
    var bytes: [UInt8] = []
    for text in [applicationID, profileID] {
      withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { bytes += $0 }
      bytes += text.utf8
    }
    self.bytes = bytes + [kind.rawValue]
  }

  /// In UTF-8.
  var application: [UInt8] { Array(texts.application) }

  var profile: ProfileName {
    ProfileName(
      applicationID: String(decoding: texts.application, as: UTF8.self),
      profileID: String(decoding: texts.profile, as: UTF8.self))
  }

  private var texts: (application: ArraySlice<UInt8>, profile: ArraySlice<UInt8>) {
    let countBytes = 4
    let count = bytes.prefix(countBytes).reduce(0) { $0 << 8 | Int($1) }
    // The second text is the rest, up to the kind.
    return (bytes.dropFirst(countBytes).prefix(count), bytes.dropFirst(countBytes + count + countBytes).dropLast())
  }
}

/// Runs work later: a service's timer, or a simulation's.
public protocol DelayedExecutor: Sendable {
  func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void)
}

/// One queue for each secret that is asked about now.
final class SecretGate: Sendable {
  /// Attempts at one secret, waiting or at work: no person makes more at one time.
  static let attemptsPerSecret = 256
  /// At all secrets together. Each holds a call, so this is what a flood may take of memory: a few MiB. No application
  /// holds what is left for the others.
  static let attempts = 8_192
  /// How often a visitor that waits for a verdict looks again, because another process may have written it.
  static let interval = Duration.milliseconds(100)
  /// How long anybody waits for a verdict, in intervals: the ten seconds after which one counts as lost.
  static let patience = 100

  typealias Step = @Sendable (SecretTurn) -> Void

  /// A visitor in the queue.
  struct Visitor: Sendable {
    /// Whose share of the gate it takes.
    var holder: FairShares.Holder
    /// Runs the step on the event loop of its call.
    var execute: @Sendable (@escaping @Sendable () -> Void) -> Void
    var step: Step
    /// Runs instead of the step where the patience is over.
    var expired: @Sendable () -> Void
    /// Runs before the visitor begins to wait for a verdict.
    var parks: @Sendable () -> Void = {}
    /// The tick at which it began to wait for a verdict.
    var waitsSince: Int?
  }

  private struct Lane: Sendable {
    var isTaken = false
    var queue: [Visitor] = []
    /// Waiting for a verdict.
    var parked: [Visitor] = []

    var isEmpty: Bool { !isTaken && queue.isEmpty && parked.isEmpty }
    var count: Int { queue.count + parked.count + (isTaken ? 1 : 0) }

    /// False if another visitor has it.
    mutating func take() -> Bool {
      defer { isTaken = true }
      return !isTaken
    }

    mutating func add(_ visitor: Visitor, at index: Int) -> Entry {
      queue.insert(visitor, at: index)
      return .queued
    }
  }

  private enum Entry { case refused(SecretSchedule.Limit), queued, taken }

  private struct State: Sendable {
    var lanes: [SecretName: Lane] = [:]
    var shares = FairShares(capacity: SecretGate.attempts)
    var tick = 0
    var isTicking = false
  }

  private let state = Mutex(State())
  private let timer: any DelayedExecutor

  init(timer: any DelayedExecutor) {
    self.timer = timer
  }

  /// For an admission. Runs the visitor's step when it is its turn: before `enter` returns if no visitor is ahead.
  ///
  /// - Returns: the limit where too many wait, and nothing will run.
  func enter(_ name: SecretName, _ visitor: Visitor) -> SecretSchedule.Limit? {
    let entry = state.withLock { state -> Entry in
      var lane = state.lanes[name] ?? Lane()
      if lane.count >= Self.attemptsPerSecret { return .refused(.secret) }
      if let limit = state.shares.limit(for: visitor.holder) { return .refused(.share(limit)) }
      defer { state.lanes[name] = lane }
      state.shares.take(for: visitor.holder)
      return lane.take() ? .taken : lane.add(visitor, at: lane.queue.endIndex)
    }
    return run(entry, name, visitor)
  }

  /// For a verdict, or where a place is kept: it goes before all others and is never refused, since there are no more
  /// than places to verify in.
  func enterAhead(_ name: SecretName, _ visitor: Visitor) {
    let entry = state.withLock { state -> Entry in
      state.shares.take(for: visitor.holder)
      var lane = state.lanes[name] ?? Lane()
      defer { state.lanes[name] = lane }
      return lane.take() ? .taken : lane.add(visitor, at: lane.queue.startIndex)
    }
    _ = run(entry, name, visitor)
  }

  private func run(_ entry: Entry, _ name: SecretName, _ visitor: Visitor) -> SecretSchedule.Limit? {
    switch entry {
    case .refused(let limit): return limit
    case .queued: return nil
    case .taken:
      visitor.step(SecretTurn(at: self, name, visitor))
      return nil
    }
  }

  // MARK: Turns

  /// - Parameter isParking: the visitor waits for a verdict instead of leaving.
  fileprivate func end(_ name: SecretName, of visitor: Visitor, hasVerdict: Bool, isParking: Bool) {
    let (next, mustTick) = state.withLock { state -> (Visitor?, Bool) in
      guard var lane = state.lanes[name] else { preconditionFailure("a turn belongs to a secret that is asked about") }
      if hasVerdict {
        lane.queue += lane.parked
        lane.parked = []
      }
      if isParking {
        var visitor = visitor
        visitor.waitsSince = visitor.waitsSince ?? state.tick
        lane.parked.append(visitor)
      } else {
        state.shares.giveBack(by: visitor.holder)
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

  private func hand(_ name: SecretName, to visitor: Visitor) {
    let turn = SecretTurn(at: self, name, visitor)
    visitor.execute { visitor.step(turn) }
  }

  // MARK: Waiting for a verdict

  private func tickLater() {
    timer.after(Self.interval) { [weak self] in self?.tick() }
  }

  /// All waiting visitors look again, or give up.
  private func tick() {
    let (due, expired, goesOn) = state.withLock { state -> ([(SecretName, Visitor)], [Visitor], Bool) in
      state.tick += 1
      var due: [(SecretName, Visitor)] = []
      var expired: [Visitor] = []
      // In the names' order, so that a simulation sees the same each time.
      let waiting = state.lanes.filter { !$0.value.parked.isEmpty }.keys
      for name in waiting.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
        guard var lane = state.lanes[name] else { continue }
        let hasPatience = { [tick = state.tick] (visitor: Visitor) in
          tick - (visitor.waitsSince ?? tick) < Self.patience
        }
        expired += lane.parked.filter { !hasPatience($0) }
        lane.queue += lane.parked.filter(hasPatience)
        lane.parked = []
        if !lane.isTaken, !lane.queue.isEmpty {
          lane.isTaken = true
          due.append((name, lane.queue.removeFirst()))
        }
        state.lanes[name] = lane.isEmpty ? nil : lane
      }
      for visitor in expired { state.shares.giveBack(by: visitor.holder) }
      state.isTicking = !waiting.isEmpty
      return (due, expired, state.isTicking)
    }
    if goesOn { tickLater() }
    for visitor in expired { visitor.execute(visitor.expired) }
    for (name, visitor) in due { hand(name, to: visitor) }
  }
}

/// The right to admit or settle at one secret, until it is ended or dropped.
final class SecretTurn: Sendable {
  private let gate: SecretGate
  private let name: SecretName
  private let visitor: SecretGate.Visitor
  private let isEnded = Atomic<Bool>(false)

  fileprivate init(at gate: SecretGate, _ name: SecretName, _ visitor: SecretGate.Visitor) {
    self.gate = gate
    self.name = name
    self.visitor = visitor
  }

  deinit {
    end()
  }

  /// It is the next one's turn.
  func end() {
    end(hasVerdict: false, isParking: false)
  }

  /// A verdict was written, so visitors that wait for one look again.
  func endWithVerdict() {
    end(hasVerdict: true, isParking: false)
  }

  /// The budget is in flight: the visitor's step runs again, in another turn, when a verdict is in or soon.
  func wait() {
    visitor.parks()
    end(hasVerdict: false, isParking: true)
  }

  private func end(hasVerdict: Bool, isParking: Bool) {
    guard !isEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    gate.end(name, of: visitor, hasVerdict: hasVerdict, isParking: isParking)
  }
}
