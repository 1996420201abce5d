// The options of WebAuthn's two ceremonies, as JSON that browsers and Android's Credential Manager take as it is
// (WebAuthn Level 3 §5.1.8, §5.1.9).

internal import Encodings
internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

enum PasskeyOptions {
  /// The algorithms that a new passkey may sign with, best first: ES256, ES384, EdDSA (Ed25519), RS256, as COSE numbers
  /// them.
  static let algorithms: [Int] = [-7, -35, -8, -257]

  /// PublicKeyCredentialCreationOptionsJSON.
  ///
  /// - Parameters:
  ///   - present: the profile's passkeys. An authenticator that holds one of them makes no other.
  ///   - lifetime: of the ticket.
  static func creation(
    of passkey: V1.NewPasskey, userHandle: [UInt8], signingInput: [UInt8], excluding present: [PasskeyRecord],
    _ requirements: AttestationRequirements, _ passkeys: PasskeyRequirements, lifetime: Duration
  ) -> String {
    var relyingParty = JSONObjectWriter()
    relyingParty.write("id", passkeys.rpID)
    relyingParty.write("name", passkeys.rpID)
    var user = JSONObjectWriter()
    user.write("id", Base64URL.encode(userHandle))
    user.write("name", passkey.userName)
    user.write("displayName", passkey.displayName.isEmpty ? passkey.userName : passkey.displayName)
    // The person is found by it alone, so it must be kept by its authenticator.
    var selection = JSONObjectWriter()
    selection.write("residentKey", "required")
    selection.writeTrue("requireResidentKey")
    // A conditional creation asks nobody, so that it verifies nobody.
    selection.write(
      "userVerification", passkeys.requiresUserVerification && !passkey.conditional ? "required" : "preferred")
    var options = JSONObjectWriter()
    options.write("rp", relyingParty)
    options.write("user", user)
    options.write("challenge", challenge(of: signingInput))
    options.write(
      "pubKeyCredParams",
      algorithms.map { algorithm in
        var parameters = JSONObjectWriter()
        parameters.write("type", credentialType)
        parameters.write("alg", Int64(algorithm))
        return parameters
      })
    options.write("timeout", milliseconds(lifetime))
    options.write(
      "excludeCredentials",
      present.map { passkey in
        var descriptor = JSONObjectWriter()
        descriptor.write("type", credentialType)
        descriptor.write("id", Base64URL.encode(passkey.credentialID))
        if !passkey.transports.isEmpty { descriptor.write("transports", passkey.transports) }
        return descriptor
      })
    options.write("authenticatorSelection", selection)
    options.write("attestation", requirements.asksForPasskeyStatement ? "direct" : "none")
    return String(decoding: options.finish(), as: UTF8.self)
  }

  /// PublicKeyCredentialRequestOptionsJSON. It is the same for known and unknown profiles (R37): it names no
  /// credential, and the authenticator offers those that it has.
  static func request(
    signingInput: [UInt8], _ passkeys: PasskeyRequirements, for policy: EvaluationPolicy
  ) -> String {
    var options = JSONObjectWriter()
    options.write("challenge", challenge(of: signingInput))
    options.write("timeout", milliseconds(policy.evaluationLifetime))
    options.write("rpId", passkeys.rpID)
    options.write("allowCredentials", [] as [String])
    options.write(
      "userVerification", passkeys.requiresUserVerification(for: policy) ? "required" : "preferred")
    return String(decoding: options.finish(), as: UTF8.self)
  }

  private static let credentialType = "public-key"

  private static func challenge(of signingInput: [UInt8]) -> String {
    Base64URL.encode(Self.challenge(signingInput))
  }

  /// R47
  static func challenge(_ signingInput: [UInt8]) -> [UInt8] { sha256(signingInput) }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds * 1_000
  }
}

extension PasskeyRequirements {
  /// A payment requires it, whatever the setting says (R47).
  func requiresUserVerification(for policy: EvaluationPolicy) -> Bool {
    requiresUserVerification || policy.purpose == .payment
  }
}

extension AttestationRequirements {
  /// Browsers ask the person before they hand a statement out, so it is asked for only where it is needed.
  fileprivate var asksForPasskeyStatement: Bool {
    demand == .required || (demand == .accepted && passkeys?.aaguids != nil)
  }
}

extension Pepper {
  /// 192 bits, beyond any search for two profiles with one handle. As hexadecimal digits they have 48 bytes.
  private static let userHandleDigestBytes = 24

  /// `user.id` of a profile's passkeys: it tells nothing of the profile, and is the same for all of them. Some wrappers
  /// of browsers and phones read it as text, or as base64 instead of base64url. So it is ASCII, and these digits in a
  /// multiple of three bytes are the same in both, without padding.
  func userHandle(of profileID: String, in applicationID: String) -> [UInt8] {
    userHandles(of: profileID, in: applicationID)[0]
  }

  /// The user handles that its passkeys may have: the one above, and the bytes that were given out before.
  func userHandles(of profileID: String, in applicationID: String) -> [[UInt8]] {
    let digest = digest(of: Array(applicationID.utf8), Array(profileID.utf8), purpose: "passkey user handle")
    return [Array(Hexadecimal.text(Array(digest.prefix(Self.userHandleDigestBytes))).utf8), digest]
  }
}

extension PasskeyRecord {
  /// The key by which a passkey is found.
  static func digest(ofCredentialID id: [UInt8]) -> [UInt8] { sha256(id) }

  /// A passkey has no device of its own: this stands in its place, so that one binding of an application has the
  /// credential.
  var deviceID: String { Self.deviceIDPrefix + Base64URL.encode(digest) }

  /// No app's device id begins so.
  static let deviceIDPrefix = "passkey:"
}

extension DevicePosture {
  /// In place of one that a passkey's client did not send.
  static let ofPasskeyClient = DevicePosture(
    platform: .web, osVersion: OSVersion(0), biometryType: .unspecified, isBiometryAvailable: false,
    isBiometryEnrolled: false, isBiometryLockedOut: false, isPasscodeSet: false, domainState: [])
}
