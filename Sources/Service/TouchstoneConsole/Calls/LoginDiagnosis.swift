// Why a login fails now, from ExplainEvaluation's answer. Pure.

internal import TouchstoneCodec

/// One sentence, and whether a login would be let begin.
struct LoginDiagnosis: Sendable {
  var isPossible: Bool
  var sentences: [Phrase]

  init(_ answer: V1.ExplainEvaluationResponse, policyTakesBiometry: Bool) {
    guard let begun = answer.answer else {
      self.init(isPossible: false, sentences: [.loginImpossible])
      return
    }
    if let denial = begun.denial {
      var sentences = [LoginReasons.denial(denial.reason) ?? Phrase(denial.reason, denial.reason)]
      if let wait = denial.retryAfter, wait.seconds > 0 { sentences.append(.retryAfter(seconds: wait.seconds)) }
      self.init(isPossible: false, sentences: sentences)
      return
    }
    guard !begun.factors.isEmpty else {
      self.init(isPossible: false, sentences: [.loginImpossible])
      return
    }
    let factors = Phrase.list(begun.factors.map(\.phrase))
    guard policyTakesBiometry, !begun.factors.contains(.biometry) else {
      self.init(isPossible: true, sentences: [.loginPossible(factors)])
      return
    }
    let why = Self.obstacle(to: "biometry", in: answer.trace, begun.domainState)
    self.init(isPossible: true, sentences: [.loginWithoutBiometry(why, factors)])
  }

  /// By the first rule that the factor did not pass.
  private static func obstacle(
    to factor: String, in trace: [V1.RuleTrace], _ domainState: V1.DomainStateVerdict
  ) -> Phrase {
    switch trace.first(where: { !$0.passed && $0.detail.hasPrefix("\(factor): ") })?.rule {
    case "R1": .biometricsNotReady
    case "R4": .biometricsSpent
    case "R17": .biometricsOff
    case "R31", "R42": .biometricsWithoutKey
    default:
      switch domainState {
      case .changed, .changedWithOS: .biometricsChanged
      case .unknownWhileLocked: .biometricsLocked
      default: .biometricsNotUsable
      }
    }
  }

  private init(isPossible: Bool, sentences: [Phrase]) {
    (self.isPossible, self.sentences) = (isPossible, sentences)
  }

  static let unknown = LoginDiagnosis(isPossible: false, sentences: [.loginUnknown])
  static let noDevice = LoginDiagnosis(isPossible: false, sentences: [.noActiveBinding])

  /// What the latest attempt among the events says, if it failed.
  ///
  /// - Parameter events: of the profile, the newest first.
  static func lastFailure(in events: [V1.Event]) -> Phrase? {
    let ended = ["evaluation.succeeded", "evaluation.failed", "evaluation.locked_out", "evaluation.factor_required"]
    guard let last = events.first(where: { ended.contains($0.kind) }), last.kind != "evaluation.succeeded",
      let reason = last.details["reason"]
    else {
      return nil
    }
    return .lastAttempt(LoginReasons.attempt(reason) ?? Phrase(reason, reason))
  }
}
