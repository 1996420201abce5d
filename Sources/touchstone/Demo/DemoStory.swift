// Ada's day: she binds her phone, logs in, pays, lends it to a stranger, recovers, adds a finger and binds anew.

internal import DispatchRPC
internal import SimulatedPhone
internal import TouchstoneClient

struct DemoStory {
  static let cast = "Ada has a phone with one finger enrolled"

  let client: TouchstoneClient
  let narrator: Narrator
  private let phone = DemoPhone()
  private let application = DemoPhone.application
  private let profile = "ada"

  init(client: TouchstoneClient, narrator: Narrator) {
    self.client = client
    self.narrator = narrator
  }

  func tell() async throws(WrongAnswer) {
    let keys = try await bind()
    try await logIn(keys)
    try await pay(keys)
    try await strangerLocksIt(keys)
    try await passcodeUnlocksIt(keys)
    try await fingerIsAdded(keys)
    let newKeys = try await bindAnew(keys)
    try await logIn(newKeys)
    try await auditTells()
  }

  /// What a binding gave the phone.
  struct Keys {
    var bindingID: String
    var biometry: SimulatedPhone.Key
    var passcode: SimulatedPhone.Key
  }

  // MARK: Binding

  private func bind() async throws(WrongAnswer) -> Keys {
    narrator.title("Ada logged in with her password. Her phone makes two keys and proves that it holds them.")
    let begun = try await call("BeginBinding") { client async throws(TouchstoneError) in
      try await client.beginBinding(
        V1.BeginBindingRequest(
          applicationID: application, profileID: profile, deviceID: phone.deviceID,
          primary: V1.PrimaryAuthentication(method: "password", authenticatedAt: .now), posture: phone.posture))
    }
    try narrator.expect(begun.denial == nil, "a ticket, not a denial")
    narrator.call("BeginBinding", "a ticket and a challenge")

    let biometry = try phone.makeKey(.biometryCurrentSet)
    let passcode = try phone.makeKey(.devicePasscode)
    let request = V1.CompleteBindingRequest(
      applicationID: application, ticket: begun.ticket, deviceName: "Ada's iPhone",
      keys: [
        try offered(biometry, .biometryCurrentSet, begun.signingInput, .finger(DemoPhone.thumb)),
        try offered(passcode, .devicePasscode, begun.signingInput, .passcode(DemoPhone.passcode)),
      ], posture: phone.posture)
    let completed = try await call("CompleteBinding") { client async throws(TouchstoneError) in
      try await client.completeBinding(request)
    }
    guard let binding = completed.binding else { throw WrongAnswer(message: "a binding") }
    try narrator.expect(binding.state == .active && binding.domainStateRecorded, "an active binding with a baseline")
    narrator.call("CompleteBinding", "binding \(binding.bindingID) is active")

    try await expectFailure("CompleteBinding, replayed", .failedPrecondition, "TICKET_INVALID") {
      client async throws(TouchstoneError) in
      _ = try await client.completeBinding(request)
    }
    return Keys(bindingID: binding.bindingID, biometry: biometry, passcode: passcode)
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

  // MARK: Login and payment

  private func logIn(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Ada logs in with her thumb.")
    try await canEvaluate(keys, expecting: true)
    let evaluation = try await begin("login", keys)
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.biometry, presenting: .finger(DemoPhone.thumb))
    let answer = try await submit(evaluation, attempt, expecting: .succeeded)
    try narrator.expect(answer.profileID == profile && !answer.token.isEmpty, "Ada's name and a token")
    try await submit(evaluation, attempt, expecting: .invalidContext, named: "SubmitAttempt, replayed")
    let introspection = try await call("IntrospectToken") { client async throws(TouchstoneError) in
      try await client.introspectToken(V1.IntrospectTokenRequest(applicationID: application, token: answer.token))
    }
    try narrator.expect(introspection.active && introspection.claims?.profileID == profile, "an active token of Ada's")
    narrator.call("IntrospectToken", "active, \(introspection.claims?.methods.joined(separator: " + ") ?? "")")
  }

