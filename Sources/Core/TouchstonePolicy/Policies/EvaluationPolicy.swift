// The kinds of a policy's settings, and the built-in policies.

extension EvaluationPolicy {
  public enum Purpose: UInt8, Sendable, Hashable, CaseIterable {
    case login = 1
    case payment
  }

  /// How an evaluation comes from biometrics to its other factors (R9, R21).
  public enum Fallback: String, SettingWord {
    /// The person taps the button (-3); too many failures end the evaluation.
    case button
    /// Too many failures, or a lock, lead to the next factor in the same evaluation. There is no button.
    case automatic
  }

  /// Titles for requests without their own (R18). `nil`: the system's title. Empty: no button, or the system's title.
  public struct Titles: Sendable, Hashable {
    public var fallback: String?
    public var cancel: String?

    public init(fallback: String? = nil, cancel: String? = nil) {
      self.fallback = fallback
      self.cancel = cancel
    }
  }

  /// The policy for an application whose configuration serves no passkeys (R46).
  public var withoutPasskeys: EvaluationPolicy {
    var policy = self
    policy.factors.removeAll { $0 == .passkey }
    return policy
  }

  /// Required exactly for payments (R38).
  public var requiresTransaction: Bool { purpose == .payment }
}

extension [EvaluationPolicy] {
  /// The one that most logins go through: "login", or the first for logins.
  public var usual: EvaluationPolicy? {
    first { $0.name == "login" } ?? first { $0.purpose == .login } ?? first
  }
}

extension EvaluationPolicy {
  /// The built-in policies: Apple's two `LAPolicy` names, a login and a payment.
  public static let builtIn: [EvaluationPolicy] = [
    EvaluationPolicy(
      name: "deviceOwnerAuthenticationWithBiometrics", purpose: .login, factors: [.biometry],
      tokenLifetime: .seconds(300)),
    deviceOwnerAuthentication,
    EvaluationPolicy(
      name: "login", purpose: .login, factors: [.biometry, .deviceOwner, .passkey, .gesture, .passcode],
      tokenLifetime: .seconds(300)),
    payment,
  ]

  /// A phone before iOS 9 does not know this policy, although biometrics alone would serve there (R2).
  private static var deviceOwnerAuthentication: EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "deviceOwnerAuthentication", purpose: .login, factors: [.biometry, .deviceOwner, .passcode],
      tokenLifetime: .seconds(300))
    policy.minimumOSVersion = PlatformCapability.deviceOwnerAuthentication.firstVersion
    policy.fallback = .automatic
    return policy
  }

  private static var payment: EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "payment", purpose: .payment, factors: [.biometry, .deviceOwner, .passkey],
      tokenLifetime: .seconds(120))
    policy.requiresDomainState = true
    return policy
  }
}
