import Dispatch
import Synchronization

/// The shell around `PoolStateMachine`: one funnel of lock, transition, unlock, perform.
///
/// Answers to requests are given on the thread of the event that brought them. Connections are made, connected and
/// closed on a queue of the pool's own, in the order of the transitions that decided it.
///
/// The timer and the connections hold the core, until the drain is over and they have closed: it needs no weak
/// references, which would slow down each lease.
final class PoolCore: Sendable {
  typealias Completion = @Sendable (Result<LeaseToken, PoolError>) -> Void
  typealias ConnectionFactory =
    @Sendable (ConnectionID, @escaping @Sendable (PoolConnectionEvent) -> Void) -> any PooledConnection

  enum Answer {
    case granted(LeaseToken)
    case refused(PoolError)
    /// `completion` will be called.
    case waits(RequestID)
  }

  private let state: Mutex<State>
  private let makeConnection: ConnectionFactory
  private let queue: DispatchQueue
  private let timer: WakeUpTimer
  private let resolve: @Sendable () -> Void

  init(
    configuration: PoolConfiguration, endpoints: [EndpointID]?, resolve: @escaping @Sendable () -> Void,
    makeConnection: @escaping ConnectionFactory
  ) {
    self.state = Mutex(State(machine: PoolStateMachine(configuration: configuration, endpoints: endpoints)))
    self.makeConnection = makeConnection
    self.resolve = resolve
    self.queue = DispatchQueue(label: "connection pool")
    self.timer = WakeUpTimer(queue: queue)
    timer.activate { [self] in
      handle { $0.timerFired(now: .now(), jitter: .randomJitter()) }
    }
  }

  func start() {
    handle { $0.started(now: .now()) }
  }

  /// `completion` is made and called only if the request has to wait.
  func lease(
    deadline: MonotonicTime?, waitForReady: Bool, completion: @autoclosure () -> Completion
  ) -> Answer {
    state.withLock { state in
      let action = state.machine.leaseRequested(deadline: deadline, waitForReady: waitForReady, now: .now())
      schedule(action)
      switch action.request {
      case .grant(let id): return .granted(token(for: id, in: state))
      case .refuse(let error): return .refused(error)
      case .enqueue(let id):
        state.waiting[id] = completion()
        return .waits(id)
      case .none: preconditionFailure("a request got no answer")
      }
    }
  }

  func cancel(_ id: RequestID) {
    handle { $0.requestCancelled(id) }
  }

  func release(_ id: ConnectionID) {
    handle { $0.leaseReturned(to: id, now: .now()) }
  }

  func replaceEndpoints(_ endpoints: [EndpointID]) {
    handle { $0.endpointsReplaced(endpoints, now: .now()) }
  }

  func endpointsNotFound(reason: String) {
    handle { $0.endpointsNotFound(reason: reason) }
  }

  func drain(deadline: MonotonicTime?, completion: @escaping @Sendable () -> Void) {
    state.withLock { $0.drainCompletions.append(completion) }
    handle { $0.drainRequested(deadline: deadline, now: .now()) }
  }

  var statistics: PoolStatistics {
    state.withLock { $0.machine.statistics }
  }

  var endpoints: [EndpointID] {
    state.withLock { $0.machine.group.endpoints.map(\.id) }
  }
}

// MARK: - The funnel

extension PoolCore {
  /// The state machine, with the connections and completions that its ids stand for.
  private struct State {
    var machine: PoolStateMachine
    /// By slot. A connection is entered before it is told to connect, so before it can be granted.
    var connections: [Entry?] = []
    var waiting: [RequestID: Completion] = [:]
    var drainCompletions: [@Sendable () -> Void] = []

    mutating func enter(_ entry: Entry) {
      while connections.count <= entry.id.slot { connections.append(nil) }
      connections[entry.id.slot] = entry
    }

    func connection(_ id: ConnectionID) -> (any PooledConnection)? {
      guard connections.indices.contains(id.slot), let entry = connections[id.slot], entry.id == id else { return nil }
      return entry.connection
    }

