// The messages of types.proto, which the services share.

extension V1 {
  /// What the device says of itself. The service never takes it as proof of anything.
  public struct DevicePosture: WireMessage {
    /// "ios", "ipados", "macos", "android", "web".
    public var platform: String
    /// "9.3.5"; empty where unknown.
    public var osVersion: String
    /// "iPhone15,2".
    public var deviceModel: String
    public var biometryType: BiometryType
    /// The sensor works and is switched on.
    public var biometryAvailable: Bool
    public var biometryEnrolled: Bool
    public var biometryLockedOut: Bool
    public var passcodeSet: Bool
    /// evaluatedPolicyDomainState: opaque, at most 256 bytes; empty where the device gave none.
    public var domainState: [UInt8]

    public init(
      platform: String = "", osVersion: String = "", deviceModel: String = "",
      biometryType: BiometryType = .unspecified, biometryAvailable: Bool = false,
      biometryEnrolled: Bool = false, biometryLockedOut: Bool = false, passcodeSet: Bool = false,
      domainState: [UInt8] = []
    ) {
      self.platform = platform
      self.osVersion = osVersion
      self.deviceModel = deviceModel
      self.biometryType = biometryType
      self.biometryAvailable = biometryAvailable
      self.biometryEnrolled = biometryEnrolled
      self.biometryLockedOut = biometryLockedOut
      self.passcodeSet = passcodeSet
      self.domainState = domainState
    }
  }

  /// What the person is asked to approve. Any change of any field invalidates the signature.
  public struct Transaction: WireMessage {
    /// Decimal with a point, no sign, no exponent: "12.50". At most 18 digits.
    public var amount: String
    /// ISO 4217, upper case: "CNY".
    public var currency: String
    /// Who receives it, as the device shows it. 1 to 256 bytes.
    public var payee: String
    /// The caller's own reference, unique to this payment. 1 to 128 bytes.
    public var reference: String

    public init(amount: String = "", currency: String = "", payee: String = "", reference: String = "") {
      self.amount = amount
      self.currency = currency
      self.payee = payee
      self.reference = reference
    }
  }

  /// A title or text that may be absent (the system's default), empty (hidden) or given.
  public struct Title: WireMessage {
    public var text: String

    public init(text: String = "") {
      self.text = text
    }
  }

  /// Text for the person, in the first language of Accept-Language that the service has (en, zh-Hans).
  public struct LocalizedText: WireMessage {
    /// BCP 47.
    public var locale: String
    public var text: String

    public init(locale: String = "", text: String = "") {
      self.locale = locale
      self.text = text
    }
  }

  /// Why something cannot be evaluated now.
  public struct Denial: WireMessage {
    public var laError: LAError
    /// Stable, machine-readable, upper snake case: "OS_TOO_OLD", "DOMAIN_STATE_REQUIRED".
    public var reason: String
    public var message: LocalizedText?
    /// Set where waiting helps.
    public var retryAfter: Duration?
    /// For developers: set where the reason alone does not say what to do.
    public var detail: String

    public init(
      laError: LAError = .unspecified, reason: String = "", message: LocalizedText? = nil,
      retryAfter: Duration? = nil, detail: String = ""
    ) {
      self.laError = laError
      self.reason = reason
      self.message = message
      self.retryAfter = retryAfter
      self.detail = detail
    }
  }

  /// How the device should draw its prompt.
  public struct Presentation: WireMessage {
    /// Text of the fallback button; empty where it must not be shown.
    public var fallbackTitle: String
    /// The fallback button is to be visible now (it is hidden until the first failure).
    public var fallbackVisible: Bool
    /// Empty where the OS (before iOS 10) cannot show a custom one.
    public var cancelTitle: String
    public var localizedReason: String

    public init(
      fallbackTitle: String = "", fallbackVisible: Bool = false, cancelTitle: String = "",
      localizedReason: String = ""
    ) {
      self.fallbackTitle = fallbackTitle
      self.fallbackVisible = fallbackVisible
      self.cancelTitle = cancelTitle
      self.localizedReason = localizedReason
    }
  }

  /// A failed or successful decision, as the audit log keeps it.
  public struct Event: WireMessage {
    /// Increases by one; resume a watch from it.
    public var sequence: UInt64
    public var time: Timestamp?
    /// "evaluation.succeeded", "binding.revoked".
    public var kind: String
    public var applicationID: String
    public var profileID: String
    public var deviceID: String
    public var bindingID: String
    /// The identity of the calling service.
    public var caller: String
    /// Small, never a secret.
    public var details: [String: String]
    /// SHA-256 over the previous event's hash and this event: altering or dropping one breaks the chain.
    public var hash: [UInt8]

    public init(
      sequence: UInt64 = 0, time: Timestamp? = nil, kind: String = "", applicationID: String = "",
      profileID: String = "", deviceID: String = "", bindingID: String = "", caller: String = "",
      details: [String: String] = [:], hash: [UInt8] = []
    ) {
      self.sequence = sequence
      self.time = time
      self.kind = kind
      self.applicationID = applicationID
      self.profileID = profileID
      self.deviceID = deviceID
      self.bindingID = bindingID
      self.caller = caller
      self.details = details
      self.hash = hash
    }
  }
}
