/// A well-formed signature: its numbers are in the ranges that vector arithmetic is defined for.
package struct SignatureLane: Sendable {
  package let publicKey: P256PublicKey
  /// `r ‖ s`, each from 1 to n - 1.
  package let signature: [UInt8]
  /// As a number from 1 to n - 1, which all but one digest in 2^32 are.
  package let digest: [UInt8]

  /// `nil` if a number is out of its range.
  package init?(publicKey: P256PublicKey, signature: [UInt8], digest: [UInt8]) {
    guard
      signature.count == P256Signature.rawByteCount,
      Self.isScalar(signature.prefix(Self.scalarByteCount)),
      Self.isScalar(signature.suffix(Self.scalarByteCount)),
      digest.count == Self.scalarByteCount,
      Self.isScalar(digest[...])
    else { return nil }
    (self.publicKey, self.signature, self.digest) = (publicKey, signature, digest)
  }

  /// `nil` if the signature is malformed, or a number is out of its range.
  package init?(_ check: SignatureCheck) {
    guard let signature = P256Signature(check.signature) else { return nil }
    self.init(publicKey: check.publicKey, signature: signature.raw, digest: sha256(check.message))
  }

  private static func isScalar(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.contains { $0 != 0 } && bytes.lexicographicallyPrecedes(order)
  }

  private static let scalarByteCount = 32

  /// n, the number of P-256's points (SP 800-186, 3.2.1.3), big-endian.
  private static let order: [UInt8] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
  ]
}

/// Verifies several signatures at once, each in a lane of the CPU's vectors.
package protocol LaneVerifier: Sendable {
  /// The name for the log.
  var name: String { get }

  /// The most signatures of one call.
  var laneCount: Int { get }

  /// With fewer signatures, verifying one by one is faster.
  var minimumCount: Int { get }

  /// Returns which of at most `laneCount` signatures are right, in their order.
  ///
  /// It may refuse a right signature, because a refused one is verified again. It accepts no wrong one.
  func verify(_ lanes: [SignatureLane]) -> [Bool]
}
