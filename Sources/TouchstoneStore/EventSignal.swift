// How those who follow the audit log hear that there is more of it.

internal import Synchronization

/// Rings where events were appended. It says nothing of them: whoever hears it reads what is new.
///
/// A store has one and rings it soon after each append, by whichever process; for several in a row, once after the last
/// one is enough, and once too often does no harm. A store that has to ask for news need ask only while `isObserved`.
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

  /// `observer` runs on a thread of the store's and must not block. What was appended before is not told.
  public func observe(_ observer: @escaping Observer) -> Observation {
    state.withLock { state in
      let observation = Observation(number: state.nextNumber)
      state.nextNumber += 1
      state.observers.append((observation, observer))
      return observation
    }
  }

  /// It may run once more, where it is running or about to.
  public func remove(_ observation: Observation) {
    state.withLock { state in state.observers.removeAll { $0.observation == observation } }
  }

  public func ring() {
    let observers = state.withLock { $0.observers }
    for (_, observer) in observers { observer() }
  }
}
