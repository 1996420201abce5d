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
    outcome = tableWord(diagnosis.answer)
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
    outcome = tableWord(decision.outcome)
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
    case .result: result.map { tableWord($0) } ?? ""
    case .next: next.map(\.settingName).joined(separator: ", ")
    case .left: left.map { String($0) } ?? ""
    case .change: change.map { tableWord($0) } ?? ""
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
  /// `admit`.
  static let verify = "VERIFY"
  static let wait = "WAIT"
  /// `settle` without an admission: no row can expect it.
  static let notAdmitted = "NOT_ADMITTED"
  /// `choose`, `set`, `erase`, `switch`, `prefer`, `accept_state`, `revoke_token`.
  static let accepted = "ACCEPTED"
  static let refused = "REFUSED"
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
    Outcome.allCases.map(tableWord) + LoginDiagnosis.Answer.allCases.map(tableWord)
    + [denied, verify, wait, accepted, refused] + DomainStateAcceptance.Refusal.allCases.map(tableWord)
    + [tableWord(SecretChangeRefusal.authorityRequired), bound, replaced, boundToAnother, tooManyBindings]
    + [active, inactive, consumed] + TokenRefusal.allCases.map(\.rawValue)
}

// MARK: The protocol's words

/// A case's name in the tables' spelling: "TRY_AGAIN" for `tryAgain`, "CHANGED_WITH_OS" for `changedWithOS`.
func tableWord<Value: CaseIterable>(_ value: Value) -> String {
  var word = ""
  var isAfterLowercase = false
  for character in "\(value)" {
    if character.isUppercase && isAfterLowercase { word.append("_") }
    isAfterLowercase = character.isLowercase
    word += character.uppercased()
  }
  return word
}

extension LoginObstacle {
  /// "BIOMETRY_LOCKOUT biometry + device_owner".
  var words: String {
    factors.isEmpty ? cause.rawValue : "\(cause.rawValue) \(factors.map(\.settingName).joined(separator: " + "))"
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
