// Diagnoses of a profile's logins. Makes the facts for the rules from the records, and messages from the rules'
// answers.

internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  /// Returns `nil` if there is no policy at all.
  ///
  /// - Parameter name: if it is empty, the policy is the one that most logins use.
  func diagnosedPolicy(
    _ name: String, of applicationID: String, with validator: inout RequestValidator
  ) -> PolicyBook.Entry? {
    guard name.isEmpty else { return policy(named: name, for: applicationID, with: &validator) }
    return policies.usual.flatMap { policy(named: $0, for: applicationID) }
  }

  /// One for each binding, in their order, and one for the profile alone.
  func diagnoses(
    of profile: ProfileRecord, _ bindings: [BindingRecord], _ devices: [V1.DeviceStanding],
    under policy: EvaluationPolicy?
  ) -> [V1.LoginDiagnosis] {
    guard let policy else { return [] }
    let now = clock()
    let ofBindings = bindings.map { binding in
      let device = devices.first { Identifier.areEqual($0.deviceID, binding.deviceID) }
      let facts = DiagnosisFacts(
        of: binding, device: device.map(BiometryStanding.init) ?? BiometryStanding(), profile: profile, policies,
        now: now)
      return V1.LoginDiagnosis(policy.diagnose(facts), of: binding.bindingID, under: policy)
    }
    let alone = DiagnosisFacts(of: profile, bindings, policies, now: now)
    return ofBindings + [V1.LoginDiagnosis(policy.diagnose(alone), of: "", under: policy)]
  }
}

extension DiagnosisFacts {
  init(
    of binding: BindingRecord, device: BiometryStanding, profile: ProfileRecord, _ policies: PolicyBook, now: UnixTime
  ) {
    self.init(
      binding: binding.standing, holdsAppAttestKey: binding.appAttest != nil, report: Report(of: binding),
      device: device, profile: profile.standing, passkeys: [], passcodeLadder: policies.ladder(for: .passcode),
      gestureLadder: policies.ladder(for: .gesture), now: now)
  }

  /// The diagnosis of the profile alone.
  init(of profile: ProfileRecord, _ bindings: [BindingRecord], _ policies: PolicyBook, now: UnixTime) {
    self.init(
      binding: nil, holdsAppAttestKey: false, report: nil, device: BiometryStanding(), profile: profile.standing,
      passkeys: bindings.filter { $0.passkey != nil && !$0.isRevoked }.map(\.standing),
      passcodeLadder: policies.ladder(for: .passcode), gestureLadder: policies.ladder(for: .gesture), now: now)
  }
}

extension DiagnosisFacts.Report {
  /// `nil`: the device was never seen. A passkey has none.
  fileprivate init?(of binding: BindingRecord) {
    guard let seen = binding.lastSeen, binding.passkey == nil else { return nil }
    self = .last(seen.posture, seen.domainState, at: seen.seenAt)
  }
}

extension BiometryStanding {
  fileprivate init(_ device: V1.DeviceStanding) {
    self.init(consecutiveFailures: device.biometryFailures, isLockedOut: device.biometryLockedOut)
  }
}

extension V1.LoginDiagnosis {
  init(_ diagnosis: LoginDiagnosis, of bindingID: String, under policy: EvaluationPolicy) {
    self.init(
      bindingID: bindingID, policy: policy.name, answer: V1.LoginAnswer(rawValue: Int32(diagnosis.answer.rawValue)),
      factors: diagnosis.factors.map(V1.Factor.init), obstacles: diagnosis.obstacles.map(V1.LoginObstacle.init),
      reportedAt: diagnosis.reportedAt.map(V1.Timestamp.init))
  }
}

extension V1.LoginObstacle {
  fileprivate init(_ obstacle: LoginObstacle) {
    self.init(
      factors: obstacle.factors.map(V1.Factor.init), code: obstacle.cause.rawValue,
      since: obstacle.since.map(V1.Timestamp.init), until: obstacle.until.map(V1.Timestamp.init),
      remedies: obstacle.remedies.map(\.rawValue))
  }
}
