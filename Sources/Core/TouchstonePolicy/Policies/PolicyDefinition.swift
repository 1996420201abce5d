// A policy's settings as they are written. PolicyDefinitionRules checks them.

/// The written value of one setting.
public enum Setting<Value: Sendable & Hashable>: Sendable, Hashable {
  /// Not written: the default applies.
  case absent
  /// Written, but not a value of this kind. The reader reports it, and no rule checks settings that depend on it.
  case unreadable
  case value(Value)

  /// `nil` if the setting is not written.
  func read() throws(UnreadableSetting) -> Value? {
    switch self {
    case .absent: nil
    case .unreadable: throw UnreadableSetting()
    case .value(let value): value
    }
  }
}

struct UnreadableSetting: Error {}

extension Array {
  /// The readable elements.
  func written<Value>() -> [Value] where Element == Setting<Value> {
    compactMap { if case .value(let value) = $0 { value } else { nil } }
  }

  func readAll<Value>() throws(UnreadableSetting) -> [Value] where Element == Setting<Value> {
    var values: [Value] = []
    for written in self {
      if let value = try written.read() { values.append(value) }
    }
    return values
  }
}

extension PolicyDefinition {
  public struct Rung: Sendable, Hashable {
    public var failures: Setting<Int> = .absent
    public var lock: Setting<Duration> = .absent
    public var disable: Setting<Bool> = .absent

    public init() {}

    public init(_ rung: Ladder.Rung) {
      failures = .value(Int(rung.failures))
      switch rung.effect {
      case .lock(let duration): lock = .value(duration)
      case .disable: disable = .value(true)
      }
    }
  }

  public enum Keys: String, SettingWord {
    /// Hybrid ones, too, and no RSA keys (R31).
    case p256
    case any
  }

  public enum AppAssertion: String, SettingWord {
    /// A key's attempt on Apple's platforms needs one (R43).
    case required
    /// One that comes must hold.
    case accepted
  }

  public enum Passkeys: String, SettingWord {
    /// Keys that cannot be copied to other devices (R46).
    case deviceBound = "device_bound"
    case any
  }

  public enum DomainState: String, SettingWord {
    /// Devices without one are refused (R27).
    case required
    /// If there is one and it changed, another factor is needed (R25).
    case compared
  }

  public enum Token: Sendable, Hashable {
    case none
    case issued(lifetime: Setting<Duration> = .absent, isSingleUse: Setting<Bool> = .absent)
  }
}

extension PolicyDefinition {
  /// The names of a rung's settings.
  public enum RungKey: String, Sendable, Hashable, CaseIterable {
    case failures
    case lock
    case disable
  }

  /// The names of a token's settings.
  public enum TokenKey: String, Sendable, Hashable, CaseIterable {
    case lifetime
    case singleUse = "single_use"
  }
}

/// One defect of a definition.
public struct PolicyDefect: Error, Sendable, Hashable {
  /// The path from the definition to the defect; empty: its name.
  public var path: [Step]
  /// A text to follow the path: "must be 1 to 10".
  public var reason: String

  public enum Step: Sendable, Hashable {
    case key(String)
    /// The index in a list, from 0.
    case index(Int)
  }
}

/// All defects of a definition, in no particular order.
public struct PolicyDefects: Error, Sendable, Hashable {
  /// Empty if the only defects are values that could not be read.
  public var defects: [PolicyDefect]
}
