// Translates between the rules' values and the messages' values.

package import TouchstoneCodec
package import TouchstonePolicy
internal import TouchstoneStore

extension Platform {
  static let wireNames = ["ios", "ipados", "macos", "visionos", "android", "web"]
  private static let longestWireName = 8

  var wireName: String {
    switch self {
    case .iOS: "ios"
    case .iPadOS: "ipados"
    case .macOS: "macos"
    case .android: "android"
    case .web: "web"
    case .visionOS: "visionos"
    }
  }

  /// Ignores case: Apple writes "iOS", and Android's own name is "Android". Allocates no memory, because the text is
  /// small.
  init?(wireName: String) {
    guard wireName.utf8.count <= Self.longestWireName else { return nil }
    switch wireName.lowercased() {
    case "ios": self = .iOS
    case "ipados": self = .iPadOS
    case "macos": self = .macOS
    case "android": self = .android
    case "web": self = .web
    case "visionos": self = .visionOS
    default: return nil
    }
  }
}

extension V1.Factor {
  init(_ factor: Factor) {
    self.init(rawValue: Int32(factor.rawValue))
  }
}

extension Factor {
  init?(_ factor: V1.Factor) {
    guard let raw = UInt8(exactly: factor.rawValue) else { return nil }
    self.init(rawValue: raw)
  }
}

extension KeyProtection {
  init?(_ protection: V1.KeyProtection) {
    guard let raw = UInt8(exactly: protection.rawValue) else { return nil }
    self.init(rawValue: raw)
  }
}

extension V1.LAError {
  init(_ code: LAErrorCode?) {
    self.init(rawValue: code?.rawValue ?? 0)
  }
}

extension V1.DomainStateVerdict {
  init(_ verdict: DomainStateVerdict?) {
    self.init(rawValue: Int32(verdict?.rawValue ?? 0))
  }
}

extension V1.Outcome {
  init(_ outcome: Outcome) {
    self.init(rawValue: Int32(outcome.rawValue))
  }
}

extension V1.Result {
  /// The five plain results, for callers that need no more (R19).
  init(outcome: Outcome, code: LAErrorCode?) {
    self.init(rawValue: Int32(PlainResult(outcome: outcome, code: code).rawValue))
  }
}

extension V1.Duration {
  init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self.init(seconds: seconds, nanoseconds: Int32(attoseconds / 1_000_000_000))
  }
}

extension V1.Timestamp {
  init(_ time: UnixTime) {
    let seconds = time.seconds
    self.init(seconds: seconds, nanoseconds: Int32((time.microseconds - seconds * 1_000_000) * 1_000))
  }
}

extension UnixTime {
  /// Returns `nil` outside the years 1 to 9999, or if the nanoseconds are invalid.
  init?(_ timestamp: V1.Timestamp) {
    self.init(seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds)
  }
}

extension V1.Binding {
  init(_ record: BindingRecord) {
    self.init(
      bindingID: record.bindingID, applicationID: record.applicationID, profileID: record.profileID,
      deviceID: record.deviceID, deviceName: record.deviceName, state: record.isRevoked ? .revoked : .active,
      domainStateRecorded: record.baseline != nil, createdAt: V1.Timestamp(record.createdAt),
      lastUsedAt: record.lastUsedAt.map(V1.Timestamp.init),
      biometryType: V1.BiometryType(rawValue: Int32(record.biometryType.rawValue)),
      attestationLevel: V1.AttestationLevel(record.credential.proofLevel))
    switch record.credential {
    case .hardwareKeys(let keys):
      credential = .hardwareKey
      protections = keys.map { V1.KeyProtection(rawValue: Int32($0.protection.rawValue)) }
      keyAlgorithms = keys.map(V1.KeyAlgorithm.init)
      if keys.contains(where: { $0.attestation != nil }) {
        keyAttestations = keys.map { V1.KeyAttestation($0.attestation) }
      }
    case .profileTouchID:
      credential = .profileTouchID
    case .passkey(let passkey):
      credential = .passkey
      if let attestation = passkey.attestation { keyAttestations = [V1.KeyAttestation(attestation)] }
      self.passkey = V1.Passkey(
        credentialID: passkey.credentialID, algorithm: passkey.algorithm, aaguid: passkey.aaguid,
        backupEligible: passkey.isBackupEligible, transports: passkey.transports, backedUp: passkey.isBackedUp)
    }
    appAttest = record.appAttest.map {
      V1.AppAttestKey(
        keyID: $0.keyID, appID: $0.appID, environment: $0.environment, counter: record.proofCounter)
    }
  }

}