  private func pay(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Ada pays. The signature covers what she saw; the token serves once.")
    let transaction = V1.Transaction(amount: "12.50", currency: "EUR", payee: "Café Weimar", reference: "order-1815")
    let evaluation = try await begin("payment", keys, transaction)
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.biometry, presenting: .finger(DemoPhone.thumb))
    let token = try await submit(evaluation, attempt, expecting: .succeeded).token
    var dearer = transaction
    dearer.amount = "99.50"
    try await consume(token, dearer, expecting: "TRANSACTION_MISMATCH")
    try await consume(token, transaction, expecting: "")
    try await consume(token, transaction, expecting: "ALREADY_CONSUMED")
  }

  private func consume(
    _ token: String, _ transaction: V1.Transaction, expecting reason: String
  ) async throws(WrongAnswer) {
    let answer = try await call("ConsumeToken") { client async throws(TouchstoneError) in
      try await client.consumeToken(
        V1.ConsumeTokenRequest(applicationID: application, token: token, transaction: transaction))
    }
    try narrator.expect(answer.reason == reason && answer.consumed == reason.isEmpty, "\(reason), not \(answer.reason)")
    narrator.call("ConsumeToken, \(transaction.amount)", answer.consumed ? "consumed" : answer.reason)
  }

  // MARK: Lockout and recovery

  private func strangerLocksIt(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("A stranger tries: three wrong fingers end the evaluation, two more lock the phone.")
    var evaluation = try await begin("login", keys)
    for outcome in [V1.Outcome.tryAgain, .tryAgain, .failed] { try await strangerTouches(evaluation, keys, outcome) }
    evaluation = try await begin("login", keys)
    try await strangerTouches(evaluation, keys, .tryAgain)
    try await strangerTouches(evaluation, keys, .lockedOut)
    try await canEvaluate(keys, expecting: false)
  }

  private func strangerTouches(
    _ evaluation: V1.BeginEvaluationResponse, _ keys: Keys, _ outcome: V1.Outcome
  ) async throws(WrongAnswer) {
    // The app read its posture before the person touched the sensor.
    let posture = phone.posture
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.biometry, presenting: .finger("a stranger's finger"))
    try await submit(evaluation, attempt, expecting: outcome, posture: posture)
  }

  private func passcodeUnlocksIt(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Ada takes her phone back and enters its passcode.")
    let evaluation = try await begin("deviceOwnerAuthentication", keys)
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.passcode, presenting: .passcode(DemoPhone.passcode))
    try await submit(evaluation, attempt, expecting: .succeeded)
    try await canEvaluate(keys, expecting: true)
  }

  // MARK: A finger more

  private func fingerIsAdded(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Somebody adds a finger. The key of the old set is dead, and the service sees the change.")
    phone.phone.enroll("left index")
    narrator.note("(phone) a second finger is enrolled")
    try narrator.expect(!phone.isAlive(keys.biometry), "the key of the old set to be dead")
    let evaluation = try await begin("login", keys)
    try narrator.expect(evaluation.domainState == .changed, "the verdict CHANGED")
    try narrator.expect(evaluation.factors == [.deviceOwner], "the passcode alone to be offered")
    narrator.note("domain state CHANGED: biometrics are no longer offered")
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.passcode, presenting: .passcode(DemoPhone.passcode))
    try await submit(evaluation, attempt, expecting: .succeeded)
  }

  private func bindAnew(_ old: Keys) async throws(WrongAnswer) -> Keys {
    let keys = try await bind()
    narrator.title("The old binding is revoked, and says no more than a wrong finger would.")
    let answer = try await call("GetBinding") { client async throws(TouchstoneError) in
      try await client.getBinding(V1.GetBindingRequest(applicationID: application, bindingID: old.bindingID))
    }
    try narrator.expect(answer.binding?.state == .revoked, "the old binding to be revoked")
    narrator.call("GetBinding", "\(old.bindingID) is revoked")
    let evaluation = try await begin("login", old)
    let attempt = try phone.attempt(
      evaluation.signingInput, with: old.passcode, presenting: .passcode(DemoPhone.passcode))
    try await submit(evaluation, attempt, expecting: .tryAgain)
    return keys
  }

  // MARK: The log

  private func auditTells() async throws(WrongAnswer) {
    narrator.title("All of it is in the audit log.")
    let log = try await call("ListEvents") { client async throws(TouchstoneError) in
      try await client.listEvents(
        V1.ListEventsRequest(filter: V1.EventFilter(applicationID: application), pageSize: 1_000))
    }
    let kinds = Set(log.events.map(\.kind))
    try narrator.expect(
      kinds.isSuperset(of: ["binding.created", "binding.revoked", "evaluation.succeeded", "evaluation.locked_out"]),
      "bindings, successes and the lockout in the log")
    narrator.call("ListEvents", "\(log.events.count) events")
  }
}

