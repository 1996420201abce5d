// An attempt with nothing beside it and nothing in its way: there is one right answer, and this is a second way to find
// it. It leaves the other cases to the tables.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

struct UndisturbedAttempt {
  let request: V1.SubmitAttemptRequest
  let opened: OpenedEvaluation
  let world: World
  let call: Call
  /// As things stood before it.
  let before: StoredRecords

  /// `nil` where something else was under way, or the person's phone is not as it should be.
  init?(_ request: V1.SubmitAttemptRequest, _ opened: OpenedEvaluation, _ call: Call, _ world: World) {
    guard let before = call.before, !world.database.hasFailed(since: call.dispatchedStep ?? 0),
      let posture = request.posture, posture.isHealthy, opened.isInTime(world.time, since: call.sentStep),
      opened.finishedStep == nil, world.isInForceNow(opened.policy, at: call)
    else { return nil }
    self.request = request
    self.opened = opened
    self.world = world
    self.call = call
    self.before = before
  }

  struct Expectation {
    var outcome: V1.Outcome
    var attemptsLeft: UInt32
    /// `nil`: not predicted.
    var retryAfter: ClosedRange<Duration>?
  }

  func check(_ answer: V1.SubmitAttemptResponse) {
    guard let standing, let expected = expectation(standing) else { return }
    world.require(
      answer.outcome == expected.outcome, "undisturbed",
      "outcome \(answer.outcome.rawValue) instead of \(expected.outcome.rawValue)")
    guard answer.outcome != .succeeded else { return }
    world.require(
      answer.attemptsLeft == expected.attemptsLeft, "undisturbed",
      "\(answer.attemptsLeft) attempts are left instead of \(expected.attemptsLeft)")
    if let range = expected.retryAfter {
      let given = answer.retryAfter.map { Duration.seconds($0.seconds) + .nanoseconds($0.nanoseconds) }
      world.require(given.map(range.contains) ?? false, "R13", "come again in \(given as Any), not in \(range)")
    }
  }

  /// The evaluation's own; `nil` if two expire at one instant, because the owner is then ambiguous.
  private var standing: EvaluationStanding? {
    let records = before.evaluations.values.filter { $0.key.expiresAt == opened.expiresAt }
    let isSwept = before.sweepMark.map { opened.expiresAt < $0 } ?? false
    guard records.count <= 1, world.ledger.isAlone(opened), !isSwept else { return nil }
    return records.first?.standing ?? EvaluationStanding()
  }

  private func expectation(_ standing: EvaluationStanding) -> Expectation? {
    guard !standing.isFinished else { return nil }
    switch request.attempt {
    case .key(let proof): return expectation(of: proof, standing)
    case .passcode(let proof): return expectation(of: Array(proof.passcode.utf8), .passcode)
    case .gesture(let proof): return expectation(of: proof.points.map { UInt8(truncatingIfNeeded: $0) }, .gesture)
    default: return nil
    }
  }

  // MARK: Keys

  /// The binding that was named, where it is there and active.
  private var binding: BindingRecord? {
    guard let binding = before.binding(opened.bindingID), !binding.isRevoked,
      Identifier.areEqual(binding.applicationID, request.applicationID)
    else { return nil }
    return binding
  }

  // R7, R9
  private func expectation(of proof: V1.KeyProof, _ standing: EvaluationStanding) -> Expectation? {
    guard proof.factor == .biometry, let binding, let key = binding.key(for: .biometry),
      opened.policy.factors.contains(.biometry), key.meets(opened.policy.requiredKeyProtection),
      key.kind == .p256 || world.plan.takesRSA(opened.policy),
      before.profile(binding.applicationID, binding.profileID).settings.isBiometryEnabled,
      binding.baseline?.domainState == request.posture?.domainState
    else { return nil }
    let device = before.device(binding.deviceID).biometry
    let limit = opened.policy.failuresBeforeLockout
    let budget = opened.policy.attemptsPerEvaluation
    guard !device.isLockedOut, device.consecutiveFailures < limit, standing.failures < budget else { return nil }
    let isRight = world.ledger.isSigned(
      proof.signatureForm.bytes(of: opened.signingInput), proof.signature, proof.mlDsa65Signature, by: key.publicKey,
      and: key.mlDSA65PublicKey ?? [])
    if isRight {
      return Expectation(outcome: .succeeded, attemptsLeft: 0)
    }
    let left = limit - device.consecutiveFailures - 1
    if left == 0 { return Expectation(outcome: .lockedOut, attemptsLeft: 0) }
    let isSpent = standing.failures + 1 >= budget
    // This check does not predict the factors of an automatic fallback.
    if isSpent, opened.policy.fallback == .automatic { return nil }
    return Expectation(outcome: isSpent ? .failed : .tryAgain, attemptsLeft: left)
  }

  // MARK: Secrets

  // R13
  private func expectation(of secret: [UInt8], _ kind: Factor) -> Expectation? {
    let profileID = opened.profileID.isEmpty ? binding?.profileID : opened.profileID
    guard let profileID, opened.policy.factors.contains(kind) else { return nil }
    let profile = before.profile(request.applicationID, profileID)
    guard profile.settings.isEnabled(kind), let record = profile.secret(kind), record.standing.isSet,
      record.standing.inFlight == 0
    else { return nil }
    let (earliest, latest) = (world.time.earliest(since: call.sentStep), world.time.latest(since: call.sentStep))
    switch record.standing.lock {
    case .untilSetAnew: return Expectation(outcome: .lockedOut, attemptsLeft: 0)
    case .until(let end) where end > latest:
      return Expectation(outcome: .lockedOut, attemptsLeft: 0, retryAfter: end - latest...end - earliest)
    case .until(let end) where end > earliest: return nil
    case .until, .none: break
    }
    if world.ledger.secret(of: record.verifier)?.bytes == secret {
      return Expectation(outcome: .succeeded, attemptsLeft: 0)
    }
    let failures = record.standing.failures + 1
    let ladder = opened.policy.ladder.rungs
    switch ladder.last(where: { $0.failures <= failures })?.effect {
    case .disable: return Expectation(outcome: .lockedOut, attemptsLeft: 0)
    case .lock(let duration) where ladder.contains { $0.failures == failures }:
      return Expectation(outcome: .lockedOut, attemptsLeft: 0, retryAfter: duration - (latest - earliest)...duration)
    default:
      let next = ladder.first { $0.failures > failures }?.failures
      return next.map { Expectation(outcome: .tryAgain, attemptsLeft: $0 - failures) }
    }
  }
}

extension V1.DevicePosture {
  fileprivate var isHealthy: Bool {
    biometryAvailable && biometryEnrolled && !biometryLockedOut && passcodeSet && !domainState.isEmpty
      && biometryType == .touchID && platform == "ios" && osVersion.count == 4
  }
}

extension HardwareKeyRecord {
  fileprivate func meets(_ demand: KeyProtection?) -> Bool { demand == nil || demand == protection }
}
