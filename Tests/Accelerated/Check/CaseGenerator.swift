// Random, malformed and crafted signatures in batches of one to nine.

import Crypto
import TouchstoneCrypto

struct CaseGenerator {
  private var random: SplitMix64
  private let keys: [P256.Signing.PrivateKey]
  private let crafted: [VerificationCase]

  /// The keys and what happens to each signature follow from the seed. The nonces are swift-crypto's own.
  init(seed: UInt64, crafted: [VerificationCase]) {
    var random = SplitMix64(state: seed)
    var keys: [P256.Signing.PrivateKey] = []
    while keys.count < Self.keyCount {
      let scalar = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
      if let key = try? P256.Signing.PrivateKey(rawRepresentation: scalar) { keys.append(key) }
    }
    (self.random, self.keys, self.crafted) = (random, keys, crafted)
  }

  /// Enough that a batch seldom has a key twice.
  private static let keyCount = 64
  private static let largestBatch = 9
  /// One batch in so many has crafted signatures among its own.
  private static let craftedInterval = 4

  /// Signatures with swift-crypto's answers.
  mutating func nextBatch() -> [VerificationCase] {
    let count = Int.random(in: 1...Self.largestBatch, using: &random)
    let hasDigests = !crafted.isEmpty && Int.random(in: 0..<Self.craftedInterval, using: &random) == 0
    return (0..<count).map { _ in
      var one = hasDigests ? craftedOrSigned() : altered(signed())
      one.isRight = one.answerOfSwiftCrypto()
      return one
    }
  }

  // MARK: Right ones

  private mutating func signed() -> VerificationCase {
    let key = keys.randomElement(using: &random)!
    let message = randomBytes(upTo: 80)
    return VerificationCase(
      key: Array(key.publicKey.x963Representation), signature: sign(SHA256.hash(data: message), by: key),
      signed: .message(message))
  }

  private func sign(_ digest: some Digest, by key: P256.Signing.PrivateKey) -> [UInt8] {
    guard let signature = try? key.signature(for: digest) else { fatalError("a valid key signs every digest") }
    return Array(signature.rawRepresentation)
  }

  /// With a digest instead of a message, so that both kinds share a batch.
  private mutating func craftedOrSigned() -> VerificationCase {
    if Bool.random(using: &random) { return crafted.randomElement(using: &random)! }
    var one = altered(signed())
    if one.signature.count != 64 { one.signature = [UInt8](repeating: 1, count: 64) }
    if case .message(let message) = one.signed { one.signed = .digest(sha256(message)) }
    return one
  }

  // MARK: Alterations

  private enum Alteration: CaseIterable {
    case none, mirroredS, der, mirroredDER
    case message, key, oneBit, swapped, boundaryR, boundaryS, boundaryBoth
    case truncated, brokenDER, random, keyOffCurve
  }

  private mutating func altered(_ right: VerificationCase) -> VerificationCase {
    var one = right
    let (r, s) = (Array(one.signature.prefix(32)), Array(one.signature.suffix(32)))
    // Every other signature is right, so that right and wrong lanes stand beside one another.
    let alteration = Bool.random(using: &random) ? Alteration.none : Alteration.allCases.randomElement(using: &random)!
    switch alteration {
    case .none: break
    case .mirroredS: one.signature = r + Scalar.orderMinus(s)
    case .der: one.signature = der(r, s)
    case .mirroredDER: one.signature = der(r, Scalar.orderMinus(s))
    case .message: one.signed = .message(randomBytes(upTo: 80))
    case .key: one.key = Array(keys.randomElement(using: &random)!.publicKey.x963Representation)
    case .oneBit: flipBit(in: &one.signature)
    case .swapped: one.signature = s + r
    case .boundaryR: one.signature = Scalar.boundaries.randomElement(using: &random)! + s
    case .boundaryS: one.signature = r + Scalar.boundaries.randomElement(using: &random)!
    case .boundaryBoth:
      one.signature =
        Scalar.boundaries.randomElement(using: &random)! + Scalar.boundaries.randomElement(using: &random)!
    case .truncated: one.signature.removeLast(Int.random(in: 1...64, using: &random))
    case .brokenDER:
      one.signature = der(r, s)
      flipBit(in: &one.signature)
    case .random: one.signature = (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
    case .keyOffCurve:
      // No key of the service is one of these, because `P256PublicKey` refuses them; the judge tries.
      one.key = [[0], [4] + [UInt8](repeating: 0, count: 64), offCurve(one.key)].randomElement(using: &random)!
    }
    return one
  }

  private mutating func offCurve(_ key: [UInt8]) -> [UInt8] {
    var key = key
    let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
    key[Int.random(in: 1..<key.count, using: &random)] ^= bit
    return key
  }

  private mutating func flipBit(in bytes: inout [UInt8]) {
    let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
    bytes[Int.random(in: bytes.indices, using: &random)] ^= bit
  }

  private mutating func randomBytes(upTo count: Int) -> [UInt8] {
    (0..<Int.random(in: 0...count, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private func der(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] {
    func integer(_ number: [UInt8]) -> [UInt8] {
      var digits = Array(number.drop { $0 == 0 })
      if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
      return [0x02, UInt8(digits.count)] + digits
    }
    let content = integer(r) + integer(s)
    return [0x30, UInt8(content.count)] + content
  }
}

/// Numbers of 32 bytes, big-endian.
private enum Scalar {
  static let order = bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

  /// 0, 1, n - 1, n, n + 1, p, 2^255 and 2^256 - 1.
  static let boundaries =
    [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0000000000000000000000000000000000000000000000000000000000000001",
      "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550",
      "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
      "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552",
      "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
      "8000000000000000000000000000000000000000000000000000000000000000",
      "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ].map { bytes($0) }

  static func orderMinus(_ number: [UInt8]) -> [UInt8] {
    var result = order
    var borrow = 0
    for index in order.indices.reversed() {
      let difference = Int(order[index]) - Int(number[index]) - borrow
      borrow = difference < 0 ? 1 : 0
      result[index] = UInt8(truncatingIfNeeded: difference)
    }
    return result
  }
}

/// SplitMix64 (Steele, Lea, Flood 2014), the same on every machine.
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
