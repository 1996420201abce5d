// The result of a row, in the notation of the expected columns.

import TouchstonePolicy

struct Observation {
  /// In the notation of the column "outcome": not every row is a decided attempt.
  var outcome: String
  var code: LAErrorCode?
  var reason: Denial.Reason?
  var result: PlainResult?
  var next: [Factor] = []
  var left: UInt32?
  var change: DomainStateVerdict?
  var retryAfter: Duration?
  var isFallbackVisible = false
  var device: BiometryStanding?
  var evaluation: EvaluationStanding?
  var secrets: [Factor: SecretStanding] = [:]
  var baseline: DomainStateBaseline?
  var obstacles: [LoginObstacle] = []

  init(outcome: String) {
    self.outcome = outcome
  }

  init(_ preflight: Preflight) {
    outcome = preflight.denial == nil ? OutcomeWord.yes : OutcomeWord.denied
    code = preflight.denial?.code
    reason = preflight.denial?.reason
    next = preflight.factors
    left = preflight.biometryAttemptsLeft
    change = preflight.domainState
    retryAfter = preflight.denial?.retryAfter
  }

  init(_ diagnosis: LoginDiagnosis, at now: UnixTime) {
    outcome = diagnosis.answer.word
    next = diagnosis.factors
    obstacles = diagnosis.obstacles
    retryAfter = obstacles.compactMap(\.until).min().map { $0 - now }
  }

  init(_ denial: Denial) {
    outcome = OutcomeWord.denied
    code = denial.code
    reason = denial.reason
    retryAfter = denial.retryAfter
  }

  init(_ decision: AttemptDecision) {
    outcome = decision.outcome.word
    code = decision.laError
    result = PlainResult(outcome: decision.outcome, code: decision.laError)
    next = decision.nextFactors
    left = decision.attemptsLeft
    change = decision.domainState
    retryAfter = decision.retryAfter
    isFallbackVisible = decision.isFallbackVisible
    device = decision.device
    evaluation = decision.evaluation
    baseline = decision.baseline
  }

  private static func each(_ remedies: [LoginObstacle.Remedy]) -> [LoginObstacle.Remedy] {
    remedies.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// In the notation that `Expectation` reads.
  func text(of column: ExpectedColumn, at now: UnixTime) -> String {
    switch column {
    case .outcome: outcome
    case .code: code.map { String($0.rawValue) } ?? ""
    case .reason: reason?.rawValue ?? ""
    case .result: result?.word ?? ""
    case .next: next.map(\.settingName).joined(separator: ", ")
    case .left: left.map { String($0) } ?? ""
    case .change: change?.word ?? ""
    case .retry: retryAfter?.words ?? ""
    case .fallback: isFallbackVisible ? "visible" : ""
    case .device: device?.words ?? ""
    case .evaluation: evaluation?.words ?? ""
    case .passcode: secrets[.passcode]?.words(at: now) ?? ""
    case .gesture: secrets[.gesture]?.words(at: now) ?? ""
    case .baseline: baseline?.words ?? ""
    case .why: obstacles.map(\.words).joined(separator: ", ")
    case .helps: Self.each(obstacles.flatMap(\.remedies)).map(\.rawValue).joined(separator: ", ")
    }
  }
}

/// Outcomes of events that are no attempt in an evaluation.
enum OutcomeWord {
  /// `can_evaluate`, `begin_binding`.
  static let yes = "YES"
  static let denied = "DENIED"
  /// `diagnose`, besides `yes`.
  static let no = "NO"
  static let unknown = "UNKNOWN"
  /// `admit`.
  static let verify = "VERIFY"
  static let wait = "WAIT"
  /// `settle` without an admission: no row can expect it.
  static let notAdmitted = "NOT_ADMITTED"
  /// `choose`, `set`, `erase`, `switch`, `prefer`, `accept_state`, `revoke_token`.
  static let accepted = "ACCEPTED"
  static let refused = "REFUSED"
  static let authorityRequired = "AUTHORITY_REQUIRED"
  static let noDomainState = "NO_DOMAIN_STATE"
  static let tokenOfAnother = "TOKEN_OF_ANOTHER"
  static let tokenByBiometrics = "TOKEN_BY_BIOMETRY"
  static let tokenTooOld = "TOKEN_TOO_OLD"
  static let primaryTooOld = "PRIMARY_TOO_OLD"
  static let primaryInFuture = "PRIMARY_IN_FUTURE"
  /// `introspect_token`.
  static let active = "ACTIVE"
  static let inactive = "INACTIVE"
  /// `consume_token`, if it is not refused.
  static let consumed = "CONSUMED"
  /// `complete_binding`.
  static let bound = "BOUND"
  static let replaced = "REPLACED"
  static let boundToAnother = "DEVICE_BOUND_TO_ANOTHER_PROFILE"
  static let tooManyBindings = "TOO_MANY_BINDINGS"

