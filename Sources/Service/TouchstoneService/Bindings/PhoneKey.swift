// The public half of a key that a phone binds: a point on P-256 or an RSA key (R31).

internal import TouchstoneAttestation
internal import TouchstoneCrypto
internal import TouchstoneStore

enum PhoneKey: Sendable {
  case p256(P256PublicKey)
  case rsa(RSAPublicKey)

  init(bytes: [UInt8]) throws(CryptoError) {
    do throws(ProofError) {
      if let key = try RSAPublicKey(bytes: bytes) {
        self = .rsa(key)
        return
      }
    } catch {
      throw CryptoError(code: .invalidPublicKey, message: "public key: \(error.detail)")
    }
    self = .p256(try P256PublicKey(bytes: bytes))
  }

  /// As it is stored, and as an app vouches for it: each key has one encoding.
  var bytes: [UInt8] {
    switch self {
    case .p256(let key): key.x963
    case .rsa(let key): key.subjectPublicKeyInfo
    }
  }

  var kind: HardwareKeyRecord.Kind {
    switch self {
    case .p256: .p256
    case .rsa: .rsa
    }
  }

  var signatureBytes: ClosedRange<Int> {
    switch self {
    case .p256: RequestValidator.p256SignatureBytes
    case .rsa(let key): key.signatureByteCount...key.signatureByteCount
    }
  }

  /// Whether the first certificate of the attestation is of this key.
  func isAttested(by attestation: AndroidAttestation) -> Bool {
    switch self {
    case .p256(let key): attestation.isOf(p256Point: key.x963)
    case .rsa(let key): attestation.subjectPublicKeyInfo == key.subjectPublicKeyInfo
    }
  }
}
