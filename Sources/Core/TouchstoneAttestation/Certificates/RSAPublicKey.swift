internal import SwiftASN1

/// The public half of a phone's RSA key (R31), which signs by PKCS #1 v1.5 with SHA-256.
package struct RSAPublicKey: Sendable {
  /// DER (RFC 3279 §2.3.1), the one encoding of the key.
  package let subjectPublicKeyInfo: [UInt8]
  /// The length of its signatures and of its modulus.
  package let signatureByteCount: Int
  private let key: PublicKey

  /// Longer keys make a verification slow, and no phone makes them.
  package static let maximumBits = 4_096
  package static let maximumSignatureByteCount = maximumBits / 8
  /// More bytes are not read. A key of 8,192 bits has 1,062, so that its size can be named.
  private static let maximumByteCount = 2_048

  /// Accepts a SubjectPublicKeyInfo, as Android exports it; `nil`: the bytes are no RSA key. Throws for keys of fewer
  /// than `PublicKey.minimumRSABits` or more than `maximumBits`, for an even modulus, and for an exponent other than
  /// 65537.
  package init?(bytes: [UInt8]) throws(ProofError) {
    guard bytes.count <= Self.maximumByteCount, let fields = try? DERNode(bytes, or: .malformedKey).sequence(),
      let first = fields.first
    else { return nil }
    guard first.node.identifier != .integer else {
      throw ProofError(.malformedKey, "an RSA key as PKCS #1 encodes it; send its SubjectPublicKeyInfo")
    }
    guard let algorithm = try? first.sequence().first,
      let kind = try? ASN1ObjectIdentifier(derEncoded: algorithm.node), Self.kinds.contains(kind)
    else { return nil }
    try self.init(subjectPublicKeyInfo: bytes)
  }

  /// rsaEncryption and id-RSASSA-PSS (RFC 8017, appendix A). The latter is refused by name.
  private static let kinds: [ASN1ObjectIdentifier] = [[1, 2, 840, 113549, 1, 1, 1], [1, 2, 840, 113549, 1, 1, 10]]

  /// For a key that is stored.
  package init(subjectPublicKeyInfo bytes: [UInt8]) throws(ProofError) {
    key = try PublicKey(subjectPublicKeyInfo: bytes)
    signatureByteCount = (try key.requireRSA(atMost: Self.maximumBits, encodedAs: bytes) + 7) / 8
    subjectPublicKeyInfo = bytes
  }

  package func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    do throws(ProofError) {
      try key.verify(signature, of: message, .rsa(.sha256), "key")
      return true
    } catch {
      return false
    }
  }
}
