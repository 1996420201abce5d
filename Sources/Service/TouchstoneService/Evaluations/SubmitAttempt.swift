// SubmitAttempt: validates the request, opens the evaluation, and starts the flow of the factor.

internal import DispatchRPC
internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// Everything that one attempt is about and that stays the same on its way. It is a class because each step passes it
/// on.
final class AttemptTerms: Sendable {
  let applicationID: String
  let caller: Caller
  let entry: PolicyBook.Entry
  let evaluation: SealedEvaluation
  let proof: AttemptProof
  let posture: DevicePosture
  let deviceModel: String
  /// `nil`: the app does not vouch for the attempt.
  let appAssertion: OfferedAppAssertion?
  let issuing: TokenIssuing

  init(
    applicationID: String, caller: Caller, entry: PolicyBook.Entry, evaluation: SealedEvaluation, proof: AttemptProof,
    posture: DevicePosture, deviceModel: String, appAssertion: OfferedAppAssertion?, issuing: TokenIssuing
  ) {
    self.applicationID = applicationID
    self.caller = caller
    self.entry = entry
    self.evaluation = evaluation
    self.proof = proof
    self.posture = posture
    self.deviceModel = deviceModel
    self.appAssertion = appAssertion
    self.issuing = issuing
  }

  var policy: EvaluationPolicy {
    _read { yield entry.policy }
  }

  var query: SubjectQuery {
    SubjectQuery(
      named: evaluation.subject, digest: proof.profileTouchIDDigest ?? [], applicationID: applicationID,
      evaluation: evaluation.key)
  }

  /// The bytes that the device signed.
  var signingInput: [UInt8] { evaluation.signingInput(applicationID: applicationID, policy: policy) }

  /// True if the evaluation expired, or if its policy was changed or removed after it began (R36). Checked before each
  /// decision, because queues, verification and conflicts take time.
  func isOutdated(at moment: Moment) -> Bool {
    !evaluation.key.isInTime(at: moment.now, lifetime: policy.evaluationLifetime)
      || !evaluation.isInForce(at: moment)
  }
}

extension SealedEvaluation {
  /// True if the evaluation's policy has not changed since the evaluation began (R36).
  func isInForce(at moment: Moment) -> Bool {
    moment.policies[policyName]?.revision == policyRevision
  }
}

extension TouchstoneService {
  /// A sealed evaluation holds at most a prompt, three identifiers and a transaction: under 2 KiB.
  static let sealedEvaluationBytes = 1...4_096

  var moment: Moment { Moment(now: clock(), policies: policies) }

  @Sendable func submitAttempt(
    _ request: V1.SubmitAttemptRequest, _ exchange: Exchange<V1.SubmitAttemptResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    validator.opaque(request.evaluation, "evaluation", count: Self.sealedEvaluationBytes)
    let posture = validator.posture(request.posture, isOptional: request.attempt?.isByPasskey == true)
    let proof = validator.proof(request.attempt, of: self)
    validator.appAssertion(of: request, on: posture.platform)
    try validator.finish()
    let appAssertion = try OfferedAppAssertion(request, of: self)
    guard let proof else { preconditionFailure("a request without a proof was refused above") }

    let part = exchange.begin(.open)
    let opened = keys.sealer.openEvaluation(
      request.evaluation, for: exchange.caller, applicationID: request.applicationID)
    part?.end()
    guard let evaluation = opened, let entry = policy(named: evaluation.policyName, for: request.applicationID),
      entry.revision == evaluation.policyRevision,
      evaluation.key.isInTime(at: clock(), lifetime: entry.policy.evaluationLifetime)
    else {
      let ending = AttemptEnding(
        contextOf: opened, applicationID: request.applicationID, caller: exchange.caller, at: moment)
      return CallRunner.run(RefusedAttempt(ending: ending), for: exchange, by: self)
    }
    let terms = AttemptTerms(
      applicationID: request.applicationID, caller: exchange.caller, entry: entry, evaluation: evaluation, proof: proof,
      posture: posture, deviceModel: request.posture?.deviceModel ?? "", appAssertion: appAssertion,
      issuing: tokenIssuing)
    switch proof {
    case .secret(let secret):
      CallRunner.run(SecretFlow(SecretAttempt(terms: terms, secret: secret)), for: exchange, by: self)
    case .passkey(let assertion):
      let requirements = keyProofs.requirements(of: request.applicationID)
      CallRunner.run(PasskeyAttempt(assertion, of: terms, requirements), for: exchange, by: self)
    case .key, .profileTouchID, .primary, .report:
      CallRunner.run(KeyAttempt(of: terms, configuration.enrolment), for: exchange, by: self)
    }
  }
}

extension V1.SubmitAttemptRequest.Attempt {
  fileprivate var isByPasskey: Bool {
    if case .passkey = self { true } else { false }
  }
}
