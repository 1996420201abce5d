// The records of a store. Every record with compare-and-set carries the version at which it was read.

internal import Glibc
public import TouchstonePolicy

/// Starts at 1 when a record is first written (but see `ProfileRecord`). 0 means that there is no record yet.
public typealias RecordVersion = UInt64

/// 16 random bytes: unguessable, so also unique.
public struct UniqueID: Sendable, Hashable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// `nil` unless there are exactly 16 bytes.
  @inlinable
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    func bigEndian(_ half: some Sequence<UInt8>) -> UInt64 {
      half.reduce(0) { $0 << 8 | UInt64($1) }
    }
    self.init(high: bigEndian(bytes.prefix(8)), low: bigEndian(bytes.dropFirst(8)))
  }

  /// Big-endian, 16 of them.
  public var bytes: [UInt8] {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
  }

  /// From the kernel's generator, in one call.
  public static func random() -> UniqueID {
    var halves: (high: UInt64, low: UInt64) = (0, 0)
    let code = withUnsafeMutableBytes(of: &halves) { getentropy($0.baseAddress!, $0.count) }
    precondition(code == 0, "no entropy: errno \(errno)")
    return UniqueID(high: halves.high, low: halves.low)
  }
}

/// The key of everything that expires: inserts append, and sweeping drops a range.
public struct ExpiringKey: Sendable, Hashable {
  /// When the row may be swept.
  public var expiresAt: UnixTime
  public var id: UniqueID

  public init(expiresAt: UnixTime, id: UniqueID) {
    self.expiresAt = expiresAt
    self.id = id
  }
}

public struct HardwareKeyRecord: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case p256
    case rsa
  }

  /// X9.63 uncompressed, 65 bytes, on P-256; SubjectPublicKeyInfo in DER of an RSA key, at most 550 bytes.
  public var publicKey: [UInt8]
  /// A hybrid key's other half (R48), 1,952 bytes; `nil`: P-256 alone.
  public var mlDSA65PublicKey: [UInt8]?
  public var protection: KeyProtection
  public var kind: Kind
  /// `nil`: the key has no attestation.
  public var attestation: KeyAttestationRecord?

  public init(
    _ kind: Kind = .p256, publicKey: [UInt8], mlDSA65PublicKey: [UInt8]? = nil, protection: KeyProtection,
    attestation: KeyAttestationRecord? = nil
  ) {
    self.kind = kind
    self.publicKey = publicKey
    self.mlDSA65PublicKey = mlDSA65PublicKey
    self.protection = protection
    self.attestation = attestation
  }
}

/// The proof of a key, from when it was bound (R42).
public struct KeyAttestationRecord: Sendable, Hashable {
  public var level: ProofLevel
  /// It names an app that the application listed then, with its signer.
  public var isOfListedApp: Bool
  public var facts: [Fact]

  /// One statement of the proof.
  public struct Fact: Sendable, Hashable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public init(level: ProofLevel, isOfListedApp: Bool = false, facts: [Fact]) {
    self.level = level
    self.isOfListedApp = isOfListedApp
    self.facts = facts
  }
}

/// A passkey as it was registered, but for its state of backup (R46). Its sign count stands in the binding.
public struct PasskeyRecord: Sendable, Hashable {
  /// SHA-256 of `credentialID`, by which it is found.
  public var digest: [UInt8]
  public var credentialID: [UInt8]
  /// COSE's number.
  public var algorithm: Int32
  /// X9.63 for ES256, as of hardware keys; a COSE key for other algorithms.
  public var publicKey: [UInt8]
  /// The authenticator's model, 16 bytes.
  public var aaguid: [UInt8]
  /// It may be copied to other devices. Never changes.
  public var isBackupEligible: Bool
  /// There was a copy of it, at the latest login.
  public var isBackedUp: Bool
  /// The relying party at that time.
  public var rpID: String
  public var transports: [String]
  /// `nil`: the key has no attestation.
  public var attestation: KeyAttestationRecord?

  public init(
    digest: [UInt8], credentialID: [UInt8], algorithm: Int32, publicKey: [UInt8], aaguid: [UInt8],
    isBackupEligible: Bool, isBackedUp: Bool, rpID: String, transports: [String], attestation: KeyAttestationRecord?
  ) {
    self.digest = digest
    self.credentialID = credentialID
    self.algorithm = algorithm
    self.publicKey = publicKey
    self.aaguid = aaguid
    self.isBackupEligible = isBackupEligible
    self.isBackedUp = isBackedUp
    self.rpID = rpID
    self.transports = transports
    self.attestation = attestation
  }
}

