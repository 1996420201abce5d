// Prints the demo: each call, its answer, and whether the answer was the expected one.

/// An answer that the rules do not allow. The story cannot go on.
struct WrongAnswer: Error {
  var message: String
}

struct Narrator: Sendable {
  func title(_ text: String) {
    printLine("\n\(text)")
  }

  func call(_ name: String, _ answer: String) {
    printLine("  \(name.padded(to: 42)) → \(answer)")
  }

  /// Prints what the app shows the person.
  func screen(_ text: String) {
    printLine("  \("(screen)".padded(to: 42))   “\(text)”")
  }

  /// Prints an event without a call, or a detail of an answer.
  func note(_ text: String) {
    printLine("  \(text)")
  }

  /// Checks an expectation, and prints it only if it fails.
  func expect(_ condition: Bool, _ what: String) throws(WrongAnswer) {
    if !condition { throw WrongAnswer(message: what) }
  }

  func failure(_ error: WrongAnswer) {
    printLine("  WRONG: expected \(error.message)")
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
