// Evaluations: may one begin, its beginning, its end. The attempts in it have a file of their own.

import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension V1.CanEvaluatePolicyRequest: Request {
  static let method = "EvaluationService/CanEvaluatePolicy"
  typealias Answer = V1.CanEvaluatePolicyResponse

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.require(answer.canEvaluate == (answer.denial == nil), "R1", "can_evaluate and denial disagree")
    world.require(
      answer.biometryAttemptsLeft <= world.plan.failuresBeforeLockout, "R7", "more attempts than before a lockout")
    if answer.denial?.laError == .biometryLockout {
      world.require(!answer.factors.contains(.biometry), "R4", "biometrics are offered while they are locked")
    }
    UndisturbedOffer(bindingID, of: applicationID, policy: policy, posture, call, world)?
      .check(answer.factors, answer.domainState)
  }

  func summary(of answer: Answer) -> String { "can evaluate \(answer.canEvaluate), \(answer.factors.names)" }
}

extension V1.BeginEvaluationRequest: Request {
  static let method = "EvaluationService/BeginEvaluation"
  typealias Answer = V1.BeginEvaluationResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    event.kind == "evaluation.denied" && Identifier.areEqual(event.applicationID, applicationID)
      && moment.changeSet.changesNothing
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    UndisturbedOffer(bindingID, of: applicationID, policy: policy, posture, call, world)?
      .check(answer.factors, answer.domainState)
    guard answer.denial == nil else {
      world.require(answer.evaluation.isEmpty && answer.signingInput.isEmpty, "R34", "a denial opens an evaluation")
      return world.requireEvent(of: call, "evaluation.denied") { Identifier.areEqual($0.applicationID, applicationID) }
    }
    let challenge = answer.challenge
    world.require(world.ledger.isNew(challenge: challenge), "R33", "a challenge is used twice")
    world.require(challenge.count == 32, "R34", "a challenge of \(challenge.count) bytes")
    world.require(
      answer.factors.contains(.passkey) == answer.passkeyOptions.hasChallenge(of: answer.signingInput), "R47",
      "options, or none, by mistake")
    guard let policy = world.policy(named: policy, at: call) else {
      return world.report("R34", "an evaluation of a policy that there is not")
    }
    world.require(Set(answer.factors).isSubset(of: policy.wireFactors), "R5", "a factor that the policy does not take")
    let terms = EvaluationTerms(
      challenge: challenge, applicationID: applicationID, bindingID: bindingID, policyName: policy.name,
      purpose: policy.purpose, transaction: transaction.map(Transaction.init))
    world.require(terms.signingInput == answer.signingInput, "R33", "the signing input is of something else")
    world.ledger.note(
      OpenedEvaluation(
        number: call.number, applicationID: applicationID, bindingID: bindingID, profileID: profileID, policy: policy,
        transaction: transaction, signingInput: answer.signingInput,
        expiresAt: answer.expiresAt.map(UnixTime.init) ?? UnixTime(seconds: 0)), sealed: answer.evaluation)
  }

  func summary(of answer: Answer) -> String {
    answer.denial.map { "denied, \($0.reason)" } ?? "opened, \(answer.factors.names)"
  }
}

extension V1.BeginEvaluationResponse {
  /// The signing input's second field, as SigningInput.swift has it: each is its length in four bytes, and itself.
  fileprivate var challenge: [UInt8] {
    func field(at start: Int) -> ArraySlice<UInt8> {
      let length = signingInput.dropFirst(start).prefix(4).reduce(0) { $0 << 8 | Int($1) }
      return signingInput.dropFirst(start + 4).prefix(length)
    }
    return Array(field(at: 4 + field(at: 0).count))
  }
}

extension V1.ExplainEvaluationRequest: Request {
  static let method = "AdministrationService/ExplainEvaluation"
  typealias Answer = V1.ExplainEvaluationResponse

  /// A name that the application does not have, which may have been erased since the call began.
  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    let asked = begin ?? V1.BeginEvaluationRequest()
    guard Identifier.areEqual(event.applicationID, asked.applicationID), moment.changeSet.changesNothing else {
      return false
    }
    return event.kind == (asked.bindingID.isEmpty ? "profile.refused" : "binding.refused")
      && Identifier.areEqual(event.bindingID, asked.bindingID)
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.require(!answer.trace.isEmpty, "R1", "an explanation without a rule")
    world.require(
      answer.answer?.evaluation.isEmpty == true && answer.answer?.signingInput.isEmpty == true, "R34",
      "an explanation opens an evaluation")
  }
}

extension EvaluationPolicy {
  var wireFactors: Set<V1.Factor> { Set(factors.map { V1.Factor(rawValue: Int32($0.rawValue)) }) }
}

extension V1.InvalidateEvaluationRequest: Request {
  static let method = "EvaluationService/InvalidateEvaluation"
  typealias Answer = V1.InvalidateEvaluationResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard Identifier.areEqual(event.applicationID, applicationID) else { return false }
    guard opened(in: moment.world) == nil else { return event.kind == "evaluation.invalidated" }
    return event.kind == "evaluation.refused" && moment.changeSet.changesNothing
  }

  func check(_ answer: Answer, to call: Call, in world: World) { opened(in: world)?.finish(at: world.time.step) }

  private func opened(in world: World) -> OpenedEvaluation? { world.ledger.evaluation(evaluation, of: applicationID) }
}
