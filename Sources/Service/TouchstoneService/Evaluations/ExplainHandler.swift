// ExplainEvaluation: what BeginEvaluation would answer, and by which rules. Opens nothing, writes nothing.

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  @Sendable func explainEvaluation(
    _ request: V1.ExplainEvaluationRequest, _ exchange: Exchange<V1.ExplainEvaluationResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    let asked = request.at.map { validator.time($0, "at") }
    guard let begin = request.begin else {
      validator.refuse("begin", "is required")
      return try validator.finish()
    }
    let isPostureKnown = begin.posture == nil && !begin.bindingID.isEmpty
    let terms = try openingTerms(
      begin, prefix: "begin.", after: validator.violations, isPostureKnown: isPostureKnown, showsPrompt: false)
    let now = asked ?? clock()
    if isPostureKnown {
      return exchange.deciding { [self] round throws(RequestError) in
        try explain(terms, bySeenPostureOf: begin.bindingID, exchange, at: now, in: round)
      }
    }
    guard terms.subject != .bearer else {
      return explain(terms, for: .unnamed(in: terms.applicationID), exchange, at: now)
    }
    subject(terms.subject, of: terms.applicationID, evaluation: nil, for: exchange) { [self] subject in
      explain(terms, for: subject, exchange, at: now)
    }
  }

  /// By the posture that was last seen of the binding. Its domain state is not kept: it is taken for the one that holds.
  private func explain(
    _ terms: OpeningTerms, bySeenPostureOf bindingID: String, _ exchange: Exchange<V1.ExplainEvaluationResponse>,
    at now: UnixTime, in round: DecisionRound
  ) throws(RequestError) {
    try binding(bindingID, of: terms.applicationID, for: exchange) { [self] binding in
      guard binding.passkey == nil else {
        // It has no device, and so no posture.
        var terms = terms
        terms.posture = .ofPasskeyClient
        return subject(terms.subject, of: terms.applicationID, evaluation: nil, for: exchange) {
          [self, terms] subject in
          explain(terms, for: subject, exchange, at: now)
        }
      }
      guard let seen = binding.lastSeen else {
        let event = EventDraft.binding(
          .refused, binding, reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
        let refusal = ThrottledEvent(
          event, about: bindingID, on: [.requireBinding(id: binding.bindingID, version: binding.version)])
        return record(refusal, in: round, for: exchange) { () throws(RequestError) in
          throw .notFound("the binding's device was not seen yet; send begin.posture")
        }
      }
      var terms = terms
      terms.posture = seen.posture
      // A stored posture has no domain state. If that phone had one to give, it is taken for unchanged.
      if seen.posture.isBiometryEnrolled && !seen.posture.isBiometryLockedOut {
        terms.posture.domainState = binding.baseline?.domainState ?? []
      }
      subject(terms.subject, of: terms.applicationID, evaluation: nil, for: exchange) { [self, terms] subject in
        explain(terms, for: subject, seen: V1.SeenPosture(seen, of: bindingID), exchange, at: now)
      }
    }
  }

  /// - Parameters:
  ///   - seen: where the request has no posture.
  ///   - now: what the rules take for the present; what is stored is as it is today.
  private func explain(
    _ terms: OpeningTerms, for subject: Subject, seen: V1.SeenPosture? = nil,
    _ exchange: Exchange<V1.ExplainEvaluationResponse>, at now: UnixTime
  ) {
    let facts = subject.asStored.facts(posture: terms.posture, now: now)
    let isOfBinding = terms.subject.bindingID != nil
    let (preflight, trace) = terms.policy.explain(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: now)
    exchange.answer(
      V1.ExplainEvaluationResponse(
        answer: V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language),
        trace: trace.map { V1.RuleTrace(rule: $0.rule, passed: $0.passed, detail: $0.detail) }, posture: seen,
        attestationLevel: isOfBinding ? V1.AttestationLevel(facts.binding.proofLevel) : .unspecified,
        askedAttestationLevel: isOfBinding
          ? V1.AttestationLevel(facts.binding.askedLevel(by: terms.policy)) : .unspecified))
  }
}
