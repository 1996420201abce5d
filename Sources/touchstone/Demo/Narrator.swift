// The demo's voice: each call, its answer, and whether that is the answer it had to be.

/// An answer that is not what the rules say. The story cannot go on.
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

  /// What the app shows the person.
  func screen(_ text: String) {
    printLine("  \("(screen)".padded(to: 42))   “\(text)”")
  }

  /// What happens without a call, or stands in an answer.
  func note(_ text: String) {
    printLine("  \(text)")
  }

  /// States what must be so. The line is only seen where it is not.
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
