// Evaluations of a person without a device, or of the holder of an identifier, and attempts by memorized secrets.

import StoreModel
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

extension Attempt {
  static func typed(_ passcode: String) -> Attempt { .passcode(V1.PasscodeProof(passcode: passcode)) }
  static func drawn(_ points: UInt32...) -> Attempt { .gesture(V1.GestureProof(points: points)) }
  static func shown(_ identifier: String) -> Attempt {
    .profileTouchID(V1.ProfileTouchIDProof(profileTouchID: Array(identifier.utf8)))
  }
}

extension TestService {
  /// Begins an evaluation for a profile by its name, or without a subject.
  func begin(profileID: String, policy: String = "login") async throws -> V1.BeginEvaluationResponse {
    try await call(
      "EvaluationService/BeginEvaluation",
      V1.BeginEvaluationRequest(
        applicationID: Self.applicationID, policy: policy, localizedReason: "Log in", posture: .healthy,
        profileID: profileID))
  }

  /// Queries for the phone, or for its profile if the phone is not bound.
  func canEvaluate(_ phone: TestPhone, policy: String = "login") async throws -> V1.CanEvaluatePolicyResponse {
    try await call(
      "EvaluationService/CanEvaluatePolicy",
      V1.CanEvaluatePolicyRequest(
        applicationID: Self.applicationID, policy: policy, bindingID: phone.bindingID, posture: phone.posture,
        profileID: phone.bindingID.isEmpty ? phone.profileID : ""))
  }

  func submit(
    _ opened: V1.BeginEvaluationResponse, _ attempt: Attempt, posture: V1.DevicePosture = .healthy
  ) async throws -> V1.SubmitAttemptResponse {
    try await call(
      "EvaluationService/SubmitAttempt",
      V1.SubmitAttemptRequest(
        applicationID: Self.applicationID, evaluation: opened.evaluation, attempt: attempt, posture: posture))
  }

  /// One attempt in an evaluation of its own.
  func attempt(_ attempt: Attempt, profileID: String = "alice") async throws -> V1.SubmitAttemptResponse {
    try await submit(begin(profileID: profileID), attempt)
  }

  /// A phone that holds a ProfileTouchID instead of keys, bound.
  func bind(
    holding identifier: String, profileID: String = "alice", deviceID: String = "phone-1-5f9c27e8ab4d6b"
  ) throws -> TestPhone {
    let posture = V1.DevicePosture.healthy
    let binding = BindingRecord(
      bindingID: "binding of \(deviceID)", applicationID: Self.applicationID, profileID: profileID, deviceID: deviceID,
      deviceName: "", biometryType: .touchID,
      credential: .profileTouchID(digest: keys.pepper.digest(ofProfileTouchID: Array(identifier.utf8))),
      isRevoked: false, baseline: DomainStateBaseline(domainState: posture.domainState, osMajorVersion: 17),
      platformFamily: .iOS, createdAt: clock.now, lastUsedAt: nil, version: 0)
    try store.change(.putBinding(binding))
    return TestPhone(deviceID: deviceID, profileID: profileID, bindingID: binding.bindingID)
  }

  func secretStanding(_ kind: Factor = .passcode, of profileID: String = "alice") -> SecretStanding {
    store.records.profile(Self.applicationID, profileID).standing.secret(for: kind)
  }

  func changeProfile(_ profileID: String = "alice", _ change: (inout ProfileRecord) -> Void) throws {
    var record = store.records.profile(Self.applicationID, profileID)
    change(&record)
    try store.change(.putProfile(record))
  }
}
