// Evaluations: from an app's request over the prompts to the end.

extension PhoneState {
  /// Wrong attempts after which an evaluation gives up on the sensor.
  static let failuresPerEvaluation = 3
  /// No more prompts wait for the screen than this: a test that piles up more has lost count of its contexts.
  static let maximumOpenEvaluations = 64

  struct Evaluation: Sendable {
    let id: Phone.EvaluationID
    let request: Phone.EvaluationRequest
    var failures = 0
    /// The person chose the passcode, or the sensor has had its chances.
    var isPasscodeDue = false
  }

  struct Ending: Sendable {
    let id: Phone.EvaluationID
    let result: Result<Phone.Authentication, Phone.Failure>
  }

  enum OnBegin {
    /// Decided without a prompt.
    case ended(Result<Phone.Authentication, Phone.Failure>)
    case open(Phone.EvaluationID)
  }

  mutating func begin(_ request: Phone.EvaluationRequest, at now: Duration) -> OnBegin {
    if let obstacle = obstacle(to: request.policy) { return .ended(.failure(obstacle)) }
    if isRecentUnlockEnough(for: request, at: now) {
      return .ended(.success(authentication(by: .biometry, for: request)))
    }
    if request.isInteractionForbidden { return .ended(.failure(.notInteractive)) }
    guard evaluations.count < Self.maximumOpenEvaluations else { return .ended(.failure(.systemCancel)) }
    evaluationsBegun += 1
    let id = Phone.EvaluationID(number: evaluationsBegun)
    evaluations.append(Evaluation(id: id, request: request))
    return .open(id)
  }

  /// The prompt on the screen.
  func prompt(at now: Duration) -> Phone.Prompt? {
    guard let evaluation = evaluations.first else { return nil }
    switch stage(of: evaluation, at: now) {
    case .over: return nil
    case .sensor: return prompt(for: evaluation, on: biometryType == .faceID ? .faceID : .touchID)
    case .passcode: return prompt(for: evaluation, on: .passcode)
    }
  }

  enum OnAct {
    case ignored
    case prompting(Phone.Prompt)
    case ended(Ending)
  }

  /// A person does something at the prompt on the screen.
  mutating func act(_ action: Phone.PersonAction, at now: Duration) -> OnAct {
    guard let prompt = prompt(at: now), prompt.allows(action) else { return .ignored }
    switch action {
    case .tapCancel: return endFirst(.failure(.userCancel))
    case .leaveApp: return endFirst(.failure(.systemCancel))
    case .tapFallback:
      if evaluations[0].request.policy == .deviceOwnerAuthenticationWithBiometrics {
        return endFirst(.failure(.userFallback))
      }
      evaluations[0].isPasscodeDue = true
    case .present(let presentation):
      switch authenticate(presentation, at: now) {
      case .success(let factor): return endFirst(.success(factor))
      case .failure(let failure):
        evaluations[0].failures += 1
        if let ending = endAfterFailure(failure, of: presentation.factor) { return .ended(ending) }
      }
    }
    return endFirstIfOver(at: now).map(OnAct.ended) ?? self.prompt(at: now).map(OnAct.prompting) ?? .ignored
  }

  /// Ends the first evaluation where nothing can come of it any more: the finger is gone, the sensor locked.
  mutating func endFirstIfOver(at now: Duration) -> Ending? {
    guard let first = evaluations.first, case .over(let failure) = stage(of: first, at: now) else { return nil }
    return removeFirst(.failure(failure))
  }

  /// The app takes its request back. `nil`: it had ended.
  mutating func cancel(_ id: Phone.EvaluationID, _ failure: Phone.Failure) -> Ending? {
    guard let index = evaluations.firstIndex(where: { $0.id == id }) else { return nil }
    evaluations.remove(at: index)
    return Ending(id: id, result: .failure(failure))
  }
}

extension PhoneState {
  private enum Stage {
    case sensor
    case passcode
    case over(Phone.Failure)
  }

  /// Asked anew at every step: what held when the evaluation began may not hold now.
  private func stage(of evaluation: Evaluation, at now: Duration) -> Stage {
    if let obstacle = obstacle(to: evaluation.request.policy) { return .over(obstacle) }
    switch evaluation.request.policy {
    case .deviceOwnerAuthenticationWithBiometrics:
      return sensorObstacle.map(Stage.over) ?? .sensor
    case .deviceOwnerAuthentication:
      if !evaluation.isPasscodeDue, sensorObstacle == nil { return .sensor }
      return attempts.isPasscodeLocked(at: now) ? .over(.authenticationFailed) : .passcode
    }
  }

  /// With biometrics alone the third failure is the last; with the passcode behind it, it only changes the prompt.
  private mutating func endAfterFailure(_ failure: Phone.Failure, of factor: Phone.Factor) -> Ending? {
    guard factor == .biometry, evaluations[0].failures >= Self.failuresPerEvaluation else { return nil }
    if evaluations[0].request.policy == .deviceOwnerAuthentication {
      evaluations[0].isPasscodeDue = true
      return nil
    }
    return removeFirst(.failure(failure))
  }

  private func isRecentUnlockEnough(for request: Phone.EvaluationRequest, at now: Duration) -> Bool {
    guard request.allowedReuse > .zero, sensorObstacle == nil, let lastBiometricUnlock else { return false }
    return now - lastBiometricUnlock <= min(request.allowedReuse, Phone.EvaluationRequest.maximumReuse)
  }

  private func prompt(for evaluation: Evaluation, on sheet: Phone.Prompt.Sheet) -> Phone.Prompt {
    let request = evaluation.request
    let fallbackTitle = request.fallbackTitle ?? "Enter Password"
    // Hidden until the first failure, and pointless where the passcode is asked for already.
    let showsFallback = sheet != .passcode && evaluation.failures > 0 && !fallbackTitle.isEmpty
    let cancelTitle = osVersion >= .withCancelTitle ? request.cancelTitle : nil
    return Phone.Prompt(
      sheet: sheet, application: request.application, localizedReason: request.localizedReason,
      fallbackTitle: showsFallback ? fallbackTitle : nil, cancelTitle: cancelTitle ?? "Cancel")
  }

  private func authentication(
    by factor: Phone.Factor, for request: Phone.EvaluationRequest
  ) -> Phone.Authentication {
    Phone.Authentication(factor: factor, application: request.application, phoneSecret: secret)
  }

  private mutating func endFirst(_ result: Result<Phone.Factor, Phone.Failure>) -> OnAct {
    .ended(removeFirst(result))
  }

  private mutating func removeFirst(_ result: Result<Phone.Factor, Phone.Failure>) -> Ending {
    let evaluation = evaluations.removeFirst()
    return Ending(id: evaluation.id, result: result.map { authentication(by: $0, for: evaluation.request) })
  }
}
