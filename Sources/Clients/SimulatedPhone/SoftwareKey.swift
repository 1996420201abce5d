internal import Crypto

/// A P-256 private key in memory, which signs without a prompt: enough for a load client.
public struct SoftwareKey: Sendable {
  /// 65 bytes: 0x04, x, y (ANSI X9.63, uncompressed).
  public let publicKeyX963: [UInt8]
  let privateKey: P256.Signing.PrivateKey

  /// A key from the system's randomness.
  public init() {
    // The library's own generator checks each new key at four times the cost; load needs many.
    var generator = SystemRandomNumberGenerator()
    self.init(using: &generator)
  }

  /// A key from the given randomness: the same generator in the same state gives the same key.
  public init(using generator: inout some RandomNumberGenerator) {
    // A scalar of zero or not below the group's order is refused: about one in 2^32 (SEC 1, 3.2.1).
    while true {
      let scalar = generator.bytes(count: 32)
      if let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) {
        self.init(key)
        return
      }
    }
  }

  /// A key that was kept.
  ///
  /// - Parameter scalar: 32 bytes, big-endian; `nil` if it is none of P-256's.
  package init?(scalar: [UInt8]) {
    guard let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) else { return nil }
    self.init(key)
  }

  /// The private key: 32 bytes, big-endian.
  package var scalar: [UInt8] { Array(privateKey.rawRepresentation) }

  /// ECDSA with SHA-256 over `message`, as DER (RFC 3279, 2.2.3): 68 to 72 bytes, rarely fewer.
  /// The nonce is the library's own, so two signatures of one message differ even where the key was seeded.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    do {
      return try Self.der(Array(privateKey.signature(for: SHA256.hash(data: message)).rawRepresentation))
    } catch {
      fatalError("a valid P-256 key signs every digest: \(error)")
    }
  }

  /// ECDSA-Sig-Value (RFC 3279, 2.2.3) of r and s, 32 bytes each. Load signs often, and the library's encoder is
  /// general and slow.
  package static func der(_ raw: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x30, 0]
    bytes.reserveCapacity(raw.count + 8)
    for number in [raw.prefix(raw.count / 2), raw.suffix(raw.count / 2)] {
      let digits = number.dropLast().drop { $0 == 0 } + number.suffix(1)
      // A number with its first bit set would be negative.
      let sign: [UInt8] = digits.first.map { $0 >= 0x80 } ?? false ? [0] : []
      bytes += [0x02, UInt8(sign.count + digits.count)] + sign + digits
    }
    bytes[1] = UInt8(bytes.count - 2)
    return bytes
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
