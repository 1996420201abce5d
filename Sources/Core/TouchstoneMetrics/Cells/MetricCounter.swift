// A counter's number.

internal import Synchronization

/// One number of a counter's series.
package final class MetricCounter: Sendable {
  private let value = Atomic<Int64>(0)
  /// One thread at a time raises it, which needs no locked instruction.
  private let isConfined: Bool

  init(isConfined: Bool) {
    self.isConfined = isConfined
  }

  var count: Int64 { value.load(ordering: .relaxed) }

  /// A counter never falls: a negative amount counts nothing.
  package func increment(by amount: Int64 = 1) {
    guard amount > 0 else { return }
    if isConfined {
      value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    } else {
      value.wrappingAdd(amount, ordering: .relaxed)
    }
  }
}
