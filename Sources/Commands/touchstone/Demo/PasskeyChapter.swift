// A laptop beside the phone: a passkey, which needs no binding of a device, and no user name.

internal import Encodings
internal import FoundationEssentials
internal import SimulatedPhone
internal import TouchstoneClient

extension DemoStory {
  static let page = SimulatedAuthenticator.Page(origin: "https://shop.example", rpID: "shop.example")

  /// The part of both ceremonies' options that this page needs.
  private struct Options: Decodable {
    struct User: Decodable {
      var id: String
    }

    var challenge: String
    var user: User?
  }

  func passkeyLogsInAndPays() async throws(WrongAnswer) {
    narrator.title(
      "On her laptop, Ada makes a passkey for the shop's web page. It logs her in without a name, and pays.")
    let authenticator = SimulatedAuthenticator()
    try await register(on: authenticator)
    let clone = authenticator.clone()

    let evaluation = try await begin("login", nil)
    let attempt = try proof(of: evaluation, by: authenticator)
    let answer = try await submit(evaluation, attempt, expecting: .succeeded)
    try narrator.expect(answer.profileID == profile, "Ada's name")
    try await submit(evaluation, attempt, expecting: .invalidContext, named: "SubmitAttempt, replayed")

    let fair = Self.page
    let phishing = SimulatedAuthenticator.Page(origin: "https://shop.example.org", rpID: fair.rpID)
    let phished = try await begin("login", nil)
    try await submit(
      phished, try proof(of: phished, by: authenticator, on: phishing), expecting: .tryAgain,
      named: "SubmitAttempt, a page that looks alike")

    let payment = try await begin("payment", nil, Self.transaction)
    try await submit(payment, try proof(of: payment, by: authenticator), expecting: .succeeded)

    let stolen = try await begin("login", nil)
    try await submit(
      stolen, try proof(of: stolen, by: clone), expecting: .tryAgain, named: "SubmitAttempt, a cloned authenticator")
    try await expectRefusal("evaluation.failed", because: "COUNTER_NOT_GROWN")
  }

  private func register(on authenticator: SimulatedAuthenticator) async throws(WrongAnswer) {
    let begun = try await call(
      client.beginBinding,
      V1.BeginBindingRequest(
        applicationID: application, profileID: profile, primary: passwordLogin,
        passkey: V1.NewPasskey(userName: "ada@shop.example", displayName: "Ada")))
    let options = try options(begun.passkeyOptions)
    guard let handle = options.user.flatMap({ Base64URL.decode($0.id) }) else {
      throw WrongAnswer(message: "a user handle")
    }
    narrator.call("BeginBinding, a passkey", "options for navigator.credentials.create")
    let registration = authenticator.create(
      for: Self.page, challenge: try challenge(of: options), userHandle: handle)
    let binding = try await complete(
      V1.CompleteBindingRequest(
        applicationID: application, ticket: begun.ticket, deviceName: "Ada's laptop",
        passkey: V1.PasskeyRegistration(
          attestationObject: registration.attestationObject, clientDataJSON: registration.clientDataJSON)))
    try narrator.expect(binding.credential == .passkey, "a binding with a passkey")
  }

  private func proof(
    of evaluation: V1.BeginEvaluationResponse, by authenticator: SimulatedAuthenticator,
    on page: SimulatedAuthenticator.Page = page
  ) throws(WrongAnswer) -> V1.SubmitAttemptRequest.Attempt {
    let challenge = try challenge(of: try options(evaluation.passkeyOptions))
    guard let assertion = authenticator.get(for: page, challenge: challenge) else {
      throw WrongAnswer(message: "the laptop to have a passkey")
    }
    return .passkey(
      V1.PasskeyProof(
        credentialID: assertion.credentialID, authenticatorData: assertion.authenticatorData,
        clientDataJSON: assertion.clientDataJSON, signature: assertion.signature, userHandle: assertion.userHandle))
  }

  private func options(_ text: String) throws(WrongAnswer) -> Options {
    do {
      return try JSONDecoder().decode(Options.self, from: Data(text.utf8))
    } catch {
      throw WrongAnswer(message: "options of WebAuthn")
    }
  }

  private func challenge(of options: Options) throws(WrongAnswer) -> [UInt8] {
    guard let challenge = Base64URL.decode(options.challenge) else { throw WrongAnswer(message: "a challenge") }
    return challenge
  }
}
