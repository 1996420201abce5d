// The start of a case: the defaults, then "Given:" above the table, then the row.

import TouchstonePolicy

struct CaseGiven: Sendable {
  /// Their numbers.
  private(set) var rules: [Int] = []
  private(set) var name = ""
  private(set) var policy: EvaluationPolicy?
  private(set) var posture = DevicePosture.unsaid
  private(set) var standing: [StandingChange] = []
  /// The row starts from the state that the previous row left.
  private(set) var goesOn = false
  private(set) var attempt: RowAttempt?
  /// The time since that state; negative if the clock was set back.
  private(set) var offset: Duration = .zero

  /// A blank cell keeps the earlier value.
  mutating func apply(
    _ column: GivenColumn, _ cell: SourceText, policies: [EvaluationPolicy]
  ) throws(TableError) {
    if column == .name {
      name = cell.plain
      return
    }
    let phrases = try cell.phrases()
    guard !phrases.isEmpty else { return }
    switch column {
    case .rules: rules = try Self.rules(phrases)
    case .name: break
    case .policy: policy = try EvaluationPolicy.read(phrases, among: policies)
    case .posture: for phrase in phrases { try phrase.apply(DevicePosture.words, to: &posture, "posture") }
    case .standing: try applyStanding(phrases)
    case .attempt: attempt = try RowAttempt(phrases)
    case .time: offset = try Self.offset(phrases)
    }
  }

  private mutating func applyStanding(_ phrases: [Phrase]) throws(TableError) {
    var phrases = phrases[...]
    if let first = phrases.first, first.words == StandingWords.goesOn {
      goesOn = true
      standing = []
      phrases = phrases.dropFirst()
    }
    for phrase in phrases { standing.append(try StandingWords.read(phrase)) }
  }

  /// "R7 R9", or "R7, R9".
  private static func rules(_ phrases: [Phrase]) throws(TableError) -> [Int] {
    var rules: [Int] = []
    for phrase in phrases {
      for word in phrase.words {
        guard word.first == "R", let number = Int(word.dropFirst()), RuleTrace.knownRules.contains(number) else {
          throw phrase.error("\(word.debugDescription) is no rule from R1 to R\(RuleTrace.knownRules.upperBound)")
        }
        rules.append(number)
      }
    }
    return rules
  }

  /// "+1m", "-1h".
  private static func offset(_ phrases: [Phrase]) throws(TableError) -> Duration {
    let phrase = phrases[0]
    if phrases.count > 1 { throw phrases[1].error("must be a single time") }
    let text = phrase.words.joined(separator: " ")
    switch text.first {
    case "+": return try phrase.duration(String(text.dropFirst()))
    case "-": return .zero - (try phrase.duration(String(text.dropFirst())))
    default: throw phrase.error("a time is a difference, later or earlier: +1m, -1h")
    }
  }
}
