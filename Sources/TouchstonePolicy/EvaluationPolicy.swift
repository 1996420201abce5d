/// A named policy: what one kind of evaluation asks for. A value of the configuration; every number has its default.
public struct EvaluationPolicy: Sendable, Hashable {
  public enum Purpose: UInt8, Sendable, Hashable {
    case login = 1
    case payment
  }

  /// How an evaluation comes from biometrics to its other factors (R9, R21).
  public enum Fallback: UInt8, Sendable, Hashable {
    /// The person taps the button (-3); too many failures end the evaluation.
    case button = 1
    /// Too many failures, or a lock, lead to the next factor in the same evaluation. No button is drawn.
    case automatic
  }

  /// Titles for requests that give none (R18). `nil`: the system's own; empty: no button, or the system's own.
  public struct Titles: Sendable, Hashable {
    public var fallback: String?
    public var cancel: String?

    public init(fallback: String? = nil, cancel: String? = nil) {
      self.fallback = fallback
      self.cancel = cancel
    }
  }

  public var name: String
  public var purpose: Purpose
  /// Accepted factors, best first.
  public var factors: [Factor]
  /// Wrong attempts that end one evaluation (R7).
  public var attemptsPerEvaluation: UInt32 = 3
  /// Consecutive failures that lock the device (R7).
  public var failuresBeforeLockout: UInt32 = 5
  /// How passcode and gesture lock (R13).
  public var ladder: Ladder = .standard
  /// Oldest primary authentication that proves something.
  public var primaryFreshness: Duration = .seconds(5 * 60)
  public var fallback = Fallback.button
  public var presentation = Titles()
  /// `nil`: any protection serves (R31).
  public var requiredKeyProtection: KeyProtection?
  /// Oldest iOS or iPadOS the policy is offered on, beside what each factor needs (R2). `nil`: none.
  public var minimumOSVersion: OSVersion?
  /// Refuses devices that cannot give a domain state (R27).
  public var requiresDomainState = false
  /// How long an evaluation stays open (R34).
  public var evaluationLifetime: Duration = .seconds(120)
  /// `nil`: a success issues no token (R40).
  public var tokenLifetime: Duration?

  /// Required exactly where money moves (R38).
  public var requiresTransaction: Bool { purpose == .payment }
  /// A payment's token serves once, whatever the setting says (R38).
  public var isTokenSingleUse: Bool {
    get { servesTokenOnce || purpose == .payment }
    set { servesTokenOnce = newValue }
  }
  private var servesTokenOnce = false

  public init(name: String, purpose: Purpose, factors: [Factor], tokenLifetime: Duration?) {
    self.name = name
    self.purpose = purpose
    self.factors = factors
    self.tokenLifetime = tokenLifetime
  }
}

extension EvaluationPolicy {
  /// What every installation has: Apple's two `LAPolicy` names, a login and a payment.
  public static let builtIn: [EvaluationPolicy] = [
    EvaluationPolicy(
      name: "deviceOwnerAuthenticationWithBiometrics", purpose: .login, factors: [.biometry],
      tokenLifetime: .seconds(300)),
    deviceOwnerAuthentication,
    EvaluationPolicy(
      name: "login", purpose: .login, factors: [.biometry, .deviceOwner, .gesture, .passcode],
      tokenLifetime: .seconds(300)),
    payment,
  ]

  /// Not known to a phone before iOS 9, though biometrics alone would do there (R2).
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
      name: "payment", purpose: .payment, factors: [.biometry, .deviceOwner],
      tokenLifetime: .seconds(120))
    policy.requiresDomainState = true
    return policy
  }
}
