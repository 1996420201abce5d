// The app's word for an attempt by the key: an assertion by the App Attest key that vouched for the binding (R43).
//
// It is verified before the key's own signature, and what is wrong with it has one answer for all bindings, whether they have no
// such key or another one. Nothing is counted: the app sends the attempt again with a new one.

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct OfferedAppAssertion: Sendable {
  let assertion: AppAssertion
  /// As it was sent.
  let posture: PostureTerms

  /// `nil`: there is none, or the application does not look at proofs.
  init?(_ request: V1.SubmitAttemptRequest, of service: TouchstoneService) throws(RequestError) {
    guard !request.appAssertion.isEmpty,
      service.keyProofs.requirements(of: request.applicationID).demand != .none
    else { return nil }
    do throws(ProofError) {
      assertion = try AppAssertion(request.appAssertion)
    } catch {
      throw .invalidArgument(error, field: "app_assertion")
    }
    posture = PostureTerms(request.posture)
  }
}

extension RequestValidator {
  mutating func appAssertion(of request: V1.SubmitAttemptRequest, on platform: Platform) {
    guard !request.appAssertion.isEmpty else { return }
    opaque(request.appAssertion, "app_assertion", count: 1...AppAssertion.maximumBytes)
    if case .key? = request.attempt {} else { refuse("app_assertion", "is taken beside key alone") }
    if !platform.hasAppAttest { refuse("app_assertion", "is Apple's, and the posture is of another platform") }
  }
}

extension AttemptFlow {
  /// - Parameter body: runs if the assertion holds.
  func verify(
    _ offered: OfferedAppAssertion, beside signature: KeySignature, _ subject: Subject, in round: DecisionRound,
    then body: @escaping @Sendable () throws(RequestError) -> Void
  ) throws(RequestError) {
    let binding = subject.sharedBinding
    guard let key = binding?.value.appAttest else {
      return refuseAssertion(because: RequestError.Reason.appAttestKeyUnknown, of: subject, in: round)
    }
    let clientData = AttemptClientData(
      signingInput: evaluation.signingInput(applicationID: applicationID, policy: policy), signature: signature.p256,
      mlDSA65Signature: signature.mlDSA65, posture: offered.posture)
    let check = SignatureCheck(
      publicKey: try imported(key.publicKey, P256PublicKey.init), signature: offered.assertion.signature,
      message: offered.assertion.signedMessage(over: sha256(clientData.bytes)))
    exchange.verify(check) { [self] isValid in
      // Apple's is in DER, though keys of apps may sign otherwise (R33).
      if let reason = objection(to: offered.assertion, isSigned: isValid && !check.isRaw, by: binding) {
        return refuseAssertion(because: reason, of: subject, in: round)
      }
      exchange.refusingErrors(of: body)
    }
  }

  /// The event's reason; `nil`: it is the word of the binding's app.
  private func objection(
    to assertion: AppAssertion, isSigned: Bool, by binding: SharedRecord<BindingRecord>?
  ) -> String? {
    guard let key = binding?.value.appAttest, let environment = AppAttestEnvironment(rawValue: key.environment) else {
      return RequestError.Reason.appAttestKeyUnknown
    }
    guard isSigned else { return ProofError.Reason.signatureInvalid.rawValue }
    do throws(ProofError) {
      try assertion.check(appID: key.appID, previousCounter: binding?.value.proofCounter)
      try service.keyProofs.requirements(of: applicationID).checkAppAttestKey(of: key.appID, in: environment)
      return nil
    } catch {
      return error.reason.rawValue
    }
  }

  /// Another assertion was taken since this one was verified.
  func isLate(_ offered: OfferedAppAssertion?, after binding: SharedRecord<BindingRecord>?) -> Bool {
    guard let offered, let binding else { return false }
    return offered.assertion.counter <= binding.value.proofCounter
  }

  /// With a success: another replica may have taken an assertion, too, and only one of the two is the next.
  func counterChanges(of subject: Subject) -> [Change] {
    guard let appAssertion, let binding = subject.sharedBinding?.value else { return [] }
    return [
      .raiseProofCounter(
        bindingID: binding.bindingID, from: binding.proofCounter, to: appAssertion.assertion.counter)
    ]
  }

  /// It rests on the policy and the request alone, and so tells nothing of the binding. A posture of another platform is none
  /// of an iPhone's binding (R38).
  var lacksAppAssertion: Bool {
    policy.requiresAppAssertion && posture.platform.hasAppAttest && appAssertion == nil
  }

  func refuseForLackOfAppAssertion(_ subject: Subject, in round: DecisionRound) {
    refuse(
      .failedPrecondition(
        RequestError.Reason.appAssertionRequired, "app_assertion: the policy takes no attempt by a key without one"),
      because: RequestError.Reason.appAssertionRequired, of: subject, in: round)
  }

  /// - Parameter reason: for the event alone.
  func refuseAssertion(because reason: String, of subject: Subject, in round: DecisionRound) {
    refuse(
      .failedPrecondition(
        RequestError.Reason.appAssertionNotAccepted, "app_assertion: send the attempt again with a new assertion"),
      because: reason, of: subject, in: round)
  }

  private func refuse(_ error: RequestError, because reason: String, of subject: Subject, in round: DecisionRound) {
    let event = EventDraft.evaluation(
      .refused, policy: policy.name, applicationID: applicationID, subject: subject, reason: reason,
      factor: proof.factor, transaction: evaluation.transaction, caller: exchange.caller, time: service.clock())
    let refusal = ThrottledEvent(
      event, answering: error.reason ?? "", about: evaluation.countedName, on: nameRequirements(of: subject))
    service.record(refusal, in: round, for: exchange) { () throws(RequestError) in throw error }
  }
}
