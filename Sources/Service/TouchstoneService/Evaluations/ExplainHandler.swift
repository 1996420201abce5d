// ExplainEvaluation: what BeginEvaluation would answer, and by which rules. Opens nothing, writes nothing. Operators
// are told what is stored, also of a profile's name.

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  private typealias Explaining = Exchange<V1.ExplainEvaluationResponse>

  @Sendable func explainEvaluation(
    _ request: V1.ExplainEvaluationRequest, _ exchange: Exchange<V1.ExplainEvaluationResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    let asked = request.at.map { validator.time($0, "at") }
    guard let begin = request.begin else {
      validator.refuse("begin", "is required")
      return try validator.finish()
    }
    let isNamed = !begin.bindingID.isEmpty || !begin.profileID.isEmpty
    let terms = try openingTerms(
      begin, prefix: "begin.", after: validator.violations, isPostureKnown: begin.posture == nil && isNamed,
      showsPrompt: false)
    let now = asked ?? clock()
    let posture = begin.posture == nil ? nil : terms.posture
    switch terms.subject {
    case .binding(let id):
      exchange.deciding { [self] round throws(RequestError) in
        try explain(terms, ofBinding: id, on: posture, exchange, at: now, in: round)
      }
    case .profile(let id): try explain(terms, ofProfile: id, on: posture, exchange, at: now)
    case .bearer: explainBearer(terms, exchange, at: now)
    }
  }

  /// - Parameter posture: `nil`: the one last seen.
  private func explain(
    _ terms: OpeningTerms, ofBinding bindingID: String, on posture: DevicePosture?, _ exchange: Explaining,
    at now: UnixTime, in round: DecisionRound
  ) throws(RequestError) {
    try bindingOnDevice(bindingID, of: terms.applicationID, for: exchange) { [self] binding, device in
      let name = ProfileName(applicationID: terms.applicationID, profileID: binding.profileID)
      profile(name, for: exchange) { [self] profile in
        var facts = DiagnosisFacts(of: binding, device: device.biometry, profile: profile, policies, now: now)
        if let posture { facts.report = .present(posture) }
        guard facts.report != nil || binding.passkey != nil else { return refuseUnseen(binding, exchange, in: round) }
        let seen = posture == nil ? V1.SeenPosture(binding) : nil
        explain(terms, facts, exchange) { response in
          response.posture = seen
          response.attestationLevel = V1.AttestationLevel(binding.standing.proofLevel)
          response.askedAttestationLevel = V1.AttestationLevel(binding.standing.askedLevel(by: terms.policy))
        }
      }
    }
  }

  private func refuseUnseen(_ binding: BindingRecord, _ exchange: Explaining, in round: DecisionRound) {
    let event = EventDraft.binding(
      .refused, binding, reason: RequestError.Reason.notFound, caller: exchange.caller, time: clock())
    let refusal = ThrottledEvent(
      event, about: binding.bindingID, on: [.requireBinding(id: binding.bindingID, version: binding.version)])
    record(refusal, in: round, for: exchange) { () throws(RequestError) in
      throw .notFound("the binding's device was not seen yet; send begin.posture")
    }
  }

  private func explain(
    _ terms: OpeningTerms, ofProfile profileID: String, on posture: DevicePosture?, _ exchange: Explaining,
    at now: UnixTime
  ) throws(RequestError) {
    try bindingPermits.take(for: exchange, applicationID: terms.applicationID) { [self] completion in
      readBindings(of: profileID, in: terms.applicationID, completion: completion)
    } then: { [self] bindings in
      profile(ProfileName(applicationID: terms.applicationID, profileID: profileID), for: exchange) { [self] profile in
        guard !bindings.isEmpty || profile.version > 0 else {
          return refuseUnknownProfile(profileID, in: terms.applicationID, for: exchange)
        }
        var facts = DiagnosisFacts(of: profile, bindings, policies, now: now)
        if let posture { facts.report = .present(posture) }
        explain(terms, facts, exchange) { _ in }
      }
    }
  }

  /// Without a subject there is no person to diagnose.
  private func explainBearer(_ terms: OpeningTerms, _ exchange: Explaining, at now: UnixTime) {
    let facts = Subject.unnamed(in: terms.applicationID).facts(posture: terms.posture, now: now)
    let (preflight, trace) = terms.policy.explain(
      posture: facts.posture, binding: facts.binding, device: facts.device, profile: facts.profile, now: now)
    exchange.answer(
      V1.ExplainEvaluationResponse(
        answer: V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language),
        trace: trace.map(V1.RuleTrace.init)))
  }

  /// - Parameter addition: what else is answered.
  private func explain(
    _ terms: OpeningTerms, _ facts: DiagnosisFacts, _ exchange: Explaining,
    adding addition: (inout V1.ExplainEvaluationResponse) -> Void
  ) {
    var terms = terms
    if let posture = facts.report?.posture { terms.posture = posture }
    var response = V1.ExplainEvaluationResponse(
      diagnosis: V1.LoginDiagnosis(
        terms.policy.diagnose(facts), of: terms.subject.bindingID ?? "", under: terms.policy))
    let (preflight, trace) = terms.policy.explain(facts)
    response.answer = V1.BeginEvaluationResponse(preflight, of: terms, in: exchange.language)
    response.trace = trace.map(V1.RuleTrace.init)
    addition(&response)
    exchange.answer(response)
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
