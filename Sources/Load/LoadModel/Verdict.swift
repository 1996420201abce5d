// Whether a run was valid and good enough: the exit code.

package struct Verdict: Sendable {
  package enum Outcome: String, Codable, Sendable {
    /// Valid, and all objectives are met.
    case valid
    /// An objective is missed, or there are errors that no flag allows.
    case missed
    /// The client itself was the limit, so the run says little about the service.
    case clientLimited = "client_limited"

    package var exitCode: Int32 {
      switch self {
      case .valid: 0
      case .missed: 99
      case .clientLimited: 70
      }
    }
  }

  package var outcome: Outcome
  /// Why it is not valid; if it is, what the client was the limit of beside stalls of the service.
  package var reasons: [String]

  /// Later than this for one call in a hundred, and the client's lateness would be taken for the service's.
  private static let maximumSendLag = 20_000
  private static let maximumCPUShare = 0.95

  package init(_ report: LoadReport, _ objectives: [LoadReport.ObjectiveEntry], allowsErrors: Bool) {
    var misses = objectives.filter { !$0.isMet }.map { "\($0.objective) (\($0.readable))" }
    if report.errors > 0, !allowsErrors {
      misses.append("\(report.errors.grouped) of \(report.due.grouped) calls are errors")
    }
    if report.due > 0, report.succeeded == 0 { misses.append("no call succeeded") }
    let limits = Self.clientLimits(report)
    if !misses.isEmpty {
      (outcome, reasons) = (.missed, misses + limits)
    } else if limits.isEmpty || !report.stalls.isEmpty {
      // A service that stands still is not the client's limit: its answers then come all at once. The limits stay in
      // the report.
      (outcome, reasons) = (.valid, limits)
    } else {
      (outcome, reasons) = (.clientLimited, limits)
    }
  }

  private static func clientLimits(_ report: LoadReport) -> [String] {
    let client = report.client
    var limits: [String] = []
    if client.sendLagP99Us > maximumSendLag {
      limits.append("the client sent late: p99 \(client.sendLagP99Us.asTime)")
    }
    if client.cpuShare > maximumCPUShare || client.busiestThreadShare > maximumCPUShare {
      limits.append("the client's CPU was used up")
    }
    // A service that does not answer keeps the callers.
    let isUnanswered = report.unfinished > 0 || report.timedOut > 0 || !report.stalls.isEmpty
    if report.unsent > 0 || client.callsWithoutCaller > report.due / 100, !isUnanswered {
      limits.append("the client ran out of callers: \(report.callers.grouped)")
    }
    if client.callsWithoutPhone > report.due / 100, !isUnanswered {
      limits.append("the client ran out of phones: more --connections or --streams bring more")
    }
    return limits
  }
}

extension LoadReport {
  /// Adds the verdict. If an objective limits errors, that limit counts instead of none at all.
  package mutating func judge(by objectives: [Objective], allowsErrors: Bool) {
    self.objectives = objectives.map { objective in
      let value = value(of: objective.metric)
      return ObjectiveEntry(
        objective: objective.text, measured: value, readable: objective.metric.readable(value),
        isMet: objective.isMet(by: value))
    }
    let limitsErrors = objectives.contains { $0.metric == .errors || $0.metric == .errorShare }
    let verdict = Verdict(self, self.objectives, allowsErrors: allowsErrors || limitsErrors)
    self.verdict = verdict.outcome
    reasons = verdict.reasons
    exitCode = verdict.outcome.exitCode
  }
}
