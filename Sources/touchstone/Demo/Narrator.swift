// The demo's voice: each call, its answer, and whether that is the answer it had to be.

internal import Synchronization

/// An answer that is not what the rules say. The story cannot go on.
struct WrongAnswer: Error {
  var message: String
}

final class Narrator: Sendable {
  private let failureCount = Atomic<Int>(0)

  var failures: Int { failureCount.load(ordering: .relaxed) }

  func title(_ text: String) {
    printLine("\n\(text)")
  }

  func call(_ name: String, _ answer: String) {
    printLine("  \(name.padded(to: 42)) → \(answer)")
  }

  /// What happens on the phone, without a call.
  func phone(_ text: String) {
    printLine("  (phone) \(text)")
  }

  /// States what must be so. The line is only seen where it is not.
  func expect(_ condition: Bool, _ what: String) throws(WrongAnswer) {
    if !condition { throw WrongAnswer(message: what) }
  }

  func failure(_ error: WrongAnswer) {
    failureCount.add(1, ordering: .relaxed)
    printLine("  WRONG: expected \(error.message)")
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
