// The column "policy": a policy's name, and then its changes in this case, under the configuration's names.

import TouchstonePolicy

extension EvaluationPolicy {
  static let vocabulary = PolicySetting.all.compactMap { setting in
    setting.example.map { "\(setting.key) \($0)" }
  }

  /// - Parameter phrases: the cell's phrases; not empty.
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
    guard let setting = PolicySetting.named(phrase.words[0]), setting.example != nil else {
      throw phrase.unknown("setting of a policy", vocabulary: Self.vocabulary)
    }
    let source = PhraseSetting(phrase)
    guard setting.read(source, into: &self) else {
      throw source.error ?? phrase.unknown("setting of a policy", vocabulary: Self.vocabulary)
    }
  }
}

/// A setting's value as a phrase: its name, then its words.
private final class PhraseSetting: SettingSource {
  private let phrase: Phrase
  /// Why the words are no value; `nil`: they are none of a setting at all.
  private(set) var error: TableError?

  init(_ phrase: Phrase) {
    self.phrase = phrase
  }

  func integer() -> Int? { read { (word) throws(TableError) in Int(try phrase.count(word)) } }
  func duration() -> Duration? { read { (word) throws(TableError) in try phrase.duration(word) } }
  func version() -> OSVersion? { argument.flatMap { OSVersion($0) } }
  func word<Value>(among words: [(String, Value)]) -> Value? { words.first { $0.0 == argument }?.1 }

  func factors() -> [Setting<Factor>]? {
    attempt { () throws(TableError) in
      var factors: [Setting<Factor>] = []
      for word in try phrase.list(from: 1) { factors.append(.value(try phrase.factor(word))) }
      return factors
    }
  }

  func ladder() -> [Setting<PolicyDefinition.Rung>]? {
    attempt { () throws(TableError) in try Ladder.read(phrase).rungs.map { .value(PolicyDefinition.Rung($0)) } }
  }

  /// "none", "5m", "5m single_use".
  func token() -> PolicyDefinition.Token? {
    let words = phrase.words.dropFirst()
    if words == ["none"] { return PolicyDefinition.Token.none }
    guard let lifetime = words.first, words.dropFirst().allSatisfy({ $0 == "single_use" }), words.count <= 2 else {
      return nil
    }
    return attempt { () throws(TableError) in
      .issued(lifetime: .value(try phrase.duration(lifetime)), isSingleUse: .value(words.count == 2))
    }
  }

  // No decision of a table rests on a title.
  func text() -> String? { nil }

  private var argument: String? { phrase.argument(after: phrase.words[0]) }

  private func read<Value>(_ value: (String) throws(TableError) -> Value) -> Value? {
    guard let argument else { return nil }
    return attempt { () throws(TableError) in try value(argument) }
  }

  private func attempt<Value>(_ value: () throws(TableError) -> Value) -> Value? {
    do throws(TableError) {
      return try value()
    } catch {
      self.error = error
      return nil
    }
  }
}

extension Ladder {
  /// "ladder 3 1m + 5 disable".
  fileprivate static func read(_ phrase: Phrase) throws(TableError) -> Ladder {
    var rungs: [Rung] = []
    for rung in phrase.words.dropFirst().split(separator: "+", omittingEmptySubsequences: false) {
      guard let failures = rung.first, let effect = rung.last, rung.count == 2 else {
        throw phrase.error("a rung has the form \"3 1m\" or \"5 disable\"")
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
  /// A number of attempts; zero makes no policy.
  fileprivate func count(_ text: String) throws(TableError) -> UInt32 {
    let count = try number(text)
    guard count > 0 else { throw error("must be at least 1") }
    return count
  }

  func keyProtection(_ text: String) throws(TableError) -> KeyProtection {
    try value(text, of: "key protection") { $0.settingName }
  }

  func proofLevel(_ text: String) throws(TableError) -> ProofLevel {
    try value(text, of: "level") { $0.name }
  }
}
