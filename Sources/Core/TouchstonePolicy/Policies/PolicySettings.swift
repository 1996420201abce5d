// All settings of a policy. Each one is a field in force, a field as written, and a row. The configuration, `policy
// show`, the revision and the decision tables go through the rows.

/// A named policy: what one kind of evaluation requires. It comes from the configuration; every number has a default.
public struct EvaluationPolicy: Sendable, Hashable {
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
  /// The maximum age of a primary authentication.
  public var primaryFreshness: Duration = .seconds(5 * 60)
  public var fallback = Fallback.button
  public var presentation = Titles()
  /// `nil`: any protection serves (R31).
  public var requiredKeyProtection: KeyProtection?
  /// Takes no RSA keys of devices (R31).
  public var requiresP256Keys = false
  /// The level that must be proven of a device's credential, as far as its platform reaches it (R42).
  public var minimumAttestation = ProofLevel.none
  /// The oldest iOS or iPadOS on which the policy is offered, beside the needs of each factor (R2). `nil`: none.
  public var minimumOSVersion: OSVersion?
  /// Takes the attempts of keys on Apple's platforms with an assertion of their app alone (R43).
  public var requiresAppAssertion = false
  /// Takes only passkeys that cannot be copied to other devices (R46).
  public var requiresDeviceBoundPasskeys = false
  /// Refuses devices that cannot give a domain state (R27).
  public var requiresDomainState = false
  /// How long an evaluation stays open (R34).
  public var evaluationLifetime: Duration = .seconds(120)
  /// `nil`: a success issues no token (R40).
  public var tokenLifetime: Duration?
  /// A payment's token serves once, whatever the setting is (R38).
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

/// A named policy as the configuration has it: any setting may be missing or invalid.
public struct PolicyDefinition: Sendable, Hashable {
  public var name: String
  public var purpose: Setting<EvaluationPolicy.Purpose> = .absent
  public var factors: Setting<[Setting<Factor>]> = .absent
  public var attempts: Setting<Int> = .absent
  public var lockoutAfter: Setting<Int> = .absent
  public var ladder: Setting<[Setting<Rung>]> = .absent
  public var primaryFreshness: Setting<Duration> = .absent
  public var keyProtection: Setting<KeyProtection> = .absent
  public var keys: Setting<Keys> = .absent
  public var minimumAttestation: Setting<ProofLevel> = .absent
  public var appAssertion: Setting<AppAssertion> = .absent
  public var passkeys: Setting<Passkeys> = .absent
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
}

extension PolicySetting {
  /// In the order in which they are shown.
  public static let all = [
    purpose, factors, attempts, lockoutAfter, ladder, primaryFreshness, keyProtection, keyKinds, minimumAttestation,
    appAssertion, passkeys, domainState, minimumOS, evaluationLifetime, token, fallback, fallbackTitle, cancelTitle,
  ]

  private static let biometrics = [Factor.biometry, .deviceOwner]
  private static let keys = biometrics + [.passkey]

  static let purpose = PolicySetting(
    "purpose", \.purpose, .word(), example: "payment",
    get: { $0.purpose }, set: { $0.purpose = $1 }, judge: { $0.judgePurpose() })

  static let factors = PolicySetting(
    "factors", \.factors, .factors, example: "biometry + passcode",
    get: { $0.factors.map { .value($0) } },
    set: { (policy, written) throws(UnreadableSetting) in
      policy.factors = try written.readAll()
    },
    judge: { $0.judgeFactors() })

  static let attempts = PolicySetting(
    "attempts", \.attempts, .count(PolicyDefinition.attemptBounds), of: biometrics, example: "2",
    get: { Int($0.attemptsPerEvaluation) }, set: { $0.attemptsPerEvaluation = UInt32(clamping: $1) },
    judge: { $0.judgeAttempts() })

  static let lockoutAfter = PolicySetting(
    "lockout_after", \.lockoutAfter, .count(PolicyDefinition.lockoutBounds), of: biometrics, example: "3",
    get: { Int($0.failuresBeforeLockout) }, set: { $0.failuresBeforeLockout = UInt32(clamping: $1) })

