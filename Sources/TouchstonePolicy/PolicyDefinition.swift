// A policy as somebody wrote it down, before anybody asked whether it makes sense. What asks is PolicyDefinitionRules.

/// What is written of one setting.
public enum Setting<Value: Sendable & Hashable>: Sendable, Hashable {
  /// Nothing: the default holds.
  case absent
  /// No value of its kind. Whoever read it says so; no rule judges what rests on it.
  case unreadable
  case value(Value)

  /// `nil` where nothing is written.
  func read() throws(UnreadableSetting) -> Value? {
    switch self {
    case .absent: nil
    case .unreadable: throw UnreadableSetting()
    case .value(let value): value
    }
  }
}

struct UnreadableSetting: Error {}

/// A named policy of the configuration: nothing is sure, and everything may be missing.
public struct PolicyDefinition: Sendable, Hashable {
  public var name: String
  public var purpose: Setting<EvaluationPolicy.Purpose> = .absent
  public var factors: Setting<[Setting<Factor>]> = .absent
  public var attempts: Setting<Int> = .absent
  public var lockoutAfter: Setting<Int> = .absent
  public var ladder: Setting<[Setting<Rung>]> = .absent
  public var primaryFreshness: Setting<Duration> = .absent
  public var keyProtection: Setting<KeyProtection> = .absent
  public var domainState: Setting<DomainState> = .absent
  public var minimumOS: Setting<OSVersion> = .absent
  public var evaluationLifetime: Setting<Duration> = .absent
  public var token: Setting<Token> = .absent
  public var fallback: Setting<EvaluationPolicy.Fallback> = .absent
  public var fallbackTitle: Setting<String> = .absent
  public var cancelTitle: Setting<String> = .absent

  public init(name: String) {
    self.name = name
  }

  public struct Rung: Sendable, Hashable {
    public var failures: Setting<Int> = .absent
    public var lock: Setting<Duration> = .absent
    public var disable: Setting<Bool> = .absent

    public init() {}
  }

  public enum DomainState: Sendable, Hashable, CaseIterable {
    /// Devices without one are refused (R27).
    case required
    /// Where there is one, a changed one asks for another factor (R25).
    case compared
  }

  public enum Token: Sendable, Hashable {
    case none
    case issued(lifetime: Setting<Duration> = .absent, isSingleUse: Setting<Bool> = .absent)
  }
}

extension PolicyDefinition {
  /// What the settings are called where they are written.
  public enum Key: String, Sendable, Hashable, CaseIterable {
    case purpose
    case factors
    case attempts
    case lockoutAfter = "lockout_after"
    case ladder
    case primaryFreshness = "primary_freshness"
    case keyProtection = "key_protection"
    case domainState = "domain_state"
    case minimumOS = "minimum_os"
    case evaluationLifetime = "evaluation_lifetime"
    case token
    case fallback
    case fallbackTitle = "fallback_title"
    case cancelTitle = "cancel_title"
  }

  /// What a rung's settings are called.
  public enum RungKey: String, Sendable, Hashable, CaseIterable {
    case failures
    case lock
    case disable
  }

  /// What a token's settings are called.
  public enum TokenKey: String, Sendable, Hashable, CaseIterable {
    case lifetime
    case singleUse = "single_use"
  }
}

/// One thing that is wrong with a definition.
public struct PolicyDefect: Error, Sendable, Hashable {
  /// From the definition to what is wrong; empty: its name.
  public var path: [Step]
  /// To go behind the path: "must be 1 to 10".
  public var reason: String

  public enum Step: Sendable, Hashable {
    case key(String)
    /// Of a list, from 0.
    case index(Int)
  }
}

/// All that is wrong with a definition, in no particular order.
public struct PolicyDefects: Error, Sendable, Hashable {
  /// Empty where nothing is wrong but what could not be read.
  public var defects: [PolicyDefect]
}
