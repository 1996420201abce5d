// How a decision explains itself: each check says what it found to a tracer, which keeps it or does not. So the trace
// comes from the very code that decides, and costs nothing where nobody asked for it.

/// One rule that was asked, and what it said.
public struct RuleTrace: Sendable, Hashable {
  /// As DOMAIN.md numbers it: "R2".
  public var rule: String
  public var passed: Bool
  /// For people: what was compared with what. Never a secret, nor a domain state.
  public var detail: String

  public init(rule: String, passed: Bool, detail: String) {
    self.rule = rule
    self.passed = passed
    self.detail = detail
  }
}

/// Listens to the rules while they decide.
protocol RuleTracer {
  /// What follows is asked about this factor.
  mutating func turn(to factor: Factor)

  /// - Parameter detail: made only where it is kept.
  mutating func record(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String)
}

extension RuleTracer {
  /// `passed`, and the record of it.
  @inline(__always)
  mutating func check(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String) -> Bool {
    record(rule, passed, detail())
    return passed
  }
}

/// Keeps nothing: the optimiser removes it.
struct NoTrace: RuleTracer {
  @inline(__always) func turn(to factor: Factor) {}
  @inline(__always) func record(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String) {}
}

/// Keeps all, in the order in which it was asked.
struct RecordedTrace: RuleTracer {
  private(set) var rows: [RuleTrace] = []
  private var factor: Factor?

  mutating func turn(to factor: Factor) {
    self.factor = factor
  }

  mutating func record(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String) {
    let subject = factor.map { "\($0.settingName): " } ?? ""
    rows.append(RuleTrace(rule: rule.description, passed: passed, detail: subject + detail()))
  }
}
