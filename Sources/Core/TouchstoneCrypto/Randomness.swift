// Random bytes: from the kernel, or from a seed if a simulation must be repeatable.

/// A source of random bytes.
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
