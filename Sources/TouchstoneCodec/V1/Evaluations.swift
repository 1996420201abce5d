// evaluation.proto: may a policy be evaluated, and opening an evaluation of it.

extension V1 {
  /// Read-only preflight: canEvaluatePolicy.
  public struct CanEvaluatePolicyRequest: WireMessage {
    public var applicationID: String
    /// A configured policy, or "deviceOwnerAuthenticationWithBiometrics" or "deviceOwnerAuthentication".
    public var policy: String
    /// Empty before a binding exists.
    public var bindingID: String
    public var posture: DevicePosture?
    /// Instead of `bindingID`, for a person without a bound device.
    public var profileID: String

    public init(
      applicationID: String = "", policy: String = "", bindingID: String = "", posture: DevicePosture? = nil,
      profileID: String = ""
    ) {
      self.applicationID = applicationID
      self.policy = policy
      self.bindingID = bindingID
      self.posture = posture
      self.profileID = profileID
    }
  }

  /// Answers ``CanEvaluatePolicyRequest``.
  public struct CanEvaluatePolicyResponse: WireMessage {
    public var canEvaluate: Bool
    /// Set where `canEvaluate` is false.
    public var denial: Denial?
    public var domainState: DomainStateVerdict
    /// Usable now, best first; those left when biometrics are not.
    public var factors: [Factor]
    /// Biometric attempts left on the device before lockout.
    public var biometryAttemptsLeft: UInt32
    /// To know of the device, never a refusal: "SLOW_PROMPT".
    public var advisories: [String]

    public init(
      canEvaluate: Bool = false, denial: Denial? = nil, domainState: DomainStateVerdict = .unspecified,
      factors: [Factor] = [], biometryAttemptsLeft: UInt32 = 0, advisories: [String] = []
    ) {
      self.canEvaluate = canEvaluate
      self.denial = denial
      self.domainState = domainState
      self.factors = factors
      self.biometryAttemptsLeft = biometryAttemptsLeft
      self.advisories = advisories
    }
  }

  /// Opens an evaluation and issues what the device signs. Writes nothing.
  public struct BeginEvaluationRequest: WireMessage {
    public var applicationID: String
    public var policy: String
    /// Which device is asked. Empty where only `profileID` is known, or neither: a ProfileTouchID names its profile itself.
    public var bindingID: String
    /// Required, 1 to 512 bytes: why the person is asked.
    public var localizedReason: String
    /// localizedFallbackTitle.
    public var fallbackTitle: Title?
    /// localizedCancelTitle.
    public var cancelTitle: Title?
    /// Required where the policy says so, refused where it does not take one.
    public var transaction: Transaction?
    public var posture: DevicePosture?
    /// Instead of `bindingID`, for a person without a bound device: passcode, gesture or passkey.
    public var profileID: String

    public init(
      applicationID: String = "", policy: String = "", bindingID: String = "", localizedReason: String = "",
      fallbackTitle: Title? = nil, cancelTitle: Title? = nil, transaction: Transaction? = nil,
      posture: DevicePosture? = nil, profileID: String = ""
    ) {
      self.applicationID = applicationID
      self.policy = policy
      self.bindingID = bindingID
      self.localizedReason = localizedReason
      self.fallbackTitle = fallbackTitle
      self.cancelTitle = cancelTitle
      self.transaction = transaction
      self.posture = posture
      self.profileID = profileID
    }
  }

  /// Answers ``BeginEvaluationRequest``.
  public struct BeginEvaluationResponse: WireMessage {
    /// Opaque; send it back with every attempt. Empty where denied.
    public var evaluation: [UInt8]
    /// The exact bytes for the device's key to sign (ECDSA P-256 over SHA-256).
    public var signingInput: [UInt8]
    public var expiresAt: Timestamp?
    public var factors: [Factor]
    public var presentation: Presentation?
    public var domainState: DomainStateVerdict
    /// Set where the policy cannot be evaluated now.
    public var denial: Denial?
    /// As for ``CanEvaluatePolicyResponse``.
    public var advisories: [String]

    public init(
      evaluation: [UInt8] = [], signingInput: [UInt8] = [],
      expiresAt: Timestamp? = nil, factors: [Factor] = [], presentation: Presentation? = nil,
      domainState: DomainStateVerdict = .unspecified, denial: Denial? = nil, advisories: [String] = []
    ) {
      self.evaluation = evaluation
      self.signingInput = signingInput
      self.expiresAt = expiresAt
      self.factors = factors
      self.presentation = presentation
      self.domainState = domainState
      self.denial = denial
      self.advisories = advisories
    }
  }

  /// LAContext.invalidate: every later attempt gets INVALID_CONTEXT.
  public struct InvalidateEvaluationRequest: WireMessage {
    public var applicationID: String
    public var evaluation: [UInt8]

    public init(applicationID: String = "", evaluation: [UInt8] = []) {
      self.applicationID = applicationID
      self.evaluation = evaluation
    }
  }

  /// Answers ``InvalidateEvaluationRequest``.
  public struct InvalidateEvaluationResponse: WireMessage {
    public init() {}
  }
}
