// The story's calls, each shown and checked.

internal import DispatchRPC
internal import TouchstoneClient
internal import TouchstonePolicy

extension DemoStory {
  func canEvaluate(_ keys: Keys, expecting expected: Bool) async throws(WrongAnswer) {
    let answer = try await call(
      client.canEvaluatePolicy,
      V1.CanEvaluatePolicyRequest(
        applicationID: application, policy: "deviceOwnerAuthenticationWithBiometrics", bindingID: keys.bindingID,
        posture: phone.posture))
    try narrator.expect(answer.canEvaluate == expected, "can_evaluate to be \(expected)")
    if let denial = answer.denial { try narrator.expect(denial.laError == .biometryLockout, "LAError -8") }
    narrator.call(
      "CanEvaluatePolicy",
      answer.canEvaluate
        ? "yes, \(answer.biometryAttemptsLeft) attempts before lockout"
        : "no, LAError \(answer.denial?.laError.rawValue ?? 0) \(answer.denial?.reason ?? "")")
    if let message = answer.denial?.message { narrator.screen(message.text) }
  }

  func begin(
    _ policy: String, _ keys: Keys?, _ transaction: V1.Transaction? = nil
  ) async throws(WrongAnswer) -> V1.BeginEvaluationResponse {
    try await begin(policy, bindingID: keys?.bindingID, transaction)
  }

  /// - Parameter bindingID: `nil`: the call names neither a person nor a phone.
  func begin(
    _ policy: String, bindingID: String?, _ transaction: V1.Transaction? = nil
  ) async throws(WrongAnswer) -> V1.BeginEvaluationResponse {
    let answer = try await call(
      client.beginEvaluation,
      V1.BeginEvaluationRequest(
        applicationID: application, policy: policy, bindingID: bindingID ?? "",
        localizedReason: "Log in to the \(application)", transaction: transaction,
        posture: bindingID.map { _ in phone.posture }))
    try narrator.expect(answer.denial == nil && !answer.evaluation.isEmpty, "an open evaluation of \(policy)")
    let factors = answer.factors.map(\.name).joined(separator: ", ")
    narrator.call("BeginEvaluation, \(policy)", "a challenge; offers \(factors)")
    return answer
  }

  /// - Parameter retryAfter: in seconds. The answer may be up to two seconds less, which the demo may have taken.
  @discardableResult
  func submit(
    _ evaluation: V1.BeginEvaluationResponse, _ attempt: V1.SubmitAttemptRequest.Attempt,
    expecting outcome: V1.Outcome, named name: String = "SubmitAttempt", posture: V1.DevicePosture? = nil,
    appAssertion: [UInt8] = [], retryAfter: Int64? = nil
  ) async throws(WrongAnswer) -> V1.SubmitAttemptResponse {
    let request = V1.SubmitAttemptRequest(
      applicationID: application, evaluation: evaluation.evaluation, attempt: attempt,
      posture: posture ?? phone.posture, appAssertion: appAssertion)
    let answer = try await call(client.submitAttempt, request, named: name)
    try narrator.expect(answer.outcome == outcome, "outcome \(outcome.name), not \(answer.outcome.name)")
    if let retryAfter {
      let seconds = answer.retryAfter?.seconds ?? 0
      try narrator.expect((retryAfter - 2...retryAfter).contains(seconds), "\(retryAfter) s of rest, not \(seconds)")
    }
    let code = answer.laError == .unspecified ? "" : ", LAError \(answer.laError.rawValue)"
    let left = outcome == .succeeded || answer.attemptsLeft == 0 ? "" : ", \(answer.attemptsLeft) left"
    narrator.call("\(name), \(attempt.name)", answer.outcome.name + code + left)
    if let message = answer.message, !message.text.isEmpty { narrator.screen(message.text) }
    return answer
  }

  /// The latest event of its kind has the reason, which answers to wrong proofs do not tell (R37).
  func expectRefusal(_ kind: String, because reason: String) async throws(WrongAnswer) {
    let log = try await call(
      client.listEvents,
      V1.ListEventsRequest(filter: V1.EventFilter(applicationID: application, kinds: [kind]), pageSize: 1_000))
    let found = log.events.last?.details["reason"]
    try narrator.expect(found == reason, "an event \(kind) of \(reason), not \(found ?? "none")")
    narrator.note("(audit log) \(kind): \(reason)")
  }

  /// - Parameter name: of the call in the story; `nil`: the method's.
  func call<Request, Response>(
    _ method: UnaryMethod<Request, Response>, _ request: Request, named name: String? = nil
  ) async throws(WrongAnswer) -> Response {
    do throws(TouchstoneError) {
      return try await method(request)
    } catch {
      throw WrongAnswer(message: "\(name ?? method.name) to be answered, not \(error.code): \(error.message)")
    }
  }

  func expectFailure<Request, Response>(
    _ method: UnaryMethod<Request, Response>, _ request: Request, _ name: String, _ code: RPCCode, _ reason: String?
  ) async throws(WrongAnswer) {
    do throws(TouchstoneError) {
      _ = try await method(request)
    } catch {
      try narrator.expect(
        error.code == code && error.reason == reason, "\(name) to fail with \(reason ?? "\(code)"), not \(error)")
      return narrator.call(name, reason.map { "\(code) \($0)" } ?? "\(code)")
    }
    throw WrongAnswer(message: "\(name) to fail with \(reason ?? "\(code)")")
  }
}

extension V1.SubmitAttemptRequest.Attempt {
  /// The person's action.
  fileprivate var name: String {
    switch self {
    case .key(let proof): proof.factor == .biometry ? "a finger" : "the phone's passcode"
    case .profileTouchID: "a ProfileTouchID"
    case .passcode: "a passcode"
    case .gesture: "a gesture"
    case .passkey: "a passkey"
    case .primary: "another login"
    case .report(let report): "a report of \(report.laError.rawValue)"
    }
  }
}

extension V1.Factor {
  fileprivate var name: String { Factor(rawValue: UInt8(clamping: rawValue))?.settingName ?? "\(rawValue)" }
}

extension V1.Outcome {
  fileprivate var name: String {
    word(
      "SUCCEEDED", "TRY_AGAIN", "FAILED", "CANCELED", "FALLBACK", "LOCKED_OUT", "FACTOR_REQUIRED", "INVALID_CONTEXT")
  }
}
