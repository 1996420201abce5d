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

  private static let forms = [single] + AccountAttempt.forms + [TokenAttempt.form]

  private static let single = AttemptForm(
    RowAttempt?.none,
    [
      .init("can_evaluate") { $0 = .canEvaluate },
      .init("diagnose") { $0 = .diagnose },
      .init("right profile_touch_id") { $0 = .submit(.profileTouchID(isValid: true)) },
      .init("wrong profile_touch_id") { $0 = .submit(.profileTouchID(isValid: false)) },
      .init("right {biometry}", .factor) { $0 = proof(by: $1, isRight: true) },
      .init("wrong {gesture}", .factor) { $0 = proof(by: $1, isRight: false) },
      .init("primary {4m old}", .age) { $0 = .primary($1) },
      .init("report unknown") { $0 = .submit(.report(nil)) },
      .init("report {-8}", .code) { $0 = .submit(.report($1)) },
      .init("admit passcode {#1}", .ordinal) { $0 = .admit(.passcode, $1) },
      .init("admit gesture {#1}", .ordinal) { $0 = .admit(.gesture, $1) },
      .init("settle {#1} right", .ordinal) { $0 = .settle($1, isRight: true) },
      .init("settle {#1} wrong", .ordinal) { $0 = .settle($1, isRight: false) },
    ]
  ) { $0 }

  /// - Parameter phrases: the cell's phrases; not empty.
  init(_ phrases: [Phrase]) throws(TableError) {
    for form in Self.forms {
      guard let attempt = try form.read(phrases) else { continue }
      self = attempt
      return
    }
    throw phrases[0].unknown("attempt", vocabulary: Self.forms.flatMap(\.examples))
  }

  private static func proof(by factor: Factor, isRight: Bool) -> RowAttempt? {
    switch factor {
    case .biometry, .deviceOwner: .submit(.key(factor: factor, isValid: isRight))
    case .passkey: .submit(.passkey(refusal: isRight ? nil : .unknown))
    case .passcode, .gesture: .secret(factor, isRight: isRight)
    case .primary: nil
    }
  }
}

/// Attempts that begin with one of several phrases and go on with others.
struct AttemptForm: Sendable {
  /// Whole attempts, as an error lists them.
  let examples: [String]
  /// Returns `nil` for an attempt of another form.
  let read: @Sendable ([Phrase]) throws(TableError) -> RowAttempt?

  /// - Parameters:
  ///   - draft: what the phrases complete.
  ///   - second: the phrases of which one must follow; empty: none must.
  ///   - details: the phrases that may come after these.
  ///   - most: how many of the details one attempt may have.
  ///   - attempt: returns `nil` for phrases that do not fit together.
  init<Draft: Sendable>(
    _ draft: Draft, _ first: [PhraseRow<Draft>], second: [PhraseRow<Draft>] = [], details: [PhraseRow<Draft>] = [],
    most: Int = .max, _ attempt: @escaping @Sendable (Draft) -> RowAttempt?
  ) {
    let begun = first.flatMap { head in
      second.isEmpty ? [head.example] : second.map { "\(head.example), \($0.example)" }
    }
    let examples = begun + details.map { "\(begun[0]), \($0.example)" }
    self.examples = examples
    read = { (phrases) throws(TableError) in
      guard let change = try phrases[0].change(by: first) else { return nil }
      var draft = draft
      change(&draft)
      var rest = phrases.dropFirst()
      if !second.isEmpty {
        guard let phrase = rest.popFirst() else {
          throw phrases[0].error("more must follow, as in \(examples[0].debugDescription)")
        }
        try phrase.apply(second, to: &draft, "phrase of this attempt")
      }
      if let further = rest.dropFirst(details.isEmpty ? 0 : most).first {
        throw further.error(details.isEmpty ? "a row is one attempt" : "that attempt has no further phrases")
      }
      for phrase in rest { try phrase.apply(details, to: &draft, "phrase of this attempt") }
      guard let attempt = attempt(draft) else {
        throw phrases[0].unknown("attempt", vocabulary: examples)
      }
      return attempt
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
