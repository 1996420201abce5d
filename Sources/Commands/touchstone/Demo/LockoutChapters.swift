// A stranger has the phone: wrong fingers, wrong passcodes, and the way back. R7, R12, R13.

internal import SimulatedPhone
internal import TouchstoneClient

extension DemoStory {
  func strangerLocksIt(_ keys: Keys) async throws(WrongAnswer) {
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

  func strangerGuessesThePasscode(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("He guesses Ada's passcode: at the fifth wrong one it rests for a minute.")
    let evaluation = try await begin("deviceOwnerAuthentication", keys)
    for guess in ["1234", "0000ada", "babbage", "byron1815"] {
      try await submit(evaluation, typed(guess), expecting: .tryAgain)
    }
    try await submit(evaluation, typed("password"), expecting: .lockedOut, retryAfter: 60)
    try await submit(
      evaluation, typed(passcode), expecting: .lockedOut, named: "SubmitAttempt, the right one", retryAfter: 60)

    narrator.title("A minute later he guesses once more, and it rests for five.")
    clock.advance(by: .seconds(60))
    try await submit(evaluation, typed("enchantress"), expecting: .lockedOut, retryAfter: 5 * 60)
  }

  func adaUnlocksIt(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Five minutes later Ada has her phone back. Her passcode unlocks it all.")
    clock.advance(by: .seconds(5 * 60))
    _ = phone.phone.unlock(presenting: .passcode(DemoPhone.passcode))
    let evaluation = try await begin("deviceOwnerAuthentication", keys)
    try await submit(evaluation, typed(passcode), expecting: .succeeded)
    try await canEvaluate(keys, expecting: true)
  }

  func typed(_ passcode: String) -> V1.SubmitAttemptRequest.Attempt {
    .passcode(V1.PasscodeProof(passcode: passcode))
  }
}
