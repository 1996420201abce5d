// evaluation.proto: one try in an evaluation, or the device's report of one.

extension V1 {
  public struct Outcome: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let succeeded = Self(rawValue: 1)
    /// Wrong; this evaluation takes another attempt.
    public static let tryAgain = Self(rawValue: 2)
    /// Wrong too often for this evaluation: begin a new one.
    public static let failed = Self(rawValue: 3)
    /// The user, the system or the app cancelled.
    public static let canceled = Self(rawValue: 4)
    /// The person chose the fallback button.
    public static let fallback = Self(rawValue: 5)
    /// Too many failures; `retryAfter` or another factor says how to go on.
    public static let lockedOut = Self(rawValue: 6)
    /// Right so far or not usable, and one of `nextFactors` is needed in this evaluation.
    public static let factorRequired = Self(rawValue: 7)
    /// The evaluation is unknown, expired, used, invalidated, or not this caller's.
    public static let invalidContext = Self(rawValue: 8)
  }

  /// Five plain results for callers that need no more.
  public struct Result: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let success = Self(rawValue: 1)
    public static let failed = Self(rawValue: 2)
    public static let cancel = Self(rawValue: 3)
    public static let fallback = Self(rawValue: 4)
    public static let other = Self(rawValue: 5)
  }

  public struct KeyProof: WireMessage {
    /// ECDSA P-256 over SHA-256 of `signingInput`: DER, or r||s in 64 bytes.
    public var signature: [UInt8]
    /// FACTOR_BIOMETRY or FACTOR_DEVICE_OWNER: which of the binding's keys signed.
    public var factor: Factor

    public init(signature: [UInt8] = [], factor: Factor = .unspecified) {
      self.signature = signature
      self.factor = factor
    }
  }

  /// The bearer identifier that a device stored at binding, unlocked locally by biometrics.
  public struct ProfileTouchIDProof: WireMessage {
    public var profileTouchID: [UInt8]

    public init(profileTouchID: [UInt8] = []) {
      self.profileTouchID = profileTouchID
    }
  }

  public struct PasscodeProof: WireMessage {
    public var passcode: String

    public init(passcode: String = "") {
      self.passcode = passcode
    }
  }

  public struct GestureProof: WireMessage {
    /// Dots 0 to 8 of the 3 x 3 grid, row by row, in the order drawn; 4 to 9 of them, none twice.
    public var points: [UInt32]

    public init(points: [UInt32] = []) {
      self.points = points
    }
  }

  /// A WebAuthn assertion, as navigator.credentials.get returned it.
  public struct PasskeyProof: WireMessage {
    public var credentialID: [UInt8]
    public var authenticatorData: [UInt8]
    public var clientDataJSON: [UInt8]
    public var signature: [UInt8]
    public var userHandle: [UInt8]

    public init(
      credentialID: [UInt8] = [], authenticatorData: [UInt8] = [], clientDataJSON: [UInt8] = [],
      signature: [UInt8] = [], userHandle: [UInt8] = []
    ) {
      self.credentialID = credentialID
      self.authenticatorData = authenticatorData
      self.clientDataJSON = clientDataJSON
      self.signature = signature
      self.userHandle = userHandle
    }
  }

  /// What LocalAuthentication answered on the device where it did not succeed. Never grants anything.
  public struct DeviceReport: WireMessage {
    public var laError: LAError

    public init(laError: LAError = .unspecified) {
      self.laError = laError
    }
  }

  /// One attempt, or the device's report of one. Durable before it is answered.
  public struct SubmitAttemptRequest: WireMessage {
    public enum Attempt: Hashable, Sendable {
      case key(KeyProof)
      case profileTouchID(ProfileTouchIDProof)
      case passcode(PasscodeProof)
      case gesture(GestureProof)
      case passkey(PasskeyProof)
      case report(DeviceReport)
      /// The calling service logged the person in itself.
      case primary(PrimaryAuthentication)
    }

    public var applicationID: String
    public var evaluation: [UInt8]
    public var attempt: Attempt?
    /// The posture at this moment; its `domainState` is what is compared.
    public var posture: DevicePosture?

    public init(
      applicationID: String = "", evaluation: [UInt8] = [], attempt: Attempt? = nil,
      posture: DevicePosture? = nil
    ) {
      self.applicationID = applicationID
      self.evaluation = evaluation
      self.attempt = attempt
      self.posture = posture
    }
  }

  /// Answers ``SubmitAttemptRequest``.
  public struct SubmitAttemptResponse: WireMessage {
    public var outcome: Outcome
    public var laError: LAError
    public var result: Result
    /// Set on success alone.
    public var profileID: String
    /// On success, where the policy issues one: a JWT (ES256).
    public var token: String
    public var tokenExpiresAt: Timestamp?
    public var nextFactors: [Factor]
    /// Attempts left with the factor just tried, before it locks.
    public var attemptsLeft: UInt32
    public var retryAfter: Duration?
    public var domainState: DomainStateVerdict
    public var presentation: Presentation?
    public var message: LocalizedText?

    public init(
      outcome: Outcome = .unspecified, laError: LAError = .unspecified, result: Result = .unspecified,
      profileID: String = "", token: String = "", tokenExpiresAt: Timestamp? = nil, nextFactors: [Factor] = [],
      attemptsLeft: UInt32 = 0, retryAfter: Duration? = nil, domainState: DomainStateVerdict = .unspecified,
      presentation: Presentation? = nil, message: LocalizedText? = nil
    ) {
      self.outcome = outcome
      self.laError = laError
      self.result = result
      self.profileID = profileID
      self.token = token
      self.tokenExpiresAt = tokenExpiresAt
      self.nextFactors = nextFactors
      self.attemptsLeft = attemptsLeft
      self.retryAfter = retryAfter
      self.domainState = domainState
      self.presentation = presentation
      self.message = message
    }
  }
}
