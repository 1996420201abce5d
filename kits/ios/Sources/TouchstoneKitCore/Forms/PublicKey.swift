// Forms of public keys and signatures: what wrappers of the phone's keys return, and what the service takes.

/// A public key that the service may take.
public struct PublicKey: Hashable, Sendable {
  public enum Form: String, Sendable {
    case x963, spki, pkcs1
    case compressed = "x963-compressed"
    case spkiCompressed = "spki-compressed"
  }

  public let form: Form
  /// 65 bytes, X9.63; `nil`: RSA, or a compressed point.
  public let x963: Data?
  /// The modulus' length; `nil`: P-256.
  public let bits: Int?
  /// An RSA key as the service takes it: SubjectPublicKeyInfo; `nil`: P-256.
  public let spki: Data?

  private static let rsa: [UInt8] = [0x30, 13, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 1, 1, 5, 0]
  private static let ec: [UInt8] = [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]
  private static let p256: [UInt8] = [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]

  /// - Throws: ``Refusal``
  public init(_ key: Data) throws {
    let bytes = Array(key)
    if bytes.starts(with: "-----BEGIN ".utf8) { throw Refusal("pem") }
    if bytes.first != 0x30 {
      try self.init(point: bytes, .x963, .compressed)
      return
    }
    var outer = DER(bytes[...])
    var inner = try DER(outer.read(0x30))
    guard outer.isEmpty else { throw Refusal("not-a-key") }
    if inner.next == 2 {
      try self.init(rsa: bytes, .pkcs1)
      return
    }
    let algorithm = try inner.element(0x30)
    let content = try inner.read(3)
    guard inner.isEmpty, content.first == 0 else { throw Refusal("not-a-key") }
    let bits = Array(content.dropFirst())
    if Array(algorithm) == Self.rsa {
      try self.init(rsa: bits, .spki)
    } else {
      guard Array(algorithm.dropFirst(2).prefix(Self.ec.count)) == Self.ec else { throw Refusal("not-a-key") }
      let curve = Array(algorithm.dropFirst(2 + Self.ec.count))
      guard curve == Self.p256 else { throw Refusal(curve.first == 6 ? "other-curve" : "not-a-key") }
      try self.init(point: bits, .spki, .spkiCompressed)
    }
  }

  private init(point: [UInt8], _ whole: Form, _ compressed: Form) throws {
    (bits, spki) = (nil, nil)
    let isCompressed = point.count == 33 && (point[0] == 2 || point[0] == 3)
    guard isCompressed || point.count == 65 && point[0] == 4 else { throw Refusal("not-a-key") }
    guard let x = P256Number(point[1...32]) else { throw Refusal("not-on-curve") }
    let square = x * x * x - (x + x + x) + .b
    guard let y = isCompressed ? square.root : P256Number(point[33...64]), y * y == square else {
      throw Refusal("not-on-curve")
    }
    (form, x963) = isCompressed ? (compressed, nil) : (whole, Data(point))
  }

  private init(rsa key: [UInt8], _ form: Form) throws {
    var outer = DER(key[...])
    var numbers = try DER(outer.read(0x30))
    let modulus = try numbers.number()
    let exponent = try numbers.number()
    guard outer.isEmpty, numbers.isEmpty else { throw Refusal("not-a-key") }
    guard modulus.last.map({ $0 & 1 == 1 }) == true else { throw Refusal("rsa-even") }
    let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
    guard bits >= 2_048 else { throw Refusal("rsa-too-small") }
    guard bits <= 4_096 else { throw Refusal("rsa-too-large") }
    guard exponent.elementsEqual([1, 0, 1]) else { throw Refusal("rsa-exponent") }
    (self.form, x963, self.bits) = (form, nil, bits)
    spki = Data(DER.element(0x30, Self.rsa + DER.element(3, [0] + key)))
  }

  /// Returns a signature by this key in one form: r and s in 64 bytes, or of RSA as it is.
  /// - Throws: ``Refusal``, if the bytes have no form of a signature. Whether it is right, the service verifies.
  public func signature(_ bytes: Data) throws -> Data {
    if let bits {
      guard bytes.count == (bits + 7) / 8 else { throw Refusal("not-a-signature") }
      return bytes
    }
    if bytes.count == 64 { return bytes }
    do {
      var outer = DER(Array(bytes)[...])
      var numbers = try DER(outer.read(0x30))
      let both = [try numbers.number(), try numbers.number()]
      guard outer.isEmpty, numbers.isEmpty, both.allSatisfy({ $0.count <= 32 }) else { throw Refusal("") }
      return Data(both.flatMap { [UInt8](repeating: 0, count: 32 - $0.count) + $0 })
    } catch {
      throw Refusal("not-a-signature")
    }
  }
}

