// One cell of an expected column, read word for word, so that a misspelt expectation is an error and not a difference.

import TouchstonePolicy

struct Expectation: Sendable {
  let column: ExpectedColumn
  let position: TablePosition
  /// In the notation of `Observation`.
  let text: String

  init(_ column: ExpectedColumn, _ cell: SourceText) throws(TableError) {
    self.column = column
    position = cell.position
    text = try Self.read(column, try cell.phrases())
  }

  private static func read(_ column: ExpectedColumn, _ phrases: [Phrase]) throws(TableError) -> String {
    guard let first = phrases.first else { return "" }
    switch column {
    case .next:
      return try list(phrases) { phrase throws(TableError) in try phrase.factor(phrase.text).settingName }
    case .why: return try list(phrases) { phrase throws(TableError) in try phrase.obstacle().words }
    case .helps:
      let remedies = LoginObstacle.Remedy.allCases.map(\.rawValue)
      return try list(phrases) { phrase throws(TableError) in try phrase.one(of: remedies, "remedy") }
    case .device: return try changed(phrases, by: StandingWords.device, column)
    case .evaluation: return try changed(phrases, by: StandingWords.evaluation(), column)
    case .passcode: return try changed(phrases, by: StandingWords.secret(.passcode) + notSet(.passcode), column)
    case .gesture: return try changed(phrases, by: StandingWords.secret(.gesture) + notSet(.gesture), column)
    case .outcome, .code, .reason, .result, .left, .change, .retry, .fallback, .baseline:
      guard phrases.count == 1 else { throw phrases[1].error("one \(column.rawValue) stands here") }
      return try read(column, first)
    }
  }

  private static func list(
    _ phrases: [Phrase], _ read: (Phrase) throws(TableError) -> String
  ) throws(TableError) -> String { try phrases.map(read).joined(separator: ", ") }

  private static func notSet(_ factor: Factor) -> [PhraseRow<Standing>] {
    [.init("not set") { $0[secret: factor].isSet = false }]
  }

  /// The phrases in the order and the units of `Observation`.
  private static func changed(
    _ phrases: [Phrase], by rows: [PhraseRow<Standing>], _ column: ExpectedColumn
  ) throws(TableError) -> String {
    var standing = Standing(on: .unsaid)
    for factor in [Factor.passcode, .gesture] { standing[secret: factor].isSet = true }
    for phrase in phrases { try phrase.apply(rows, to: &standing, "standing in this column") }
    var observation = Observation(outcome: "")
    observation.device = standing.device
    observation.evaluation = standing.evaluation
    for factor in [Factor.passcode, .gesture] { observation.secrets[factor] = standing[secret: factor] }
    return observation.text(of: column, at: standing.now)
  }

  private static func read(_ column: ExpectedColumn, _ phrase: Phrase) throws(TableError) -> String {
    switch column {
    case .outcome: return try phrase.one(of: OutcomeWord.expectable, "outcome")
    case .code: return String(try phrase.code(phrase.text).rawValue)
    case .reason: return try phrase.one(of: Denial.Reason.allCases.map(\.rawValue), "reason")
    case .result: return try phrase.one(of: PlainResult.allCases.map(tableWord), "result")
    case .left: return String(try phrase.number(phrase.text))
    case .change: return try phrase.one(of: DomainStateVerdict.allCases.map(tableWord), "verdict")
    case .retry: return try phrase.duration(phrase.text).words
    case .fallback: return try phrase.one(of: ["visible"], "word of the fallback button")
    case .baseline:
      guard phrase.words.count == 2 else { throw phrase.error("a baseline is a state and a major version: \"B 9\"") }
      return "\(phrase.words[0]) \(try phrase.number(phrase.words[1]))"
    case .next, .device, .evaluation, .passcode, .gesture, .why, .helps: return phrase.text
    }
  }
}

extension Phrase {
  /// "BIOMETRY_LOCKOUT biometry + device_owner".
  fileprivate func obstacle() throws(TableError) -> LoginObstacle {
    guard let cause = LoginObstacle.Cause(rawValue: words[0]) else {
      throw unknown("cause", vocabulary: LoginObstacle.Cause.allCases.map(\.rawValue))
    }
    let factors = words.count > 1 ? try list(from: 1).map { word throws(TableError) in try factor(word) } : []
    return LoginObstacle(factors: factors, cause: cause)
  }

  fileprivate var text: String { words.joined(separator: " ") }

  fileprivate func one(of known: [String], _ kind: String) throws(TableError) -> String {
    guard let word = known.first(where: { $0 == text }) else {
      throw error("\(text.debugDescription) is no \(kind); there are \(known.joined(separator: ", "))")
    }
    return word
  }
}
