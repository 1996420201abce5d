// A login, a payment, and a login without a finger.

internal import SimulatedPhone
internal import TouchstoneClient

extension DemoStory {
  func logIn(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Ada logs in with her thumb.")
    try await canEvaluate(keys, expecting: true)
    let evaluation = try await begin("login", keys)
    let attempt = try phone.attempt(
      evaluation.signingInput, with: keys.biometry, presenting: .finger(DemoPhone.thumb))
    let answer = try await submit(evaluation, attempt, expecting: .succeeded)
    try narrator.expect(answer.profileID == profile && !answer.token.isEmpty, "Ada's name and a token")
    try await submit(evaluation, attempt, expecting: .invalidContext, named: "SubmitAttempt, replayed")
    let introspection = try await call(
      client.introspectToken, V1.IntrospectTokenRequest(applicationID: application, token: answer.token))
    try narrator.expect(introspection.active && introspection.claims?.profileID == profile, "an active token of Ada's")
    narrator.call("IntrospectToken", "active, \(introspection.claims?.methods.joined(separator: " + ") ?? "")")
  }

  static let transaction = V1.Transaction(
    amount: "12.50", currency: "EUR", payee: "Café Weimar", reference: "order-1815")

  func pay(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Ada pays. The signature covers what she saw; the token serves once.")
    let transaction = Self.transaction
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
    let answer = try await call(
      client.consumeToken, V1.ConsumeTokenRequest(applicationID: application, token: token, transaction: transaction))
    try narrator.expect(answer.reason == reason && answer.consumed == reason.isEmpty, "\(reason), not \(answer.reason)")
    narrator.call("ConsumeToken, \(transaction.amount)", answer.consumed ? "consumed" : answer.reason)
  }

  func drawInstead(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Her thumb is wet. She taps the fallback button and draws her gesture.")
    let evaluation = try await begin("login", keys)
    let fallback = V1.SubmitAttemptRequest.Attempt.report(V1.DeviceReport(laError: .userFallback))
    let offer = try await submit(evaluation, fallback, expecting: .fallback)
    try narrator.expect(offer.nextFactors == [.deviceOwner, .gesture, .passcode], "gesture and passcode to be offered")
    try await submit(evaluation, .gesture(V1.GestureProof(points: gesture)), expecting: .succeeded)
  }
}
