// After the password login: a binding for the phone, and secrets for when no finger serves.

internal import SimulatedPhone
internal import TouchstoneClient

extension DemoStory {
  func bind() async throws(WrongAnswer) -> Keys {
    narrator.title("Ada logged in with her password. Her phone makes two keys and proves that it holds them.")
    let (biometry, passcode, request) = try twoKeys(for: try await beginBinding())
    let binding = try await complete(request)
    try narrator.expect(binding.domainStateRecorded, "a binding with a baseline")

    try await expectFailure(
      client.completeBinding, request, "CompleteBinding, replayed", .failedPrecondition, "TICKET_INVALID")
    return Keys(bindingID: binding.bindingID, biometry: biometry, passcode: passcode)
  }

  func beginBinding() async throws(WrongAnswer) -> V1.BeginBindingResponse {
    let begun = try await call(
      client.beginBinding,
      V1.BeginBindingRequest(
        applicationID: application, profileID: profile, deviceID: phone.deviceID, primary: passwordLogin,
        posture: phone.posture))
    try narrator.expect(begun.denial == nil, "a ticket, not a denial")
    narrator.call("BeginBinding", "a ticket and a challenge")
    return begun
  }

  func complete(_ request: V1.CompleteBindingRequest) async throws(WrongAnswer) -> V1.Binding {
    let completed = try await call(client.completeBinding, request)
    guard let binding = completed.binding, binding.state == .active else {
      throw WrongAnswer(message: "an active binding")
    }
    narrator.call("CompleteBinding", "binding \(binding.bindingID) is active")
    return binding
  }

  /// The shop's own login, which vouches for Ada.
  var passwordLogin: V1.PrimaryAuthentication {
    V1.PrimaryAuthentication(method: "password", authenticatedAt: clock.timestamp)
  }

  /// Makes a key of the finger and one of the phone's passcode, and the request that binds the phone with them.
  func twoKeys(
    for begun: V1.BeginBindingResponse
  ) throws(WrongAnswer) -> (biometry: SimulatedPhone.Key, passcode: SimulatedPhone.Key, V1.CompleteBindingRequest) {
    let biometry = try phone.makeKey(.biometryCurrentSet)
    let passcode = try phone.makeKey(.devicePasscode)
    let request = V1.CompleteBindingRequest(
      applicationID: application, ticket: begun.ticket, deviceName: "Ada's iPhone",
      keys: [
        try offered(biometry, .biometryCurrentSet, begun.signingInput, .finger(DemoPhone.thumb)),
        try offered(passcode, .devicePasscode, begun.signingInput, .passcode(DemoPhone.passcode)),
      ], posture: phone.posture)
    return (biometry, passcode, request)
  }

  private func offered(
    _ key: SimulatedPhone.Key, _ protection: V1.KeyProtection, _ input: [UInt8],
    _ presentation: SimulatedPhone.Presentation
  ) throws(WrongAnswer) -> V1.HardwareKey {
    guard case .key(let proof) = try phone.attempt(input, with: key, presenting: presentation) else {
      throw WrongAnswer(message: "the new key to sign")
    }
    return V1.HardwareKey(publicKey: key.publicKeyX963, protection: protection, signature: proof.signature)
  }

  func setSecrets() async throws(WrongAnswer) {
    narrator.title("She sets a passcode and a gesture, for the day when no finger serves.")
    try await set(V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: passcode))), named: "a passcode")
    try await set(V1.Secret(kind: .gesture(V1.GestureProof(points: gesture))), named: "a gesture")
    let answer = try await call(
      client.getUnlockSettings, V1.GetUnlockSettingsRequest(applicationID: application, profileID: profile))
    guard let settings = answer.settings else { throw WrongAnswer(message: "settings") }
    try narrator.expect(
      settings.biometryEnabled && settings.passcodeEnabled && settings.passcodeSet && settings.gestureEnabled
        && settings.gestureSet, "biometry, passcode and gesture to be on")
    narrator.call("GetUnlockSettings", "biometry, passcode and gesture are on")
  }

  private func set(_ secret: V1.Secret, named name: String) async throws(WrongAnswer) {
    let answer = try await call(
      client.setSecret,
      V1.SetSecretRequest(
        applicationID: application, profileID: profile, secret: secret, confirmation: secret,
        authority: .primary(passwordLogin)), named: "SetSecret, \(name)")
    try narrator.expect(answer.accepted, "the secret to be accepted")
    narrator.call("SetSecret, \(name)", "accepted")
  }

  func bindAnew(_ old: Keys) async throws(WrongAnswer) -> Keys {
    let keys = try await bind()
    narrator.title("The old binding is revoked, and the app is told to set the phone up again.")
    let answer = try await call(
      client.getBinding, V1.GetBindingRequest(applicationID: application, bindingID: old.bindingID))
    try narrator.expect(answer.binding?.state == .revoked, "the old binding to be revoked")
    narrator.call("GetBinding", "\(old.bindingID) is revoked")
    let opened = try await call(
      client.beginEvaluation,
      V1.BeginEvaluationRequest(
        applicationID: application, policy: "login", bindingID: old.bindingID,
        localizedReason: "Log in to the \(application)", posture: phone.posture))
    try narrator.expect(opened.denial?.reason == "BINDING_REVOKED", "BINDING_REVOKED")
    narrator.call("BeginEvaluation, login", "no, BINDING_REVOKED")
    if let message = opened.denial?.message { narrator.screen(message.text) }
    return keys
  }
}
