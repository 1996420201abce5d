// One simulated phone: what it proves itself by, its posture and its binding.

internal import Glibc
internal import LoadScenarios
internal import SimulatedPhone
internal import TouchstoneClient

struct LoadPhone: Sendable {
  enum Key: Sendable {
    case p256(SoftwareKey)
    case hybrid(HybridKey)
    case passkey(SimulatedAuthenticator)
  }

  let key: Key
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
    _ credential: PhoneCredential, application: String, name: String, _ client: TouchstoneClient
  ) async throws(TouchstoneError) -> LoadPhone {
    switch credential {
    case .p256:
      let key = SoftwareKey()
      return try await bind(.p256(key), application: application, name: name, client) { input in
        V1.HardwareKey(
          publicKey: key.publicKeyX963, protection: .biometryCurrentSet, signature: key.sign(input))
      }
    case .hybrid:
      let key = HybridKey()
      return try await bind(.hybrid(key), application: application, name: name, client) { input in
        V1.HardwareKey(
          publicKey: key.p256.publicKeyX963, protection: .biometryCurrentSet, signature: key.p256.sign(input),
          mlDsa65PublicKey: key.mlDSA65PublicKey, mlDsa65Signature: key.signByMLDSA65(input))
      }
    case .passkey: return try await register(application: application, name: name, client)
    }
  }

  private static func bind(
    _ key: Key, application: String, name: String, _ client: TouchstoneClient,
    offering offered: ([UInt8]) -> V1.HardwareKey
  ) async throws(TouchstoneError) -> LoadPhone {
    let begun = try await client.beginBinding(
      V1.BeginBindingRequest(
        applicationID: application, profileID: name, deviceID: randomDeviceID(), primary: primaryLogin(),
        posture: posture))
    let completed = try await client.completeBinding(
      V1.CompleteBindingRequest(
        applicationID: application, ticket: begun.ticket, deviceName: name,
        keys: [offered(begun.signingInput)], posture: posture))
    return try LoadPhone(key, completed, name: name)
  }

  /// A new passkey of a new profile, on an authenticator of its own.
  private static func register(
    application: String, name: String, _ client: TouchstoneClient
  ) async throws(TouchstoneError) -> LoadPhone {
    let begun = try await client.beginBinding(
      V1.BeginBindingRequest(
        applicationID: application, profileID: name, primary: primaryLogin(),
        passkey: V1.NewPasskey(userName: name)))
    guard let handle = PhoneCredential.userHandle(inOptions: begun.passkeyOptions) else {
      throw TouchstoneError(code: .internalError, message: "no user handle")
    }
    // Calls that pass each other are no clones.
    let authenticator = SimulatedAuthenticator(isCounting: false)
    let registration = authenticator.create(
      for: page, challenge: challenge(of: begun.signingInput), userHandle: handle)
    let completed = try await client.completeBinding(
      V1.CompleteBindingRequest(
        applicationID: application, ticket: begun.ticket, deviceName: name,
        passkey: V1.PasskeyRegistration(
          attestationObject: registration.attestationObject, clientDataJSON: registration.clientDataJSON)))
    return try LoadPhone(.passkey(authenticator), completed, name: name)
  }

  private init(
    _ key: Key, _ completed: V1.CompleteBindingResponse, name: String
  ) throws(TouchstoneError) {
    guard let binding = completed.binding else { throw TouchstoneError(code: .internalError, message: "no binding") }
    self.init(key: key, bindingID: binding.bindingID, profileID: name)
  }

  init(key: Key, bindingID: String, profileID: String?) {
    (self.key, self.bindingID, self.profileID) = (key, bindingID, profileID)
  }

  private static let page = SimulatedAuthenticator.Page(origin: PhoneCredential.origin, rpID: PhoneCredential.rpID)

  /// R47
  private static func challenge(of signingInput: [UInt8]) -> [UInt8] { KeyHash.sha256.digest(of: signingInput) }

  /// Proves the person, as the phone's finger or the passkey's authenticator does.
  func attempt(over signingInput: [UInt8]) -> V1.SubmitAttemptRequest.Attempt {
    switch key {
    case .p256(let key): return .key(V1.KeyProof(signature: key.sign(signingInput), factor: .biometry))
    case .hybrid(let key):
      return .key(
        V1.KeyProof(
          signature: key.p256.sign(signingInput), factor: .biometry, mlDsa65Signature: key.signByMLDSA65(signingInput)))
    case .passkey(let authenticator):
      guard let made = authenticator.get(for: Self.page, challenge: Self.challenge(of: signingInput)) else {
        preconditionFailure("a registered authenticator has a passkey")
      }
      return .passkey(
        V1.PasskeyProof(
          credentialID: made.credentialID, authenticatorData: made.authenticatorData,
          clientDataJSON: made.clientDataJSON, signature: made.signature, userHandle: made.userHandle))
    }
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
