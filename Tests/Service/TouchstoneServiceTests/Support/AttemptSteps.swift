// Plays the events of an attempt's flow, without a service and without a store.

import StoreConformance
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

enum AttemptEvent {
  case read(SharedRecord<Subject>)
  case found(AttemptRecords)
  case verified(Bool)
  case conflicted
  case committed
}

extension AttemptMachine {
  /// Returns each step in words: "commit evaluation.succeeded".
  func steps(_ events: [AttemptEvent], at moment: Moment) -> [String] {
    var machine = self
    return [machine.began().words]
      + events.map { event in
        switch event {
        case .read(let subject): machine.read(subject, at: moment).words
        case .found(let records): machine.found(records, at: moment).words
        case .verified(let isValid): machine.verified(isValid, at: moment).words
        case .conflicted: machine.conflicted().words
        case .committed: machine.committed().words
        }
      }
  }
}

extension AttemptTerms {
  static let sampleNow = UnixTime(seconds: 1_800_000_000)
  static let sampleKey = ExpiringKey(
    expiresAt: sampleNow + .seconds(120), random: UniqueID(bytes: Array(repeating: 7, count: 16))!,
    in: Lineage(rawValue: 1))

  /// An evaluation of the policy that expires two minutes after `sampleNow`, on a healthy iPhone.
  static func sample(
    _ proof: AttemptProof, under policy: EvaluationPolicy, of subject: EvaluationSubject,
    in application: String = Sample.application, challenge: [UInt8] = Array(repeating: 1, count: 32),
    asserting appAssertion: OfferedAppAssertion? = nil, pepper: Pepper = KeyRing.ephemeral().pepper
  ) -> AttemptTerms {
    let entry = PolicyBook([policy])[policy.name]!
    let evaluation = SealedEvaluation(
      key: sampleKey, challenge: challenge, policyName: policy.name,
      policyRevision: entry.revision, subject: subject, transaction: nil,
      prompt: Prompt(localizedReason: "Log in", titles: .init(fallback: nil, cancel: nil)))
    let issuing = TokenIssuing(
      id: UniqueID(bytes: Array(repeating: 9, count: 16))!, issuer: "touchstone", pepper: pepper,
      lineage: Lineage(rawValue: 1))
    var posture = DevicePosture.empty
    (posture.platform, posture.osVersion, posture.isPasscodeSet) = (.iOS, OSVersion(17), true)
    (posture.biometryType, posture.isBiometryAvailable, posture.isBiometryEnrolled) = (.touchID, true, true)
    posture.domainState = [1, 2, 3]
    return AttemptTerms(
      applicationID: application, caller: .local, entry: entry, evaluation: evaluation, proof: proof,
      posture: posture, deviceModel: "", appAssertion: appAssertion, issuing: issuing)
  }
}