    mutating func forget(_ id: ConnectionID) {
      if connection(id) != nil { connections[id.slot] = nil }
    }

    mutating func takeDrainCompletions() -> [@Sendable () -> Void] {
      defer { drainCompletions = [] }
      return drainCompletions
    }
  }

  private struct Entry {
    let id: ConnectionID
    let connection: any PooledConnection
  }

  /// - Parameter closed: the connection that the event says has closed.
  private func handle(closed: ConnectionID? = nil, _ transition: (inout PoolStateMachine) -> PoolAction) {
    let (calls, drainCompletions) = state.withLock { state in
      let action = transition(&state.machine)
      if let closed { state.forget(closed) }
      schedule(action)
      let calls = action.answers.isEmpty ? [] : action.answers.map { call(for: $0, in: &state) }
      return (calls, action.completesDrain ? state.takeDrainCompletions() : [])
    }
    for call in calls { call.completion(call.result) }
    for completion in drainCompletions { completion() }
  }

  private func call(
    for answer: PoolAction.Answer, in state: inout State
  ) -> (completion: Completion, result: Result<LeaseToken, PoolError>) {
    guard let completion = state.waiting.removeValue(forKey: answer.request) else {
      preconditionFailure("an answer to a request that does not wait")
    }
    return (completion, answer.result.map { token(for: $0, in: state) })
  }

  private func token(for id: ConnectionID, in state: borrowing State) -> LeaseToken {
    guard let connection = state.connection(id) else {
      preconditionFailure("a lease on \(id), which is not here")
    }
    return LeaseToken(connection: connection, id: id, core: self)
  }

  /// Called under the lock, so that the queue and the timer see the transitions in their order.
  private func schedule(_ action: borrowing PoolAction) {
    if case .set(let time) = action.timer { timer.set(to: time) }
    for id in action.open { queue.async { [self] in open(id) } }
    for id in action.close { queue.async { [self] in close(id) } }
    if action.asksForEndpoints { queue.async(execute: resolve) }
    if action.completesDrain { timer.cancel() }
  }
}

// MARK: - Connections

extension PoolCore {
  private func open(_ id: ConnectionID) {
    let connection = makeConnection(id) { [self] event in
      received(event, from: id)
    }
    state.withLock { $0.enter(Entry(id: id, connection: connection)) }
    connection.connect()
  }

  private func close(_ id: ConnectionID) {
    let connection = state.withLock { $0.connection(id) }
    connection?.close()
  }

  private func received(_ event: PoolConnectionEvent, from id: ConnectionID) {
    let now = MonotonicTime.now()
    switch event {
    case .connected(let capacity):
      handle { $0.connected(id, capacity: capacity, now: now) }
    case .capacityChanged(let capacity):
      handle { $0.capacityChanged(id, capacity: capacity, now: now) }
    case .goingAway:
      handle { $0.goingAway(id, now: now, jitter: .randomJitter()) }
    case .closed(let reason):
      handle(closed: id) { $0.closed(id, reason: reason, now: now, jitter: .randomJitter()) }
    }
  }
}

extension Double {
  fileprivate static func randomJitter() -> Double {
    .random(in: -1...1)
  }
}

/// The one timer of a pool: fires at the time it was last set to.
///
/// Sendable because a Dispatch source may be set and cancelled from any thread.
final class WakeUpTimer: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  init(queue: DispatchQueue) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .distantFuture)
  }

  /// Call once. Keeps what `onFire` holds until `cancel()`.
  func activate(onFire: @escaping @Sendable () -> Void) {
    source.setEventHandler(handler: onFire)
    source.activate()
  }

  /// It never fires again, and lets go of `onFire`.
  func cancel() {
    source.cancel()
  }

  /// `DispatchTime` counts on the same clock as `MonotonicTime`.
  func set(to time: MonotonicTime) {
    source.schedule(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds))
  }
}
