import Crypto

/// The second half of a hybrid key (R48): ML-DSA-65 (FIPS 204), whose signatures a quantum computer does not forge.
public struct MLDSA65PublicKey: Sendable, Hashable {
  /// As FIPS 204 encodes it.
  public let bytes: [UInt8]
  private let key: MLDSA65.PublicKey

  public static let byteCount = 1_952
  public static let signatureByteCount = 3_309

  public init(bytes: [UInt8]) throws(CryptoError) {
    guard bytes.count == Self.byteCount, let key = try? MLDSA65.PublicKey(rawRepresentation: bytes) else {
      throw CryptoError(
        code: .invalidPublicKey, message: "not a key of ML-DSA-65 in \(Self.byteCount) bytes (\(bytes.count) bytes)")
    }
    self.bytes = bytes
    self.key = key
  }

  /// With an empty context. A malformed signature is `false`.
  public func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    key.isValidSignature(signature, for: message)
  }

  public static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }

  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
