// Explains decisions: each check passes its result to a tracer, which keeps it or not. The trace therefore comes from
// the code that decides, and costs nothing unless it is requested.

/// One evaluated rule and its result.
public struct RuleTrace: Sendable, Hashable {
  /// The numbers of all rules in docs/RULES.md.
  public static let knownRules = 1...48

  /// The rule's number in docs/RULES.md: "R2".
  public var rule: String
  public var passed: Bool
  /// For people: the compared values. Never a secret, nor a domain state.
  public var detail: String
}

/// Receives the results of rules while they decide.
protocol RuleTracer {
  /// The following rules are about this factor.
  mutating func turn(to factor: Factor)

  /// - Parameter detail: evaluated only if the tracer keeps it.
  mutating func record(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String)
}

extension RuleTracer {
  /// Returns `passed` and records it.
  @inline(__always)
  mutating func check(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String) -> Bool {
    record(rule, passed, detail())
    return passed
  }
}

/// Keeps nothing; the optimiser removes it.
struct NoTrace: RuleTracer {
  #if DEBUG
    /// An empty value has no address of its own. ThreadSanitizer would take whatever is there for it, and report a
    /// race.
    private let addressed: UInt8 = 0
  #endif

  @inline(__always) func turn(to factor: Factor) {}
  @inline(__always) func record(_ rule: StaticString, _ passed: Bool, _ detail: @autoclosure () -> String) {}
}

/// Keeps every result, in order.
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
