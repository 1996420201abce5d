import Crypto
import Testing

@testable import TouchstoneAttestation

/// Credentials' keys in COSE (RFC 9052, RFC 9053), and what they verify.
struct PublicKeyTests {
  private static let message = Array("message".utf8)

  private static func bytes(_ bytes: some Collection<UInt8>) -> [UInt8] {
    [0x58, UInt8(bytes.count)] + bytes
  }

  /// {1: 2, 3: algorithm, -1: curve, -2: x, -3: y}
  private static func ellipticCurve(
    algorithm: [UInt8], curve: UInt8 = 1, x: some Collection<UInt8>, y: some Collection<UInt8>
  ) -> [UInt8] {
    [0xA5, 0x01, 0x02, 0x03] + algorithm + [0x20, curve, 0x21] + bytes(x) + [0x22] + bytes(y)
  }

  @Test func p256Verifies() throws {
    let key = P256.Signing.PrivateKey()
    let point = key.publicKey.x963Representation.dropFirst()
    let cose = try COSEKey(Self.ellipticCurve(algorithm: [0x26], x: point.prefix(32), y: point.suffix(32)))
    #expect(cose.p256Point == Array(key.publicKey.x963Representation))
    let signature = Array(try key.signature(for: Self.message).derRepresentation)
    #expect(throws: Never.self) { try cose.key.verify(signature, of: Self.message, cose.algorithm, "it") }
    #expect(throws: ProofError(.signatureInvalid, "it: the signature is not valid")) {
      try cose.key.verify(signature, of: Self.message + [0], cose.algorithm, "it")
    }
    // The key is no RSA key.
    #expect(throws: ProofError(.signatureInvalid, "it: the signature is not valid")) {
      try cose.key.verify(signature, of: Self.message, .rsa(.sha256), "it")
    }
  }

  @Test func ed25519Verifies() throws {
    let key = Curve25519.Signing.PrivateKey()
    let cose = try COSEKey(
      [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21] + Self.bytes(key.publicKey.rawRepresentation))
    let signature = Array(try key.signature(for: Self.message))
    #expect(throws: Never.self) { try cose.key.verify(signature, of: Self.message, cose.algorithm, "it") }
    #expect(throws: ProofError.self) { try cose.key.verify(signature, of: [], cose.algorithm, "it") }
  }

  @Test func mlDSA65Verifies() throws {
    let key = try MLDSA65.PrivateKey()
    let raw = key.publicKey.rawRepresentation
    let cose = try COSEKey(
      [0xA3, 0x01, 0x07, 0x03, 0x38, 0x30, 0x20, 0x59, UInt8(raw.count >> 8), UInt8(raw.count & 0xFF)] + raw)
    let signature = Array(try key.signature(for: Self.message))
    #expect(throws: Never.self) { try cose.key.verify(signature, of: Self.message, cose.algorithm, "it") }
    #expect(throws: ProofError.self) { try cose.key.verify(signature, of: [], cose.algorithm, "it") }
  }

  @Test func whatIsNoKeyIsRefused() {
    let point = P256.Signing.PrivateKey().publicKey.x963Representation.dropFirst()
    let (x, y) = (point.prefix(32), point.suffix(32))
    let bad: [([UInt8], ProofError.Reason)] = [
      // Beside the curve.
      (Self.ellipticCurve(algorithm: [0x26], x: x, y: x), .malformedKey),
      (Self.ellipticCurve(algorithm: [0x26], x: x.dropLast(), y: y), .malformedKey),
      // P-256 and ES384.
      (Self.ellipticCurve(algorithm: [0x38, 0x22], x: x, y: y), .malformedKey),
      (Self.ellipticCurve(algorithm: [0x26], curve: 2, x: x, y: y), .malformedKey),
      // An algorithm that nobody has numbered, and one for encryption.
      (Self.ellipticCurve(algorithm: [0x39, 0x7F, 0xFF], x: x, y: y), .unsupportedAlgorithm),
      (Self.ellipticCurve(algorithm: [0x01], x: x, y: y), .unsupportedAlgorithm),
      // ES256 with an Edwards curve's type.
      ([0xA4, 0x01, 0x01, 0x03, 0x26, 0x20, 0x06, 0x21] + Self.bytes(x), .malformedKey),
      // RS256 with a modulus of eight bits.
      ([0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x41, 0xFF, 0x21, 0x41, 0x03], .malformedKey),
      ([0xA0], .malformedKey), ([0x00], .malformedKey), ([], .malformedCBOR),
    ]
    for (bytes, reason) in bad {
      #expect(throws: ProofError.self) {
        do throws(ProofError) { _ = try COSEKey(bytes) } catch {
          #expect(error.reason == reason)
          throw error
        }
      }
    }
  }
}
