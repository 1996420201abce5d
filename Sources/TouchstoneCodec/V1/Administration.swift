// administration.proto: for operators and support staff.

extension V1 {
  public struct SecretStanding: WireMessage {
    public var kind: SecretKind
    public var failures: UInt32
    public var lockedUntil: Timestamp?
    /// Until it is set anew.
    public var disabled: Bool

    public init(
      kind: SecretKind = .unspecified, failures: UInt32 = 0, lockedUntil: Timestamp? = nil, disabled: Bool = false
    ) {
      self.kind = kind
      self.failures = failures
      self.lockedUntil = lockedUntil
      self.disabled = disabled
    }
  }

  public struct DeviceStanding: WireMessage {
    public var deviceID: String
    public var biometryFailures: UInt32
    public var biometryLockedOut: Bool

    public init(deviceID: String = "", biometryFailures: UInt32 = 0, biometryLockedOut: Bool = false) {
      self.deviceID = deviceID
      self.biometryFailures = biometryFailures
      self.biometryLockedOut = biometryLockedOut
    }
  }

  /// What a binding's device said of itself when it was last seen.
  public struct SeenPosture: WireMessage {
    public var bindingID: String
    /// Without domain state.
    public var posture: DevicePosture?
    public var seenAt: Timestamp?
    /// It came with a proof by the binding's own key that succeeded.
    public var proven: Bool

    public init(
      bindingID: String = "", posture: DevicePosture? = nil, seenAt: Timestamp? = nil, proven: Bool = false
    ) {
      self.bindingID = bindingID
      self.posture = posture
      self.seenAt = seenAt
      self.proven = proven
    }
  }

  /// All that is known of a profile, secrets aside.
  public struct GetProfileRequest: WireMessage {
    public var applicationID: String
    public var profileID: String

    public init(applicationID: String = "", profileID: String = "") {
      self.applicationID = applicationID
      self.profileID = profileID
    }
  }

  /// Answers ``GetProfileRequest``.
  public struct GetProfileResponse: WireMessage {
    public var bindings: [Binding]
    public var devices: [DeviceStanding]
    public var secrets: [SecretStanding]
    public var settings: UnlockSettings?
    public var postures: [SeenPosture]
    public var advisories: [String]

    public init(
      bindings: [Binding] = [], devices: [DeviceStanding] = [], secrets: [SecretStanding] = [],
      settings: UnlockSettings? = nil, postures: [SeenPosture] = [], advisories: [String] = []
    ) {
      self.bindings = bindings
      self.devices = devices
      self.secrets = secrets
      self.settings = settings
      self.postures = postures
      self.advisories = advisories
    }
  }

  /// `AdministrationService.UnlockDevice`.
  public struct UnlockDeviceRequest: WireMessage {
    public var applicationID: String
    public var deviceID: String
    public var reason: String

    public init(applicationID: String = "", deviceID: String = "", reason: String = "") {
      self.applicationID = applicationID
      self.deviceID = deviceID
      self.reason = reason
    }
  }

  /// Answers ``UnlockDeviceRequest``.
  public struct UnlockDeviceResponse: WireMessage {
    public init() {}
  }

  /// `AdministrationService.UnlockSecret`.
  public struct UnlockSecretRequest: WireMessage {
    public var applicationID: String
    public var profileID: String
    public var kind: SecretKind
    public var reason: String

    public init(
      applicationID: String = "", profileID: String = "", kind: SecretKind = .unspecified, reason: String = ""
    ) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.kind = kind
      self.reason = reason
    }
  }

  /// Answers ``UnlockSecretRequest``.
  public struct UnlockSecretResponse: WireMessage {
    public init() {}
  }

  /// Removes everything of the profile but the audit chain's hashes.
  public struct EraseProfileRequest: WireMessage {
    public var applicationID: String
    public var profileID: String
    /// For the audit log: 1 to 256 bytes that do not name the profile.
    public var reason: String

    public init(applicationID: String = "", profileID: String = "", reason: String = "") {
      self.applicationID = applicationID
      self.profileID = profileID
      self.reason = reason
    }
  }

  /// Answers ``EraseProfileRequest``.
  public struct EraseProfileResponse: WireMessage {
    /// Events up to this one were archived before, out of reach. 0: none were.
    public var archivedThrough: UInt64

    public init(archivedThrough: UInt64 = 0) {
      self.archivedThrough = archivedThrough
    }
  }

  public struct EventFilter: WireMessage {
    public var applicationID: String
    /// Empty for all.
    public var profileID: String
    /// Prefixes: "evaluation.", "binding.revoked".
    public var kinds: [String]

    public init(applicationID: String = "", profileID: String = "", kinds: [String] = []) {
      self.applicationID = applicationID
      self.profileID = profileID
      self.kinds = kinds
    }
  }

  /// `AdministrationService.ListEvents`.
  public struct ListEventsRequest: WireMessage {
    public var filter: EventFilter?
    public var afterSequence: UInt64
    /// 1 to 1000; 0 for 100.
    public var pageSize: UInt32
    /// Of the page before; empty for the first. With it, `afterSequence` is not looked at.
    public var pageToken: String

    public init(
      filter: EventFilter? = nil, afterSequence: UInt64 = 0, pageSize: UInt32 = 0, pageToken: String = ""
    ) {
      self.filter = filter
      self.afterSequence = afterSequence
      self.pageSize = pageSize
      self.pageToken = pageToken
    }
  }

  /// Answers ``ListEventsRequest``.
  public struct ListEventsResponse: WireMessage {
    public var events: [Event]
    /// Empty: there are no more yet. Nothing else is a sign of that: a page may be empty.
    public var nextPageToken: String

    public init(events: [Event] = [], nextPageToken: String = "") {
      self.events = events
      self.nextPageToken = nextPageToken
    }
  }

  /// What happens, as it happens; resumes after a sequence number without loss or repetition.
  public struct WatchEventsRequest: WireMessage {
    public var filter: EventFilter?
    public var afterSequence: UInt64

    public init(filter: EventFilter? = nil, afterSequence: UInt64 = 0) {
      self.filter = filter
      self.afterSequence = afterSequence
    }
  }

  /// Answers ``WatchEventsRequest``.
  public struct WatchEventsResponse: WireMessage {
    public var event: Event?

    public init(event: Event? = nil) {
      self.event = event
    }
  }

  /// What the service would answer, and by which rule, without doing it.
  public struct ExplainEvaluationRequest: WireMessage {
    public var begin: BeginEvaluationRequest?
    /// Empty: the present.
    public var at: Timestamp?

    public init(begin: BeginEvaluationRequest? = nil, at: Timestamp? = nil) {
      self.begin = begin
      self.at = at
    }
  }

  /// Answers ``ExplainEvaluationRequest``.
  public struct ExplainEvaluationResponse: WireMessage {
    public var answer: BeginEvaluationResponse?
    /// In the order in which they were asked, with what each said.
    public var trace: [RuleTrace]
    /// The one that was taken, where the request had none.
    public var posture: SeenPosture?

    public init(answer: BeginEvaluationResponse? = nil, trace: [RuleTrace] = [], posture: SeenPosture? = nil) {
      self.answer = answer
      self.trace = trace
      self.posture = posture
    }
  }

  public struct RuleTrace: WireMessage {
    public var rule: String
    public var passed: Bool
    public var detail: String

    public init(rule: String = "", passed: Bool = false, detail: String = "") {
      self.rule = rule
      self.passed = passed
      self.detail = detail
    }
  }
}