  /// The outcomes that a row may expect.
  static let expectable =
    Outcome.allCases.map(\.word) + [
      yes, no, unknown, denied, verify, wait, accepted, refused, authorityRequired, noDomainState, tokenOfAnother,
      tokenByBiometrics, tokenTooOld, primaryTooOld, primaryInFuture, bound, replaced, boundToAnother, tooManyBindings,
      active, inactive, consumed,
    ] + TokenRefusal.allCases.map(\.rawValue)
}

// MARK: The protocol's words

extension LoginDiagnosis.Answer {
  var word: String {
    switch self {
    case .yes: OutcomeWord.yes
    case .no: OutcomeWord.no
    case .unknown: OutcomeWord.unknown
    }
  }
}

extension LoginObstacle {
  /// "BIOMETRY_LOCKOUT biometry + device_owner".
  var words: String {
    factors.isEmpty ? cause.rawValue : "\(cause.rawValue) \(factors.map(\.settingName).joined(separator: " + "))"
  }
}

extension Outcome {
  var word: String {
    switch self {
    case .succeeded: "SUCCEEDED"
    case .tryAgain: "TRY_AGAIN"
    case .failed: "FAILED"
    case .canceled: "CANCELED"
    case .fallback: "FALLBACK"
    case .lockedOut: "LOCKED_OUT"
    case .factorRequired: "FACTOR_REQUIRED"
    case .invalidContext: "INVALID_CONTEXT"
    }
  }
}

extension PlainResult {
  var word: String {
    switch self {
    case .success: "SUCCESS"
    case .failed: "FAILED"
    case .cancel: "CANCEL"
    case .fallback: "FALLBACK"
    case .other: "OTHER"
    }
  }
}

extension DomainStateVerdict {
  var word: String {
    switch self {
    case .neverRecorded: "NEVER_RECORDED"
    case .unchanged: "UNCHANGED"
    case .unknownWhileLocked: "UNKNOWN_WHILE_LOCKED"
    case .changed: "CHANGED"
    case .changedWithOS: "CHANGED_WITH_OS"
    }
  }
}

// MARK: Standings

extension BiometryStanding {
  /// "failures 5, locked".
  var words: String { "failures \(consecutiveFailures)" + (isLockedOut ? ", locked" : "") }
}

extension EvaluationStanding {
  /// "failures 2, device_owner_failures 1, finished".
  var words: String {
    var words = "failures \(failures)"
    if deviceOwnerFailures > 0 { words += ", device_owner_failures \(deviceOwnerFailures)" }
    return words + (isFinished ? ", finished" : "")
  }
}

extension SecretStanding {
  /// "failures 5, locked 1m, in_flight 2", "failures 0, not set".
  func words(at now: UnixTime) -> String {
    var words = "failures \(failures)"
    switch lock {
    case .none: break
    case .until(let end): words += ", locked \((end - now).words)"
    case .untilSetAnew: words += ", disabled"
    }
    if inFlight > 0 { words += ", in_flight \(inFlight)" }
    return words + (isSet ? "" : ", not set")
  }
}

extension DomainStateBaseline {
  /// "B 9": a domain state of a table is a word.
  var words: String { "\(String(decoding: domainState, as: UTF8.self)) \(osMajorVersion)" }
}
