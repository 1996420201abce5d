// Whether one version is worse than another, beyond what repeated runs differ by.

internal import Glibc

/// The runs before a change, and those after it.
package struct Comparison: Sendable {
  package struct Row: Sendable {
    package enum Change: String, Sendable {
      case better, same, worse
      /// Too few runs to judge so rare a value by.
      case unjudged = "not judged"
    }

    package var name: String
    package var before: Double
    package var after: Double
    /// The difference's interval at 95 %; `nil` with one run, which is not enough for it.
    package var interval: ClosedRange<Double>?
    package var change: Change
    var metric: Objective.Metric
  }

  package let rows: [Row]
  package let runs: (before: Int, after: Int)

  /// With one run on a side, a smaller difference is taken for noise.
  private static let singleRunTolerance = 0.2
  /// A difference that is certain, but smaller than this, matters to no one.
  private static let minimumEffect = 0.01

  private static let metrics: [(String, Objective.Metric, @Sendable (LoadReport) -> Double)] = [
    ("rate", .rate, { $0.rate }),
    ("p50", .percentile(50), { Double($0.p50) }),
    ("p90", .percentile(90), { Double($0.p90) }),
    ("p99", .percentile(99), { Double($0.p99) }),
    ("p99.9", .percentile(99.9), { Double($0.p999) }),
    ("max", .maximum, { Double($0.maximum) }),
  ]

  /// - Precondition: there is a run on each side.
  package init(_ before: [LoadReport], _ after: [LoadReport]) {
    precondition(!before.isEmpty && !after.isEmpty)
    runs = (before.count, after.count)
    rows =
      Self.metrics.map { name, metric, value in
        Self.row(name, metric, before.map(value), after.map(value))
      } + [Self.errorRow(before, after)]
  }

  package var hasRegression: Bool { rows.contains { $0.change == .worse } }

  private static func row(_ name: String, _ metric: Objective.Metric, _ before: [Double], _ after: [Double]) -> Row {
    let (was, isNow) = (Sample(before), Sample(after))
    let interval = was.interval(ofDifferenceTo: isNow)
    // Per cent that matter: of the rate, less is worse; of the times, more.
    let worsening = (isNow.mean - was.mean) / max(was.mean, .leastNormalMagnitude) * (metric == .rate ? -1 : 1)
    let isRare = metric == .maximum || metric == .percentile(99.9)
    let isCertain =
      if let interval { !interval.contains(0) && worsening.magnitude > minimumEffect } else {
        worsening.magnitude > singleRunTolerance
      }
    let change: Row.Change =
      if metric == .maximum || isRare && interval == nil { .unjudged } else if !isCertain { .same } else {
        worsening > 0 ? .worse : .better
      }
    return Row(name: name, before: was.mean, after: isNow.mean, interval: interval, change: change, metric: metric)
  }

  /// Compares the counts of all runs as two proportions.
  private static func errorRow(_ before: [LoadReport], _ after: [LoadReport]) -> Row {
    let (was, isNow) = (Proportion(before), Proportion(after))
    let deviation = was.deviation(ofDifferenceTo: isNow)
    let difference = isNow.share - was.share
    let interval = difference - Sample.normalQuantile * deviation...difference + Sample.normalQuantile * deviation
    let change: Row.Change = interval.contains(0) ? .same : difference > 0 ? .worse : .better
    return Row(
      name: "errors", before: was.share, after: isNow.share, interval: interval, change: change, metric: .errorShare)
  }

  package var text: String {
    let width = 14
    func columns(_ cells: [String]) -> String {
      cells.prefix(1).joined().leading(to: 8) + cells.dropFirst().map { $0.padded(to: width) }.joined()
    }
    let lines = rows.map { row in
      let readable = row.metric.readable
      let percent = row.before == 0 ? "" : "\(((row.after / row.before - 1) * 100).fixed(1)) %"
      let interval = row.interval.map {
        "  \(row.metric.difference($0.lowerBound)) to \(row.metric.difference($0.upperBound))"
      }
      return columns([row.name, readable(row.before), readable(row.after), percent, row.change.rawValue])
        + (interval ?? "")
    }
    let note =
      runs.before > 1 && runs.after > 1
      ? "\(runs.before) and \(runs.after) runs; intervals of the difference at 95 %"
      : "one run on a side: less than \((Self.singleRunTolerance * 100).fixed(0)) % is taken for noise; "
        + "append more runs to the files for confidence intervals"
    return ([columns(["", "before", "after", "", ""])] + lines + ["", note]).joined(separator: "\n")
  }
}

/// Values of repeated runs.
private struct Sample {
  static let normalQuantile = 1.96

  let count: Double
  let mean: Double
  let variance: Double

  init(_ values: [Double]) {
    count = Double(values.count)
    let mean = values.reduce(0, +) / count
    self.mean = mean
    variance = values.count < 2 ? 0 : values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / (count - 1)
  }

  /// Welch's: the variances need not be equal.
  func interval(ofDifferenceTo other: Sample) -> ClosedRange<Double>? {
    guard count > 1, other.count > 1 else { return nil }
    let (own, others) = (variance / count, other.variance / other.count)
    let deviation = (own + others).squareRoot()
    let freedom =
      deviation == 0
      ? .infinity : (own + others) * (own + others) / (own * own / (count - 1) + others * others / (other.count - 1))
    let difference = other.mean - mean
    let margin = Self.studentQuantile(freedom) * deviation
    return difference - margin...difference + margin
  }

  /// The 97.5 % quantile of Student's distribution.
  static func studentQuantile(_ freedom: Double) -> Double {
    let quantiles = [
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
      2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ]
    // Fractions of a degree are rounded down, which widens the interval.
    return freedom < Double(quantiles.count + 1) ? quantiles[max(0, Int(freedom) - 1)] : normalQuantile
  }
}

private struct Proportion {
  let count: Double
  let share: Double

  init(_ reports: [LoadReport]) {
    let due = reports.reduce(0) { $0 + $1.due }
    let errors = reports.reduce(0) { $0 + $1.errors }
    count = max(1, Double(due))
    share = Double(errors) / count
  }

  func deviation(ofDifferenceTo other: Proportion) -> Double {
    let variance = share * (1 - share) / count + other.share * (1 - other.share) / other.count
    // One error among many calls is no certain difference to none.
    return max(variance.squareRoot(), 1 / min(count, other.count))
  }
}

extension Objective.Metric {
  fileprivate func difference(_ value: Double) -> String {
    (value < 0 ? "-" : "+") + readable(value.magnitude)
  }
}

extension String {
  fileprivate func leading(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
