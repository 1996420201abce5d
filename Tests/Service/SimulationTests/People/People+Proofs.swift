// Proofs that others than the keys give: passkeys, and the word of the app on a phone.

import SimulatedPhone
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy

@testable import TouchstoneService

extension People {
  // MARK: Passkeys

  static let page = SimulatedAuthenticator.Page(origin: "https://cafe.example", rpID: "cafe.example")

  func beginPasskey(beside phone: Phone, _ profileID: String) {
    let request = V1.BeginBindingRequest(
      applicationID: Names.provenApplication, profileID: profileID, primary: somePrimary(),
      passkey: V1.NewPasskey(userName: "somebody@cafe.example"))
    world.send(request) { [self] response in
      guard response.denial == nil else { return }
      let enrolment = Enrolment(phone: phone, request: request, response: response)
      wallet.keep(enrolment)
      if chance.happens(80) { complete(enrolment) }
    }
  }

  func completePasskey(_ enrolment: Enrolment) {
    var credential = Credential(
      applicationID: enrolment.request.applicationID, profileID: enrolment.request.profileID, bindingID: "")
    let (authenticator, registration) = register(for: enrolment)
    credential.authenticator = authenticator
    world.send(completion(of: enrolment, by: registration)) { [self] response in
      credential.bindingID = response.binding?.bindingID ?? ""
      wallet.keep(passkey: credential)
    }
  }

  /// A new passkey, on an authenticator of its own.
  func register(for enrolment: Enrolment) -> (SimulatedAuthenticator, SimulatedAuthenticator.Registration) {
    let input = enrolment.response.signingInput
    let handle = World.userHandle(of: enrolment.request.profileID, in: enrolment.request.applicationID)
    let authenticator = SimulatedAuthenticator(isCounting: chance.happens(70), seed: chance.next())
    let registration = authenticator.create(for: Self.page, challenge: sha256(input), userHandle: handle)
    world.ledger.proofs.note(registration, over: input)
    return (authenticator, registration)
  }

  func completion(
    of enrolment: Enrolment, by registration: SimulatedAuthenticator.Registration
  ) -> V1.CompleteBindingRequest {
    V1.CompleteBindingRequest(
      applicationID: enrolment.request.applicationID, ticket: enrolment.response.ticket, deviceName: "a laptop",
      passkey: V1.PasskeyRegistration(
        attestationObject: registration.attestationObject, clientDataJSON: registration.clientDataJSON))
  }

  func beginByPasskey() { if let credential = chance.pickAny(wallet.passkeys) { begin(byPasskey: credential) } }

  /// Begins an evaluation for its binding, for its profile, or without a subject.
  func begin(byPasskey credential: Credential) {
    let phone = chance.pick(phones)
    var request = opening(phone, credential.applicationID, policy: chance.pick(["login", "payment", "everything"]))
    switch chance.below(3) {
    case 0: request.bindingID = credential.bindingID
    case 1: request.profileID = credential.profileID
    default: break
    }
    open(request, on: phone, for: credential)
  }

  /// With the person's consent to this very input, on this page.
  func assertion(
    of authenticator: SimulatedAuthenticator, over input: [UInt8], on page: SimulatedAuthenticator.Page = page
  ) -> V1.SubmitAttemptRequest.Attempt? {
    guard let made = authenticator.get(for: page, challenge: sha256(input)) else { return nil }
    world.ledger.proofs.note(made, over: input, isOnOwnPage: page == Self.page)
    return .passkey(
      V1.PasskeyProof(
        credentialID: made.credentialID, authenticatorData: made.authenticatorData,
        clientDataJSON: made.clientDataJSON, signature: made.signature, userHandle: made.userHandle))
  }

  // MARK: App Attest

  /// Whether the app is to vouch for the keys that are bound next.
  func isVouchedNext(in applicationID: String) -> Bool {
    let isAsked = chance.happens(30)
    guard Identifier.areEqual(applicationID, Names.provenApplication) else { return false }
    return isAsked || world.plan.requiresAttestation
  }

  /// By the App Attest key that vouched for the phone's binding, or by a new one.
  func vouch(
    for request: inout V1.CompleteBindingRequest, of enrolment: Enrolment, by credential: inout Credential,
    isNew: Bool = false
  ) {
    let data = BindingClientData(request, signingInput: enrolment.response.signingInput)
    if !isNew, let app = enrolment.phone.credential(in: credential.applicationID)?.app, chance.happens(50) {
      credential.app = app
      request.appAttest = V1.AppAttest(keyID: app.keyID, assertion: assertion(of: app, over: data.bytes))
    } else {
      let app = VouchingApp(authority: World.apple, seed: chance.next())
      credential.app = app
      request.appAttest = V1.AppAttest(keyID: app.keyID, attestation: attestation(of: app, over: data.bytes))
    }
    if let word = request.appAttest { wallet.keep(word) }
  }

  func vouch(for request: inout V1.SubmitAttemptRequest, over input: [UInt8], by app: VouchingApp) {
    guard case .key(let proof) = request.attempt else { return }
    let data = AttemptClientData(proof, signingInput: input, posture: request.posture)
    request.appAssertion = assertion(of: app, over: data.bytes)
  }

  /// A genuine app's attestation of a new App Attest key of its own.
  func attestation(of app: VouchingApp, over clientData: [UInt8]) -> [UInt8] {
    guard let bytes = app.service.attestKey(app.keyID, clientDataHash: sha256(clientData)) else {
      preconditionFailure("an app has its own key")
    }
    world.ledger.proofs.note(vouching: bytes, by: app.keyID, for: clientData, counter: 0)
    return bytes
  }

  private func assertion(of app: VouchingApp, over clientData: [UInt8]) -> [UInt8] {
    guard let made = app.service.generateAssertion(app.keyID, clientDataHash: sha256(clientData)) else {
      preconditionFailure("an app has its own key")
    }
    world.ledger.proofs.note(vouching: made, by: app.keyID, for: clientData)
    return made
  }
}

extension BindingClientData {
  /// As the phone sent it.
  init(_ request: V1.CompleteBindingRequest, signingInput: [UInt8]) {
    self.init(
      signingInput: signingInput, posture: PostureTerms(request.posture),
      keys: request.keys.compactMap { key in
        KeyProtection(rawValue: UInt8(truncatingIfNeeded: key.protection.rawValue)).map {
          Key(publicKey: key.publicKey, mlDSA65PublicKey: key.mlDsa65PublicKey, protection: $0)
        }
      })
  }
}

extension AttemptClientData {
  init(_ proof: V1.KeyProof, signingInput: [UInt8], posture: V1.DevicePosture?) {
    self.init(
      signingInput: signingInput, signature: proof.signature, mlDSA65Signature: proof.mlDsa65Signature,
      posture: PostureTerms(posture))
  }
}
