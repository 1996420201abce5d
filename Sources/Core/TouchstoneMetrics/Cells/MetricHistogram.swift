// A histogram's buckets.

internal import Synchronization

/// The buckets and the sum of one histogram's series.
package final class MetricHistogram: @unchecked Sendable {
  // Sendable because: the numbers are atomic, the rest is constant.

  /// How often each bucket was hit, by itself, and the sum of what was recorded.
  struct Reading {
    var counts: [Int64]
    var sum: Int64
  }

  private let bounds: [Int64]
  /// One for each bound, one above the last bound, and the sum.
  private let numbers: UnsafeMutablePointer<Atomic<Int64>>
  private let isConfined: Bool

  init(_ buckets: Buckets, isConfined: Bool) {
    bounds = buckets.bounds
    self.isConfined = isConfined
    let count = buckets.bounds.count + 2
    numbers = .allocate(capacity: count)
    for index in 0..<count { (numbers + index).initialize(to: Atomic(0)) }
  }

  deinit {
    numbers.deinitialize(count: bounds.count + 2)
    numbers.deallocate()
  }

  var reading: Reading {
    Reading(
      counts: (0...bounds.count).map { numbers[$0].load(ordering: .relaxed) },
      sum: numbers[bounds.count + 1].load(ordering: .relaxed))
  }

  /// Less than nothing counts as nothing. A duration is in nanoseconds.
  package func record(_ value: Int64) {
    let value = max(0, value)
    add(1, at: bucket(of: value))
    add(value, at: bounds.count + 1)
  }

  /// The first one whose bound is not less.
  private func bucket(of value: Int64) -> Int {
    bounds.withUnsafeBufferPointer { bounds in
      var (low, high) = (0, bounds.count)
      while low < high {
        let middle = (low + high) / 2
        if bounds[middle] < value { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  private func add(_ amount: Int64, at index: Int) {
    if isConfined {
      numbers[index].store(numbers[index].load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    } else {
      numbers[index].wrappingAdd(amount, ordering: .relaxed)
    }
  }
}
