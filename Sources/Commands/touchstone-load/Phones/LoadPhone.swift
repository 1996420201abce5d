// One simulated phone: its key, its posture and its binding.

internal import Glibc
internal import SimulatedPhone
internal import TouchstoneClient

struct LoadPhone: Sendable {
  let key: SoftwareKey
  let bindingID: String
  /// `nil`: not known, as of phones that were seeded.
  let profileID: String?

  static let passcode = V1.PasscodeProof(passcode: "correct horse")
  static let gesture = V1.GestureProof(points: [0, 1, 2, 5, 8])

  static let posture = V1.DevicePosture(
    platform: "ios", osVersion: "17.4", deviceModel: "iPhone15,2", biometryType: .faceID, biometryAvailable: true,
    biometryEnrolled: true, passcodeSet: true, domainState: [UInt8](repeating: 0x5A, count: 32))

  /// After another face was enrolled. Enrolling it once more leads back to the first posture (R23).
  static let postureOfOtherFace: V1.DevicePosture = {
    var posture = Self.posture
    posture.domainState = [UInt8](repeating: 0xA5, count: 32)
    return posture
  }()

  /// A new phone of a new profile.
  static func bind(
    application: String, name: String, _ client: TouchstoneClient
  ) async throws(TouchstoneError) -> LoadPhone {
    let key = SoftwareKey()
    let begun = try await client.beginBinding(
      V1.BeginBindingRequest(
        applicationID: application, profileID: name, deviceID: randomDeviceID(), primary: primaryLogin(),
        posture: posture))
    let completed = try await client.completeBinding(
      V1.CompleteBindingRequest(
        applicationID: application, ticket: begun.ticket, deviceName: name,
        keys: [
          V1.HardwareKey(
            publicKey: key.publicKeyX963, protection: .biometryCurrentSet, signature: key.sign(begun.signingInput))
        ], posture: posture))
    guard let binding = completed.binding else { throw TouchstoneError(code: .internalError, message: "no binding") }
    return LoadPhone(key: key, bindingID: binding.bindingID, profileID: name)
  }

  /// Sets a secret of the phone's owner.
  static func set(
    _ secret: V1.Secret, application: String, profileID: String, _ client: TouchstoneClient
  ) async throws(TouchstoneError) {
    let response = try await client.setSecret(
      V1.SetSecretRequest(
        applicationID: application, profileID: profileID, secret: secret, confirmation: secret,
        authority: .primary(primaryLogin())))
    guard response.accepted else { throw TouchstoneError(code: .internalError, message: "a secret was not accepted") }
  }

  private static func primaryLogin() -> V1.PrimaryAuthentication {
    V1.PrimaryAuthentication(method: "password", authenticatedAt: V1.Timestamp(seconds: Int64(time(nil))))
  }

  /// 128 bits.
  private static func randomDeviceID() -> String {
    (0..<2).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }.joined()
  }
}
