// The bank takes no key without a proof (R42), and its app vouches for its keys by App Attest (R43).

internal import DispatchRPC
internal import SimulatedPhone
internal import TouchstoneClient
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

extension DemoStory {
  static let bank = "bank"
  static let bankApp = "A1B2C3D4E5.org.example.bank"
  /// Certifies App Attest keys in Apple's place.
  private static let apple = AppAttestAuthority()

  /// The file in place of Apple's root.
  static var appAttestRootPEM: String { apple.rootPEM }

  func bankWantsProof() async throws(WrongAnswer) {
    let rooted = on(DemoPhone(application: Self.bank, deviceID: "b91e6d02-8f4a-47c3-9d5b-30a7c84ef216"))
    let genuine = on(DemoPhone(application: Self.bank, deviceID: "4d70f3b8-2c96-4e1d-b7a5-91f86e0cd35a"))
    let bare = try await rooted.bindSoftwareKey()
    let (keys, app) = try await genuine.bindVouchedKeys()
    try await rooted.replayAttestation(of: app, bare)
    try await genuine.logInVouched(keys, app)
    try await genuine.replayAssertion(keys, app)
  }

  // MARK: A rooted phone

  /// - Returns: a request with a ticket for Ada's profile and a key that is a file.
  private func bindSoftwareKey() async throws(WrongAnswer) -> V1.CompleteBindingRequest {
    narrator.title("A thief knows Ada's password of the bank. His rooted phone says that its key is in hardware.")
    let begun = try await beginBinding()
    let key = SoftwareKey()
    let bare = V1.CompleteBindingRequest(
      applicationID: application, ticket: begun.ticket, deviceName: "Ada's new phone",
      keys: [
        V1.HardwareKey(
          publicKey: key.publicKeyX963, protection: .biometryCurrentSet, signature: key.sign(begun.signingInput))
      ], posture: phone.posture)
    try await refuse(bare, "a software key", .failedPrecondition, "ATTESTATION_REQUIRED")
    try await expectRefusal("binding.refused", because: "ATTESTATION_REQUIRED")

    let forger = App(authority: AppAttestAuthority())
    var forged = bare
    forged.appAttest = try forger.attest(begun.signingInput, forged.keys, phone.posture)
    try await refuse(forged, "a forged attestation", .invalidArgument, nil)
    try await expectRefusal("binding.refused", because: "ROOT_UNKNOWN")
    return bare
  }

  private func replayAttestation(of app: App, _ bare: V1.CompleteBindingRequest) async throws(WrongAnswer) {
    narrator.title("The thief's phone sends the attestation that Ada's phone had.")
    var replayed = bare
    replayed.appAttest = app.attestation
    try await refuse(replayed, "a replayed attestation", .invalidArgument, nil)
    try await expectRefusal("binding.refused", because: "CHALLENGE_DIFFERS")
  }

  private func refuse(
    _ request: V1.CompleteBindingRequest, _ name: String, _ code: RPCCode, _ reason: String?
  ) async throws(WrongAnswer) {
    try await expectFailure(client.completeBinding, request, "CompleteBinding, \(name)", code, reason)
  }

  // MARK: The bank's own app

  /// The app, with its App Attest key.
  private struct App {
    let service: SimulatedAppAttest
    let keyID: [UInt8]
    /// As it was sent.
    var attestation: V1.AppAttest?

    init(authority: AppAttestAuthority) {
      service = SimulatedAppAttest(appID: DemoStory.bankApp, authority: authority)
      keyID = service.generateKey()
    }

    func attest(
      _ input: [UInt8], _ keys: [V1.HardwareKey], _ posture: V1.DevicePosture
    ) throws(WrongAnswer) -> V1.AppAttest {
      let data = BindingClientData(
        signingInput: input, posture: PostureTerms(posture),
        keys: keys.compactMap { key in
          KeyProtection(rawValue: UInt8(key.protection.rawValue)).map {
            BindingClientData.Key(publicKey: key.publicKey, protection: $0)
          }
        })
      guard let attestation = service.attestKey(keyID, clientDataHash: sha256(data.bytes)) else {
        throw WrongAnswer(message: "the app to have its App Attest key")
      }
      return V1.AppAttest(keyID: keyID, attestation: attestation)
    }

