// Passkeys in software, and the browser before them: what navigator.credentials returns (WebAuthn Level 3).

internal import Crypto
internal import Synchronization

/// An authenticator that keeps passkeys, verifies its user and counts. Thread-safe.
///
/// ```swift
/// let authenticator = SimulatedAuthenticator()
/// let registration = authenticator.create(for: page, challenge: challenge, userHandle: handle)
/// let assertion = authenticator.get(for: page, challenge: another)
/// ```
public final class SimulatedAuthenticator: Sendable {
  /// The page that asks, and the relying party that it speaks for.
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

  /// The latest is the one that its user chooses.
  private let passkeys = Mutex<[Passkey]>([])

  public init() {}

  /// Makes a passkey on P-256. One of the same user of the same relying party is replaced.
  public func create(for page: Page, challenge: [UInt8], userHandle: [UInt8]) -> Registration {
    var generator = SystemRandomNumberGenerator()
    let passkey = Passkey(
      id: generator.bytes(count: Self.credentialIDBytes), rpID: page.rpID, userHandle: userHandle, key: SoftwareKey())
    passkeys.withLock { passkeys in
      passkeys.removeAll { $0.rpID == page.rpID && $0.userHandle == userHandle }
      passkeys.append(passkey)
    }
    let point = passkey.key.publicKeyX963
    let coseKey = CBOR.map([
      (CBOR.integer(1), CBOR.integer(2)), (CBOR.integer(3), CBOR.integer(-7)), (CBOR.integer(-1), CBOR.integer(1)),
      (CBOR.integer(-2), CBOR.bytes(point[1..<33])), (CBOR.integer(-3), CBOR.bytes(point[33..<65])),
    ])
    let credential =
      [UInt8](repeating: 0, count: Self.aaguidBytes) + [0, UInt8(Self.credentialIDBytes)] + passkey.id + coseKey
    let data = Self.authenticatorData(of: passkey, flags: Self.userVerified | Self.attestedCredential) + credential
    return Registration(
      attestationObject: CBOR.map([
        (CBOR.text("fmt"), CBOR.text("none")), (CBOR.text("attStmt"), CBOR.map([])),
        (CBOR.text("authData"), CBOR.bytes(data[...])),
      ]),
      clientDataJSON: Self.clientData("webauthn.create", challenge, page))
  }

  /// Signs with the latest passkey of the relying party; `nil`: there is none.
  public func get(for page: Page, challenge: [UInt8]) -> Assertion? {
    let chosen = passkeys.withLock { passkeys -> Passkey? in
      guard let index = passkeys.lastIndex(where: { $0.rpID == page.rpID }) else { return nil }
      passkeys[index].signCount += 1
      return passkeys[index]
    }
    guard let chosen else { return nil }
    let data = Self.authenticatorData(of: chosen, flags: Self.userVerified)
    let clientData = Self.clientData("webauthn.get", challenge, page)
    return Assertion(
      credentialID: chosen.id, authenticatorData: data, clientDataJSON: clientData,
      signature: chosen.key.sign(data + Array(SHA256.hash(data: clientData))), userHandle: chosen.userHandle)
  }

  private static let credentialIDBytes = 32
  private static let aaguidBytes = 16
  /// Presence and verification (§6.1).
  private static let userVerified: UInt8 = 0x05
  private static let attestedCredential: UInt8 = 0x40

  private static func authenticatorData(of passkey: Passkey, flags: UInt8) -> [UInt8] {
    let count = withUnsafeBytes(of: passkey.signCount.bigEndian) { Array($0) }
    return Array(SHA256.hash(data: Array(passkey.rpID.utf8))) + [flags] + count
  }

  /// As browsers write it (§5.8.1.1).
  private static func clientData(_ type: String, _ challenge: [UInt8], _ page: Page) -> [UInt8] {
    Array(
      #"{"type":"\#(type)","challenge":"\#(base64URL(challenge))","origin":"\#(page.origin)","crossOrigin":false}"#.utf8
    )
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

  private static func base64URL(_ bytes: [UInt8]) -> String {
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for digit in 0...group.count { text.append(digits[bits >> (18 - 6 * digit) & 0x3F]) }
    }
    return text
  }
}

/// The little of CBOR that a registration needs (RFC 8949, 4.2.1).
private enum CBOR {
  static func integer(_ value: Int) -> [UInt8] { value < 0 ? head(1, -1 - value) : head(0, value) }
  static func bytes(_ bytes: ArraySlice<UInt8>) -> [UInt8] { head(2, bytes.count) + bytes }
  static func text(_ text: String) -> [UInt8] { head(3, text.utf8.count) + text.utf8 }
  static func map(_ entries: [([UInt8], [UInt8])]) -> [UInt8] {
    head(5, entries.count) + entries.flatMap { $0.0 + $0.1 }
  }

  /// Counts up to 65,535.
  private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    switch count {
    case 0..<24: [kind << 5 | UInt8(count)]
    case 24..<256: [kind << 5 | 24, UInt8(count)]
    default: [kind << 5 | 25, UInt8(count >> 8), UInt8(count & 0xFF)]
    }
  }
}
