// People with phones, and the applications that ask for them: what they do is what they may.

import Crypto
import SimulatedPhone
import TouchstoneCodec
import TouchstonePolicy

final class People {
  let phones = Names.devices.map(Phone.init)
  var keys: KeyPool
  private(set) var wallet = Wallet()
  private var memories: [[UInt8]: Memory] = [:]
  private unowned let world: World
  private var chance: Chance { world.chance }

  init(world: World) {
    self.world = world
    keys = KeyPool(by: world.chance)
    for name in Names.all { world.ledger.note(name: name) }
  }

  // MARK: Doing

  func act() {
    let phone = chance.pick(phones)
    let applicationID = chance.pick(Names.applications)
    let profileID = chance.pick(Names.profiles)
    switch chance.below(100) {
    case 0..<9: beginBinding(phone, applicationID, profileID)
    case 9..<18: completeBinding()
    case 18..<34: begin(phone, applicationID)
    case 34..<40: begin(phone, applicationID, profileID)
    case 40..<54: prove()
    case 54..<64: enterSecret()
    case 64..<66: proveByLogin()
    case 66..<69: reportError()
    case 69..<70: invalidate()
    case 70..<74: consume()
    case 74..<77: introspect()
    case 77..<78: revokeToken()
    case 78..<87: setUp(applicationID, profileID)
    case 87..<94: support(phone, applicationID, profileID)
    default: change(phone)
    }
  }

  // MARK: Before the storm

  /// Some phones are bound, and some profiles have secrets.
  func settleIn() {
    for phone in phones where chance.happens(70) {
      let applicationID = chance.pick(Names.applications)
      let profileID = chance.pick(Names.profiles)
      let request = bindingRequest(phone, applicationID, profileID, primary(ageSeconds: 1))
      guard let response = world.ask(request) else { continue }
      complete(Enrolment(phone: phone, request: request, response: response))
      if chance.happens(70) { setSecret(applicationID, profileID) }
    }
  }

  // MARK: Binding

  func primary(ageSeconds: Int) -> V1.PrimaryAuthentication {
    let time = world.time.now + .seconds(-ageSeconds)
    return V1.PrimaryAuthentication(method: "password", authenticatedAt: V1.Timestamp(time))
  }

  private func somePrimary() -> V1.PrimaryAuthentication { primary(ageSeconds: chance.pick([1, 1, 60, 290, 310])) }

  private func beginBinding(_ phone: Phone, _ applicationID: String, _ profileID: String) {
    let request = bindingRequest(phone, applicationID, profileID, somePrimary())
    world.send(request) { [self] response in
      guard response.denial == nil else { return }
      let enrolment = Enrolment(phone: phone, request: request, response: response)
      wallet.keep(enrolment)
      if chance.happens(60) { complete(enrolment) }
    }
  }

  private func bindingRequest(
    _ phone: Phone, _ applicationID: String, _ profileID: String, _ primary: V1.PrimaryAuthentication
  ) -> V1.BeginBindingRequest {
    V1.BeginBindingRequest(
      applicationID: applicationID, profileID: profileID, deviceID: phone.deviceID, primary: primary,
      posture: phone.posture(in: applicationID))
  }

  private func completeBinding() { if let enrolment = chance.pickAny(wallet.enrolments) { complete(enrolment) } }

  private func complete(_ enrolment: Enrolment) {
    var credential = Credential(
      applicationID: enrolment.request.applicationID, profileID: enrolment.request.profileID, bindingID: "")
    if chance.happens(30) { credential.profileTouchID = chance.bytes(32) } else { credential.keys = makeKeys() }
    let request = completion(of: enrolment, by: credential, replaceExisting: chance.happens(60))
    world.send(request) { response in
      credential.bindingID = response.binding?.bindingID ?? ""
      enrolment.phone.keep(credential)
    }
  }

  func completion(
    of enrolment: Enrolment, by credential: Credential, replaceExisting: Bool
  ) -> V1.CompleteBindingRequest {
    let keys = credential.keys.map { guarded in
      V1.HardwareKey(
        publicKey: guarded.key.publicKeyX963, protection: guarded.protection,
        signature: sign(enrolment.response.signingInput, with: guarded.key))
    }
    return V1.CompleteBindingRequest(
      applicationID: credential.applicationID, ticket: enrolment.response.ticket, deviceName: "a phone", keys: keys,
      profileTouchID: keys.isEmpty ? V1.ProfileTouchID(value: credential.profileTouchID) : nil,
      posture: enrolment.phone.posture(in: credential.applicationID), replaceExisting: replaceExisting)
  }

  func makeKeys() -> [GuardedKey] {
    var made = [GuardedKey(key: keys.take(), protection: chance.happens(70) ? .biometryCurrentSet : .biometryAny)]
    if chance.happens(50) {
      made.append(GuardedKey(key: keys.take(), protection: chance.happens(50) ? .userPresence : .devicePasscode))
    }
    return made
  }

