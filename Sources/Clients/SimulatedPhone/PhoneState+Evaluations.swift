// Evaluations, from an app's request to their end.

extension PhoneState {
  /// Wrong attempts after which an evaluation stops using the sensor: three fingers, two faces (LAPolicy.h).
  static func failuresPerEvaluation(on biometryType: Phone.BiometryType) -> Int {
    biometryType == .faceID ? 2 : 3
  }

  struct Evaluation: Sendable {
    let id: Phone.EvaluationID
    let request: Phone.EvaluationRequest
    /// The factors that end it: the policy's, and on iOS 8 the passcode, if biometrics were locked when it began.
    let factors: Set<Phone.Factor>
    var failures = 0
    /// The person chose the passcode.
    var isPasscodeChosen = false
  }

  struct Ending: Sendable {
    let id: Phone.EvaluationID
    let result: Result<Phone.Authentication, Phone.Failure>
  }

  enum OnBegin {
    /// Decided without a prompt.
    case ended(Result<Phone.Authentication, Phone.Failure>)
    /// A prompt is on the screen. An earlier prompt is gone.
    case open(Phone.EvaluationID, replacing: Ending?)
  }

  mutating func begin(_ request: Phone.EvaluationRequest, at now: Duration) -> OnBegin {
    if let obstacle = obstacle(to: request.policy, for: request.application) { return .ended(.failure(obstacle)) }
    if isRecentUnlockEnough(for: request, at: now) {
      return .ended(.success(authentication(by: .biometry, for: request)))
    }
    if request.isInteractionForbidden { return .ended(.failure(.notInteractive)) }
    let replaced = evaluation.map { _ in end(.failure(.systemCancel)) }
    evaluationsBegun += 1
    let id = Phone.EvaluationID(number: evaluationsBegun)
    let factors = request.policy.factors.union(promptsForLock ? [.passcode] : [])
    evaluation = Evaluation(id: id, request: request, factors: factors)
    return .open(id, replacing: replaced)
  }

  /// The prompt on the screen.
  func prompt(at now: Duration) -> Phone.Prompt? {
    guard let evaluation else { return nil }
    switch stage(of: evaluation, at: now) {
    case .over: return nil
    case .sensor(let isSensing):
      return prompt(for: evaluation, on: biometryType == .faceID ? .faceID : .touchID, isSensing: isSensing)
    case .passcode: return prompt(for: evaluation, on: .passcode, isSensing: false)
    }
  }

  enum OnAct {
    case ignored
    case prompting(Phone.Prompt)
    case ended(Ending)
  }

  /// A person acts at the prompt on the screen.
  mutating func act(_ action: Phone.PersonAction, at now: Duration) -> OnAct {
    guard let evaluation, let prompt = prompt(at: now), prompt.allows(action) else { return .ignored }
    switch action {
    case .tapCancel: return .ended(end(.failure(.userCancel)))
    case .pressHome, .lockScreen, .leaveApp, .takeCall: return .ended(end(.failure(.systemCancel)))
    case .tapFallback:
      guard evaluation.factors.contains(.passcode) else { return .ended(end(.failure(.userFallback))) }
      self.evaluation?.isPasscodeChosen = true
    case .present(let presentation):
      switch authenticate(presentation, for: evaluation.request.application, at: now) {
      case .success(let factor): return .ended(end(.success(factor)))
      case .failure(let failure):
        if presentation.factor == .biometry { self.evaluation?.failures += 1 }
        if let ending = endAfterFailure(failure, of: presentation.factor) { return .ended(ending) }
      }
    }
    return endIfOver(at: now).map(OnAct.ended) ?? self.prompt(at: now).map(OnAct.prompting) ?? .ignored
  }

  /// Ends the evaluation if it can no longer succeed: the finger is gone, or the sensor is locked.
  mutating func endIfOver(at now: Duration) -> Ending? {
    guard let evaluation, case .over(let failure) = stage(of: evaluation, at: now) else { return nil }
    return end(.failure(failure))
  }

