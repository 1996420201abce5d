/// A rule that did not hold.
struct Violation: Error, Hashable, CustomStringConvertible {
  /// As DOMAIN.md numbers it, or a promise of DESIGN.md in a word.
  var rule: String
  var text: String
  var step: Int

  var description: String { "step \(step): \(rule): \(text)" }
}