  /// With the person's consent to this very input. As `r ‖ s`, whose length is always the same: DER's is not, and the
  /// places of bytes in a message are part of what a seed decides.
  func sign(_ input: [UInt8], with key: SoftwareKey) -> [UInt8] {
    guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: key.sign(input)) else {
      preconditionFailure("a key's own signature is DER")
    }
    let bytes = Array(signature.rawRepresentation)
    world.ledger.note(signature: bytes, by: key, over: input)
    return bytes
  }

  // MARK: Evaluating

  private static let policies = [
    "login", "login", "payment", "payment", "deviceOwnerAuthentication", "deviceOwnerAuthenticationWithBiometrics",
    "everything", "once",
  ]
  static let transactions = [
    V1.Transaction(amount: "12.50", currency: "CNY", payee: "Noodle House", reference: "order-1"),
    V1.Transaction(amount: "12.5", currency: "CNY", payee: "Noodle House", reference: "order-1"),
    V1.Transaction(amount: "99", currency: "EUR", payee: "Bike Shop", reference: "order-2"),
  ]

  private func begin(_ phone: Phone, _ applicationID: String) {
    guard let credential = phone.credential(in: applicationID) else { return }
    begin(phone, applicationID, as: credential)
  }

  /// Of a profile alone: without a phone that is bound.
  private func begin(_ phone: Phone, _ applicationID: String, _ profileID: String) {
    var request = opening(phone, applicationID, policy: chance.pick(["login", "everything", "once"]))
    request.profileID = profileID
    let nobody = Credential(applicationID: applicationID, profileID: profileID, bindingID: "")
    open(request, on: phone, for: nobody)
  }

  /// - Parameter credential: the phone's own, unless somebody lies.
  func begin(_ phone: Phone, _ applicationID: String, as credential: Credential) {
    var request = opening(phone, applicationID, policy: chance.pick(Self.policies))
    // A ProfileTouchID needs no binding to be named.
    let isBearer = !credential.profileTouchID.isEmpty && chance.happens(40)
    if !isBearer { request.bindingID = credential.bindingID }
    open(request, on: phone, for: credential)
  }

  func opening(_ phone: Phone, _ applicationID: String, policy: String) -> V1.BeginEvaluationRequest {
    V1.BeginEvaluationRequest(
      applicationID: applicationID, policy: policy, localizedReason: "Approve",
      transaction: policy == "payment" ? chance.pick(Self.transactions) : nil, posture: phone.posture(in: applicationID)
    )
  }

  private func open(_ request: V1.BeginEvaluationRequest, on phone: Phone, for credential: Credential) {
    world.send(request) { [self] response in
      guard response.denial == nil else { return }
      let prompt = Prompt(phone: phone, credential: credential, request: request, response: response)
      wallet.keep(prompt)
      if chance.happens(50) { prove(prompt) }
    }
  }

  /// Mostly one of the newest.
  func somePrompt() -> Prompt? { chance.pickAny(chance.happens(80) ? wallet.prompts.suffix(3) : wallet.prompts) }

  /// The person presents the right finger, the device passcode, or whatever else is asked for.
  private func prove() { if let prompt = somePrompt() { prove(prompt) } }

  private func prove(_ prompt: Prompt) {
    if let attempt = proof(for: prompt) { submit(attempt, to: prompt) } else { enterSecret(prompt) }
  }

  func proof(for prompt: Prompt) -> V1.SubmitAttemptRequest.Attempt? {
    let credential = prompt.credential
    if !credential.profileTouchID.isEmpty {
      return .profileTouchID(V1.ProfileTouchIDProof(profileTouchID: credential.profileTouchID))
    }
    let factor: V1.Factor = chance.happens(70) ? .biometry : .deviceOwner
    guard let key = credential.key(for: factor) else { return nil }
    return .key(V1.KeyProof(signature: sign(prompt.response.signingInput, with: key), factor: factor))
  }

  /// As they remember it; sometimes they do not.
  private func enterSecret() { if let prompt = somePrompt() { enterSecret(prompt) } }

  private func enterSecret(_ prompt: Prompt) {
    let memory = memory(of: prompt.request.applicationID, prompt.credential.profileID)
    if chance.happens(60) {
      let passcode = chance.happens(80) ? memory.passcode : nil
      submit(.passcode(V1.PasscodeProof(passcode: passcode ?? chance.pick(Names.passcodes))), to: prompt)
    } else {
      let gesture = chance.happens(80) ? memory.gesture : nil
      submit(.gesture(V1.GestureProof(points: gesture ?? chance.pick(Names.gestures))), to: prompt)
    }
  }

  private func proveByLogin() {
    guard let prompt = somePrompt() else { return }
    submit(.primary(somePrimary()), to: prompt)
  }

  private static let reports: [V1.LAError] = [
    .authenticationFailed, .authenticationFailed, .userCancel, .userFallback, .systemCancel, .biometryLockout,
    .appCancel, .invalidContext, V1.LAError(rawValue: -77),
  ]

  private func reportError() {
    guard let prompt = somePrompt() else { return }
    submit(.report(V1.DeviceReport(laError: chance.pick(Self.reports))), to: prompt)
  }

  func submit(_ attempt: V1.SubmitAttemptRequest.Attempt, to prompt: Prompt) {
    world.send(attemptRequest(attempt, to: prompt)) { [self] answer in
      if let token = world.ledger.token(answer.token) { wallet.keep(token) }
    }
  }

  func attemptRequest(_ attempt: V1.SubmitAttemptRequest.Attempt, to prompt: Prompt) -> V1.SubmitAttemptRequest {
    let applicationID = prompt.request.applicationID
    return V1.SubmitAttemptRequest(
      applicationID: applicationID, evaluation: prompt.response.evaluation, attempt: attempt,
      posture: prompt.phone.posture(in: applicationID))
  }

  private func invalidate() {
    guard let prompt = somePrompt() else { return }
    world.send(
      V1.InvalidateEvaluationRequest(
        applicationID: prompt.request.applicationID, evaluation: prompt.response.evaluation))
  }

  // MARK: Tokens

  private func consume() {
    guard let token = chance.pickAny(wallet.tokens) else { return }
    world.send(
      V1.ConsumeTokenRequest(applicationID: token.applicationID, token: token.text, transaction: token.transaction))
  }

  private func introspect() {
    guard let token = chance.pickAny(wallet.tokens) else { return }
    world.send(V1.IntrospectTokenRequest(applicationID: token.applicationID, token: token.text))
  }

  private func revokeToken() {
    guard let token = chance.pickAny(wallet.tokens) else { return }
    world.send(V1.RevokeTokenRequest(applicationID: token.applicationID, token: token.text))
  }

  // MARK: Secrets and settings

  private func memory(of applicationID: String, _ profileID: String) -> Memory {
    memories[Self.name(applicationID, profileID)] ?? Memory()
  }

  private static func name(_ applicationID: String, _ profileID: String) -> [UInt8] {
    Array(applicationID.utf8) + [0] + Array(profileID.utf8)
  }

  private func setUp(_ applicationID: String, _ profileID: String) {
    switch chance.below(10) {
    case 0..<6: setSecret(applicationID, profileID)
    case 6: removeSecret(applicationID, profileID)
    case 7: acceptFingers(applicationID)
    case 8: world.send(V1.GetUnlockSettingsRequest(applicationID: applicationID, profileID: profileID))
    default: changeSettings(applicationID, profileID)
    }
  }

  private func setSecret(_ applicationID: String, _ profileID: String) {
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

  private func newPasscode(_ memory: Memory) -> (V1.Secret, old: V1.Secret?) {
    (
      V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: chance.pick(Names.passcodes)))),
      memory.passcode.map { V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: $0))) }
    )
  }

  private func newGesture(_ memory: Memory) -> (V1.Secret, old: V1.Secret?) {
    (
      V1.Secret(kind: .gesture(V1.GestureProof(points: chance.pick(Names.gestures)))),
      memory.gesture.map { V1.Secret(kind: .gesture(V1.GestureProof(points: $0))) }
    )
  }

  private func removeSecret(_ applicationID: String, _ profileID: String) {
    let passcode = memory(of: applicationID, profileID).passcode
    world.send(
      V1.RemoveSecretRequest(
        applicationID: applicationID, profileID: profileID, kind: chance.happens(50) ? .passcode : .gesture,
        authority: passcode.map { .oldSecret(V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: $0)))) }
          ?? .primary(somePrimary())))
  }

  private func changeSettings(_ applicationID: String, _ profileID: String) {
    world.send(
      V1.SetUnlockSettingsRequest(
        applicationID: applicationID, profileID: profileID,
        settings: V1.UnlockSettings(
          biometryEnabled: chance.happens(80), gestureEnabled: chance.happens(60), passcodeEnabled: chance.happens(80),
          preferred: chance.pick([.unspecified, .biometry, .passcode]))))
  }

  private func acceptFingers(_ applicationID: String) {
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

  private func support(_ phone: Phone, _ applicationID: String, _ profileID: String) {
    let bindingID = phone.credential(in: applicationID)?.bindingID ?? ""
    switch chance.below(13) {
    case 0, 1:
      world.send(
        V1.RevokeBindingRequest(
          applicationID: applicationID, bindingID: bindingID, reason: chance.happens(50) ? Names.reason : ""))
    case 2, 3:
      world.send(V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: phone.deviceID, reason: Names.reason))
    case 4, 5:
      world.send(
        V1.UnlockSecretRequest(
          applicationID: applicationID, profileID: profileID, kind: chance.happens(70) ? .passcode : .gesture,
          reason: Names.reason))
    case 6: world.send(V1.EraseProfileRequest(applicationID: applicationID, profileID: profileID))
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

  // MARK: The phone

  /// Mostly back to how it should be.
  private func change(_ phone: Phone) {
    switch chance.below(10) {
    case 0: phone.fingers = [1, 2]
    case 1: phone.fingers = []
    case 2: phone.isPasscodeSet = false
    case 3: phone.isSensorBroken = true
    case 4: phone.isLockedOut = true
    case 5: phone.osMajorVersion = chance.pick([8, 10, 17, 18])
    default: phone.recover()
    }
    world.trace.note("\(world.time.step) \(phone.deviceID): fingers \(phone.fingers), iOS \(phone.osMajorVersion)")
  }
}
