internal import COpenSSL
internal import Crypto
internal import FoundationEssentials
internal import SwiftASN1

/// A public key of a certificate or a credential, which verifies: by OpenSSL, and ML-DSA, which OpenSSL 3.0 lacks, by
/// swift-crypto.
package struct PublicKey: Sendable {
  private enum Key: Sendable {
    case openSSL(OpenSSLKey)
    case mlDSA65(MLDSA65.PublicKey)
    case mlDSA87(MLDSA87.PublicKey)
  }

  private let key: Key

  /// Freed once. OpenSSL 3 locks what a verification changes inside, so that threads may share a key.
  private final class OpenSSLKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes what `pointer` counts.
    init(_ pointer: OpaquePointer) {
      self.pointer = pointer
    }

    deinit {
      EVP_PKEY_free(pointer)
    }
  }

  /// Keys of fewer bits are no longer allowed (NIST SP 800-131A).
  static let minimumRSABits = 2_048

  /// - Parameter subjectPublicKeyInfo: DER (RFC 5280 §4.1.2.7), of a key that OpenSSL knows.
  init(subjectPublicKeyInfo bytes: [UInt8], minimumRSABits: Int = minimumRSABits) throws(ProofError) {
    try Self.requireNamedCurve(in: bytes)
    let pointer = bytes.withUnsafeBufferPointer { buffer in
      var next = buffer.baseAddress
      let key = d2i_PUBKEY(nil, &next, buffer.count)
      guard let key, next == buffer.baseAddress.map({ $0 + buffer.count }) else {
        EVP_PKEY_free(key)
        ERR_clear_error()
        return OpaquePointer?.none
      }
      return key
    }
    guard let pointer else {
      guard Self.isKindServed(bytes) else { throw ProofError(.unsupportedAlgorithm, "a key of another kind") }
      throw ProofError(.malformedKey, "no key that can be used")
    }
    key = .openSSL(OpenSSLKey(pointer))
    try Self.check(pointer)
    try requireRSABits(minimumRSABits)
  }

  /// Throws if this is an RSA key of fewer bits.
  func requireRSABits(_ minimum: Int = minimumRSABits) throws(ProofError) {
    guard let bits = rsaBits, bits < minimum else { return }
    throw ProofError(.unsupportedAlgorithm, "an RSA key of \(bits) bits, fewer than \(minimum)")
  }

  /// Returns the bits of an RSA key for PKCS #1 v1.5. Throws if it is another key, is longer, has another exponent than
  /// phones give their keys, or has another encoding than `bytes`.
  func requireRSA(atMost maximum: Int, encodedAs bytes: [UInt8]) throws(ProofError) -> Int {
    guard case .openSSL(let key) = key, EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA, let bits = rsaBits else {
      throw ProofError(.unsupportedAlgorithm, "not an RSA key for PKCS #1 v1.5")
    }
    guard bits <= maximum else {
      throw ProofError(.unsupportedAlgorithm, "an RSA key of \(bits) bits, more than \(maximum)")
    }
    var exponent: OpaquePointer?
    defer { BN_free(exponent) }
    guard EVP_PKEY_get_bn_param(key.pointer, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1, BN_is_word(exponent, 65_537) == 1
    else { throw ProofError(.unsupportedAlgorithm, "an RSA exponent other than 65537") }
    guard Self.encoded(key.pointer) == bytes else { throw ProofError(.malformedKey, "not DER") }
    return bits
  }

  private static func encoded(_ key: OpaquePointer) -> [UInt8] {
    let count = Int(max(0, i2d_PUBKEY(key, nil)))
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, written in
      var next = bytes.baseAddress
      written = Int(max(0, i2d_PUBKEY(key, &next)))
    }
  }

  private static func isKindServed(_ subjectPublicKeyInfo: [UInt8]) -> Bool {
    guard
      let fields = try? DERNode(subjectPublicKeyInfo, or: .malformedKey).sequence(), let algorithm = fields.first,
      let identifier = try? algorithm.sequence().first,
      let kind = try? ASN1ObjectIdentifier(derEncoded: identifier.node)
    else { return true }
    // RSA, RSASSA-PSS, elliptic curves, Ed25519, Ed448.
    let kinds: [ASN1ObjectIdentifier] = [
      [1, 2, 840, 113549, 1, 1, 1], [1, 2, 840, 113549, 1, 1, 10], [1, 2, 840, 10045, 2, 1], [1, 3, 101, 112],
      [1, 3, 101, 113],
    ]
    return kinds.contains(kind)
  }

  /// Before OpenSSL reads a key, or a certificate with its key: reading alone may cost it 100 ms.
  static func requireNamedCurve(in der: [UInt8]) throws(ProofError) {
    guard der.withUnsafeBytes({ copenssl_spells_curve_out($0.baseAddress, $0.count) }) == 0 else {
      throw ProofError(.unsupportedAlgorithm, "a curve that is spelt out")
    }
  }

  /// Greater ones cost a verification milliseconds, and no authenticator has them.
  private static let maximumBits: Int32 = 8_192
  private static let maximumExponentBits: Int32 = 64
  private static let curves: Set<String> = ["prime256v1", "secp384r1", "secp521r1", "secp256k1"]

  /// `nil`: a key of another kind.
  var rsaBits: Int? {
    if case .openSSL(let key) = key { Self.rsaBits(key.pointer) } else { nil }
  }

  /// `nil`: a key of another kind.
  static func rsaBits(_ key: OpaquePointer) -> Int? {
    [EVP_PKEY_RSA, EVP_PKEY_RSA_PSS].contains(EVP_PKEY_get_base_id(key)) ? Int(EVP_PKEY_get_bits(key)) : nil
  }

  /// Checks that a peer's key costs a verification no more than other keys do: not a curve of its own making, nor an
  /// RSA exponent as long as the modulus, which makes a verification as slow as a signature. And that it is a key: not
  /// a number or a point for which signatures can be made without a private key.
  static func check(_ key: OpaquePointer) throws(ProofError) {
    guard EVP_PKEY_get_bits(key) <= maximumBits else {
      throw ProofError(.unsupportedAlgorithm, "a key of \(EVP_PKEY_get_bits(key)) bits")
    }
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA, EVP_PKEY_RSA_PSS:
      var exponent: OpaquePointer?
      var modulus: OpaquePointer?
      defer {
        BN_free(exponent)
        BN_free(modulus)
      }
      guard
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1,
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &modulus) == 1
      else { throw ProofError(.malformedKey, "no RSA exponent or modulus") }
      guard BN_is_odd(modulus) == 1 else { throw ProofError(.malformedKey, "an RSA modulus that is even") }
      guard BN_num_bits(exponent) <= maximumExponentBits else {
        throw ProofError(.unsupportedAlgorithm, "an RSA exponent of \(BN_num_bits(exponent)) bits")
      }
      guard BN_is_odd(exponent) == 1, BN_is_one(exponent) == 0 else {
        throw ProofError(.malformedKey, "an RSA exponent that is even, or one")
      }
    case EVP_PKEY_EC:
      let name = curveName(key)
      guard let name, curves.contains(name) else {
        throw ProofError(.unsupportedAlgorithm, "the curve \(name ?? "without a name")")
      }
    case EVP_PKEY_ED25519: try EdwardsPoint.check(raw(key), on: .ed25519)
    case EVP_PKEY_ED448: try EdwardsPoint.check(raw(key), on: .ed448)
    default: throw ProofError(.unsupportedAlgorithm, "a key of another kind")
    }
  }

  private static func raw(_ key: OpaquePointer) -> [UInt8] {
    // Ed448's have 57 bytes.
    var bytes = [UInt8](repeating: 0, count: 64)
    var count = bytes.count
    return EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 ? Array(bytes.prefix(count)) : []
  }

  /// `nil`: the key spells its curve out (RFC 5480 §2.1.1 forbids it).
  private static func curveName(_ key: OpaquePointer) -> String? {
    guard text(OSSL_PKEY_PARAM_EC_ENCODING, of: key) == OSSL_PKEY_EC_ENCODING_GROUP else { return nil }
    return text(OSSL_PKEY_PARAM_GROUP_NAME, of: key)
  }

  private static func text(_ parameter: String, of key: OpaquePointer) -> String? {
    var text = [UInt8](repeating: 0, count: 80)
    var count = 0
    let isThere = text.withUnsafeMutableBytes { buffer in
      EVP_PKEY_get_utf8_string_param(
        key, parameter, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count, &count)
    }
    return isThere == 1 ? String(decoding: text.prefix(count), as: UTF8.self) : nil
  }

  /// - Parameter p256Point: 04 ‖ x ‖ y.
  init(p256Point bytes: [UInt8]) throws(ProofError) {
    guard bytes.count == 65, bytes[0] == 0x04 else { throw ProofError(.malformedKey, "not a point on P-256") }
    try self.init(
      subjectPublicKeyInfo: SubjectPublicKeyInfo.ellipticCurve(SubjectPublicKeyInfo.p256, point: bytes))
  }

  init(mlDSA65 bytes: [UInt8]) throws(ProofError) {
    guard let key = try? MLDSA65.PublicKey(rawRepresentation: bytes) else {
      throw ProofError(.malformedKey, "not an ML-DSA-65 key")
    }
    self.key = .mlDSA65(key)
  }

  init(mlDSA87 bytes: [UInt8]) throws(ProofError) {
    guard let key = try? MLDSA87.PublicKey(rawRepresentation: bytes) else {
      throw ProofError(.malformedKey, "not an ML-DSA-87 key")
    }
    self.key = .mlDSA87(key)
  }

  /// Throws SIGNATURE_INVALID, also where key and algorithm do not belong together.
  func verify(
    _ signature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm, _ name: String
  ) throws(ProofError) {
    let isValid =
      switch (key, algorithm) {
      case (.openSSL(let key), _): Self.isValid(signature, message, algorithm, key.pointer)
      case (.mlDSA65(let key), .mlDSA65): key.isValidSignature(signature, for: Data(message))
      case (.mlDSA87(let key), .mlDSA87): key.isValidSignature(signature, for: Data(message))
      default: false
      }
    guard isValid else { throw ProofError(.signatureInvalid, "\(name): the signature is not valid") }
  }

  private static func isValid(
    _ signature: [UInt8], _ message: [UInt8], _ algorithm: SignatureAlgorithm, _ key: OpaquePointer
  ) -> Bool {
    let (kinds, digest): ([Int32], OpaquePointer?) =
      switch algorithm {
      case .ecdsa(let digest): ([EVP_PKEY_EC], digest.pointer)
      case .rsa(let digest), .rsaPSS(let digest): ([EVP_PKEY_RSA], digest.pointer)
      case .edDSA: ([EVP_PKEY_ED25519, EVP_PKEY_ED448], nil)
      case .mlDSA44, .mlDSA65, .mlDSA87: ([], nil)
      }
    guard kinds.contains(EVP_PKEY_get_base_id(key)), let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    var parameters: OpaquePointer?
    guard EVP_DigestVerifyInit(context, &parameters, digest, nil, key) == 1 else { return false }
    if case .rsaPSS = algorithm {
      guard
        EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) > 0,
        EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) > 0
      else { return false }
    }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}

extension SignatureAlgorithm.Digest {
  fileprivate var pointer: OpaquePointer? {
    switch self {
    case .sha1: EVP_sha1()
    case .sha256: EVP_sha256()
    case .sha384: EVP_sha384()
    case .sha512: EVP_sha512()
    }
  }

  func hash(_ message: [UInt8]) -> [UInt8] {
    switch self {
    case .sha1: Array(Insecure.SHA1.hash(data: message))
    case .sha256: Array(SHA256.hash(data: message))
    case .sha384: Array(SHA384.hash(data: message))
    case .sha512: Array(SHA512.hash(data: message))
    }
  }
}
