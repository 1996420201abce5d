import Crypto

/// One signature to verify.
public struct SignatureCheck: Sendable {
  public var publicKey: P256PublicKey
  /// Strict DER (RFC 3279), or `r ‖ s` of 64 bytes. A high s is accepted, because the challenge stops replay, and never
  /// the signature's bytes (R33).
  public var signature: [UInt8]
  /// The signed bytes; they are hashed here.
  public var message: [UInt8]
  /// A hybrid key's other half, which must be right, too.
  public var otherHalf: OtherHalf?

  public struct OtherHalf: Sendable {
    public var publicKey: MLDSA65PublicKey
    public var signature: [UInt8]

    public init(publicKey: MLDSA65PublicKey, signature: [UInt8]) {
      self.publicKey = publicKey
      self.signature = signature
    }
  }

  public init(publicKey: P256PublicKey, signature: [UInt8], message: [UInt8], otherHalf: OtherHalf? = nil) {
    self.publicKey = publicKey
    self.signature = signature
    self.message = message
    self.otherHalf = otherHalf
  }

  /// Whether the signature is `r ‖ s`, and not DER.
  public static func isRaw(_ signature: [UInt8]) -> Bool { signature.count == P256Signature.rawByteCount }
}

/// Proof of possession: ECDSA over P-256 with SHA-256 (FIPS 186-5), and for hybrid keys ML-DSA-65 beside it (R48).
public enum SignatureVerifier {
  /// A malformed signature is `false`. `BatchVerifier` verifies several.
  public static func verify(_ check: SignatureCheck) -> Bool {
    verifyP256(check) && verifyOtherHalf(check)
  }

  /// Runs after the half on P-256, which costs less. A caller without that key cannot find out whether there is another
  /// half (R37).
  static func verifyOtherHalf(_ check: SignatureCheck) -> Bool {
    guard let half = check.otherHalf else { return true }
    return half.publicKey.isValidSignature(half.signature, of: check.message)
  }

  static func verifyP256(_ check: SignatureCheck) -> Bool {
    guard
      let parsed = P256Signature(check.signature),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: parsed.raw)
    else { return false }
    return check.publicKey.key.isValidSignature(signature, for: SHA256.hash(of: check.message))
  }
}
