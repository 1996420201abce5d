/// A rule that did not hold.
struct Violation: Error, Hashable, CustomStringConvertible {
  /// A number of docs/RULES.md, or a word for a promise of docs/THREATS.md.
  var rule: String
  var text: String
  var step: Int

  var description: String { "step \(step): \(rule): \(text)" }
}
