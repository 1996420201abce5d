// An attempt by the phone's key, by a ProfileTouchID, by the caller's own login, or by the phone's report. Pure.
//
// For passcode and gesture see SecretAttempt.swift, for passkeys PasskeyAttempt.swift.

internal import TouchstoneAttestation
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct KeyAttempt: AttemptMachine {
  typealias Answer = AttemptAnswer
  typealias Step = CallStep<AttemptAnswer>

  var nameCount: NameCount? { nil }

  let terms: AttemptTerms
  private let enrolment: EnrolmentPolicy
  /// As it was read last.
  private var subject: SharedRecord<Subject>?
  /// The signature that is verified now.
  private var checked = Checked.signature(isWhole: true)
  /// The verdict on the key's signature. A binding's keys never change, so it stays true after a conflict.
  private var verdict: Bool?
  var ending: AttemptEnding?

  private enum Checked {
    /// The one in the app's assertion, which comes first.
    case assertion
    /// `false`: one half of a hybrid key's signature is missing or too much (R48).
    case signature(isWhole: Bool)
  }

  init(of terms: AttemptTerms, _ enrolment: EnrolmentPolicy) {
    (self.terms, self.enrolment) = (terms, enrolment)
  }

  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    self.subject = subject
    switch terms.proof {
    case .key(let factor, let signature): return check(signature, by: factor, subject, at: moment)
    case .profileTouchID(let digest):
      return conclude(
        .profileTouchID(isValid: subject.value.holds(profileTouchIDDigest: digest)), on: subject, at: moment)
    case .primary(let login): return decide(login, subject, at: moment)
    case .report(let code): return conclude(.report(code), on: subject, at: moment)
    case .secret, .passkey: preconditionFailure("a secret and a passkey have flows of their own")
    }
  }

  mutating func verified(_ isValid: Bool, at moment: Moment) -> Step {
    guard case .key(let factor, let signature) = terms.proof, let subject else {
      preconditionFailure("only a key's signature is verified, for a subject that was read")
    }
    switch checked {
    case .assertion:
      if let reason = objection(isSigned: isValid, by: subject) {
        return end(.appAssertionNotAccepted(because: reason, subject, of: terms, at: moment))
      }
      return verify(signature, by: factor, subject, at: moment)
    case .signature(let isWhole):
      verdict = isValid && isWhole
      return conclude(factor, isValid: isValid && isWhole, on: subject, at: moment)
    }
  }

  // MARK: The key's signature

  private mutating func check(
    _ signature: KeySignature, by factor: Factor, _ subject: SharedRecord<Subject>, at moment: Moment
  ) -> Step {
    guard verdict == nil, !subject.value.isInactiveBinding, subject.value.evaluation?.standing.isFinished != true else {
      return conclude(factor, isValid: verdict ?? false, on: subject, at: moment)
    }
    if let offered = terms.appAssertion { return verify(offered, beside: signature, subject, at: moment) }
    // This rests on the policy and the request alone. A posture of another platform is none of an iPhone's binding
    // (R38).
    guard terms.policy.requiresAppAssertion, terms.posture.platform.hasAppAttest else {
      return verify(signature, by: factor, subject, at: moment)
    }
    let error = RequestError.failedPrecondition(
      RequestError.Reason.appAssertionRequired, "app_assertion: the policy takes no attempt by a key without one")
    return end(AttemptEnding(error, subject, of: terms, at: moment))
  }

  private mutating func verify(
    _ signature: KeySignature, by factor: Factor, _ subject: SharedRecord<Subject>, at moment: Moment
  ) -> Step {
    guard let key = subject.value.sharedBinding?.value.key(for: factor) else {
      return conclude(factor, isValid: false, on: subject, at: moment)
    }
    let isWhole = signature.mlDSA65.isEmpty == (key.mlDSA65PublicKey == nil)
    checked = .signature(isWhole: isWhole)
    let message = signature.form.message(of: terms.signingInput)
    if key.kind == .rsa {
      return .verifyApart(.rsa(publicKey: key.publicKey, signature: signature.bytes, message: message))
    }
    return .verifying { () throws(CryptoError) in
      var check = SignatureCheck(
        publicKey: try P256PublicKey(bytes: key.publicKey), signature: signature.bytes, message: message)
      if isWhole, let otherHalf = key.mlDSA65PublicKey {
        check.otherHalf = SignatureCheck.OtherHalf(
          publicKey: try MLDSA65PublicKey(bytes: otherHalf), signature: signature.mlDSA65)
      }
      return check
    }
  }

  /// Another assertion of the app may have been taken since this one was verified.
  private mutating func conclude(
    _ factor: Factor, isValid: Bool, on subject: SharedRecord<Subject>, at moment: Moment
  ) -> Step {
    guard !terms.isOutdated(at: moment) else { return end(AttemptEnding(contextOf: terms, at: moment)) }
    let attempt = DecidedAttempt(.key(factor: factor, isValid: isValid), of: subject, by: terms, at: moment.now)
    if attempt.grant != nil, let offered = terms.appAssertion, let binding = subject.value.sharedBinding,
      offered.assertion.counter <= binding.value.proofCounter
    {
      let reason = ProofError.Reason.counterNotGrown.rawValue
      return end(.appAssertionNotAccepted(because: reason, subject, of: terms, at: moment))
    }
    return end(AttemptEnding(attempt))
  }

  // MARK: The app's assertion (R43)

  private mutating func verify(
    _ offered: OfferedAppAssertion, beside signature: KeySignature, _ subject: SharedRecord<Subject>, at moment: Moment
  ) -> Step {
    guard let key = subject.value.sharedBinding?.value.appAttest else {
      let reason = RequestError.Reason.appAttestKeyUnknown
      return end(.appAssertionNotAccepted(because: reason, subject, of: terms, at: moment))
    }
    checked = .assertion
    let clientData = AttemptClientData(
      signingInput: terms.signingInput, signature: signature.bytes, mlDSA65Signature: signature.mlDSA65,
      posture: offered.posture)
    return .verifying { () throws(CryptoError) in
      SignatureCheck(
        publicKey: try P256PublicKey(bytes: key.publicKey), signature: offered.assertion.signature,
        message: offered.assertion.signedMessage(over: sha256(clientData.bytes)))
    }
  }

  /// The event's reason; `nil`: it is the word of the binding's app.
  private func objection(isSigned: Bool, by subject: SharedRecord<Subject>) -> String? {
    guard let offered = terms.appAssertion, let binding = subject.value.sharedBinding?.value,
      let key = binding.appAttest, let environment = AppAttestEnvironment(rawValue: key.environment)
    else { return RequestError.Reason.appAttestKeyUnknown }
    // Apple's is in DER, though keys of apps may sign otherwise (R33).
    guard isSigned, !SignatureCheck.isRaw(offered.assertion.signature) else {
      return ProofError.Reason.signatureInvalid.rawValue
    }
    do throws(ProofError) {
      try offered.assertion.check(appID: key.appID, previousCounter: binding.proofCounter)
      try offered.requirements.checkAppAttestKey(of: key.appID, in: environment)
      return nil
    } catch {
      return error.reason.rawValue
    }
  }

  // MARK: The caller's own login

  private mutating func decide(_ login: PrimaryLogin, _ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    let verdict = enrolment.primaryVerdict(
      authenticatedAt: login.authenticatedAt, now: moment.now, within: terms.policy.primaryFreshness)
    let standing = subject.value.evaluation?.standing ?? EvaluationStanding()
    guard !subject.value.isInactiveBinding, terms.policy.asksForNewLogin(after: verdict, in: standing),
      !terms.isOutdated(at: moment)
    else { return conclude(.primary(verdict), on: subject, at: moment) }
    return end(AttemptEnding(.newLoginRequired, subject, of: terms, at: moment))
  }
}

extension CallStep {
  /// A stored key does not import if the store was damaged.
  static func verifying(_ check: () throws(CryptoError) -> SignatureCheck) -> CallStep {
    do throws(CryptoError) { return .verify(try check()) } catch { return .fail(error) }
  }
}

extension Subject {
  /// A plain comparison is enough: digests are keyed, so the length of a common prefix reveals nothing of the
  /// identifiers.
  fileprivate func holds(profileTouchIDDigest digest: [UInt8]) -> Bool {
    binding?.profileTouchIDDigest == digest
  }
}

extension CallEnding<AttemptAnswer> {
  /// - Parameter reason: for the event alone. The answer is the same for all bindings.
  fileprivate static func appAssertionNotAccepted(
    because reason: String, _ subject: SharedRecord<Subject>, of terms: AttemptTerms, at moment: Moment
  ) -> AttemptEnding {
    let error = RequestError.failedPrecondition(
      RequestError.Reason.appAssertionNotAccepted, "app_assertion: send the attempt again with a new assertion")
    return AttemptEnding(error, because: reason, subject, of: terms, at: moment)
  }
}