/// An App Attest key, which vouched for a binding's keys (R43). Its counter is the binding's `proofCounter`, and its
/// receipt stands apart (`Store.receipt`), because each login reads its binding.
public struct AppAttestRecord: Sendable, Hashable {
  /// The SHA-256 of the public key.
  public var keyID: [UInt8]
  /// X9.63 uncompressed, 65 bytes.
  public var publicKey: [UInt8]
  /// "TEAMID.bundle"
  public var appID: String
  /// "production" or "development"
  public var environment: String

  public init(keyID: [UInt8], publicKey: [UInt8], appID: String, environment: String) {
    self.keyID = keyID
    self.publicKey = publicKey
    self.appID = appID
    self.environment = environment
  }
}

public enum CredentialRecord: Sendable, Hashable {
  case hardwareKeys([HardwareKeyRecord])
  /// HMAC-SHA-256 under the service's pepper, 32 bytes (R30).
  case profileTouchID(digest: [UInt8])
  case passkey(PasskeyRecord)

  /// The digest that only one active binding of an application may have, and by which it is found; `nil`: hardware keys
  /// are found by the binding alone. Digests of ProfileTouchIDs are keyed, so none is equal to a passkey's.
  public var digest: [UInt8]? {
    switch self {
    case .hardwareKeys: nil
    case .profileTouchID(let digest): digest
    case .passkey(let passkey): passkey.digest
    }
  }

  /// R42
  public var proofLevel: ProofLevel {
    switch self {
    case .hardwareKeys(let keys): .ofBinding(keys.lazy.map { $0.attestation?.level ?? .none })
    case .profileTouchID: .none
    case .passkey(let passkey): passkey.attestation?.level ?? .none
    }
  }
}

/// This device speaks for this profile in this application, by this credential.
public struct BindingRecord: Sendable, Hashable {
  public var bindingID: String
  public var applicationID: String
  public var profileID: String
  public var deviceID: String
  public var deviceName: String
  public var biometryType: BiometryType
  public var credential: CredentialRecord
  /// `nil`: no App Attest key vouches for the keys.
  public var appAttest: AppAttestRecord?
  public var isRevoked: Bool
  /// `nil`: none was given when the binding completed (R24).
  public var baseline: DomainStateBaseline?
  /// Fixed when the binding is made (R38). `nil`: not recorded yet; the binding's next success by a key fixes it.
  public var platformFamily: PlatformFamily?
  /// `DeviceRecord.lockCount` of the lock under which the binding completed; 0: there was none. Any other lock began
  /// later (R12). Compared only for equality, because an application's devices are counted anew when it moves to
  /// another vendor.
  public var deviceLockCount: UInt64
  public var createdAt: UnixTime
  /// Written without a new version: it decides nothing.
  public var lastUsedAt: UnixTime?
  /// Written without a new version, too; putting the binding again leaves what is stored.
  public var lastSeen: SeenPosture?
  /// The greatest counter that came with a proof by the binding's key: of an App Attest key, or a passkey's sign count.
  /// Raised without a new version (`Change.raiseProofCounter`); putting the binding again keeps the greater one.
  public var proofCounter: UInt32
  public var version: RecordVersion

  public init(
    bindingID: String, applicationID: String, profileID: String, deviceID: String, deviceName: String,
    biometryType: BiometryType, credential: CredentialRecord, appAttest: AppAttestRecord? = nil, isRevoked: Bool,
    baseline: DomainStateBaseline?, platformFamily: PlatformFamily?, deviceLockCount: UInt64 = 0, createdAt: UnixTime,
    lastUsedAt: UnixTime?,
    lastSeen: SeenPosture? = nil, proofCounter: UInt32 = 0, version: RecordVersion
  ) {
    self.bindingID = bindingID
    self.applicationID = applicationID
    self.profileID = profileID
    self.deviceID = deviceID
    self.deviceName = deviceName
    self.biometryType = biometryType
    self.credential = credential
    self.appAttest = appAttest
    self.isRevoked = isRevoked
    self.baseline = baseline
    self.platformFamily = platformFamily
    self.deviceLockCount = deviceLockCount
    self.createdAt = createdAt
    self.lastUsedAt = lastUsedAt
    self.lastSeen = lastSeen
    self.proofCounter = proofCounter
    self.version = version
  }
}

