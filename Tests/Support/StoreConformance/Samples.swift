// Records as examples: give what matters to the test, the rest is plausible.

public import TouchstonePolicy
public import TouchstoneStore

public enum Sample {
  public static let application = "com.example.bank"
  public static let now = UnixTime(seconds: 1_700_000_000)
}

extension ExpiringKey {
  /// Never the same one twice.
  public static func sample(expiresAt: UnixTime = Sample.now + .seconds(120)) -> ExpiringKey {
    ExpiringKey(expiresAt: expiresAt, id: .random())
  }
}

extension PasskeyRecord {
  /// - Parameter number: two with different ones have different credentials.
  public static func sample(_ number: UInt8) -> PasskeyRecord {
    PasskeyRecord(
      digest: [UInt8](repeating: number, count: 32), credentialID: [UInt8](repeating: number, count: 1_023),
      algorithm: -7, publicKey: [4] + [UInt8](repeating: number, count: 64), aaguid: [UInt8](repeating: 7, count: 16),
      isBackupEligible: false, isBackedUp: false, rpID: "shop.example", transports: ["internal", "hybrid"],
      attestation: nil)
  }

  func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}

extension BindingRecord {
  public static func sample(
    _ bindingID: String, application: String = Sample.application, profile: String = "alice",
    device: String? = nil, credential: CredentialRecord = .hardwareKeys([.sample]), isRevoked: Bool = false,
    lastUsedAt: UnixTime? = nil, version: RecordVersion = 0
  ) -> BindingRecord {
    BindingRecord(
      bindingID: bindingID, applicationID: application, profileID: profile, deviceID: device ?? "phone of \(bindingID)",
      deviceName: "Alice’s iPhone", biometryType: .touchID, credential: credential, isRevoked: isRevoked,
      baseline: DomainStateBaseline(domainState: [1, 2, 3], osMajorVersion: 17), platformFamily: .iOS,
      deviceLockCount: 3,
      createdAt: Sample.now,
      lastUsedAt: lastUsedAt, version: version)
  }

  public func revoked() -> BindingRecord {
    with { $0.isRevoked = true }
  }

  public func with(_ change: (inout BindingRecord) -> Void) -> BindingRecord {
    var copy = self
    change(&copy)
    return copy
  }

  /// As the store has it after it was put.
  public var stored: BindingRecord {
    with { $0.version += 1 }
  }
}

extension AppAttestRecord {
  public static let sample = AppAttestRecord(
    keyID: [UInt8](repeating: 7, count: 32), publicKey: [4] + [UInt8](repeating: 8, count: 64),
    appID: "A1B2C3D4E5.org.example.shop", environment: "production")
  /// As long as one may be.
  public static let sampleReceipt = [UInt8](repeating: 9, count: 16_384)
}

extension SeenPosture {
  public static func sample(
    osVersion: OSVersion = OSVersion(17, 2, 1), seenAt: UnixTime = Sample.now, isProven: Bool = false
  ) -> SeenPosture {
    SeenPosture(
      DevicePosture(
        platform: .iOS, osVersion: osVersion, biometryType: .faceID, isBiometryAvailable: true,
        isBiometryEnrolled: false, isBiometryLockedOut: true, isPasscodeSet: true, domainState: [1, 2, 3]),
      deviceModel: "iPhone “15”", seenAt: seenAt, isProven: isProven)
  }
}

extension HardwareKeyRecord {
  public static let sample = HardwareKeyRecord(
    publicKey: [4] + [UInt8](repeating: 7, count: 64), protection: .biometryCurrentSet)

  func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}

extension DeviceRecord {
  public static func sample(_ deviceID: String, failures: UInt32, version: RecordVersion = 0) -> DeviceRecord {
    DeviceRecord(
      deviceID: deviceID, biometry: BiometryStanding(consecutiveFailures: failures, isLockedOut: failures >= 5),
      version: version)
  }
}

extension ProfileRecord {
  public static func sample(
    _ profileID: String = "alice", application: String = Sample.application,
    settings: UnlockSettings = UnlockSettings(), passcode: SecretRecord? = nil, gesture: SecretRecord? = nil,
    incarnation: UInt64 = 5, version: RecordVersion = 0
  ) -> ProfileRecord {
    ProfileRecord(
      applicationID: application, profileID: profileID, settings: settings, passcode: passcode, gesture: gesture,
      incarnation: incarnation, version: version)
  }

  /// As a store has it after it was put, where none was erased.
  public var stored: ProfileRecord {
    var copy = self
    copy.version += 1
    return copy
  }
}

extension SecretRecord {
  public static func sample(
    verifier: [UInt8] = [UInt8](repeating: 0xA2, count: 97), lock: SecretStanding.Lock = .none, isSet: Bool = true,
    setAt: UnixTime = Sample.now
  ) -> SecretRecord {
    SecretRecord(
      verifier: verifier,
      standing: SecretStanding(
        isSet: isSet, failures: 5, lock: lock, inFlight: 2, inFlightUntil: Sample.now + .seconds(10), generation: 7),
      setAt: setAt)
  }
}

extension ProfileErasure {
  public static let alice = sample("alice")

  public static func sample(_ profileID: String) -> ProfileErasure {
    ProfileErasure(
      applicationID: Sample.application, profileID: profileID, time: Sample.now + .seconds(60), caller: "admin",
      reason: "ticket 4711")
  }
}

extension UnlockSettings {
  public static let sample = UnlockSettings(
    isBiometryEnabled: false, isGestureEnabled: true, isPasscodeEnabled: true, preferred: .gesture,
    updatedAt: Sample.now)
}

extension EventDraft {
  public static func sample(
    _ kind: String = "evaluation.succeeded", application: String = Sample.application, profile: String = "alice",
    device: String = "phone-1", binding: String = "b-1", caller: String = "spiffe://example.org/login",
    at time: UnixTime = Sample.now, details: [EventDetail] = [EventDetail(key: "factor", value: "biometry")]
  ) -> EventDraft {
    EventDraft(
      time: time, kind: kind, applicationID: application, profileID: profile, deviceID: device, bindingID: binding,
      caller: caller, details: details)
  }
}

extension ArchivedEvents {
  /// By one who archives, the same in every process.
  public init(start: EventChain.Head, end: EventChain.Head, unerasedThrough: UInt64) {
    self.init(
      start: start, end: end, unerasedThrough: unerasedThrough, claimant: UniqueID(high: 0x5463_6873, low: 1))
  }
}

extension Change {
  /// As everybody knows it.
  public static func requireDevice(id: String, version: RecordVersion) -> Change {
    .requireDevice(id: id, vendor: .everybody, version: version)
  }
}