    func vouch(
      for proof: V1.KeyProof, _ input: [UInt8], _ posture: V1.DevicePosture
    ) throws(WrongAnswer) -> [UInt8] {
      let data = AttemptClientData(signingInput: input, signature: proof.signature, posture: PostureTerms(posture))
      guard let assertion = service.generateAssertion(keyID, clientDataHash: sha256(data.bytes)) else {
        throw WrongAnswer(message: "the app to have its App Attest key")
      }
      return assertion
    }
  }

  private func bindVouchedKeys() async throws(WrongAnswer) -> (Keys, App) {
    narrator.title("On Ada's own phone the bank's app vouches for its keys by App Attest.")
    let begun = try await beginBinding()
    let (biometry, passcode, offer) = try twoKeys(for: begun)
    var request = offer
    var app = App(authority: Self.apple)
    app.attestation = try app.attest(begun.signingInput, request.keys, phone.posture)
    request.appAttest = app.attestation
    let binding = try await complete(request)
    try narrator.expect(binding.attestationLevel == .app, "the level app, not \(binding.attestationLevel.rawValue)")
    narrator.note("its level is app: a genuine app on a genuine device says how its keys are protected")
    return (Keys(bindingID: binding.bindingID, biometry: biometry, passcode: passcode), app)
  }

  private struct VouchedAttempt {
    var evaluation: V1.BeginEvaluationResponse
    var attempt: V1.SubmitAttemptRequest.Attempt
    var assertion: [UInt8]
  }

  private func vouchedAttempt(_ keys: Keys, _ app: App) async throws(WrongAnswer) -> VouchedAttempt {
    let evaluation = try await begin("login", keys)
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.biometry, presenting: .finger(DemoPhone.thumb))
    guard case .key(let proof) = attempt else { throw WrongAnswer(message: "the key to sign") }
    let assertion = try app.vouch(for: proof, evaluation.signingInput, phone.posture)
    return VouchedAttempt(evaluation: evaluation, attempt: attempt, assertion: assertion)
  }

  private func logInVouched(_ keys: Keys, _ app: App) async throws(WrongAnswer) {
    narrator.title("Ada logs in to the bank, and the app vouches for the attempt.")
    let vouched = try await vouchedAttempt(keys, app)
    let answer = try await submit(
      vouched.evaluation, vouched.attempt, expecting: .succeeded, named: "SubmitAttempt, with an assertion",
      appAssertion: vouched.assertion)
    let introspection = try await call(
      client.introspectToken, V1.IntrospectTokenRequest(applicationID: application, token: answer.token))
    try narrator.expect(introspection.claims?.attestationLevel == .app, "a token of the level app")
    narrator.call("IntrospectToken", "active, of the level app")
  }

  private func replayAssertion(_ keys: Keys, _ app: App) async throws(WrongAnswer) {
    narrator.title("An assertion serves once: neither beside another attempt, nor after a later one.")
    let heldBack = try await vouchedAttempt(keys, app)
    let later = try await vouchedAttempt(keys, app)
    try await submit(
      later.evaluation, later.attempt, expecting: .succeeded, named: "SubmitAttempt, the later one",
      appAssertion: later.assertion)
    var swapped = heldBack
    swapped.assertion = later.assertion
    try await refuse(swapped, "another's assertion", because: "SIGNATURE_INVALID")
    try await refuse(heldBack, "held back", because: "COUNTER_NOT_GROWN")
  }

  private func refuse(_ vouched: VouchedAttempt, _ name: String, because reason: String) async throws(WrongAnswer) {
    let request = V1.SubmitAttemptRequest(
      applicationID: application, evaluation: vouched.evaluation.evaluation, attempt: vouched.attempt,
      posture: phone.posture, appAssertion: vouched.assertion)
    try await expectFailure(
      client.submitAttempt, request, "SubmitAttempt, \(name)", .failedPrecondition, "APP_ASSERTION_NOT_ACCEPTED")
    try await expectRefusal("evaluation.refused", because: reason)
  }
}
