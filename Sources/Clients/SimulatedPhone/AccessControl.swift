// The proofs that a key or a keychain item requires from the person before it opens: SecAccessControl.

extension SimulatedPhone {
  /// One condition (`SecAccessControlCreateFlags`).
  public enum KeyProtection: Sendable, Hashable, CaseIterable {
    /// Biometrics, as enrolled when the key was made: any change to them destroys the key.
    case biometryCurrentSet
    /// Biometrics, with the fingers enrolled at the time.
    case biometryAny
    /// Biometrics or passcode.
    case userPresence
    case devicePasscode

    /// The factors of which any opens the key.
    public var factors: Set<Factor> {
      switch self {
      case .biometryCurrentSet, .biometryAny: [.biometry]
      case .userPresence: [.biometry, .passcode]
      case .devicePasscode: [.passcode]
      }
    }
  }

  /// Conditions, and what else keeps an item alive.
  public struct AccessControl: Sendable, Hashable {
    public enum Combination: Sendable, Hashable {
      /// Any one condition is enough (`SecAccessControlCreateFlags.or`).
      case any
      /// Every condition must be met (`SecAccessControlCreateFlags.and`).
      case all
    }

    /// No conditions: opens without a prompt.
    public var conditions: Set<KeyProtection>
    public var combination: Combination
    /// The item is gone when the phone's passcode is removed, also without conditions
    /// (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`).
    public var isBoundToPasscode: Bool

    public init(
      _ conditions: Set<KeyProtection> = [], combination: Combination = .any, isBoundToPasscode: Bool = false
    ) {
      self.conditions = conditions
      self.combination = combination
      self.isBoundToPasscode = isBoundToPasscode
    }

    public init(_ protection: KeyProtection) {
      self.init([protection], isBoundToPasscode: true)
    }

    /// All factors that can contribute to opening it.
    public var factors: Set<Factor> {
      conditions.reduce(into: []) { $0.formUnion($1.factors) }
    }
  }
}

/// An access control in use: what is still alive of it, and which proofs it still requires.
struct AccessGuard: Sendable, Hashable {
  let accessControl: SimulatedPhone.AccessControl
  private var isOfCurrentSet = true

  init(_ accessControl: SimulatedPhone.AccessControl) {
    self.accessControl = accessControl
  }

  /// For good: enrolling the same finger again restores nothing.
  mutating func biometryChanged() {
    isOfCurrentSet = false
  }

  /// No person can open it again.
  var isDead: Bool {
    switch accessControl.combination {
    case .any: !accessControl.conditions.isEmpty && livingConditions.isEmpty
    case .all: livingConditions.count < accessControl.conditions.count
    }
  }

  var diesWithPasscode: Bool { accessControl.isBoundToPasscode || !accessControl.conditions.isEmpty }

  /// The next thing to prove, after the earlier proofs; `nil`: it is open.
  func demand(after proven: Set<SimulatedPhone.Factor>) -> Set<SimulatedPhone.Factor>? {
    // Conditions without a choice come first, because their proofs may meet the others; among those biometrics, as on
    // phones.
    demands.filter { $0.isDisjoint(with: proven) }
      .min { ($0.count, $0.contains(.biometry) ? 0 : 1) < ($1.count, $1.contains(.biometry) ? 0 : 1) }
  }

  /// Each is a choice of factors, one of which must be proven.
  private var demands: [Set<SimulatedPhone.Factor>] {
    switch accessControl.combination {
    case _ where livingConditions.isEmpty: []
    case .any: [livingConditions.reduce(into: []) { $0.formUnion($1.factors) }]
    case .all: livingConditions.map(\.factors)
    }
  }

  private var livingConditions: Set<SimulatedPhone.KeyProtection> {
    accessControl.conditions.filter { isOfCurrentSet || $0 != .biometryCurrentSet }
  }
}
