// Proof of possession: ECDSA over P-256 with SHA-256 (FIPS 186-5).

import Crypto

/// One signature to verify.
public struct SignatureCheck: Sendable {
  public var publicKey: P256PublicKey
  /// Strict DER (RFC 3279), or `r ‖ s` of 64 bytes. A high s is accepted: replay is stopped by the challenge, never by the
  /// signature's bytes (R33).
  public var signature: [UInt8]
  /// What was signed; it is hashed here.
  public var message: [UInt8]

  public init(publicKey: P256PublicKey, signature: [UInt8], message: [UInt8]) {
    self.publicKey = publicKey
    self.signature = signature
    self.message = message
  }
}

public enum SignatureVerifier {
  /// Answers in the order of the checks; malformed is `false`.
  ///
  /// Callers gather what one wake-up brought, so that a multi-buffer implementation can take the place of the loop.
  public static func verify(_ checks: [SignatureCheck]) -> [Bool] {
    checks.map(verify)
  }

  public static func verify(_ check: SignatureCheck) -> Bool {
    guard
      let parsed = P256Signature(check.signature),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: parsed.raw)
    else { return false }
    return check.publicKey.key.isValidSignature(signature, for: check.message)
  }
}
