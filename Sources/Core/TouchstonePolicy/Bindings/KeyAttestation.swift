// What is proven of a binding's key, and by whom (R42).

/// From least to most.
public enum ProofLevel: UInt8, Sendable, Hashable, Comparable, CaseIterable {
  /// Nobody but the app says how the key is protected.
  case none = 1
  /// The key itself says it.
  case selfAttested
  /// A genuine app on a genuine Apple device.
  case app
  /// Android's trusted execution environment.
  case tee
  /// Android's separate security chip.
  case strongbox

  /// In tokens, events and on the command line.
  public var name: String {
    switch self {
    case .none: "none"
    case .selfAttested: "self"
    case .app: "app"
    case .tee: "tee"
    case .strongbox: "strongbox"
    }
  }

  public init?(name: String) {
    guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = level
  }

  public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

  /// Of a binding whose keys are proven so: the least counts, because each of its keys logs in.
  public static func ofBinding(_ keys: some Sequence<ProofLevel>) -> ProofLevel { keys.min() ?? .none }
}
