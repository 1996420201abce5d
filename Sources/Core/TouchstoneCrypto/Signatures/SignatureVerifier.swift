// Proof of possession: ECDSA over P-256 with SHA-256 (FIPS 186-5).

import Crypto

/// One signature to verify.
public struct SignatureCheck: Sendable {
  public var publicKey: P256PublicKey
  /// Strict DER (RFC 3279), or `r ‖ s` of 64 bytes. A high s is accepted, because the challenge stops replay, and never
  /// the signature's bytes (R33).
  public var signature: [UInt8]
  /// The signed bytes; they are hashed here.
  public var message: [UInt8]

  public init(publicKey: P256PublicKey, signature: [UInt8], message: [UInt8]) {
    self.publicKey = publicKey
    self.signature = signature
    self.message = message
  }
}

public enum SignatureVerifier {
  /// A malformed signature is `false`. `BatchVerifier` verifies several.
  public static func verify(_ check: SignatureCheck) -> Bool {
    guard
      let parsed = P256Signature(check.signature),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: parsed.raw)
    else { return false }
    return check.publicKey.key.isValidSignature(signature, for: SHA256.hash(of: check.message))
  }
}