/// Reads DER, in which every value has one encoding (X.690).
private struct DER {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  var isEmpty: Bool { rest.isEmpty }
  var next: UInt8? { rest.first }

  /// The content of the next element, which has this tag.
  mutating func read(_ tag: UInt8) throws -> ArraySlice<UInt8> {
    let element = try element(tag)
    return element.dropFirst(element.count - Self.length(element).content)
  }

  /// The same with tag and length.
  mutating func element(_ tag: UInt8) throws -> ArraySlice<UInt8> {
    let (header, content) = Self.length(rest)
    guard rest.first == tag, header > 0, content <= rest.count - header else { throw Refusal("not-a-key") }
    defer { rest = rest.dropFirst(header + content) }
    return rest.prefix(header + content)
  }

  /// A positive integer or zero, without the zero that only says so.
  mutating func number() throws -> ArraySlice<UInt8> {
    let digits = try read(2)
    guard let first = digits.first, first < 0x80 else { throw Refusal("not-a-key") }
    guard first == 0, digits.count > 1 else { return digits }
    guard digits[digits.startIndex + 1] >= 0x80 else { throw Refusal("not-a-key") }
    return digits.dropFirst()
  }

  static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let digits = [UInt8(content.count >> 8), UInt8(content.count & 0xFF)].drop { $0 == 0 }
    return [tag] + (content.count < 0x80 ? digits : [0x80 | UInt8(digits.count)] + digits) + content
  }

  /// The bytes of tag and length, 0 if they are no DER, and those of the content. Two bytes of length suffice here.
  private static func length(_ bytes: ArraySlice<UInt8>) -> (header: Int, content: Int) {
    let head = Array(bytes.prefix(4).dropFirst())
    switch head.first {
    case let count? where count < 0x80: return (2, Int(count))
    case 0x81? where head.count > 1 && head[1] >= 0x80: return (3, Int(head[1]))
    case 0x82? where head.count > 2 && head[1] > 0: return (4, Int(head[1]) << 8 | Int(head[2]))
    default: return (0, 0)
    }
  }
}

/// A number modulo the prime of P-256, for the test whether a point is on the curve (SP 800-186).
private struct P256Number: Equatable {
  /// The lowest first.
  private var words: [UInt64]

  private static let prime: [UInt64] = [UInt64.max, 0xFFFF_FFFF, 0, 0xFFFF_FFFF_0000_0001]
  static let b = P256Number(words: [
    0x3BCE_3C3E_27D2_604B, 0x651D_06B0_CC53_B0F6, 0xB3EB_BD55_7698_86BC, 0x5AC6_35D8_AA3A_93E7,
  ])

  private init(words: [UInt64]) {
    self.words = words
  }

  /// `nil`: it is not less than the prime.
  init?(_ bytes: ArraySlice<UInt8>) {
    words = [24, 16, 8, 0].map { offset in bytes.dropFirst(offset).prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
    if Self.difference(words, Self.prime).borrow == 0 { return nil }
  }

  static func + (left: Self, right: Self) -> Self {
    // a + b = a - (p - b)
    left - Self(words: difference(prime, right.words).words)
  }

  static func - (left: Self, right: Self) -> Self {
    var (words, borrow) = difference(left.words, right.words)
    guard borrow == 1 else { return Self(words: words) }
    var carry: UInt64 = 0
    for index in words.indices {
      let (sum, first) = words[index].addingReportingOverflow(prime[index])
      let (whole, second) = sum.addingReportingOverflow(carry)
      (words[index], carry) = (whole, first || second ? 1 : 0)
    }
    return Self(words: words)
  }

  static func * (left: Self, right: Self) -> Self {
    (0..<256).reversed().reduce(Self(words: [0, 0, 0, 0])) { product, bit in
      let doubled = product + product
      return right.words[bit / 64] >> (bit % 64) & 1 == 1 ? doubled + left : doubled
    }
  }

  /// A root, if the number has one: its power of (p + 1) / 4, which is 2²⁵⁴ - 2²²² + 2¹⁹⁰ + 2⁹⁴.
  var root: Self {
    (0..<254).reversed().reduce(Self(words: [1, 0, 0, 0])) { power, bit in
      bit >= 222 || bit == 190 || bit == 94 ? power * power * self : power * power
    }
  }

  private static func difference(_ left: [UInt64], _ right: [UInt64]) -> (words: [UInt64], borrow: UInt64) {
    var borrow: UInt64 = 0
    let words = left.indices.map { index -> UInt64 in
      let (part, first) = left[index].subtractingReportingOverflow(right[index])
      let (whole, second) = part.subtractingReportingOverflow(borrow)
      borrow = first || second ? 1 : 0
      return whole
    }
    return (words, borrow)
  }
}
