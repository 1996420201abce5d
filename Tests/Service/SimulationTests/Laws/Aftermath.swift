// When the storm is over, whoever is honest gets in, and every answer is the one of the book: nothing stays broken.

import TouchstoneCodec

final class Aftermath {
  private unowned let world: World
  private unowned let people: People
  private let phone: Phone
  private let applicationID: String
  private let profileID: String
  private let strangersKey: PhonesKey
  private var chance: Chance { world.chance }

  init(world: World, people: People) {
    self.world = world
    self.people = people
    phone = world.chance.pick(people.phones)
    applicationID = world.chance.pick(Names.applications)
    profileID = world.chance.pick(Names.profiles)
    strangersKey = people.keys.take()
  }

  private static let passcode = "set after the storm"
  /// A primary authentication's methods, and the longest of the standard ladder's locks, are over by then.
  private static let rest = Duration.seconds(2 * 60 * 60)

  func check() {
    guard world.violation == nil else { return }
    world.calmDown(for: Self.rest)
    phone.recover()
    guard let credential = bindAnew() else { return world.report("aftermath", "nobody can be bound any more") }
    logIn(credential)
    pay(credential)
    mistype(credential)
    lockAndUnlock(credential)
    race(credential)
    guessInParallel(credential)
    revoke(credential)
  }

  private func expect<Value: Equatable>(_ value: Value?, _ expected: Value, _ what: @autoclosure () -> String) {
    world.require(value == expected, "aftermath", "\(what()): \(value as Any) instead of \(expected)")
  }

  // MARK: Setting up