  /// The app cancels its request. `nil`: it had ended.
  mutating func cancel(_ id: Phone.EvaluationID, _ failure: Phone.Failure) -> Ending? {
    evaluation?.id == id ? end(.failure(failure)) : nil
  }
}

extension PhoneState {
  private enum Stage {
    case sensor(isSensing: Bool)
    case passcode
    case over(Phone.Failure)
  }

  /// Checked again at every step, because conditions may change during the evaluation.
  private func stage(of evaluation: Evaluation, at now: Duration) -> Stage {
    let request = evaluation.request
    if let obstacle = obstacle(to: request.policy, for: request.application) { return .over(obstacle) }
    let sensorObstacle = sensorObstacle(for: request.application)
    guard evaluation.factors.contains(.passcode) else {
      return sensorObstacle.map(Stage.over) ?? .sensor(isSensing: hasAttemptsLeft(evaluation))
    }
    let usesSensor = evaluation.factors.contains(.biometry) && sensorObstacle == nil
    if usesSensor, !evaluation.isPasscodeChosen, hasAttemptsLeft(evaluation) { return .sensor(isSensing: true) }
    return attempts.isPasscodeLocked(at: now) ? .over(.authenticationFailed) : .passcode
  }

  private func hasAttemptsLeft(_ evaluation: Evaluation) -> Bool {
    evaluation.failures < Self.failuresPerEvaluation(on: biometryType)
  }

  /// With only biometrics, the third wrong finger is the last. Face ID leaves its buttons instead, and if the passcode
  /// may follow, only the prompt changes.
  private mutating func endAfterFailure(_ failure: Phone.Failure, of factor: Phone.Factor) -> Ending? {
    guard let evaluation, factor == .biometry, biometryType == .touchID, !hasAttemptsLeft(evaluation),
      !evaluation.factors.contains(.passcode)
    else { return nil }
    return end(.failure(failure))
  }

  private func isRecentUnlockEnough(for request: Phone.EvaluationRequest, at now: Duration) -> Bool {
    guard request.allowedReuse > .zero, request.policy.factors.contains(.biometry),
      sensorObstacle(for: request.application) == nil, let lastBiometricUnlock
    else { return false }
    return now - lastBiometricUnlock <= min(request.allowedReuse, Phone.EvaluationRequest.maximumReuse)
  }

  private func prompt(
    for evaluation: Evaluation, on sheet: Phone.Prompt.Sheet, isSensing: Bool
  ) -> Phone.Prompt {
    let request = evaluation.request
    let offersPasscode = evaluation.factors.contains(.passcode)
    let fallbackTitle = request.fallbackTitle ?? (offersPasscode ? "Enter Passcode" : "Enter Password")
    let cancelTitle = osVersion >= .withCancelTitle ? request.cancelTitle : nil
    return Phone.Prompt(
      sheet: sheet, isSensing: isSensing, application: request.application, localizedReason: request.localizedReason,
      fallbackTitle: showsFallback(evaluation, on: sheet) && !fallbackTitle.isEmpty ? fallbackTitle : nil,
      cancelTitle: cancelTitle ?? "Cancel")
  }

  /// Hidden until the first wrong finger or the second wrong face, and useless if the prompt already requires the
  /// passcode.
  private func showsFallback(_ evaluation: Evaluation, on sheet: Phone.Prompt.Sheet) -> Bool {
    switch sheet {
    case .touchID: evaluation.failures > 0
    case .faceID: !hasAttemptsLeft(evaluation)
    case .passcode: false
    }
  }

  private func authentication(
    by factor: Phone.Factor, for request: Phone.EvaluationRequest
  ) -> Phone.Authentication {
    Phone.Authentication(factor: factor, application: request.application, phoneSecret: secret)
  }

  /// Only if there is one.
  private mutating func end(_ result: Result<Phone.Factor, Phone.Failure>) -> Ending {
    guard let ended = evaluation.take() else { preconditionFailure("no evaluation is open") }
    return Ending(id: ended.id, result: result.map { authentication(by: $0, for: ended.request) })
  }
}