// Calls, shown and checked.
extension DemoStory {
  private func canEvaluate(_ keys: Keys, expecting expected: Bool) async throws(WrongAnswer) {
    let answer = try await call("CanEvaluatePolicy") { client async throws(TouchstoneError) in
      try await client.canEvaluatePolicy(
        V1.CanEvaluatePolicyRequest(
          applicationID: application, policy: "deviceOwnerAuthenticationWithBiometrics", bindingID: keys.bindingID,
          posture: phone.posture))
    }
    try narrator.expect(answer.canEvaluate == expected, "can_evaluate to be \(expected)")
    if let denial = answer.denial { try narrator.expect(denial.laError == .biometryLockout, "LAError -8") }
    narrator.call(
      "CanEvaluatePolicy",
      answer.canEvaluate
        ? "yes, \(answer.biometryAttemptsLeft) attempts before lockout"
        : "no, LAError \(answer.denial?.laError.rawValue ?? 0) \(answer.denial?.reason ?? "")")
  }

  private func begin(
    _ policy: String, _ keys: Keys, _ transaction: V1.Transaction? = nil
  ) async throws(WrongAnswer) -> V1.BeginEvaluationResponse {
    let answer = try await call("BeginEvaluation") { client async throws(TouchstoneError) in
      try await client.beginEvaluation(
        V1.BeginEvaluationRequest(
          applicationID: application, policy: policy, bindingID: keys.bindingID,
          localizedReason: "Log in to the shop", transaction: transaction, posture: phone.posture))
    }
    try narrator.expect(answer.denial == nil && !answer.evaluation.isEmpty, "an open evaluation of \(policy)")
    narrator.call("BeginEvaluation, \(policy)", "a challenge")
    return answer
  }

  @discardableResult
  private func submit(
    _ evaluation: V1.BeginEvaluationResponse, _ attempt: V1.SubmitAttemptRequest.Attempt,
    expecting outcome: V1.Outcome, named name: String = "SubmitAttempt", posture: V1.DevicePosture? = nil
  ) async throws(WrongAnswer) -> V1.SubmitAttemptResponse {
    let request = V1.SubmitAttemptRequest(
      applicationID: application, evaluation: evaluation.evaluation, attempt: attempt,
      posture: posture ?? phone.posture)
    let answer = try await call(name) { client async throws(TouchstoneError) in
      try await client.submitAttempt(request)
    }
    try narrator.expect(answer.outcome == outcome, "outcome \(outcome.name), not \(answer.outcome.name)")
    let code = answer.laError == .unspecified ? "" : ", LAError \(answer.laError.rawValue)"
    let left = outcome == .succeeded || answer.attemptsLeft == 0 ? "" : ", \(answer.attemptsLeft) left"
    narrator.call(name, answer.outcome.name + code + left)
    return answer
  }

  private func call<Answer: Sendable>(
    _ name: String, _ body: (TouchstoneClient) async throws(TouchstoneError) -> Answer
  ) async throws(WrongAnswer) -> Answer {
    do throws(TouchstoneError) {
      return try await body(client)
    } catch {
      throw WrongAnswer(message: "\(name) to be answered, not \(error.code): \(error.message)")
    }
  }

  private func expectFailure(
    _ name: String, _ code: RPCCode, _ reason: String,
    _ body: (TouchstoneClient) async throws(TouchstoneError) -> Void
  ) async throws(WrongAnswer) {
    do throws(TouchstoneError) {
      try await body(client)
    } catch {
      try narrator.expect(error.code == code && error.reason == reason, "\(name) to fail with \(reason)")
      return narrator.call(name, "\(code) \(reason)")
    }
    throw WrongAnswer(message: "\(name) to fail with \(reason)")
  }
}

extension V1.Outcome {
  fileprivate var name: String {
    switch self {
    case .succeeded: "SUCCEEDED"
    case .tryAgain: "TRY_AGAIN"
    case .failed: "FAILED"
    case .canceled: "CANCELED"
    case .fallback: "FALLBACK"
    case .lockedOut: "LOCKED_OUT"
    case .factorRequired: "FACTOR_REQUIRED"
    case .invalidContext: "INVALID_CONTEXT"
    default: "\(rawValue)"
    }
  }
}
