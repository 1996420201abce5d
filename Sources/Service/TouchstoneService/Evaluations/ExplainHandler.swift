// ExplainEvaluation: what BeginEvaluation would answer, and by which rules. Opens nothing, writes nothing. Operators
// are told what is stored, also of a profile's name.

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  typealias Explaining = Exchange<V1.ExplainEvaluationResponse>

  @Sendable func explainEvaluation(
    _ request: V1.ExplainEvaluationRequest, _ exchange: Explaining
  ) async throws(RequestError) -> V1.ExplainEvaluationResponse {
    var validator = RequestValidator()
    let asked = request.at.map { validator.time($0, "at") }
    guard let begin = request.begin else {
      validator.refuse("begin", "is required")
      try validator.finish()
      preconditionFailure("what is missing was refused above")
    }
    let isNamed = !begin.bindingID.isEmpty || !begin.profileID.isEmpty
    let terms = try openingTerms(
      begin, prefix: "begin.", after: validator.violations, isPostureKnown: begin.posture == nil && isNamed,
      showsPrompt: false)
    let now = asked ?? clock()
    let posture = begin.posture == nil ? nil : terms.posture
    switch terms.subject {
    case .binding(let id): return try await explain(terms, ofBinding: id, on: posture, exchange, at: now)
    case .profile(let id):
      let (profile, bindings) = try await knownProfile(ProfileName(terms.applicationID, id), for: exchange)
      var facts = DiagnosisFacts(of: profile, bindings, policies, now: now)
      if let posture { facts.report = .present(posture) }
      return explain(terms, facts, exchange)
    case .bearer: return explainBearer(terms, exchange, at: now)
    }
  }

  /// - Parameter posture: `nil`: the one last seen.
  private func explain(
    _ terms: OpeningTerms, ofBinding bindingID: String, on posture: DevicePosture?, _ exchange: Explaining,
    at now: UnixTime
  ) async throws(RequestError) -> V1.ExplainEvaluationResponse {
    for _ in DecisionRound.all {
      let (binding, device) = try await binding(bindingID, of: terms.applicationID, for: exchange)
      let profile = try await profile(ProfileName(terms.applicationID, binding.profileID), for: exchange)
      var facts = DiagnosisFacts(of: binding, device: device.biometry, profile: profile, policies, now: now)
      if let posture { facts.report = .present(posture) }
      guard facts.report != nil || binding.passkey != nil else {
        let error = RequestError.notFound("the binding's device was not seen yet; send begin.posture")
        try await refuse(error, because: RequestError.Reason.notFound, binding, exchange)
        continue
      }
      var response = explain(terms, facts, exchange)
      response.posture = posture == nil ? V1.SeenPosture(binding) : nil
      response.attestationLevel = V1.AttestationLevel(binding.standing.proofLevel)
      response.askedAttestationLevel = V1.AttestationLevel(binding.standing.askedLevel(by: terms.policy))
      return response
    }
    throw .tooManyRounds
  }

  /// Without a subject there is no person to diagnose.
  private func explainBearer(
    _ terms: OpeningTerms, _ exchange: Explaining, at now: UnixTime
  ) -> V1.ExplainEvaluationResponse {
    let facts = Subject.unnamed(in: terms.applicationID).facts(posture: terms.posture, now: now)
    let (preflight, trace) = terms.policy.explain(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: now)
    return V1.ExplainEvaluationResponse(
      answer: V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language),
      trace: trace.map(V1.RuleTrace.init))
  }

  private func explain(
    _ terms: OpeningTerms, _ facts: DiagnosisFacts, _ exchange: Explaining
  ) -> V1.ExplainEvaluationResponse {
    var terms = terms
    if let posture = facts.report?.posture { terms.posture = posture }
    let (preflight, trace) = terms.policy.explain(facts)
    return V1.ExplainEvaluationResponse(
      answer: V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language),
      trace: trace.map(V1.RuleTrace.init),
      diagnosis: V1.LoginDiagnosis(
        terms.policy.diagnose(facts), of: terms.subject.bindingID ?? "", under: terms.policy))
  }
}

extension DiagnosisFacts.Report {
  fileprivate var posture: DevicePosture {
    switch self {
    case .present(let posture), .last(let posture, _, _): posture
    }
  }
}

extension V1.RuleTrace {
  fileprivate init(_ row: RuleTrace) {
    self.init(rule: row.rule, passed: row.passed, detail: row.detail)
  }
}
