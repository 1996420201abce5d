// The column "policy": a policy's name, and then what is different in this case, under the configuration's names.

import TouchstonePolicy

extension EvaluationPolicy {
  static let vocabulary = [
    "purpose payment", "factors biometry + passcode", "attempts 2", "lockout_after 3", "ladder 3 1m + 5 disable",
    "primary_freshness 1m", "key_protection biometry_any", "domain_state required", "minimum_os 9.3",
    "fallback automatic",
  ]

  /// - Parameter phrases: of the cell; not empty.
  static func read(_ phrases: [Phrase], among policies: [EvaluationPolicy]) throws(TableError) -> EvaluationPolicy {
    let name = phrases[0].words.joined(separator: " ")
    guard var policy = policies.first(where: { Identifier.areEqual($0.name, name) }) else {
      let known = policies.map(\.name).joined(separator: ", ")
      throw phrases[0].error("no policy has the name \(name.debugDescription); there are \(known)")
    }
    for phrase in phrases.dropFirst() { try policy.apply(phrase) }
    return policy
  }

  private mutating func apply(_ phrase: Phrase) throws(TableError) {
    switch phrase.words {
    case ["purpose", "login"]: purpose = .login
    case ["purpose", "payment"]: purpose = .payment
    case ["domain_state", "required"]: requiresDomainState = true
    case ["domain_state", "compared"]: requiresDomainState = false
    case ["fallback", "button"]: fallback = .button
    case ["fallback", "automatic"]: fallback = .automatic
    default: try applySetting(phrase)
    }
  }

  private mutating func applySetting(_ phrase: Phrase) throws(TableError) {
    if phrase.words[0] == "factors" {
      factors = []
      for word in try phrase.list(from: 1) { factors.append(try phrase.factor(word)) }
    } else if phrase.words[0] == "ladder" {
      ladder = try Ladder.read(phrase)
    } else if let text = phrase.argument(after: "attempts") {
      attemptsPerEvaluation = try phrase.count(text)
    } else if let text = phrase.argument(after: "lockout_after") {
      failuresBeforeLockout = try phrase.count(text)
    } else if let text = phrase.argument(after: "primary_freshness") {
      primaryFreshness = try phrase.duration(text)
    } else if let text = phrase.argument(after: "key_protection") {
      requiredKeyProtection = try phrase.keyProtection(text)
    } else if let text = phrase.argument(after: "minimum_os"), let version = OSVersion(text) {
      minimumOSVersion = version
    } else {
      throw phrase.unknown("setting of a policy", vocabulary: Self.vocabulary)
    }
  }
}

extension Ladder {
  /// "ladder 3 1m + 5 disable".
  fileprivate static func read(_ phrase: Phrase) throws(TableError) -> Ladder {
    var rungs: [Rung] = []
    for rung in phrase.words.dropFirst().split(separator: "+", omittingEmptySubsequences: false) {
      guard let failures = rung.first, let effect = rung.last, rung.count == 2 else {
        throw phrase.error("a rung is not as in \"3 1m\" or \"5 disable\"")
      }
      rungs.append(
        Rung(
          failures: try phrase.number(failures),
          effect: effect == "disable" ? .disable : .lock(try phrase.duration(effect))))
    }
    if let violation = violation(in: rungs) { throw phrase.error("the ladder \(violation)") }
    return Ladder(rungs: rungs)
  }
}

extension Phrase {
  /// A number of attempts: none at all is no policy.
  fileprivate func count(_ text: String) throws(TableError) -> UInt32 {
    let count = try number(text)
    guard count > 0 else { throw error("must be at least 1") }
    return count
  }

  func keyProtection(_ text: String) throws(TableError) -> KeyProtection {
    try value(text, of: "key protection") { $0.settingName }
  }
}
