// A gauge's number.

internal import CoreMetrics
internal import Synchronization

/// The number of a gauge's series, which any thread may set.
final class GaugeCell: RecorderHandler, MeterHandler, Sendable {
  private let bits = Atomic<UInt64>(0)

  var number: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func set(_ value: Int64) { set(Double(value)) }

  func set(_ value: Double) {
    bits.store(value.bitPattern, ordering: .relaxed)
  }

  func increment(by amount: Double) {
    var current = bits.load(ordering: .relaxed)
    while true {
      let (isExchanged, original) = bits.compareExchange(
        expected: current, desired: (Double(bitPattern: current) + amount).bitPattern, ordering: .relaxed)
      if isExchanged { return }
      current = original
    }
  }

  func decrement(by amount: Double) { increment(by: -amount) }
}
