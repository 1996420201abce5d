// ExplainEvaluation: what BeginEvaluation would answer, and by which rules. Opens nothing, writes nothing.

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  @Sendable func explainEvaluation(
    _ request: V1.ExplainEvaluationRequest, _ exchange: Exchange<V1.ExplainEvaluationResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    if request.begin == nil { validator.refuse("begin", "is required") }
    let asked = request.at.map { validator.time($0, "at") }
    try validator.finish()
    let terms = try openingTerms(request.begin ?? V1.BeginEvaluationRequest(), prefix: "begin.")
    let now = asked ?? clock()
    guard terms.subject != .bearer else {
      return explain(terms, for: .unnamed(in: terms.applicationID), exchange, at: now)
    }
    subject(terms.subject, of: terms.applicationID, evaluation: nil, for: exchange) { [self] subject in
      explain(terms, for: subject, exchange, at: now)
    }
  }

  /// - Parameter now: what the rules take for the present; what is stored is as it is today.
  private func explain(
    _ terms: OpeningTerms, for subject: Subject, _ exchange: Exchange<V1.ExplainEvaluationResponse>, at now: UnixTime
  ) {
    let facts = subject.facts(posture: terms.posture, now: now)
    let (preflight, trace) = terms.policy.explain(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: now)
    exchange.answer(
      V1.ExplainEvaluationResponse(
        answer: V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language),
        trace: trace.map { V1.RuleTrace(rule: $0.rule, passed: $0.passed, detail: $0.detail) }))
  }
}
