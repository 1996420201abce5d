/// How far a binding's key is proven, and which party vouches for it (R42). From least to most.
public enum ProofLevel: UInt8, Sendable, Hashable, Comparable, CaseIterable {
  /// Only the app states how the key is protected.
  case none = 1
  /// The key itself states it.
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

  /// Returns the level that a policy with this level requires of hardware keys on these devices: no more than they can
  /// reach.
  public func asked(of family: PlatformFamily?) -> ProofLevel {
    min(self, family?.highestLevel ?? .strongbox)
  }

  /// Returns the level of a binding with these keys: the lowest counts, because each of the keys logs in.
  public static func ofBinding(_ keys: some Sequence<ProofLevel>) -> ProofLevel { keys.min() ?? .none }
}

extension PlatformFamily {
  /// Its hardware vouches for keys, which stand in for a domain state in payments (R38).
  var hasAttestedKeys: Bool {
    switch self {
    case .android: true
    case .iOS, .macOS, .visionOS, .web: false
    }
  }

  /// As an application's own `minimum_level` has it.
  fileprivate var highestLevel: ProofLevel {
    switch self {
    case .iOS, .macOS, .visionOS: .app
    case .android: .strongbox
    // Authenticators do not say that they are a chip of their own.
    case .web: .tee
    }
  }
}

/// The levels of one binding's keys, by their protections: few bytes, because every preflight passes them on.
public struct ProvenKeys: Sendable, Hashable {
  /// Four bits each.
  private var bits: UInt16 = 0
  /// Keys whose proof names an app that the application lists, with its signer. The app's own statement that such a key
  /// dies when another finger is enrolled then counts, because no proof of Android's contains it.
  public var ofListedApps: KeyProtections = []

  public init() {}

  /// The same level for every key.
  public init(all level: ProofLevel, areOfListedApp: Bool = false) {
    for protection in KeyProtection.allCases {
      self[protection] = level
      if areOfListedApp { ofListedApps.insert(protection) }
    }
  }

  /// The level of the key with this protection.
  public subscript(protection: KeyProtection) -> ProofLevel {
    get { ProofLevel(rawValue: UInt8(bits >> Self.shift(protection) & Self.mask) + ProofLevel.none.rawValue) ?? .none }
    set {
      bits &= ~(Self.mask << Self.shift(protection))
      bits |= UInt16(newValue.rawValue - ProofLevel.none.rawValue) << Self.shift(protection)
    }
  }

  private static let mask: UInt16 = 0b111

  private static func shift(_ protection: KeyProtection) -> UInt16 {
    UInt16(protection.rawValue - KeyProtection.biometryCurrentSet.rawValue) * 4
  }
}

/// The unlocking that a key needs before it signs, as the hardware attests it.
public enum AttestedUnlocking: Sendable, Hashable {
  /// The key needs none, the hardware attests none, or one unlocking serves without a bound.
  case nothing
  /// - Parameters:
  ///   - byBiometrics, byPasscode: either, if both are true.
  ///   - lasting: for how long one unlocking serves; `nil`: each use needs one.
  case needed(byBiometrics: Bool, byPasscode: Bool, lasting: Duration?)

  /// For how long one unlocking of the phone may let a key of the device owner sign. Before Android 11 such keys cannot
  /// require one for each use; and a person that unlocked the phone longer ago may have put it down since.
  private static let longestUnlocking = Duration.seconds(5 * 60)

  /// Returns whether the key is protected as the app claims. A claim of less than the hardware attests is not borne out
  /// either: it would let biometrics stand in for the passcode, which ends lockouts (R12). No attestation shows that a
  /// key dies when another finger is enrolled.
  public func bearsOut(_ claim: KeyProtection) -> Bool {
    guard case .needed(let byBiometrics, let byPasscode, let lasting) = self else { return false }
    let isShort = lasting.map { $0 <= Self.longestUnlocking } ?? true
    return switch claim {
    case .biometryCurrentSet, .biometryAny: byBiometrics && !byPasscode && lasting == nil
    case .userPresence: byBiometrics && byPasscode && isShort
    case .devicePasscode: !byBiometrics && byPasscode && isShort
    }
  }
}
