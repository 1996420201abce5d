// The counters of one policy's evaluations.

internal import TouchstoneMetrics
internal import TouchstonePolicy

/// A policy's counters, made when the policy is configured. They hang on the policy's entry, so that an attempt looks
/// up none.
struct PolicyMeters: Sendable {
  enum Result: String, CaseIterable, Sendable {
    case opened
    case denied
    case invalidated
  }

  private let results: [Counter]
  /// By factor, then by outcome.
  private let attempts: [[Counter]]

  init(_ policy: EvaluationPolicy, _ metrics: MetricRegistry) {
    results = Result.allCases.map { metrics.counter(.evaluations, policy.name, $0.rawValue) }
    func outcomes(_ factor: String) -> [Counter] {
      Outcome.allCases.map { metrics.counter(.attempts, policy.name, factor, $0.metricName) }
    }
    let others = outcomes("other")
    let ofFactors = Factor.allCases.map { policy.factors.contains($0) ? outcomes($0.settingName) : others }
    // A factor's raw value is its place; 0 is none.
    attempts = [outcomes("none")] + ofFactors
  }

  func count(_ result: Result) {
    switch result {
    case .opened: results[0].increment()
    case .denied: results[1].increment()
    case .invalidated: results[2].increment()
    }
  }

  /// - Parameter factor: `nil` for a report of the device.
  func count(attemptBy factor: Factor?, _ outcome: Outcome) {
    attempts[Int(factor?.rawValue ?? 0)][Int(outcome.rawValue) - 1].increment()
  }
}

extension Outcome {
  fileprivate var metricName: String {
    switch self {
    case .succeeded: "succeeded"
    case .tryAgain: "try_again"
    case .failed: "failed"
    case .canceled: "canceled"
    case .fallback: "fallback"
    case .lockedOut: "locked_out"
    case .factorRequired: "factor_required"
    case .invalidContext: "invalid_context"
    }
  }
}
