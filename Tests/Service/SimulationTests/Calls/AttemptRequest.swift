// One attempt: whether it is a proof at all, and which answers it may get.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension V1.SubmitAttemptRequest: Request {
  static let method = "EvaluationService/SubmitAttempt"
  typealias Answer = V1.SubmitAttemptResponse

  var isRepeatable: Bool {
    switch attempt {
    case .key, .passkey: false
    default: true
    }
  }

  // MARK: Causes

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard event.kind.hasPrefix("evaluation."), Identifier.areEqual(event.applicationID, applicationID) else {
      return false
    }
    guard let opened = moment.world.ledger.evaluation(evaluation, of: applicationID) else {
      return event.kind == "evaluation.refused" && moment.changeSet.changesNothing
    }
    switch event.kind {
    case "evaluation.succeeded": return isOf(event, opened, moment) && isProof(event, opened, moment)
    case "evaluation.failed", "evaluation.locked_out", "evaluation.factor_required": return isOf(event, opened, moment)
    case "evaluation.canceled", "evaluation.fallback":
      return isOf(event, opened, moment) && moment.changeSet.changesNothing
    case "evaluation.refused": return true
    default: return false
    }
  }

  /// The event names the subject of the evaluation, if that exists, or existed when it was read.
  private func isOf(_ event: EventDraft, _ opened: OpenedEvaluation, _ moment: Moment) -> Bool {
    let isNobody = event.bindingID.isEmpty && event.profileID.isEmpty && event.deviceID.isEmpty
    if !opened.profileID.isEmpty {
      if isNobody { return wasUnknown(opened.profileID, moment) }
      guard event.isOf(applicationID, opened.profileID) else { return false }
      return isOfNoDevice(event) || isOfOwnPasskey(event, moment)
    }
    let named = moment.world.ledger.binding(opened.bindingID.isEmpty ? event.bindingID : opened.bindingID)
    let binding = named.flatMap { Identifier.areEqual($0.applicationID, applicationID) ? $0 : nil }
    if isNobody {
      return binding.map { wasUnknown($0, opened, moment) } ?? true
    }
    guard let binding else { return false }
    return event.isOf(applicationID, binding.profileID) && Identifier.areEqual(event.deviceID, binding.deviceID)
      && (opened.bindingID.isEmpty || Identifier.areEqual(event.bindingID, opened.bindingID))
  }

  private func isOfNoDevice(_ event: EventDraft) -> Bool { event.bindingID.isEmpty && event.deviceID.isEmpty }

  /// A profile's own, which speaks for it (R46).
  private func isOfOwnPasskey(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard case .passkey = attempt, let binding = moment.world.ledger.binding(event.bindingID) else { return false }
    return Identifier.areEqual(binding.profileID, event.profileID)
      && Identifier.areEqual(binding.deviceID, event.deviceID)
      && Identifier.areEqual(binding.applicationID, applicationID)
  }

  /// At some time of the call: made after its beginning, or erased.
  private func wasUnknown(_ binding: Ledger.BoundDevice, _ opened: OpenedEvaluation, _ moment: Moment) -> Bool {
    // A count rests on the binding's absence; a refusal that changes nothing may rest on a stale read.
    (moment.world.hasStaleReads && moment.changeSet.changesNothing)
      || binding.step >= moment.call.dispatchedStep ?? 0 || moment.before.binding(opened.bindingID) == nil
  }

  private func wasUnknown(_ profileID: String, _ moment: Moment) -> Bool {
    let beginning = moment.world.ledger.beginningStep(applicationID, profileID) ?? .max
    return moment.world.hasStaleReads || beginning >= moment.call.dispatchedStep ?? 0
      || moment.before.profile(applicationID, profileID).version == 0
  }

  /// The binding that the evaluation named; for an evaluation without a name, the binding of the event.
  private func binding(of opened: OpenedEvaluation, _ event: EventDraft, _ records: StoredRecords) -> BindingRecord? {
    guard let binding = records.binding(opened.bindingID.isEmpty ? event.bindingID : opened.bindingID) else {
      return nil
    }
    return Identifier.areEqual(binding.applicationID, applicationID) ? binding : nil
  }

  // MARK: Proofs

  /// All that a success needs, as the truth has it.
  private func isProof(_ event: EventDraft, _ opened: OpenedEvaluation, _ moment: Moment) -> Bool {
    guard opened.isOpen(for: moment.call, in: moment.world), event.detail("factor") == attempt?.factorName else {
      return false
    }
    let binding = binding(of: opened, event, moment.before)
    if binding == nil, opened.profileID.isEmpty { return false }
    guard binding?.isRevoked != true, isBaselineRight(binding, moment) else { return false }
    switch attempt {
    case .key(let proof):
      guard let binding else { return false }
      return isSigned(proof, by: binding, opened, moment) && isFit(proof.factor, binding, opened, moment)
        && isVouched(proof, by: binding, opened, moment)
    case .profileTouchID(let proof):
      guard let binding, case .profileTouchID(let digest) = binding.credential else { return false }
      return World.digest(ofProfileTouchID: proof.profileTouchID) == digest && opened.policy.purpose != .payment
        && isFit(.biometry, binding, opened, moment)
    case .passcode(let proof): return isSecret(Array(proof.passcode.utf8), .passcode, event.profileID, opened, moment)
    case .gesture(let proof):
      return isSecret(proof.points.map { UInt8(truncatingIfNeeded: $0) }, .gesture, event.profileID, opened, moment)
    case .primary(let primary):
      return opened.policy.factors.contains(.primary) && moment.isFresh(primary, within: opened.policy.primaryFreshness)
    case .passkey(let proof):
      guard let binding else { return false }
      return opened.policy.factors.contains(.passkey) && isAsserted(proof, by: binding, event, opened, moment)
    case .report, nil: return false
    }
  }

  /// By this binding's passkey, over this evaluation's very input, on the application's own page, for the evaluation's
  /// own profile, and with the count that is kept from now on (R46).
  private func isAsserted(
    _ proof: V1.PasskeyProof, by binding: BindingRecord, _ event: EventDraft, _ opened: OpenedEvaluation,
    _ moment: Moment
  ) -> Bool {
    guard case .passkey(let passkey) = binding.credential, let use = moment.world.ledger.proofs.use(proof) else {
      return false
    }
    let handle = World.userHandle(of: binding.profileID, in: applicationID)
    let isNamed = !opened.bindingID.isEmpty || !opened.profileID.isEmpty
    return use.isOnOwnPage && use.signingInput == opened.signingInput
      && passkey.credentialID == proof.credentialID && Identifier.areEqual(binding.profileID, event.profileID)
      && (proof.userHandle == handle || (proof.userHandle.isEmpty && isNamed))
      && (use.signCount == 0
        ? binding.proofCounter == 0 : moment.changeSet.raises(counterOf: binding.bindingID, to: use.signCount))
  }

  /// By the app that vouched for the binding, for this very attempt and posture, if by any (R43).
  private func isVouched(
    _ proof: V1.KeyProof, by binding: BindingRecord, _ opened: OpenedEvaluation, _ moment: Moment
  ) -> Bool {
    // Where the application names no app, no assertion holds.
    guard !appAssertion.isEmpty else { return true }
    guard let vouching = moment.world.ledger.proofs.vouching(appAssertion), let key = binding.appAttest else {
      return false
    }
    let data = AttemptClientData(proof, signingInput: opened.signingInput, posture: posture)
    return vouching.keyID == key.keyID && vouching.clientData == data.bytes
      && moment.changeSet.raises(counterOf: binding.bindingID, to: vouching.counter)
  }

  /// By this binding's key of this factor, over this evaluation's very input, in a form that the application takes, and
  /// of a kind that the policy takes.
  private func isSigned(
    _ proof: V1.KeyProof, by binding: BindingRecord, _ opened: OpenedEvaluation, _ moment: Moment
  ) -> Bool {
    guard let key = binding.key(for: proof.factor), key.kind == .p256 || moment.world.plan.takesRSA(opened.policy),
      proof.signatureForm.isTaken(in: applicationID)
    else { return false }
    return moment.world.ledger.isSigned(
      proof.signatureForm.bytes(of: opened.signingInput), proof.signature, proof.mlDsa65Signature, by: key.publicKey,
      and: key.mlDSA65PublicKey ?? [])
  }

  /// The device is not locked, its fingers are shown to be those of the binding, and its person permits it (R17, R25,
  /// R27, R36).
  private func isFit(
    _ factor: V1.Factor, _ binding: BindingRecord, _ opened: OpenedEvaluation, _ moment: Moment
  ) -> Bool {
    guard let posture, posture.passcodeSet, opened.policy.wireFactors.contains(factor) else { return false }
    let device = moment.before.device(binding.deviceID).biometry
    if factor == .biometry {
      guard posture.biometryAvailable, posture.biometryEnrolled, !posture.biometryLockedOut, !device.isLockedOut,
        device.consecutiveFailures < opened.policy.failuresBeforeLockout
      else { return false }
    }
    if binding.key(for: factor)?.protection == .devicePasscode { return true }
    let profile = moment.before.profile(binding.applicationID, binding.profileID)
    guard profile.settings.isBiometryEnabled else { return false }
    return !opened.policy.mustBeUnchanged(binding) || posture.domainState == binding.baseline?.domainState
  }

  private func isSecret(
    _ secret: [UInt8], _ kind: Factor, _ profileID: String, _ opened: OpenedEvaluation, _ moment: Moment
  ) -> Bool {
    let settings = moment.before.profile(applicationID, profileID).settings
    return opened.policy.factors.contains(kind) && settings.isEnabled(kind)
      && moment.isRight(secret, kind, of: applicationID, profileID)
  }

  /// R26: a new baseline is the domain state that the device reports now. A proof by a key that biometrics unlock sets
  /// none.
  private func isBaselineRight(_ binding: BindingRecord?, _ moment: Moment) -> Bool {
    guard let binding, let new = moment.changeSet.binding(binding.bindingID), new.baseline != binding.baseline else {
      return true
    }
    guard let state = posture?.domainState, new.baseline?.domainState == state else { return false }
    switch attempt {
    case .passcode, .gesture, .primary: return true
    case .key(let proof): return binding.key(for: proof.factor)?.protection == .devicePasscode
    default: return false
    }
  }

  // MARK: Answers

  private static let eventKinds: [V1.Outcome: String] = [
    .succeeded: "evaluation.succeeded", .tryAgain: "evaluation.failed", .failed: "evaluation.failed",
    .canceled: "evaluation.canceled", .fallback: "evaluation.fallback", .lockedOut: "evaluation.locked_out",
    .factorRequired: "evaluation.factor_required", .invalidContext: "evaluation.refused",
  ]

  func check(_ answer: Answer, to call: Call, in world: World) {
    guard let kind = Self.eventKinds[answer.outcome] else {
      return world.report("answer", "an outcome of \(answer.outcome.rawValue)")
    }
    let opened = world.ledger.evaluation(evaluation, of: applicationID)
    let tokenID = opened?.policy.isTokenSingleUse == true ? TokenSubject(answer.token)?.tokenID : nil
    world.requireEvent(of: call, kind) {
      Identifier.areEqual($0.applicationID, applicationID) && $0.detail("token_id") == tokenID
    }
    checkShape(answer, world)
    guard let opened else {
      return world.require(
        answer.outcome == .invalidContext, "R34", "bytes that were never handed out are an evaluation")
    }
    if let finished = opened.finishedStep, finished < call.dispatchedStep ?? 0 {
      // A refusal that changes nothing may be of a stale read.
      let isOver = answer.outcome == .invalidContext || (world.hasStaleReads && answer.outcome != .succeeded)
      world.require(isOver, "R35", "evaluation \(opened.number) went on after its end")
    }
    world.require(
      Set(answer.nextFactors).isSubset(of: opened.policy.wireFactors), "R5", "a factor that the policy does not take")
    UndisturbedAttempt(self, opened, call, world)?.check(answer)
    switch answer.outcome {
    case .succeeded: succeed(answer, opened, world)
    case .failed where answer.nextFactors.isEmpty && answer.laError == .authenticationFailed && !isSecret:
      opened.finish(at: world.time.step)
    case .invalidContext where isReport(.invalidContext) && wasOpen(opened, during: call, world):
      opened.finish(at: world.time.step)
    default: break
    }
  }

  /// All the time. An evaluation that is over for another reason is not ended by a report.
  private func wasOpen(_ opened: OpenedEvaluation, during call: Call, _ world: World) -> Bool {
    opened.isInTime(world.time, since: call.sentStep) && world.isInForceNow(opened.policy, at: call)
  }

  private func isReport(_ code: V1.LAError) -> Bool { attempt == .report(V1.DeviceReport(laError: code)) }

  private var isSecret: Bool {
    switch attempt {
    case .passcode, .gesture, .primary: true
    default: false
    }
  }

  private func checkShape(_ answer: Answer, _ world: World) {
    let isSuccess = answer.outcome == .succeeded
    world.require(isSuccess == (answer.result == .success), "R19", "outcome and result disagree")
    world.require(isSuccess || answer.token.isEmpty, "R11", "a token without a success")
    world.require(isSuccess || answer.profileID.isEmpty, "R37", "a profile without a success")
    world.require(isSuccess == (answer.message == nil), "R20", "a success with a message, or a refusal without")
    let isOurs = answer.message.map { message in Language.allCases.contains { $0.tag == message.locale } } ?? true
    world.require(isOurs, "R20", "a message in another language")
    // An unknown code is answered without one (R21).
    let hasCode = answer.laError != .unspecified
    if isSuccess { world.require(!hasCode, "R19", "a success with an error") }
    if case .report = attempt {} else { world.require(isSuccess || hasCode, "R19", "a refusal without an error") }
    switch answer.outcome {
    case .succeeded, .invalidContext:
      world.require(answer.nextFactors.isEmpty, "R35", "a finished evaluation offers factors")
    case .fallback:
      world.require(!answer.nextFactors.contains(.biometry), "R21", "the fallback is what it falls back from")
    case .lockedOut:
      if case .key = attempt {
        world.require(!answer.nextFactors.contains(.biometry), "R4", "biometrics are offered while they are locked")
      }
    default: break
    }
    world.require(
      answer.attemptsLeft <= world.plan.failuresBeforeLockout, "R7", "\(answer.attemptsLeft) attempts are left")
  }

  private func succeed(_ answer: Answer, _ opened: OpenedEvaluation, _ world: World) {
    opened.successCount += 1
    world.require(opened.successCount == 1, "R35", "evaluation \(opened.number) succeeded twice")
    opened.finish(at: world.time.step)
    world.require(answer.token.isEmpty == (opened.policy.tokenLifetime == nil), "R40", "a token, or none, by mistake")
    guard let subject = TokenSubject(answer.token) else { return world.report("R40", "a token that is none") }
    let isOwn = opened.profileID.isEmpty || Identifier.areEqual(opened.profileID, subject.profileID)
    let isBound = opened.bindingID.isEmpty || Identifier.areEqual(opened.bindingID, subject.bindingID)
    world.require(isOwn && isBound, "R40", "a token of \(subject.profileID) for another's evaluation")
    world.require(
      Identifier.areEqual(answer.profileID, subject.profileID), "R40", "a success of one, and a token of another")
    world.ledger.note(
      IssuedToken(
        text: answer.token, tokenID: subject.tokenID, applicationID: applicationID, profileID: subject.profileID,
        bindingID: subject.bindingID, transaction: opened.transaction, isSingleUse: opened.policy.isTokenSingleUse,
        isByBiometrics: isByBiometrics(subject, world),
        expiresAt: answer.tokenExpiresAt.map(UnixTime.init) ?? UnixTime(seconds: 0), issuedStep: world.time.step))
  }

  /// A signature of a key that biometrics or the device passcode unlocks does not show which of them it was.
  private func isByBiometrics(_ subject: TokenSubject, _ world: World) -> Bool {
    switch attempt {
    case .key(let proof):
      world.database.records.binding(subject.bindingID)?.key(for: proof.factor)?.protection != .devicePasscode
    // A passkey is no evidence for a device's fingers either (R46).
    case .profileTouchID, .passkey: true
    default: false
    }
  }

  func summary(of answer: Answer) -> String {
    "\(attempt?.factorName ?? "report"): outcome \(answer.outcome.rawValue), error \(answer.laError.rawValue), "
      + "left \(answer.attemptsLeft), next \(answer.nextFactors.names)"
  }
}

