// A phone, as far as the services can tell: its keys, its reports, and its owner.

import Crypto
import Encodings
import SimulatedPhone
import TestSupport
import TouchstoneCodec
import TouchstonePolicy

final class Phone {
  let deviceID: String
  var osMajorVersion = 17
  var fingers: [Int] = [1]
  var isPasscodeSet = true
  var isSensorBroken = false
  var isLockedOut = false
  /// At most one for each application.
  private var credentials: [Credential] = []

  init(deviceID: String) { self.deviceID = deviceID }

  func posture(in applicationID: String) -> V1.DevicePosture {
    V1.DevicePosture(
      platform: "ios", osVersion: "\(osMajorVersion).2", deviceModel: "iPhone15,2", biometryType: .touchID,
      biometryAvailable: !isSensorBroken, biometryEnrolled: !fingers.isEmpty, biometryLockedOut: isLockedOut,
      passcodeSet: isPasscodeSet, domainState: domainState(in: applicationID))
  }

  /// A function of the resulting set of fingers alone (R23); none without fingers, before iOS 9, or while the phone is
  /// locked.
  func domainState(in applicationID: String) -> [UInt8] {
    guard !fingers.isEmpty, !isLockedOut, osMajorVersion >= 9 else { return [] }
    return Array("fingers \(fingers) on \(deviceID) for \(applicationID)".utf8)
  }

  func credential(in applicationID: String) -> Credential? {
    credentials.first { Identifier.areEqual($0.applicationID, applicationID) }
  }

  func keep(_ credential: Credential) {
    credentials.removeAll { Identifier.areEqual($0.applicationID, credential.applicationID) }
    credentials.append(credential)
  }

  /// As it should be.
  func recover() {
    osMajorVersion = 17
    fingers = [1]
    isPasscodeSet = true
    isSensorBroken = false
    isLockedOut = false
  }
}

/// The secrets by which a phone speaks for one profile in one application.
struct Credential {
  var applicationID: String
  var profileID: String
  var bindingID: String
  /// Two at most; none where a ProfileTouchID stands in their place.
  var keys: [GuardedKey] = []
  var profileTouchID: [UInt8] = []
  /// The authenticator of a passkey, which has no phone.
  var authenticator: SimulatedAuthenticator?
  /// The app that vouches for the keys; `nil`: none does.
  var app: VouchingApp?

  func guardedKey(for factor: V1.Factor) -> GuardedKey? { keys.first { $0.factor == factor } }

  func key(for factor: V1.Factor) -> PhonesKey? { keys.first { $0.factor == factor }?.key }
}

struct GuardedKey {
  var key: PhonesKey
  var protection: V1.KeyProtection
  /// The hybrid key whose half on P-256 is `key` (R48).
  var hybrid: HybridKey?

  var factor: V1.Factor { protection == .biometryAny || protection == .biometryCurrentSet ? .biometry : .deviceOwner }
}

/// A key as phones and wrappers make it (R31).
enum PhonesKey {
  case p256(SoftwareKey)
  case rsa(TestKey)

  /// X9.63, or SubjectPublicKeyInfo.
  var publicKey: [UInt8] {
    switch self {
    case .p256(let key): key.publicKeyX963
    case .rsa(let key): key.subjectPublicKeyInfo
    }
  }

  /// Always of the same length: the places of bytes in a message are part of what a seed decides. P-256's is `r ‖ s`,
  /// because DER's length differs.
  func sign(_ message: [UInt8]) -> [UInt8] {
    switch self {
    case .rsa(let key): return key.sign(message)
    case .p256(let key):
      guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: key.sign(message)) else {
        preconditionFailure("a key's own signature is DER")
      }
      return Array(signature.rawRepresentation)
    }
  }
}

extension V1.SignatureForm {
  /// What a key signs for this signing input (R33).
  func bytes(of input: [UInt8]) -> [UInt8] { self == .base64URLText ? Array(Base64URL.encode(input).utf8) : input }
}

/// An app with an App Attest key.
struct VouchingApp {
  var service: SimulatedAppAttest
  var keyID: [UInt8]

  init(appID: String = Names.appID, authority: AppAttestAuthority, seed: UInt64) {
    service = SimulatedAppAttest(appID: appID, authority: authority, seed: seed)
    keyID = service.generateKey()
  }
}

/// Keys are made once for all worlds: a world takes them one after another.
struct KeyPool {
  private static let keys: [SoftwareKey] = {
    var generator = Chance(seed: 1)
    return (0..<512).map { _ in SoftwareKey(using: &generator) }
  }()
  /// Hybrid keys take long to make.
  private static let hybrids: [HybridKey] = {
    var generator = Chance(seed: 3)
    return (0..<64).map { _ in HybridKey(using: &generator) }
  }()

  /// They take a tenth of a second each.
  private static let rsaKeys = (0..<6).map { _ in TestKey(.rsa2048) }
  /// No phone has it.
  static let strangersRSA = PhonesKey.rsa(TestKey(.rsa2048))

  private var next: Int

  init(by chance: Chance) { next = chance.below(Self.keys.count) }

  mutating func takeHybrid() -> HybridKey {
    next = (next + 1) % Self.keys.count
    return Self.hybrids[next % Self.hybrids.count]
  }

  mutating func take() -> PhonesKey {
    next = (next + 1) % Self.keys.count
    return .p256(Self.keys[next])
  }

  mutating func takeRSA() -> PhonesKey {
    next = (next + 1) % Self.keys.count
    return .rsa(Self.rsaKeys[next % Self.rsaKeys.count])
  }
}
