internal import Crypto

/// A hybrid key in memory, as apps of iOS 26 make two keys in the Secure Enclave: ML-DSA-65 (FIPS 204) beside P-256.
/// Both sign the same bytes, without a prompt.
public struct HybridKey: Sendable {
  public let p256: SoftwareKey
  /// 1,952 bytes.
  public let mlDSA65PublicKey: [UInt8]
  private let mlDSA65: MLDSA65.PrivateKey

  /// A key from the system's randomness.
  public init() {
    var generator = SystemRandomNumberGenerator()
    self.init(using: &generator)
  }

  /// A key from the given randomness: the same generator in the same state gives the same key.
  public init(using generator: inout some RandomNumberGenerator) {
    self.init(p256: SoftwareKey(using: &generator), seed: generator.bytes(count: Self.seedBytes))
  }

  /// FIPS 204, 7.1: ML-DSA's keys are made from 32 random bytes.
  private static let seedBytes = 32

  private init(p256: SoftwareKey, seed: [UInt8]) {
    self.p256 = p256
    do {
      mlDSA65 = try MLDSA65.PrivateKey(seedRepresentation: seed, publicKey: nil)
    } catch {
      fatalError("32 bytes make a key of ML-DSA-65: \(error)")
    }
    mlDSA65PublicKey = Array(mlDSA65.publicKey.rawRepresentation)
  }

  /// By ML-DSA-65 with an empty context: 3,309 bytes. Two signatures of one message differ.
  public func signByMLDSA65(_ message: [UInt8]) -> [UInt8] {
    do {
      return Array(try mlDSA65.signature(for: message))
    } catch {
      fatalError("a key of ML-DSA-65 signs every message: \(error)")
    }
  }
}
