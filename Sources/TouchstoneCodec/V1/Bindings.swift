// bindings.proto: which device may speak for which profile, and with what.

extension V1 {
  public struct KeyProtection: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    /// Dies when the biometric database changes (biometryCurrentSet).
    public static let biometryCurrentSet = Self(rawValue: 1)
    public static let biometryAny = Self(rawValue: 2)
    /// Biometrics or device passcode (userPresence).
    public static let userPresence = Self(rawValue: 3)
    public static let devicePasscode = Self(rawValue: 4)
  }

  public struct BindingState: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let active = Self(rawValue: 1)
    public static let revoked = Self(rawValue: 2)
  }

  public struct CredentialKind: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let hardwareKey = Self(rawValue: 1)
    public static let profileTouchID = Self(rawValue: 2)
    public static let passkey = Self(rawValue: 3)
  }

  /// How the calling service authenticated the person before asking for a binding.
  public struct PrimaryAuthentication: WireMessage {
    /// "password", "otp", "idv".
    public var method: String
    /// Refused where older than the policy's freshness.
    public var authenticatedAt: Timestamp?

    public init(method: String = "", authenticatedAt: Timestamp? = nil) {
      self.method = method
      self.authenticatedAt = authenticatedAt
    }
  }

  public struct HardwareKey: WireMessage {
    /// P-256: X9.63 uncompressed (65 bytes), compressed (33), or SubjectPublicKeyInfo DER.
    public var publicKey: [UInt8]
    public var protection: KeyProtection
    /// By this key, over the ticket's `signingInput`: proof of possession.
    public var signature: [UInt8]

    public init(publicKey: [UInt8] = [], protection: KeyProtection = .unspecified, signature: [UInt8] = []) {
      self.publicKey = publicKey
      self.protection = protection
      self.signature = signature
    }
  }

  public struct ProfileTouchID: WireMessage {
    /// The device's own identifier for this account: at least 16 unpredictable bytes, kept in its keychain.
    public var value: [UInt8]

    public init(value: [UInt8] = []) {
      self.value = value
    }
  }

  public struct Binding: WireMessage {
    public var bindingID: String
    public var applicationID: String
    public var profileID: String
    public var deviceID: String
    public var deviceName: String
    public var credential: CredentialKind
    public var protections: [KeyProtection]
    public var state: BindingState
    public var domainStateRecorded: Bool
    public var createdAt: Timestamp?
    public var lastUsedAt: Timestamp?
    public var biometryType: BiometryType

    public init(
      bindingID: String = "", applicationID: String = "", profileID: String = "", deviceID: String = "",
      deviceName: String = "", credential: CredentialKind = .unspecified, protections: [KeyProtection] = [],
      state: BindingState = .unspecified, domainStateRecorded: Bool = false, createdAt: Timestamp? = nil,
      lastUsedAt: Timestamp? = nil, biometryType: BiometryType = .unspecified
    ) {
      self.bindingID = bindingID
      self.applicationID = applicationID
      self.profileID = profileID
      self.deviceID = deviceID
      self.deviceName = deviceName
      self.credential = credential
      self.protections = protections
      self.state = state
      self.domainStateRecorded = domainStateRecorded
      self.createdAt = createdAt
      self.lastUsedAt = lastUsedAt
      self.biometryType = biometryType
    }
  }

  /// After the person has logged in by other means: a ticket and a challenge for the device's new key.
  public struct BeginBindingRequest: WireMessage {
    public var applicationID: String
    public var profileID: String
    /// The installation's own stable identifier; shared by the applications of one vendor on one device.
    public var deviceID: String
    public var primary: PrimaryAuthentication?
    public var posture: DevicePosture?

    public init(
      applicationID: String = "", profileID: String = "", deviceID: String = "",
      primary: PrimaryAuthentication? = nil, posture: DevicePosture? = nil
    ) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.deviceID = deviceID
      self.primary = primary
      self.posture = posture
    }
  }

  /// Answers ``BeginBindingRequest``.
  public struct BeginBindingResponse: WireMessage {
    public var ticket: [UInt8]
    public var challenge: [UInt8]
    public var signingInput: [UInt8]
    public var expiresAt: Timestamp?
    /// Set where this device cannot be bound (no sensor, OS too old, nothing enrolled).
    public var denial: Denial?

    public init(
      ticket: [UInt8] = [], challenge: [UInt8] = [], signingInput: [UInt8] = [], expiresAt: Timestamp? = nil,
      denial: Denial? = nil
    ) {
      self.ticket = ticket
      self.challenge = challenge
      self.signingInput = signingInput
      self.expiresAt = expiresAt
      self.denial = denial
    }
  }

  /// Stores the binding. The ticket serves once.
  public struct CompleteBindingRequest: WireMessage {
    public var applicationID: String
    public var ticket: [UInt8]
    public var deviceName: String
    /// One or two keys (one for biometrics, one for the device owner), or a ProfileTouchID.
    public var keys: [HardwareKey]
    public var profileTouchID: ProfileTouchID?
    public var posture: DevicePosture?
    /// A device speaks for one account in an application: true replaces the one it spoke for.
    public var replaceExisting: Bool

    public init(
      applicationID: String = "", ticket: [UInt8] = [], deviceName: String = "", keys: [HardwareKey] = [],
      profileTouchID: ProfileTouchID? = nil, posture: DevicePosture? = nil, replaceExisting: Bool = false
    ) {
      self.applicationID = applicationID
      self.ticket = ticket
      self.deviceName = deviceName
      self.keys = keys
      self.profileTouchID = profileTouchID
      self.posture = posture
      self.replaceExisting = replaceExisting
    }
  }

  /// Answers ``CompleteBindingRequest``.
  public struct CompleteBindingResponse: WireMessage {
    public var binding: Binding?
    public var advisories: [String]

    public init(binding: Binding? = nil, advisories: [String] = []) {
      self.binding = binding
      self.advisories = advisories
    }
  }

  /// `BindingService.GetBinding`.
  public struct GetBindingRequest: WireMessage {
    public var applicationID: String
    public var bindingID: String

    public init(applicationID: String = "", bindingID: String = "") {
      self.applicationID = applicationID
      self.bindingID = bindingID
    }
  }

  /// Answers ``GetBindingRequest``.
  public struct GetBindingResponse: WireMessage {
    public var binding: Binding?

    public init(binding: Binding? = nil) {
      self.binding = binding
    }
  }

  /// `BindingService.ListBindings`.
  public struct ListBindingsRequest: WireMessage {
    public var applicationID: String
    public var profileID: String
    public var includeRevoked: Bool
    /// 1 to 100; 0 for 50.
    public var pageSize: UInt32
    public var pageToken: String

    public init(
      applicationID: String = "", profileID: String = "", includeRevoked: Bool = false, pageSize: UInt32 = 0,
      pageToken: String = ""
    ) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.includeRevoked = includeRevoked
      self.pageSize = pageSize
      self.pageToken = pageToken
    }
  }

  /// Answers ``ListBindingsRequest``.
  public struct ListBindingsResponse: WireMessage {
    public var bindings: [Binding]
    public var nextPageToken: String

    public init(bindings: [Binding] = [], nextPageToken: String = "") {
      self.bindings = bindings
      self.nextPageToken = nextPageToken
    }
  }

  /// At once and for good: later attempts fail, and tokens issued for it introspect as inactive.
  public struct RevokeBindingRequest: WireMessage {
    public var applicationID: String
    public var bindingID: String
    /// For the audit log.
    public var reason: String

    public init(applicationID: String = "", bindingID: String = "", reason: String = "") {
      self.applicationID = applicationID
      self.bindingID = bindingID
      self.reason = reason
    }
  }

  /// Answers ``RevokeBindingRequest``.
  public struct RevokeBindingResponse: WireMessage {
    public init() {}
  }

  /// Records a changed biometric database, on evidence of a login by another factor.
  public struct AcceptDomainStateRequest: WireMessage {
    /// A fresh token of this service for the same profile by a factor other than biometrics, or the caller's own login.
    public enum Evidence: Hashable, Sendable {
      case token(String)
      case primary(PrimaryAuthentication)
    }

    public var applicationID: String
    public var bindingID: String
    /// Not empty.
    public var domainState: [UInt8]
    public var evidence: Evidence?
    public var osVersion: String

    public init(
      applicationID: String = "", bindingID: String = "", domainState: [UInt8] = [], evidence: Evidence? = nil,
      osVersion: String = ""
    ) {
      self.applicationID = applicationID
      self.bindingID = bindingID
      self.domainState = domainState
      self.evidence = evidence
      self.osVersion = osVersion
    }
  }

  /// Answers ``AcceptDomainStateRequest``.
  public struct AcceptDomainStateResponse: WireMessage {
    public var binding: Binding?

    public init(binding: Binding? = nil) {
      self.binding = binding
    }
  }
}