extension V1.KeyAlgorithm {
  fileprivate init(_ key: HardwareKeyRecord) {
    switch key.kind {
    case .p256: self = key.mlDSA65PublicKey == nil ? .p256 : .p256MlDsa65
    case .rsa: self = .rsa
    }
  }
}

extension PostureTerms {
  /// As it was sent. A request without a posture was refused.
  package init(_ message: V1.DevicePosture?) {
    let message = message ?? V1.DevicePosture()
    self.init(
      platform: message.platform, osVersion: message.osVersion, deviceModel: message.deviceModel,
      biometryType: UInt8(truncatingIfNeeded: message.biometryType.rawValue),
      isBiometryAvailable: message.biometryAvailable, isBiometryEnrolled: message.biometryEnrolled,
      isBiometryLockedOut: message.biometryLockedOut, isPasscodeSet: message.passcodeSet,
      domainState: message.domainState)
  }
}

extension Platform {
  /// DCAppAttestService exists there.
  var hasAppAttest: Bool { family == .iOS || family == .macOS || family == .visionOS }
}

extension V1.AttestationLevel {
  init(_ level: ProofLevel) {
    self.init(rawValue: Int32(level.rawValue))
  }
}

extension V1.KeyAttestation {
  /// A phone may have several packages for one key.
  fileprivate init(_ record: KeyAttestationRecord?) {
    let facts = (record?.facts ?? []).map { ($0.name, $0.value) }
    self.init(
      level: V1.AttestationLevel(record?.level ?? .none), facts: Dictionary(facts) { "\($0) \($1)" },
      appListed: record?.isOfListedApp ?? false)
  }
}

extension V1.SeenPosture {
  init(_ seen: SeenPosture, of bindingID: String) {
    let posture = seen.posture
    self.init(
      bindingID: bindingID,
      posture: V1.DevicePosture(
        platform: posture.platform.wireName, osVersion: posture.osVersion.text,
        deviceModel: seen.deviceModel, biometryType: V1.BiometryType(rawValue: Int32(posture.biometryType.rawValue)),
        biometryAvailable: posture.isBiometryAvailable, biometryEnrolled: posture.isBiometryEnrolled,
        biometryLockedOut: posture.isBiometryLockedOut, passcodeSet: posture.isPasscodeSet),
      seenAt: V1.Timestamp(seen.seenAt), proven: seen.isProven,
      domainState: V1.DomainStateVerdict(seen.domainState))
  }

  /// Returns `nil` if no posture of the binding's device is known.
  init?(_ binding: BindingRecord) {
    guard let seen = binding.lastSeen else { return nil }
    self.init(seen, of: binding.bindingID)
  }
}

extension V1.Event {
  /// An erased event has only its number and hash.
  init(_ record: EventRecord) {
    guard let event = record.event else {
      self.init(sequence: record.sequence, hash: record.hash)
      return
    }
    self.init(
      sequence: record.sequence, time: V1.Timestamp(event.time), kind: event.kind, applicationID: event.applicationID,
      profileID: event.profileID, deviceID: event.deviceID, bindingID: event.bindingID, caller: event.caller,
      details: Dictionary(event.details.map { ($0.key, $0.value) }) { _, last in last }, hash: record.hash)
  }
}

// MARK: Messages for the person, in the language that the caller requests (R20)

extension V1.LocalizedText {
  init(_ message: Message) {
    self.init(locale: message.language.tag, text: message.text)
  }
}

extension V1.Denial {
  /// - Parameter biometry: the device's sensor, which the message names.
  init(_ denial: Denial, biometry: BiometryType, in language: Language) {
    self.init(
      laError: V1.LAError(denial.code), reason: denial.reason.rawValue,
      message: V1.LocalizedText(Message(denial, biometry: biometry, in: language)),
      retryAfter: denial.retryAfter.map(V1.Duration.init), detail: denial.reason.developerText)
  }
}

extension Denial.Reason {
  /// Empty if the reason says enough. It follows from the reason alone, so it reveals no more than the reason.
  fileprivate var developerText: String {
    switch self {
    case .platformNotServed:
      "this platform has no domain state, and nothing that this version serves takes its place here; a passkey can pay"
    case .platformDiffers: "posture.platform is of another family than the binding's; bind the device anew"
    case .levelTooLow:
      "less is proven of the binding's keys than the policy asks for (minimum_attestation), or than a payment needs on a "
        + "platform without domain state (tee); bind the device anew, with an attestation"
    case .appNotProven:
      "a payment on a platform without domain state needs keys whose attestation was compared with the application's packages; "
        + "configure them (applications.*.packages), and bind the device anew"
    case .keyNotDeviceBound:
      "the policy takes passkeys that cannot be copied to other devices (passkeys: device_bound): register one of a security key"
    default: ""
    }
  }
}
