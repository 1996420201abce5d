// A counter's number.

internal import CoreMetrics
internal import Synchronization

/// One number of a counter's series.
final class CounterCell: CounterHandler, Sendable {
  private let value = Atomic<Int64>(0)
  /// One thread at a time raises it, which needs no locked instruction.
  private let isConfined: Bool

  init(isConfined: Bool) {
    self.isConfined = isConfined
  }

  var count: Int64 { value.load(ordering: .relaxed) }

  /// A counter never falls: a negative amount counts nothing.
  func increment(by amount: Int64) {
    guard amount > 0 else { return }
    if isConfined {
      value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    } else {
      value.wrappingAdd(amount, ordering: .relaxed)
    }
  }

  func reset() {
    value.store(0, ordering: .relaxed)
  }
}
