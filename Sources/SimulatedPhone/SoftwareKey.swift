// A P-256 key in memory: what stands in for a Secure Enclave key, and all that a load client needs.

internal import Crypto

/// A P-256 private key that signs without asking anybody.
public struct SoftwareKey: Sendable {
  /// 65 bytes: 0x04, x, y (ANSI X9.63, uncompressed).
  public let publicKeyX963: [UInt8]
  let privateKey: P256.Signing.PrivateKey

  /// A key from the system's randomness.
  public init() {
    // The library's own generator checks each new key at four times the price; load needs many.
    var generator = SystemRandomNumberGenerator()
    self.init(using: &generator)
  }

  /// A key from the given randomness: the same generator in the same state gives the same key.
  public init(using generator: inout some RandomNumberGenerator) {
    // A scalar is refused where it is zero or not below the group's order: about one in 2^32 (SEC 1, 3.2.1).
    while true {
      let scalar = generator.bytes(count: 32)
      if let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) {
        self.init(key)
        return
      }
    }
  }

  /// ECDSA with SHA-256 over `message`, as DER (RFC 3279, 2.2.3): 68 to 72 bytes, rarely fewer.
  /// The nonce is the library's own, so two signatures of one message differ even where the key was seeded.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    do {
      return try Array(privateKey.signature(for: SHA256.hash(data: message)).derRepresentation)
    } catch {
      fatalError("a valid P-256 key signs every digest: \(error)")
    }
  }

  /// - Parameters:
  ///   - signature: ECDSA with SHA-256, as DER.
  ///   - publicKeyX963: 65 bytes.
  public static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKeyX963: [UInt8]) -> Bool {
    guard let key = try? P256.Signing.PublicKey(x963Representation: publicKeyX963),
      let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
    else { return false }
    return key.isValidSignature(signature, for: SHA256.hash(data: message))
  }

  private init(_ privateKey: P256.Signing.PrivateKey) {
    self.privateKey = privateKey
    self.publicKeyX963 = Array(privateKey.publicKey.x963Representation)
  }
}