/// A device's standing with one vendor's applications (R8).
public struct DeviceRecord: Sendable, Hashable {
  public var deviceID: String
  public var vendor: Vendor
  public var biometry: BiometryStanding
  /// How often its biometrics were locked. Not a time: the clocks of replicas differ, so a binding made during a lock
  /// could seem older than the lock (R12).
  public var lockCount: UInt64
  public var version: RecordVersion

  public init(
    deviceID: String, vendor: Vendor = .everybody, biometry: BiometryStanding = BiometryStanding(),
    lockCount: UInt64 = 0, version: RecordVersion = 0
  ) {
    self.deviceID = deviceID
    self.vendor = vendor
    self.biometry = biometry
    self.lockCount = lockCount
    self.version = version
  }

  /// Takes this standing.
  public mutating func settle(_ standing: BiometryStanding) {
    if standing.isLockedOut && !biometry.isLockedOut { lockCount += 1 }
    biometry = standing
  }
}

/// A passcode or a gesture: its verifier, and the standing of its attempts.
public struct SecretRecord: Sendable, Hashable {
  /// An Argon2id hash with its parameters and salt, encoded.
  public var verifier: [UInt8]
  public var standing: SecretStanding
  /// The time when it was set or, if it is not set, erased. A new hash of the same secret does not change it. It always
  /// rises, also if the clock was set back, so that it identifies the secret.
  public private(set) var setAt: UnixTime

  public init(verifier: [UInt8], standing: SecretStanding, setAt: UnixTime) {
    self.verifier = verifier
    self.standing = standing
    self.setAt = setAt
  }

  /// Records that it was set or erased now.
  public mutating func set(at now: UnixTime) {
    setAt = max(now, setAt + .microseconds(1))
  }
}

/// One account in one application. Its version guards its secrets and settings, and the conditions over all of its
/// bindings (R29).
///
/// A profile's first version is above that of every erased one with its id (`erasureMarkID`), so a record that was read
/// before an erasure is never taken for a later one.
public struct ProfileRecord: Sendable, Hashable {
  public var applicationID: String
  public var profileID: String
  public var settings: UnlockSettings
  /// `nil`: never set, or erased.
  public var passcode: SecretRecord?
  public var gesture: SecretRecord?
  /// A random number that distinguishes this profile from an erased one with the same id, whose tokens must not serve
  /// here. Not a time, because clocks differ and are set back. 0: never written.
  public var incarnation: UInt64
  public var version: RecordVersion

  public init(
    applicationID: String, profileID: String, settings: UnlockSettings = UnlockSettings(),
    passcode: SecretRecord? = nil, gesture: SecretRecord? = nil, incarnation: UInt64 = 0, version: RecordVersion = 0
  ) {
    self.applicationID = applicationID
    self.profileID = profileID
    self.settings = settings
    self.passcode = passcode
    self.gesture = gesture
    self.incarnation = incarnation
    self.version = version
  }

  /// The record of a profile that is written, for the first time or again.
  public func written() -> ProfileRecord {
    guard version == 0 else { return self }
    var record = self
    // Databases have signed integers.
    record.incarnation = .random(in: 1...UInt64(Int64.max))
    return record
  }

  /// The profile's standing for the rules.
  public var standing: ProfileStanding {
    ProfileStanding(
      settings: settings, passcode: passcode?.standing ?? SecretStanding(),
      gesture: gesture?.standing ?? SecretStanding())
  }
}

/// An evaluation in which at least one attempt was made, or that was invalidated.
public struct EvaluationRecord: Sendable, Hashable {
  public var key: ExpiringKey
  public var standing: EvaluationStanding
  public var version: RecordVersion

  public init(key: ExpiringKey, standing: EvaluationStanding = EvaluationStanding(), version: RecordVersion = 0) {
    self.key = key
    self.standing = standing
    self.version = version
  }
}

/// A token that was issued for one use, or was used or revoked. Other tokens have no row.
public struct TokenRecord: Sendable, Hashable {
  public var key: ExpiringKey
  public var state: TokenState
  /// The approved transaction's canonical bytes; empty for a login.
  public var transaction: [UInt8]
  public var version: RecordVersion

  public init(key: ExpiringKey, state: TokenState, transaction: [UInt8], version: RecordVersion) {
    self.key = key
    self.state = state
    self.transaction = transaction
    self.version = version
  }
}
