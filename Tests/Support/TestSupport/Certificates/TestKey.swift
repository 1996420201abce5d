// Keys for tests, of every kind that a peer may come with.

internal import COpenSSL

public final class TestKey: @unchecked Sendable {
  // Sendable because: it is not changed after `init`.

  public enum Kind: Sendable {
    case p256
    case rsa2048
    /// Too weak for anybody.
    case rsa1024
    case ed25519
  }

  let pointer: OpaquePointer
  private let kind: Kind

  /// RSA's take a tenth of a second and more: one does for all.
  private static let rsa2048 = TestKey(.rsa2048)
  private static let rsa1024 = TestKey(.rsa1024)

  public static func make(_ kind: Kind) -> TestKey {
    switch kind {
    case .rsa2048: rsa2048
    case .rsa1024: rsa1024
    case .p256, .ed25519: TestKey(kind)
    }
  }

  /// A new one, also of RSA.
  public init(_ kind: Kind) {
    self.kind = kind
    switch kind {
    case .p256: pointer = Self.generate("EC") { EVP_PKEY_CTX_set_group_name($0, "P-256") }
    case .rsa2048: pointer = Self.generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, 2_048) }
    case .rsa1024: pointer = Self.generate("RSA") { EVP_PKEY_CTX_set_rsa_keygen_bits($0, 1_024) }
    case .ed25519: pointer = Self.generate("ED25519") { _ in 1 }
    }
  }

  deinit {
    EVP_PKEY_free(pointer)
  }

  /// Ed25519 has its own.
  var digest: OpaquePointer? {
    switch kind {
    case .p256, .rsa2048, .rsa1024: EVP_sha256()
    case .ed25519: nil
    }
  }

  /// In DER.
  public var subjectPublicKeyInfo: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(i2d_PUBKEY(pointer, nil)))
    bytes.withUnsafeMutableBufferPointer { buffer in
      var next = buffer.baseAddress
      i2d_PUBKEY(pointer, &next)
    }
    return bytes
  }

  /// By PKCS #1 v1.5, or as the kind of key signs otherwise.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()!
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(pointer)))
    var count = signature.count
    let isSigned =
      EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1
      && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
    precondition(isSigned, "a key signs")
    return Array(signature.prefix(count))
  }

  var scalar: [UInt8] {
    guard kind == .p256 else { return [] }
    var number: OpaquePointer?
    defer { BN_clear_free(number) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let isRead =
      EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1
      && BN_bn2binpad(number, &bytes, Int32(bytes.count)) == Int32(bytes.count)
    precondition(isRead, "a key of P-256 has a scalar")
    return bytes
  }

  private static func generate(_ algorithm: String, _ prepare: (OpaquePointer) -> Int32) -> OpaquePointer {
    let context = EVP_PKEY_CTX_new_from_name(nil, algorithm, nil)!
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    let isMade = EVP_PKEY_keygen_init(context) == 1 && prepare(context) == 1 && EVP_PKEY_generate(context, &key) == 1
    precondition(isMade, "a key can be made")
    return key!
  }
}

enum PEM {
  static func bytes(_ write: (OpaquePointer) -> Int32) -> [UInt8] {
    let bio = BIO_new(BIO_s_mem())!
    defer { BIO_free(bio) }
    let isWritten = write(bio) == 1
    precondition(isWritten, "memory takes all that is written")
    var data = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
    BIO_read(bio, &data, Int32(data.count))
    return data
  }
}