extension V1.SubmitAttemptRequest.Attempt {
  /// As events name it; `nil`: a report.
  var factorName: String? {
    switch self {
    case .key(let proof): proof.factor == .deviceOwner ? "device_owner" : "biometry"
    case .profileTouchID: "biometry"
    case .passcode: "passcode"
    case .gesture: "gesture"
    case .passkey: "passkey"
    case .primary: "primary"
    case .report: nil
    }
  }
}

extension OpenedEvaluation {
  /// It had not expired, and its policy was in force, at some time of the call.
  fileprivate func isOpen(for call: Call, in world: World) -> Bool {
    guard let step = call.dispatchedStep else { return false }
    return world.time.earliest(since: step) < expiresAt && world.isInForce(policy, at: call)
  }
}

extension EvaluationPolicy {
  /// Whether what fingers unlock serves only where the phone shows the binding's domain state (R25, R27).
  func mustBeUnchanged(_ binding: BindingRecord) -> Bool {
    requiresDomainState || purpose == .payment || binding.baseline != nil
  }
}

extension V1.SignatureForm {
  func isTaken(in applicationID: String) -> Bool {
    self == .raw || self == .unspecified || Identifier.areEqual(applicationID, Names.provenApplication)
  }
}

extension BindingRecord {
  func key(for factor: V1.Factor) -> HardwareKeyRecord? {
    guard case .hardwareKeys(let keys) = credential else { return nil }
    return keys.first { Int32($0.protection.factor.rawValue) == factor.rawValue }
  }
}

extension ChangeSet {
  func binding(_ bindingID: String) -> BindingRecord? {
    for case .putBinding(let record) in changes where Identifier.areEqual(record.bindingID, bindingID) { return record }
    return nil
  }
}

extension ChangeSet {
  fileprivate func raises(counterOf bindingID: String, to counter: UInt32) -> Bool {
    changes.contains { change in
      guard case .raiseProofCounter(let id, _, let new) = change else { return false }
      return Identifier.areEqual(id, bindingID) && new == counter
    }
  }
}
