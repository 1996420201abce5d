// Values that callbacks hand to a test.

import Synchronization

/// Values from callbacks, awaited in order. They are handed over under the lock, which ThreadSanitizer understands.
public final class Box<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  public init() {}

  public func put(_ value: Value) {
    let waiter = state.withLock { state in
      state.values.append(value)
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    waiter?.resume()
  }

  /// - Parameter fits: values before the one that fits are dropped.
  public func next(where fits: (Value) -> Bool) async -> Value {
    while true {
      let value = await next()
      if fits(value) { return value }
    }
  }

  public func next() async -> Value {
    while true {
      if let value = state.withLock({ $0.values.isEmpty ? nil : $0.values.removeFirst() }) { return value }
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.values.isEmpty { state.waiting.append(continuation) }
          return !state.values.isEmpty
        }
        if isThere { continuation.resume() }
      }
    }
  }

  /// The values that came and fit, without waiting.
  public func take(where fits: (Value) -> Bool = { _ in true }) -> [Value] {
    state.withLock { state in
      defer { state.values.removeAll(where: fits) }
      return state.values.filter(fits)
    }
  }

  public var count: Int { state.withLock { $0.values.count } }
}
