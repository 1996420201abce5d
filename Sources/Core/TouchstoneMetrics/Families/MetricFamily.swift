/// A row of `MetricFamilies`: everything about a family but its numbers.
package struct MetricFamily: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// Only rises, and begins at 0 with the process.
    case counter
    case gauge
    case histogram(Buckets)
  }

  /// The unit of the exposed numbers, as the end of the name states it.
  package enum Unit: Sendable, Hashable {
    case none
    case seconds
    case bytes
  }

  /// As Prometheus shows it, with its unit and `_total`.
  package let name: String
  package let kind: Kind
  package let unit: Unit
  /// The names of the labels. Their values come from enums and the configuration, never from a request.
  package let labels: [String]
  package let help: String

  package init(_ name: String, _ kind: Kind, _ unit: Unit = .none, labels: [String] = [], help: String) {
    (self.name, self.kind, self.unit, self.labels, self.help) = (name, kind, unit, labels, help)
  }

  /// The type in the text exposition.
  package var typeName: String {
    switch kind {
    case .counter: "counter"
    case .gauge: "gauge"
    case .histogram: "histogram"
    }
  }

  package var unitName: String {
    switch unit {
    case .none: ""
    case .seconds: "seconds"
    case .bytes: "bytes"
    }
  }
}

/// The upper bounds of a histogram's buckets, in whole recorded units: nanoseconds, bytes or things.
package struct Buckets: Sendable, Hashable {
  /// Ascending. The last bucket has no bound.
  package let bounds: [Int64]
  /// Recorded units in one exposed unit.
  package let scale: Double

  private init(bounds: [Int64], scale: Double) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds ascend")
    (self.bounds, self.scale) = (bounds, scale)
  }

  package static let nanosecondsPerSecond = 1e9

  package static func seconds(_ bounds: [Double]) -> Buckets {
    Buckets(bounds: bounds.map { Int64(($0 * nanosecondsPerSecond).rounded()) }, scale: nanosecondsPerSecond)
  }

  package static func counts(_ bounds: [Int64]) -> Buckets { Buckets(bounds: bounds, scale: 1) }
}
