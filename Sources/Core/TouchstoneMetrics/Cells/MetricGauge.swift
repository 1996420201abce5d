// A gauge's number.

internal import Synchronization

/// The number of a gauge's series, which any thread may set.
package final class MetricGauge: Sendable {
  private let bits = Atomic<UInt64>(0)

  var number: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  package func set(_ value: Double) {
    bits.store(value.bitPattern, ordering: .relaxed)
  }
}
