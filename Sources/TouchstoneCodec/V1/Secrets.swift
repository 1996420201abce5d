// secrets.proto: passcodes and gestures, and which ways of unlocking a profile has on.

extension V1 {
  public struct SecretKind: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let passcode = Self(rawValue: 1)
    public static let gesture = Self(rawValue: 2)
  }

  public struct Secret: WireMessage {
    public enum Kind: Hashable, Sendable {
      case passcode(PasscodeProof)
      case gesture(GestureProof)
    }

    public var kind: Kind?

    public init(kind: Kind? = nil) {
      self.kind = kind
    }
  }

  /// Sets a first secret, or changes one: a change needs the old one or fresh primary authentication.
  public struct SetSecretRequest: WireMessage {
    public enum Authority: Hashable, Sendable {
      case oldSecret(Secret)
      case primary(PrimaryAuthentication)
    }

    public var applicationID: String
    public var profileID: String
    public var secret: Secret?
    /// A gesture is drawn twice; a passcode typed twice. Must equal secret.
    public var confirmation: Secret?
    public var authority: Authority?

    public init(
      applicationID: String = "", profileID: String = "", secret: Secret? = nil, confirmation: Secret? = nil,
      authority: Authority? = nil
    ) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.secret = secret
      self.confirmation = confirmation
      self.authority = authority
    }
  }

  /// Answers ``SetSecretRequest``.
  public struct SetSecretResponse: WireMessage {
    /// False where `oldSecret` was wrong; the rest says what that cost.
    public var accepted: Bool
    public var denial: Denial?
    public var attemptsLeft: UInt32

    public init(accepted: Bool = false, denial: Denial? = nil, attemptsLeft: UInt32 = 0) {
      self.accepted = accepted
      self.denial = denial
      self.attemptsLeft = attemptsLeft
    }
  }

  /// Erases it, and switches its way of unlocking off.
  public struct RemoveSecretRequest: WireMessage {
    public enum Authority: Hashable, Sendable {
      case oldSecret(Secret)
      case primary(PrimaryAuthentication)
    }

    public var applicationID: String
    public var profileID: String
    public var kind: SecretKind
    public var authority: Authority?

    public init(
      applicationID: String = "", profileID: String = "", kind: SecretKind = .unspecified,
      authority: Authority? = nil
    ) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.kind = kind
      self.authority = authority
    }
  }

  /// Answers ``RemoveSecretRequest``.
  public struct RemoveSecretResponse: WireMessage {
    /// As for SetSecretResponse.
    public var accepted: Bool
    public var denial: Denial?
    public var attemptsLeft: UInt32

    public init(accepted: Bool = false, denial: Denial? = nil, attemptsLeft: UInt32 = 0) {
      self.accepted = accepted
      self.denial = denial
      self.attemptsLeft = attemptsLeft
    }
  }

  /// Each way has a switch of its own.
  public struct UnlockSettings: WireMessage {
    public var biometryEnabled: Bool
    public var gestureEnabled: Bool
    public var passcodeEnabled: Bool
    /// Offered first.
    public var preferred: Factor
    public var gestureSet: Bool
    public var passcodeSet: Bool
    public var updatedAt: Timestamp?

    public init(
      biometryEnabled: Bool = false, gestureEnabled: Bool = false, passcodeEnabled: Bool = false,
      preferred: Factor = .unspecified, gestureSet: Bool = false, passcodeSet: Bool = false,
      updatedAt: Timestamp? = nil
    ) {
      self.biometryEnabled = biometryEnabled
      self.gestureEnabled = gestureEnabled
      self.passcodeEnabled = passcodeEnabled
      self.preferred = preferred
      self.gestureSet = gestureSet
      self.passcodeSet = passcodeSet
      self.updatedAt = updatedAt
    }
  }

  /// `SecretService.GetUnlockSettings`.
  public struct GetUnlockSettingsRequest: WireMessage {
    public var applicationID: String
    public var profileID: String

    public init(applicationID: String = "", profileID: String = "") {
      self.applicationID = applicationID
      self.profileID = profileID
    }
  }

  /// Answers ``GetUnlockSettingsRequest``.
  public struct GetUnlockSettingsResponse: WireMessage {
    public var settings: UnlockSettings?

    public init(settings: UnlockSettings? = nil) {
      self.settings = settings
    }
  }

  /// `SecretService.SetUnlockSettings`.
  public struct SetUnlockSettingsRequest: WireMessage {
    public var applicationID: String
    public var profileID: String
    /// `gestureSet`, `passcodeSet` and `updatedAt` are ignored.
    public var settings: UnlockSettings?

    public init(applicationID: String = "", profileID: String = "", settings: UnlockSettings? = nil) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.settings = settings
    }
  }

  /// Answers ``SetUnlockSettingsRequest``.
  public struct SetUnlockSettingsResponse: WireMessage {
    public var settings: UnlockSettings?

    public init(settings: UnlockSettings? = nil) {
      self.settings = settings
    }
  }
}
