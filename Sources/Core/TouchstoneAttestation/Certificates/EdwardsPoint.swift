internal import COpenSSL

/// Public keys of Ed25519 and Ed448 that no signer has (RFC 8032 §5.1, §5.2).
enum EdwardsPoint {
  enum Curve {
    case ed25519
    case ed448

    /// The prime of the field, little-endian: 2^255 - 19, and 2^448 - 2^224 - 1.
    fileprivate var prime: [UInt8] {
      switch self {
      case .ed25519: [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
      case .ed448:
        [UInt8](repeating: 0xFF, count: 28) + [0xFE] + [UInt8](repeating: 0xFF, count: 27)
      }
    }

    /// The y of points whose order divides the cofactor, beside 0, 1 and -1: on Ed25519 those of order 8.
    fileprivate var lowOrder: [[UInt8]] {
      switch self {
      case .ed25519:
        [
          [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
            0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
          ],
          [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A, 0x20,
            0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
          ],
        ]
      case .ed448: []
      }
    }

    /// a·x² + y² = 1 + d·x²·y², with d = -numerator / denominator.
    fileprivate var coefficients: (a: Int, numerator: UInt, denominator: UInt) {
      switch self {
      case .ed25519: (-1, 121_665, 121_666)
      case .ed448: (1, 39_081, 1)
      }
    }
  }

  /// Throws if y is not less than the prime, if the point has a low order, or if the curve has no point with this y.
  /// Signatures by a point of low order verify over many messages, and a private key is not needed to make them.
  ///
  /// - Parameter bytes: y, little-endian, with the sign of x in the highest bit.
  static func check(_ bytes: [UInt8], on curve: Curve) throws(ProofError) {
    let prime = curve.prime
    var y = bytes
    guard let last = y.popLast() else { throw ProofError(.malformedKey, "an empty key") }
    // Ed448 has a byte for the sign alone.
    let isWhole = curve == .ed25519 || last & 0x7F == 0
    if curve == .ed25519 { y.append(last & 0x7F) }
    guard isWhole, y.count == prime.count, y.reversed().lexicographicallyPrecedes(prime.reversed()) else {
      throw ProofError(.malformedKey, "a point that is not encoded canonically")
    }
    let one = [1] + [UInt8](repeating: 0, count: prime.count - 1)
    let zero = [UInt8](repeating: 0, count: prime.count)
    var minusOne = prime
    // The prime is odd.
    minusOne[0] -= 1
    guard !(curve.lowOrder + [zero, one, minusOne]).contains(y) else {
      throw ProofError(.malformedKey, "a point of low order")
    }
    guard isOfPoint(y, on: curve) else { throw ProofError(.malformedKey, "a y that no point of the curve has") }
  }

  /// Returns whether x² = denominator·(1 - y²) / (a·denominator + numerator·y²) is a square of the field: OpenSSL reads
  /// any 32 or 57 bytes as a key, and only its verifications fail.
  ///
  /// - Parameter y: less than the prime, and neither 1 nor -1.
  private static func isOfPoint(_ y: [UInt8], on curve: Curve) -> Bool {
    guard let context = BN_CTX_new() else { return false }
    BN_CTX_start(context)
    defer {
      BN_CTX_end(context)
      BN_CTX_free(context)
    }
    let (a, numerator, denominator) = curve.coefficients
    let primeBytes = curve.prime
    guard
      let prime = BN_CTX_get(context), let square = BN_CTX_get(context), let divisor = BN_CTX_get(context),
      let quotient = BN_CTX_get(context),
      BN_lebin2bn(primeBytes, Int32(primeBytes.count), prime) != nil,
      BN_lebin2bn(y, Int32(y.count), square) != nil, BN_mod_sqr(square, square, prime, context) == 1,
      BN_copy(divisor, square) != nil, BN_mul_word(divisor, numerator) == 1,
      (a < 0 ? BN_sub_word : BN_add_word)(divisor, denominator) == 1,
      BN_sub(quotient, BN_value_one(), square) == 1, BN_mul_word(quotient, denominator) == 1,
      // Whether a quotient is a square is the same as whether the product is.
      BN_mod_mul(quotient, quotient, divisor, prime, context) == 1
    else { return false }
    return BN_kronecker(quotient, prime, context) == 1
  }
}
