internal import Crypto
internal import Encodings
internal import Synchronization

/// An authenticator that keeps passkeys, verifies its user and counts, and the browser before it: what
/// navigator.credentials returns (WebAuthn Level 3). Thread-safe.
///
/// ```swift
/// let authenticator = SimulatedAuthenticator()
/// let registration = authenticator.create(for: page, challenge: challenge, userHandle: handle)
/// let assertion = authenticator.get(for: page, challenge: another)
/// ```
public final class SimulatedAuthenticator: Sendable {
  /// The page that requests a ceremony, and the relying party that it speaks for.
  public struct Page: Sendable, Hashable {
    /// "https://example.org"
    public var origin: String
    /// "example.org"
    public var rpID: String

    public init(origin: String, rpID: String) {
      self.origin = origin
      self.rpID = rpID
    }
  }

  public struct Registration: Sendable, Hashable {
    /// With the format "none".
    public var attestationObject: [UInt8]
    public var clientDataJSON: [UInt8]
  }

  public struct Assertion: Sendable, Hashable {
    public var credentialID: [UInt8]
    public var authenticatorData: [UInt8]
    public var clientDataJSON: [UInt8]
    public var signature: [UInt8]
    public var userHandle: [UInt8]
  }

  private struct Passkey {
    let id: [UInt8]
    let rpID: String
    let userHandle: [UInt8]
    let key: SoftwareKey
    var signCount: UInt32 = 0
  }

  private struct Core {
    var randomness: PhoneRandomness
    let isCounting: Bool
    /// The latest is the one that its user chooses.
    var passkeys: [Passkey] = []
  }

  private let core: Mutex<Core>

  /// - Parameters:
  ///   - isCounting: `false`: each sign count is zero, as with passkeys that are copied to the person's other devices.
  ///   - seed: makes credential ids and keys reproducible; `nil`: the system's randomness. Signatures always differ.
  public init(isCounting: Bool = true, seed: UInt64? = nil) {
    core = Mutex(Core(randomness: PhoneRandomness(seed: seed), isCounting: isCounting))
  }

  private init(copying original: SimulatedAuthenticator) {
    core = Mutex(original.core.withLock { $0 })
  }

  /// The copy of an attacker that read out an authenticator: the same passkeys, with sign counts that grow apart from
  /// now on.
  public func clone() -> SimulatedAuthenticator { SimulatedAuthenticator(copying: self) }

  /// Makes a passkey on P-256. One of the same user of the same relying party is replaced.
  public func create(for page: Page, challenge: [UInt8], userHandle: [UInt8]) -> Registration {
    let passkey = core.withLock { core in
      let passkey = Passkey(
        id: core.randomness.bytes(count: Self.credentialIDBytes), rpID: page.rpID, userHandle: userHandle,
        key: SoftwareKey(using: &core.randomness))
      core.passkeys.removeAll { $0.rpID == page.rpID && $0.userHandle == userHandle }
      core.passkeys.append(passkey)
      return passkey
    }
    let data =
      AuthenticatorData(
        rpID: passkey.rpID, flags: Self.userVerified | AuthenticatorData.attestedCredential, counter: 0
      ).bytes
      + AuthenticatorData.credential(
        aaguid: [UInt8](repeating: 0, count: AuthenticatorData.aaguidBytes), id: passkey.id,
        publicKeyX963: passkey.key.publicKeyX963)
    return Registration(
      attestationObject: AuthenticatorData.attestationObject(format: "none", statement: CBOR.map([]), data),
      clientDataJSON: Self.clientData("webauthn.create", challenge, page))
  }

  /// Signs with the latest passkey of the relying party; `nil`: there is none.
  public func get(for page: Page, challenge: [UInt8]) -> Assertion? {
    let chosen = core.withLock { core -> Passkey? in
      guard let index = core.passkeys.lastIndex(where: { $0.rpID == page.rpID }) else { return nil }
      if core.isCounting { core.passkeys[index].signCount += 1 }
      return core.passkeys[index]
    }
    guard let chosen else { return nil }
    let data = AuthenticatorData(rpID: chosen.rpID, flags: Self.userVerified, counter: chosen.signCount).bytes
    let clientData = Self.clientData("webauthn.get", challenge, page)
    return Assertion(
      credentialID: chosen.id, authenticatorData: data, clientDataJSON: clientData,
      signature: chosen.key.sign(data + Array(SHA256.hash(data: clientData))), userHandle: chosen.userHandle)
  }

  private static let credentialIDBytes = 32
  /// Presence and verification (§6.1).
  private static let userVerified: UInt8 = 0x05

  /// As browsers write it (§5.8.1.1).
  private static func clientData(_ type: String, _ challenge: [UInt8], _ page: Page) -> [UInt8] {
    Array(
      #"{"type":"\#(type)","challenge":"\#(Base64URL.encode(challenge))","origin":"\#(page.origin)","crossOrigin":false}"#
        .utf8
    )
  }
}
