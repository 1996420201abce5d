internal import Crypto

/// A signature of an authority, which comes again: phones of one make share the certificates above their own. One
/// signature that is right: that of a certificate, by its bytes, under its issuer's key.
package struct AuthoritySignature: Sendable {
  /// To read one costs more than to verify a signature.
  package let certificate: Certificate
  private let digest: [UInt8]

  init(of certificate: Certificate, by issuer: Certificate) {
    self.certificate = certificate
    let key = issuer.subjectPublicKeyInfo
    var hash = SHA256()
    // With its length in front, so that no two pairs are the same bytes.
    withUnsafeBytes(of: UInt64(key.count).bigEndian) { hash.update(bufferPointer: $0) }
    hash.update(data: key)
    hash.update(data: certificate.der)
    digest = Array(hash.finalize())
  }
}

extension AuthoritySignature: Hashable {
  package static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }
  package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

/// The signatures that were known before a chain is judged, and those that the judgement verified.
///
/// A signature that is right stays right. Whether its certificate counts now is another question, of times and
/// revocation, which is asked each time. A chain is verified from the root down, so that no signature is found whose
/// key nobody trusted vouches for.
package struct AuthoritySignatures: Sendable {
  package let isKnown: @Sendable (AuthoritySignature) -> Bool
  package internal(set) var verified: [AuthoritySignature] = []

  /// Nothing is known unless said otherwise.
  package init(isKnown: @escaping @Sendable (AuthoritySignature) -> Bool = { _ in false }) {
    self.isKnown = isKnown
  }
}
