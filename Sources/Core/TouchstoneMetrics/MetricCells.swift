internal import Synchronization

/// The buckets and the sum of one histogram's series.
package final class Histogram: @unchecked Sendable {
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

  /// In the family's recorded units: nanoseconds, bytes or things. Less than nothing counts as nothing.
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

/// One number of a counter's series.
package final class Counter: Sendable {
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

/// The number of a gauge's series, which any thread may set.
package final class Gauge: Sendable {
  private let bits = Atomic<UInt64>(0)

  var number: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  package func set(_ value: Double) {
    bits.store(value.bitPattern, ordering: .relaxed)
  }
}
