internal import Synchronization

/// Tells followers of the audit log that there are new events. It carries no events: observers read the log.
///
/// Each store has one and signals it soon after each append by any process. One signal after several appends is enough,
/// and a superfluous one does no harm. A store that polls for news needs to poll only while `isObserved`.
public final class EventSignal: Sendable {
  public typealias Observer = @Sendable () -> Void

  /// Names an observer, to remove it.
  public struct Observation: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  private struct State: Sendable {
    var observers: [(observation: Observation, observer: Observer)] = []
    var nextNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  public init() {}

  public var isObserved: Bool { state.withLock { !$0.observers.isEmpty } }

  /// `observer` runs on a thread of the store's and must not block. It gets no signal for earlier events.
  public func observe(_ observer: @escaping Observer) -> Observation {
    state.withLock { state in
      let observation = Observation(number: state.nextNumber)
      state.nextNumber += 1
      state.observers.append((observation, observer))
      return observation
    }
  }

  /// It may run once more, if it is running or about to.
  public func remove(_ observation: Observation) {
    state.withLock { state in state.observers.removeAll { $0.observation == observation } }
  }

  public func ring() {
    let observers = state.withLock { $0.observers }
    for (_, observer) in observers { observer() }
  }
}