  private func bindAnew() -> Credential? {
    // Refused where nothing is bound yet; then it is not locked either.
    _ = world.ask(V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: phone.deviceID, reason: Names.reason))
    revokeOthers()
    setPasscode()
    let request = V1.BeginBindingRequest(
      applicationID: applicationID, profileID: profileID, deviceID: phone.deviceID,
      primary: people.primary(ageSeconds: 1), posture: phone.posture(in: applicationID))
    guard let response = world.ask(request) else { return nil }
    var credential = Credential(
      applicationID: applicationID, profileID: profileID, bindingID: "",
      keys: [
        GuardedKey(
          key: chance.happens(20) ? people.keys.takeRSA() : people.keys.take(), protection: .biometryCurrentSet)
      ])
    let enrolment = Enrolment(phone: phone, request: request, response: response)
    var completion = people.completion(of: enrolment, by: credential, replaceExisting: true)
    if people.isVouchedNext(in: applicationID) {
      people.vouch(for: &completion, of: enrolment, by: &credential, isNew: true)
    }
    // Attempts go without it: what is answered to them is another question.
    credential.app = nil
    guard let binding = world.ask(completion)?.binding else { return nil }
    credential.bindingID = binding.bindingID
    _ = world.ask(V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: phone.deviceID, reason: Names.reason))
    return credential
  }

  private func revokeOthers() {
    let bindings = world.ask(V1.ListBindingsRequest(applicationID: applicationID, profileID: profileID))?.bindings ?? []
    for binding in bindings {
      let answer = world.ask(
        V1.RevokeBindingRequest(applicationID: applicationID, bindingID: binding.bindingID, reason: Names.reason))
      world.require(answer != nil, "aftermath", "an active binding cannot be revoked")
    }
  }

  private func setPasscode() {
    let settings = world.ask(
      V1.SetUnlockSettingsRequest(
        applicationID: applicationID, profileID: profileID,
        settings: V1.UnlockSettings(biometryEnabled: true, gestureEnabled: false, passcodeEnabled: true)))
    expect(settings?.settings?.passcodeEnabled, true, "switching the passcode on")
    let secret = V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: Self.passcode)))
    let answer = world.ask(
      V1.SetSecretRequest(
        applicationID: applicationID, profileID: profileID, secret: secret, confirmation: secret,
        authority: .primary(people.primary(ageSeconds: 1))))
    expect(answer?.accepted, true, "setting a passcode")
  }

  // MARK: Evaluating

  private func begin(_ policy: String, _ credential: Credential) -> Prompt? {
    var request = people.opening(phone, applicationID, policy: policy)
    request.bindingID = credential.bindingID
    guard let response = world.ask(request), response.denial == nil else {
      world.report("aftermath", "\(policy) cannot begin")
      return nil
    }
    return Prompt(phone: phone, credential: credential, request: request, response: response)
  }

  private func submit(_ attempt: V1.SubmitAttemptRequest.Attempt, to prompt: Prompt) -> V1.SubmitAttemptResponse? {
    world.ask(people.attemptRequest(attempt, to: prompt))
  }

  private func signature(_ prompt: Prompt, by key: PhonesKey) -> V1.SubmitAttemptRequest.Attempt {
    .key(V1.KeyProof(signature: people.sign(prompt.response.signingInput, with: key), factor: .biometry))
  }

  private func prove(_ prompt: Prompt, _ credential: Credential) -> V1.SubmitAttemptResponse? {
    submit(signature(prompt, by: credential.keys[0].key), to: prompt)
  }

  private func logIn(_ credential: Credential) {
    guard let prompt = begin("login", credential), let answer = prove(prompt, credential) else { return }
    expect(answer.outcome, .succeeded, "the right finger")
    let introspected = world.ask(V1.IntrospectTokenRequest(applicationID: applicationID, token: answer.token))
    expect(introspected?.active, true, "a fresh token")
    expect(prove(prompt, credential)?.outcome, .invalidContext, "the same finger for the same prompt")
  }

  // R39
  private func pay(_ credential: Credential) {
    guard let prompt = begin("payment", credential), let answer = prove(prompt, credential) else { return }
    expect(answer.outcome, .succeeded, "the right finger for a payment")
    let request = V1.ConsumeTokenRequest(
      applicationID: applicationID, token: answer.token, transaction: prompt.request.transaction)
    expect(world.ask(request)?.consumed, true, "a fresh payment's token")
    expect(world.ask(request)?.reason, "ALREADY_CONSUMED", "a consumed token")
  }

  // R12, R13
  private func mistype(_ credential: Credential) {
    guard let prompt = begin("login", credential) else { return }
    for left: UInt32 in [4, 3] {
      let answer = submit(.passcode(V1.PasscodeProof(passcode: "mistyped")), to: prompt)
      expect(answer?.outcome, .tryAgain, "a wrong passcode")
      expect(answer?.attemptsLeft, left, "attempts after a wrong passcode")
    }
    expect(type(in: prompt)?.outcome, .succeeded, "the right passcode")
  }

  private func type(in prompt: Prompt) -> V1.SubmitAttemptResponse? {
    submit(.passcode(V1.PasscodeProof(passcode: Self.passcode)), to: prompt)
  }

  // R7, R12
  private func lockAndUnlock(_ credential: Credential) {
    guard let first = begin("login", credential) else { return }
    let answers: [(V1.Outcome, UInt32)] = [(.tryAgain, 4), (.tryAgain, 3), (.failed, 2)]
    for (outcome, left) in answers {
      let answer = submit(signature(first, by: strangersKey), to: first)
      expect(answer?.outcome, outcome, "a wrong finger")
      expect(answer?.attemptsLeft, left, "attempts after a wrong finger")
    }
    guard let second = begin("login", credential) else { return }
    expect(submit(signature(second, by: strangersKey), to: second)?.outcome, .tryAgain, "the fourth wrong finger")
    expect(submit(signature(second, by: strangersKey), to: second)?.outcome, .lockedOut, "the fifth wrong finger")
    expect(prove(second, credential)?.outcome, .lockedOut, "the right finger on a locked phone")
    expect(type(in: second)?.outcome, .succeeded, "the right passcode on a locked phone")
    logIn(credential)
  }

  // MARK: In parallel

  private static let parallelGuesses = 12
  private static let guessesBeforeALock = 5

  // R35
  private func race(_ credential: Credential) {
    guard let prompt = begin("login", credential) else { return }
    let request = people.attemptRequest(signature(prompt, by: credential.keys[0].key), to: prompt)
    let outcomes = world.askAll([V1.SubmitAttemptRequest](repeating: request, count: 4)).map(\.outcome)
    expect(outcomes.count { $0 == .succeeded }, 1, "successes of parallel identical attempts")
    expect(outcomes.count { $0 == .invalidContext }, 3, "refusals of parallel identical attempts")
  }

  // R14
  private func guessInParallel(_ credential: Credential) {
    let prompts = (0..<Self.parallelGuesses).compactMap { _ in begin("login", credential) }
    let verified = world.secretWatch.verificationCount
    let guess = V1.SubmitAttemptRequest.Attempt.passcode(V1.PasscodeProof(passcode: "guessed"))
    let answers = world.askAll(prompts.map { people.attemptRequest(guess, to: $0) })
    expect(answers.count, prompts.count, "answers to parallel guesses")
    expect(
      world.secretWatch.verificationCount - verified, Self.guessesBeforeALock, "verifications of parallel guesses")
    world.pass(.seconds(61))

    let right = V1.SubmitAttemptRequest.Attempt.passcode(V1.PasscodeProof(passcode: Self.passcode))
    guard let prompt = begin("login", credential) else { return }
    expect(world.ask(people.attemptRequest(right, to: prompt))?.outcome, .succeeded, "the right one after the lock")
    let others = (0..<Self.parallelGuesses).compactMap { _ in begin("login", credential) }
    let outcomes = world.askAll(others.map { people.attemptRequest(right, to: $0) }).map(\.outcome)
    expect(outcomes.count { $0 == .succeeded }, others.count, "successes of parallel right ones")
  }

  // R32
  private func revoke(_ credential: Credential) {
    guard let prompt = begin("login", credential) else { return }
    _ = world.ask(
      V1.RevokeBindingRequest(applicationID: applicationID, bindingID: credential.bindingID, reason: Names.reason))
    let answer = prove(prompt, credential)
    expect(answer?.outcome, .failed, "the right finger of a revoked binding")
    expect(answer?.denial?.reason, "BINDING_REVOKED", "the reason of a revoked binding")
  }
}