  static let ladder = PolicySetting(
    "ladder", \.ladder, .ladder, of: [.passcode, .gesture], example: "3 1m + 5 disable",
    get: { $0.ladder.rungs.map { .value(PolicyDefinition.Rung($0)) } },
    set: { (policy, written) throws(UnreadableSetting) in policy.ladder = try Ladder(written) },
    judge: { $0.judgeLadder() })

  static let primaryFreshness = PolicySetting(
    "primary_freshness", \.primaryFreshness, .duration(PolicyDefinition.lifetimeBounds), of: [.primary],
    example: "1m",
    get: { $0.primaryFreshness }, set: { $0.primaryFreshness = $1 })

  static let keyProtection = PolicySetting(
    "key_protection", \.keyProtection, .word(), example: "biometry_any",
    get: { $0.requiredKeyProtection }, set: { $0.requiredKeyProtection = $1 }, judge: { $0.judgeKeyProtection() })

  static let keyKinds = PolicySetting(
    "keys", \.keys, .word(), of: biometrics, example: "p256",
    get: { $0.requiresP256Keys ? .p256 : .any }, set: { $0.requiresP256Keys = $1 == .p256 })

  static let minimumAttestation = PolicySetting(
    "minimum_attestation", \.minimumAttestation, .word(), of: keys, example: "tee",
    get: { $0.minimumAttestation }, set: { $0.minimumAttestation = $1 })

  static let appAssertion = PolicySetting(
    "app_assertion", \.appAssertion, .word(), of: biometrics, example: "required",
    get: { $0.requiresAppAssertion ? .required : .accepted }, set: { $0.requiresAppAssertion = $1 == .required })

  static let passkeys = PolicySetting(
    "passkeys", \.passkeys, .word(), of: [.passkey], example: "device_bound",
    get: { $0.requiresDeviceBoundPasskeys ? .deviceBound : .any },
    set: { $0.requiresDeviceBoundPasskeys = $1 == .deviceBound })

  static let domainState = PolicySetting(
    "domain_state", \.domainState, .word(), of: biometrics, mayBeIdle: true, example: "required",
    get: { $0.requiresDomainState ? .required : .compared }, set: { $0.requiresDomainState = $1 == .required },
    judge: { $0.judgeDomainState() })

  static let minimumOS = PolicySetting(
    "minimum_os", \.minimumOS, .version(PolicyDefinition.osMajorBounds), example: "9.3",
    get: { $0.minimumOSVersion }, set: { $0.minimumOSVersion = $1 }, judge: { $0.judgeMinimumOS() })

  static let evaluationLifetime = PolicySetting(
    "evaluation_lifetime", \.evaluationLifetime, .duration(PolicyDefinition.lifetimeBounds),
    get: { $0.evaluationLifetime }, set: { $0.evaluationLifetime = $1 })

  static let token = PolicySetting(
    "token", \.token, .token, example: "5m single_use",
    get: { PolicyDefinition.Token(of: $0) },
    set: { (policy, written) throws(UnreadableSetting) in try written.apply(to: &policy) },
    judge: { $0.judgeToken() })

  static let fallback = PolicySetting(
    "fallback", \.fallback, .word(), of: biometrics, example: "automatic",
    get: { $0.fallback }, set: { $0.fallback = $1 }, judge: { $0.judgeFallback() })

  static let fallbackTitle = PolicySetting(
    "fallback_title", \.fallbackTitle, .title, of: biometrics,
    get: { $0.presentation.fallback }, set: { $0.presentation.fallback = $1 }, judge: { $0.judgeFallbackTitle() })

  static let cancelTitle = PolicySetting(
    "cancel_title", \.cancelTitle, .title, of: biometrics,
    get: { $0.presentation.cancel }, set: { $0.presentation.cancel = $1 }, judge: { $0.judgeCancelTitle() })
}
