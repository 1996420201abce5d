/// One condition that a run has to meet: `--slo 'p99<20ms,errors<0.1%,rate>5000'`.
package struct Objective: Hashable, Sendable {
  package enum Metric: Hashable, Sendable {
    /// A percentile of the latencies, in microseconds.
    case percentile(Double)
    case mean
    case maximum
    /// Calls that were answered wrongly or not at all.
    case errors
    /// The same, as a part of what was due.
    case errorShare
    /// Successes per second.
    case rate
  }

  package enum Comparison: String, Sendable, CaseIterable {
    // The longer ones first: a text is read by its prefix.
    case atMost = "<="
    case atLeast = ">="
    case below = "<"
    case above = ">"
  }

  package let metric: Metric
  package let comparison: Comparison
  /// In the metric's unit.
  package let limit: Double
  /// The objective as it was written, without spaces.
  package let text: String

  package func isMet(by value: Double) -> Bool {
    switch comparison {
    case .atMost: value <= limit
    case .atLeast: value >= limit
    case .below: value < limit
    case .above: value > limit
    }
  }

  package static func list(_ text: String) throws(ObjectiveError) -> [Objective] {
    var objectives: [Objective] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      objectives.append(try Objective(String(part.filter { !$0.isWhitespace })))
    }
    return objectives
  }

  package init(_ text: String) throws(ObjectiveError) {
    guard let start = text.firstIndex(where: { $0 == "<" || $0 == ">" }),
      let comparison = Comparison.allCases.first(where: { text[start...].hasPrefix($0.rawValue) })
    else { throw ObjectiveError(text: text, reason: "has no <, <=, > or >=") }
    let name = text[..<start]
    let value = text[start...].dropFirst(comparison.rawValue.count)
    guard let metric = Metric(String(name), isShare: value.hasSuffix("%")) else {
      throw ObjectiveError(text: text, reason: "names none of p50, p99.9 and so on, mean, max, errors and rate")
    }
    guard let limit = metric.limit(String(value)) else {
      throw ObjectiveError(text: text, reason: "needs \(metric.unit) after \(comparison.rawValue)")
    }
    (self.metric, self.comparison, self.limit, self.text) = (metric, comparison, limit, text)
  }
}

package struct ObjectiveError: Error, CustomStringConvertible {
  package let text: String
  package let reason: String

  package var description: String { "the objective \"\(text)\" \(reason)" }
}

extension Objective.Metric {
  fileprivate init?(_ name: String, isShare: Bool) {
    switch name {
    case "mean": self = .mean
    case "max": self = .maximum
    case "errors": self = isShare ? .errorShare : .errors
    case "rate": self = .rate
    default:
      guard name.hasPrefix("p") else { return nil }
      let digits = name.dropFirst()
      // p999 is p99.9, as the report's keys have it.
      let isKey = digits.count > 2 && digits.allSatisfy { $0 == "9" }
      guard let value = Double(isKey ? "99.\(digits.dropFirst(2))" : String(digits)), value > 0, value <= 100 else {
        return nil
      }
      self = .percentile(value)
    }
  }

  fileprivate var unit: String {
    switch self {
    case .percentile, .mean, .maximum: "a time such as 20ms (us, ms, s)"
    case .errors: "a count, or a part such as 0.1%"
    case .errorShare: "a part such as 0.1%"
    case .rate: "calls per second"
    }
  }

  fileprivate func limit(_ text: String) -> Double? {
    func number(_ text: some StringProtocol) -> Double? {
      guard let value = Double(text), value.isFinite, value >= 0 else { return nil }
      return value
    }
    switch self {
    case .rate, .errors: return number(text)
    case .errorShare: return number(text.dropLast()).map { $0 / 100 }
    case .percentile, .mean, .maximum:
      for (suffix, factor) in [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)] where text.hasSuffix(suffix) {
        return number(text.dropLast(suffix.count)).map { $0 * factor }
      }
      return nil
    }
  }

  /// A value of this metric, for a person.
  package func readable(_ value: Double) -> String {
    switch self {
    case .percentile, .mean, .maximum: Int(value.rounded()).asTime
    case .errors: Int(value).grouped
    case .errorShare: "\((value * 100).fixed(3)) %"
    case .rate: "\(value.fixed(1))/s"
    }
  }
}
