// The proofs that people give, and their use of the tokens that they get for them.

import Encodings
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy

extension People {
  // MARK: Evaluating

  static let policies = [
    "login", "login", "payment", "payment", "deviceOwnerAuthentication", "deviceOwnerAuthenticationWithBiometrics",
    "everything", "once", "points",
  ]
  static let transactions = [
    V1.Transaction(amount: "12.50", currency: "CNY", payee: "Noodle House", reference: "order-1"),
    V1.Transaction(amount: "12.5", currency: "CNY", payee: "Noodle House", reference: "order-1"),
    V1.Transaction(amount: "99", currency: "EUR", payee: "Bike Shop", reference: "order-2"),
  ]

  /// As events name them.
  static let transactionDigests = Set(transactions.map(digest))

  static func digest(of transaction: V1.Transaction) -> String {
    Base64URL.encode(sha256(Transaction(transaction).canonicalBytes))
  }

  func begin(_ phone: Phone, _ applicationID: String) {
    guard let credential = phone.credential(in: applicationID) else { return }
    begin(phone, applicationID, as: credential)
  }

  /// Begins an evaluation of a profile alone, without a phone that is bound.
  func begin(_ phone: Phone, _ applicationID: String, _ profileID: String) {
    var request = opening(phone, applicationID, policy: chance.pick(["login", "everything", "once"]))
    request.profileID = profileID
    let nobody = Credential(applicationID: applicationID, profileID: profileID, bindingID: "")
    open(request, on: phone, for: nobody)
  }

  /// - Parameter credential: the phone's own, unless the caller lies.
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

  func open(_ request: V1.BeginEvaluationRequest, on phone: Phone, for credential: Credential) {
    world.send(request) { [self] response in
      guard response.denial == nil else { return }
      let prompt = Prompt(phone: phone, credential: credential, request: request, response: response)
      wallet.keep(prompt)
      if chance.happens(50) { prove(prompt) }
    }
  }

  /// Mostly one of the newest.
  func somePrompt() -> Prompt? { chance.pickAny(chance.happens(80) ? wallet.prompts.suffix(3) : wallet.prompts) }

  /// The person presents the right finger, the device passcode, or whatever else the phone requires.
  func prove() { if let prompt = somePrompt() { prove(prompt) } }

  func prove(_ prompt: Prompt) {
    guard let attempt = proof(for: prompt) else { return enterSecret(prompt) }
    let request = attemptRequest(attempt, to: prompt)
    if !request.appAssertion.isEmpty, chance.happens(20) { wallet.hold(back: request) } else { send(request) }
  }

  func proof(for prompt: Prompt) -> V1.SubmitAttemptRequest.Attempt? {
    let credential = prompt.credential
    if let authenticator = credential.authenticator {
      return assertion(of: authenticator, over: prompt.response.signingInput)
    }
    if !credential.profileTouchID.isEmpty {
      return .profileTouchID(V1.ProfileTouchIDProof(profileTouchID: credential.profileTouchID))
    }
    let factor: V1.Factor = chance.happens(70) ? .biometry : .deviceOwner
    guard let guarded = credential.guardedKey(for: factor) else { return nil }
    let (input, form) = (prompt.response.signingInput, form(in: credential.applicationID))
    return .key(
      V1.KeyProof(
        signature: sign(input, with: guarded.key, form), factor: factor,
        mlDsa65Signature: signOtherHalf(input, with: guarded.hybrid, form), signatureForm: form))
  }

  /// As they remember it; sometimes they do not.
  func enterSecret() { if let prompt = somePrompt() { enterSecret(prompt) } }

  func enterSecret(_ prompt: Prompt) {
    let memory = memory(of: prompt.request.applicationID, prompt.credential.profileID)
    if chance.happens(60) {
      let passcode = chance.happens(80) ? memory.passcode : nil
      submit(.passcode(V1.PasscodeProof(passcode: passcode ?? chance.pick(Names.passcodes))), to: prompt)
    } else {
      let gesture = chance.happens(80) ? memory.gesture : nil
      submit(.gesture(V1.GestureProof(points: gesture ?? chance.pick(Names.gestures))), to: prompt)
    }
  }

  func proveByLogin() {
    guard let prompt = somePrompt() else { return }
    submit(.primary(somePrimary()), to: prompt)
  }

  static let reports: [V1.LAError] = [
    .authenticationFailed, .authenticationFailed, .userCancel, .userFallback, .systemCancel, .biometryLockout,
    .appCancel, .invalidContext, V1.LAError(rawValue: -77),
  ]

  func reportError() {
    guard let prompt = somePrompt() else { return }
    submit(.report(V1.DeviceReport(laError: chance.pick(Self.reports))), to: prompt)
  }

  func submit(_ attempt: V1.SubmitAttemptRequest.Attempt, to prompt: Prompt) {
    send(attemptRequest(attempt, to: prompt))
  }

  func send(_ request: V1.SubmitAttemptRequest) {
    world.send(request) { [self] answer in
      if let token = world.ledger.token(answer.token) { wallet.keep(token) }
    }
  }

  func attemptRequest(_ attempt: V1.SubmitAttemptRequest.Attempt, to prompt: Prompt) -> V1.SubmitAttemptRequest {
    let applicationID = prompt.request.applicationID
    var request = V1.SubmitAttemptRequest(
      applicationID: applicationID, evaluation: prompt.response.evaluation, attempt: attempt,
      posture: prompt.phone.posture(in: applicationID))
    if let app = prompt.credential.app, chance.happens(60) {
      vouch(for: &request, over: prompt.response.signingInput, by: app)
    }
    return request
  }

  func invalidate() {
    guard let prompt = somePrompt() else { return }
    world.send(
      V1.InvalidateEvaluationRequest(
        applicationID: prompt.request.applicationID, evaluation: prompt.response.evaluation))
  }

  // MARK: Tokens

  func consume() {
    guard let token = chance.pickAny(wallet.tokens) else { return }
    world.send(
      V1.ConsumeTokenRequest(applicationID: token.applicationID, token: token.text, transaction: token.transaction))
  }

  func introspect() {
    guard let token = chance.pickAny(wallet.tokens) else { return }
    world.send(V1.IntrospectTokenRequest(applicationID: token.applicationID, token: token.text))
  }

  func revokeToken() {
    guard let token = chance.pickAny(wallet.tokens) else { return }
    world.send(V1.RevokeTokenRequest(applicationID: token.applicationID, token: token.text))
  }
}
