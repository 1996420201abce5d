// Random bytes, digests and comparison, for every other file here.

import Crypto
import Glibc

/// Bytes of the kernel's generator (getentropy(3)), good enough for keys.
///
/// - Precondition: `count` is at most 256, the most that one call returns.
public func randomBytes(_ count: Int) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
    precondition(getentropy(buffer.baseAddress, count) == 0, "no entropy: \(count) bytes requested, errno \(errno)")
    filled = count
  }
}

/// SHA-256 (FIPS 180-4), 32 bytes.
public func sha256(_ bytes: [UInt8]) -> [UInt8] {
  SHA256.hash(of: bytes).withUnsafeBytes { Array($0) }
}

/// Takes the same time for equal and different contents; the lengths are no secret.
package func areEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  left.withUnsafeBytes { left in right.withUnsafeBytes { areEqualInConstantTime(left, $0) } }
}

extension SHA256 {
  /// As `hash(data:)`, without its generic way through the regions of the data: an array is one region.
  static func hash(of bytes: [UInt8]) -> Digest {
    bytes.withUnsafeBytes { bytes in
      var digest = SHA256()
      digest.update(bufferPointer: bytes)
      return digest.finalize()
    }
  }
}

/// A source of random bytes: the kernel, or a seed if a simulation must be repeatable.
///
/// Signing draws its own (ECDSA's nonce, inside swift-crypto), so that a token's signature differs each time.
public struct Randomness: Sendable {
  private let generate: @Sendable (Int) -> [UInt8]

  /// The kernel's generator; see `randomBytes`.
  public static let system = Randomness(generate: randomBytes)

  /// - Parameter generate: returns as many bytes as requested. Any other source than the system's is only for
  ///   simulations, because all protection depends on these bytes.
  public init(generate: @escaping @Sendable (Int) -> [UInt8]) {
    self.generate = generate
  }

  public func bytes(_ count: Int) -> [UInt8] {
    let bytes = generate(count)
    precondition(bytes.count == count, "a source of randomness gave \(bytes.count) bytes instead of \(count)")
    return bytes
  }
}
