// Counters of one family, by the cases of an enum.

internal import TouchstoneMetrics

/// One counter for each case, made at once, so that each series is there from the start.
struct CounterTable<Key: Hashable & Sendable>: Sendable {
  private let counters: [Key: MetricCounter]

  /// - Parameter counter: makes a case's counter.
  init(_ keys: some Sequence<Key>, counter: (Key) -> MetricCounter) {
    counters = Dictionary(uniqueKeysWithValues: keys.map { ($0, counter($0)) })
  }

  func count(_ key: Key) {
    counters[key]?.increment()
  }
}

extension CounterTable where Key: CaseIterable {
  /// For a family with one label.
  ///
  /// - Parameter name: the label's value.
  init(_ family: MetricFamily, of metrics: MetricRegistry, name: (Key) -> String) {
    self.init(Key.allCases) { metrics.counter(family, name($0)) }
  }
}
