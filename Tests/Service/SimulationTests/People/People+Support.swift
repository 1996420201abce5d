// People's settings, and their requests to support staff.

import TouchstoneCodec

extension People {
  // MARK: Secrets and settings

  func memory(of applicationID: String, _ profileID: String) -> Memory {
    memories[Self.name(applicationID, profileID)] ?? Memory()
  }

  static func name(_ applicationID: String, _ profileID: String) -> [UInt8] {
    Array(applicationID.utf8) + [0] + Array(profileID.utf8)
  }

  func setUp(_ applicationID: String, _ profileID: String) {
    switch chance.below(10) {
    case 0..<6: setSecret(applicationID, profileID)
    case 6: removeSecret(applicationID, profileID)
    case 7: acceptFingers(applicationID)
    case 8: world.send(V1.GetUnlockSettingsRequest(applicationID: applicationID, profileID: profileID))
    default: changeSettings(applicationID, profileID)
    }
  }

  func setSecret(_ applicationID: String, _ profileID: String) {
    let memory = memory(of: applicationID, profileID)
    let (secret, old) = chance.happens(60) ? newPasscode(memory) : newGesture(memory)
    let request = V1.SetSecretRequest(
      applicationID: applicationID, profileID: profileID, secret: secret,
      confirmation: chance.happens(95) ? secret : V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: "another"))),
      authority: old.map { chance.happens(50) ? .oldSecret($0) : .primary(somePrimary()) } ?? .primary(somePrimary()))
    world.send(request) { [self] answer in
      guard answer.accepted else { return }
      var memory = self.memory(of: applicationID, profileID)
      switch secret.kind {
      case .passcode(let proof): memory.passcode = proof.passcode
      case .gesture(let proof): memory.gesture = proof.points
      case nil: break
      }
      memories[Self.name(applicationID, profileID)] = memory
    }
  }

  func newPasscode(_ memory: Memory) -> (V1.Secret, old: V1.Secret?) {
    (
      V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: chance.pick(Names.passcodes)))),
      memory.passcode.map { V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: $0))) }
    )
  }

  func newGesture(_ memory: Memory) -> (V1.Secret, old: V1.Secret?) {
    (
      V1.Secret(kind: .gesture(V1.GestureProof(points: chance.pick(Names.gestures)))),
      memory.gesture.map { V1.Secret(kind: .gesture(V1.GestureProof(points: $0))) }
    )
  }

  func removeSecret(_ applicationID: String, _ profileID: String) {
    let passcode = memory(of: applicationID, profileID).passcode
    world.send(
      V1.RemoveSecretRequest(
        applicationID: applicationID, profileID: profileID, kind: chance.happens(50) ? .passcode : .gesture,
        authority: passcode.map { .oldSecret(V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: $0)))) }
          ?? .primary(somePrimary())))
  }

  func changeSettings(_ applicationID: String, _ profileID: String) {
    world.send(
      V1.SetUnlockSettingsRequest(
        applicationID: applicationID, profileID: profileID,
        settings: V1.UnlockSettings(
          biometryEnabled: chance.happens(80), gestureEnabled: chance.happens(60), passcodeEnabled: chance.happens(80),
          preferred: chance.pick([.unspecified, .biometry, .passcode]))))
  }

  func acceptFingers(_ applicationID: String) {
    let phone = chance.pick(phones)
    guard let credential = phone.credential(in: applicationID) else { return }
    let evidence: V1.AcceptDomainStateRequest.Evidence =
      chance.pickAny(wallet.tokens).flatMap { chance.happens(50) ? .token($0.text) : nil } ?? .primary(somePrimary())
    world.send(
      V1.AcceptDomainStateRequest(
        applicationID: applicationID, bindingID: credential.bindingID,
        domainState: phone.domainState(in: applicationID), evidence: evidence, osVersion: "\(phone.osMajorVersion).2"))
  }

  // MARK: Support

  func support(_ phone: Phone, _ applicationID: String, _ profileID: String) {
    let bindingID = phone.credential(in: applicationID)?.bindingID ?? ""
    switch chance.below(13) {
    case 0, 1:
      world.send(
        V1.RevokeBindingRequest(applicationID: applicationID, bindingID: bindingID, reason: Names.reason))
    case 2, 3:
      world.send(V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: phone.deviceID, reason: Names.reason))
    case 4, 5:
      world.send(
        V1.UnlockSecretRequest(
          applicationID: applicationID, profileID: profileID, kind: chance.happens(70) ? .passcode : .gesture,
          reason: Names.reason))
    case 6: world.send(V1.EraseProfileRequest(applicationID: applicationID, profileID: profileID, reason: Names.reason))
    case 7: world.send(V1.GetProfileRequest(applicationID: applicationID, profileID: profileID))
    case 8: world.send(V1.ListEventsRequest(filter: V1.EventFilter(applicationID: applicationID)))
    case 9:
      world.send(
        V1.ListBindingsRequest(applicationID: applicationID, profileID: profileID, includeRevoked: chance.happens(50)))
    case 10: world.send(V1.GetBindingRequest(applicationID: applicationID, bindingID: bindingID))
    case 11:
      var begin = opening(phone, applicationID, policy: chance.pick(Self.policies))
      begin.bindingID = bindingID
      world.send(V1.ExplainEvaluationRequest(begin: begin))
    default:
      world.send(
        V1.CanEvaluatePolicyRequest(
          applicationID: applicationID, policy: chance.pick(Self.policies), bindingID: bindingID,
          posture: phone.posture(in: applicationID)))
    }
  }
}
