// The column "attempt": the event of a row.

import TouchstonePolicy

enum RowAttempt: Sendable {
  /// `canEvaluatePolicy`.
  case canEvaluate
  /// Whether the person can log in, by the device's last report.
  case diagnose
  /// An attempt that is decided at once.
  case submit(Attempt)
  /// A passcode or a gesture from its admission to its verdict.
  case secret(Factor, isRight: Bool)
  /// Its first phase only, under a number.
  case admit(Factor, UInt32)
  /// Its second phase.
  case settle(UInt32, isRight: Bool)
  /// The calling service's own login.
  case primary(LoginAge)
  case account(AccountAttempt)
  /// Another service's.
  case token(TokenAttempt)

  static let vocabulary = [
    "can_evaluate", "diagnose", "right biometry", "wrong biometry", "right device_owner", "right profile_touch_id",
    "right passkey",
    "right passcode", "wrong gesture", "primary 4m old", "primary 31s ahead", "report -8", "report unknown",
    "admit passcode #1", "settle #1 right", "settle #1 wrong",
  ]

  private static let everyVocabulary = vocabulary + AccountAttempt.vocabulary + TokenAttempt.vocabulary

  /// - Parameter phrases: the cell's phrases; not empty.
  init(_ phrases: [Phrase]) throws(TableError) {
    if let attempt = try AccountAttempt(phrases) {
      self = .account(attempt)
      return
    }
    if let attempt = try TokenAttempt(phrases) {
      self = .token(attempt)
      return
    }
    if phrases.count > 1 { throw phrases[1].error("a row is one attempt") }
    let phrase = phrases[0]
    switch phrase.words {
    case ["can_evaluate"]: self = .canEvaluate
    case ["diagnose"]: self = .diagnose
    case ["right", "profile_touch_id"]: self = .submit(.profileTouchID(isValid: true))
    case ["wrong", "profile_touch_id"]: self = .submit(.profileTouchID(isValid: false))
    default: self = try Self.read(phrase)
    }
  }

  private static func read(_ phrase: Phrase) throws(TableError) -> RowAttempt {
    if phrase.words[0] == "primary" { return .primary(try LoginAge(phrase, of: "primary")) }
    if let factor = phrase.argument(after: "right") {
      return try proof(by: try phrase.factor(factor), isRight: true, phrase)
    }
    if let factor = phrase.argument(after: "wrong") {
      return try proof(by: try phrase.factor(factor), isRight: false, phrase)
    }
    if let code = phrase.argument(after: "report") {
      return .submit(.report(code == "unknown" ? nil : try phrase.code(code)))
    }
    if let number = phrase.argument(after: "admit", "passcode") { return .admit(.passcode, try phrase.ordinal(number)) }
    if let number = phrase.argument(after: "admit", "gesture") { return .admit(.gesture, try phrase.ordinal(number)) }
    if phrase.words.count == 3, phrase.words[0] == "settle", ["right", "wrong"].contains(phrase.words[2]) {
      return .settle(try phrase.ordinal(phrase.words[1]), isRight: phrase.words[2] == "right")
    }
    throw phrase.unknown("attempt", vocabulary: everyVocabulary)
  }

  private static func proof(by factor: Factor, isRight: Bool, _ phrase: Phrase) throws(TableError) -> RowAttempt {
    switch factor {
    case .biometry, .deviceOwner: return .submit(.key(factor: factor, isValid: isRight))
    case .passkey: return .submit(.passkey(refusal: isRight ? nil : .unknown))
    case .passcode, .gesture: return .secret(factor, isRight: isRight)
    case .primary: throw phrase.unknown("attempt", vocabulary: everyVocabulary)
    }
  }
}

extension Phrase {
  /// "-8".
  func code(_ text: String) throws(TableError) -> LAErrorCode {
    guard let code = Int32(text).flatMap(LAErrorCode.init(rawValue:)) else {
      let known = LAErrorCode.allCases.map { String($0.rawValue) }.joined(separator: ", ")
      throw error("\(text.debugDescription) is no code of LAError; there are \(known)")
    }
    return code
  }
}
