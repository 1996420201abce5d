// The data that an authenticator signs (WebAuthn Level 3 §6.1), which App Attest has, too, and the little of CBOR
// around it.

internal import Crypto

/// Authenticator data without a credential.
struct AuthenticatorData {
  /// The app's id in App Attest.
  var rpID: String
  var flags: UInt8
  var counter: UInt32

  static let attestedCredential: UInt8 = 0x40
  static let aaguidBytes = 16

  var bytes: [UInt8] {
    Array(SHA256.hash(data: Array(rpID.utf8))) + [flags] + withUnsafeBytes(of: counter.bigEndian) { Array($0) }
  }

  /// The attested data of a new credential on P-256, which follows `bytes` (§6.5.1).
  ///
  /// - Parameter id: at most 255 bytes.
  static func credential(aaguid: [UInt8], id: [UInt8], publicKeyX963 point: [UInt8]) -> [UInt8] {
    let coseKey = CBOR.map([
      (CBOR.integer(1), CBOR.integer(2)), (CBOR.integer(3), CBOR.integer(-7)), (CBOR.integer(-1), CBOR.integer(1)),
      (CBOR.integer(-2), CBOR.bytes(point[1..<33])), (CBOR.integer(-3), CBOR.bytes(point[33..<65])),
    ])
    return aaguid + [0, UInt8(id.count)] + id + coseKey
  }

  /// §6.5.4
  static func attestationObject(format: String, statement: [UInt8], _ data: [UInt8]) -> [UInt8] {
    CBOR.map([
      (CBOR.text("fmt"), CBOR.text(format)), (CBOR.text("attStmt"), statement),
      (CBOR.text("authData"), CBOR.bytes(data[...])),
    ])
  }
}

/// The little of CBOR that these need, in its canonical form if a map's entries are given in order (RFC 8949, 4.2.1).
enum CBOR {
  static func integer(_ value: Int) -> [UInt8] { value < 0 ? head(1, -1 - value) : head(0, value) }
  static func bytes(_ bytes: ArraySlice<UInt8>) -> [UInt8] { head(2, bytes.count) + bytes }
  static func text(_ text: String) -> [UInt8] { head(3, text.utf8.count) + text.utf8 }
  static func array(_ items: [[UInt8]]) -> [UInt8] { head(4, items.count) + items.flatMap(\.self) }
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
