import Crypto
import Testing

@testable import TouchstoneAttestation

/// Credentials' keys in COSE (RFC 9052, RFC 9053), and what they verify.
struct PublicKeyTests {
  private static let message = Array("message".utf8)

  private static func bytes(_ bytes: some Collection<UInt8>) -> [UInt8] {
    [0x58, UInt8(bytes.count)] + bytes
  }

  /// {1: 2, 3: algorithm, -1: curve, -2: x, -3: y}
  private static func ellipticCurve(
    algorithm: [UInt8], curve: UInt8 = 1, x: some Collection<UInt8>, y: some Collection<UInt8>
  ) -> [UInt8] {
    [0xA5, 0x01, 0x02, 0x03] + algorithm + [0x20, curve, 0x21] + bytes(x) + [0x22] + bytes(y)
  }

  /// {1: 3, 3: algorithm, -1: modulus, -2: exponent}
  private static func rsa(
    algorithm: [UInt8], modulus: [UInt8] = [UInt8](repeating: 0xFF, count: 256), exponent: [UInt8]
  ) -> [UInt8] {
    [0xA4, 0x01, 0x03, 0x03] + algorithm + [0x20, 0x59, UInt8(modulus.count >> 8), UInt8(modulus.count & 0xFF)]
      + modulus + [0x21, 0x40 + UInt8(exponent.count)] + exponent
  }

  /// {1: 1, 3: algorithm, -1: curve, -2: x}
  private static func edwards(_ x: some Collection<UInt8>) -> [UInt8] {
    let isLong = x.count == 57
    let algorithm: [UInt8] = isLong ? [0x38, 0x34] : [0x27]
    return [0xA4, 0x01, 0x01, 0x03] + algorithm + [0x20, isLong ? 0x07 : 0x06, 0x21] + bytes(x)
  }

  private static func refusal(of bytes: [UInt8]) -> ProofError? {
    do throws(ProofError) {
      _ = try COSEKey(bytes)
      return nil
    } catch {
      return error
    }
  }

  @Test func p256Verifies() throws {
    let key = P256.Signing.PrivateKey()
    let point = key.publicKey.x963Representation.dropFirst()
    let cose = try COSEKey(Self.ellipticCurve(algorithm: [0x26], x: point.prefix(32), y: point.suffix(32)))
    #expect(cose.p256Point == Array(key.publicKey.x963Representation))
    let signature = Array(try key.signature(for: Self.message).derRepresentation)
    #expect(throws: Never.self) { try cose.key.verify(signature, of: Self.message, cose.algorithm, "it") }
    #expect(throws: ProofError(.signatureInvalid, "it: the signature is not valid")) {
      try cose.key.verify(signature, of: Self.message + [0], cose.algorithm, "it")
    }
    // The key is no RSA key.
    #expect(throws: ProofError(.signatureInvalid, "it: the signature is not valid")) {
      try cose.key.verify(signature, of: Self.message, .rsa(.sha256), "it")
    }
  }

  @Test func ed25519Verifies() throws {
    let key = Curve25519.Signing.PrivateKey()
    let cose = try COSEKey(Self.edwards(key.publicKey.rawRepresentation))
    let signature = Array(try key.signature(for: Self.message))
    #expect(throws: Never.self) { try cose.key.verify(signature, of: Self.message, cose.algorithm, "it") }
    #expect(throws: ProofError.self) { try cose.key.verify(signature, of: [], cose.algorithm, "it") }
  }

  @Test func mlDSA65Verifies() throws {
    let key = try MLDSA65.PrivateKey()
    let raw = key.publicKey.rawRepresentation
    let cose = try COSEKey(
      [0xA3, 0x01, 0x07, 0x03, 0x38, 0x30, 0x20, 0x59, UInt8(raw.count >> 8), UInt8(raw.count & 0xFF)] + raw)
    let signature = Array(try key.signature(for: Self.message))
    #expect(throws: Never.self) { try cose.key.verify(signature, of: Self.message, cose.algorithm, "it") }
    #expect(throws: ProofError.self) { try cose.key.verify(signature, of: [], cose.algorithm, "it") }
  }

  @Test func whatIsNoKeyIsRefused() {
    let point = P256.Signing.PrivateKey().publicKey.x963Representation.dropFirst()
    let (x, y) = (point.prefix(32), point.suffix(32))
    let bad: [([UInt8], ProofError.Reason)] = [
      // Beside the curve.
      (Self.ellipticCurve(algorithm: [0x26], x: x, y: x), .malformedKey),
      (Self.ellipticCurve(algorithm: [0x26], x: x.dropLast(), y: y), .malformedKey),
      // P-256 and ES384.
      (Self.ellipticCurve(algorithm: [0x38, 0x22], x: x, y: y), .malformedKey),
      (Self.ellipticCurve(algorithm: [0x26], curve: 2, x: x, y: y), .malformedKey),
      // An algorithm that nobody has numbered, and one for encryption.
      (Self.ellipticCurve(algorithm: [0x39, 0x7F, 0xFF], x: x, y: y), .unsupportedAlgorithm),
      (Self.ellipticCurve(algorithm: [0x01], x: x, y: y), .unsupportedAlgorithm),
      // ES256 with an Edwards curve's type.
      ([0xA4, 0x01, 0x01, 0x03, 0x26, 0x20, 0x06, 0x21] + Self.bytes(x), .malformedKey),
      // RS1, and RS256 with an exponent that is even, and with 1.
      (Self.rsa(algorithm: [0x39, 0xFF, 0xFE], exponent: [0x01, 0x00, 0x01]), .unsupportedAlgorithm),
      (Self.rsa(algorithm: [0x39, 0x01, 0x00], exponent: [0x01, 0x00, 0x00]), .malformedKey),
      (Self.rsa(algorithm: [0x39, 0x01, 0x00], exponent: [0x01]), .malformedKey),
      // RS256 with a modulus of eight bits.
      ([0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x41, 0xFF, 0x21, 0x41, 0x03], .malformedKey),
      ([0xA0], .malformedKey), ([0x00], .malformedKey), ([], .malformedCBOR),
    ]
    for (bytes, reason) in bad { #expect(Self.refusal(of: bytes)?.reason == reason) }
  }

  /// Ed25519 and Ed448: y of low order, and y that is not less than the prime; each with both signs of x.
  @Test func pointsThatNoSignerHasAreRefused() {
    func expect(_ reason: String, _ y: [UInt8]) {
      for sign: UInt8 in [0, 0x80] {
        var bytes = y
        bytes[bytes.count - 1] |= sign
        #expect(throws: ProofError(.malformedKey, reason)) { _ = try COSEKey(Self.edwards(bytes)) }
      }
    }
    func filled(_ first: UInt8, _ rest: UInt8, _ last: UInt8) -> [UInt8] {
      [first] + [UInt8](repeating: rest, count: 30) + [last]
    }
    let lowOrder = [filled(0, 0, 0), filled(1, 0, 0), filled(0xEC, 0xFF, 0x7F), Self.orderOfEight]
    for y in lowOrder { expect("a point of low order", y) }
    for first: UInt8 in [0xED, 0xEE, 0xF0, 0xFF] {
      expect("a point that is not encoded canonically", filled(first, 0xFF, 0x7F))
    }
    let prime448 = [UInt8](repeating: 0xFF, count: 28) + [0xFE] + [UInt8](repeating: 0xFF, count: 27) + [0]
    expect("a point of low order", [UInt8](repeating: 0, count: 57))
    expect("a point of low order", [0xFE] + prime448.dropFirst())
    expect("a point that is not encoded canonically", prime448)
    expect("a point that is not encoded canonically", prime448.dropLast() + [1])
  }

  private static let orderOfEight: [UInt8] = [
    0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF, 0xAC,
    0x05,
    0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
  ]

  /// The y from 2 to 63 that a point has, by their bits, as the curve's equation in Python's integers says.
  @Test(arguments: [(32, 0xF7D9_1DAB_7FAD_C67B), (57, 0x82AC_35FA_AF28_33BB)] as [(Int, UInt64)])
  func aYThatNoPointHasIsRefused(_ count: Int, _ points: UInt64) {
    for y in 2..<UInt8(64) {
      for sign: UInt8 in [0, 0x80] {
        let bytes = [y] + [UInt8](repeating: 0, count: count - 2) + [sign]
        let isTaken = points >> y & 1 == 1
        let refusal = Self.refusal(of: Self.edwards(bytes))
        #expect(refusal == (isTaken ? nil : ProofError(.malformedKey, "a y that no point of the curve has")), "\(y)")
      }
    }
  }

  /// RFC 8032 §7.1 and §7.4, and keys of random signers.
  @Test func keysOfSignersAreTaken() throws {
    for text in Self.signers {
      #expect(throws: Never.self, "\(text)") { _ = try COSEKey(Self.edwards(Self.hex(text))) }
    }
    for _ in 0..<64 {
      let key = Curve25519.Signing.PrivateKey().publicKey.rawRepresentation
      #expect(throws: Never.self, "\(Array(key))") { _ = try COSEKey(Self.edwards(key)) }
    }
  }

  private static let signers = [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
    "ec172b93ad5e563f4932c70e1245034c35467ef2efd4d64ebf819683467e2bf2",
    "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6cd1fa1abeafe82561"
      + "80",
    "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a94"
      + "80",
  ]

  private static func hex(_ text: String) -> [UInt8] {
    let digits = Array(text)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
  }

  @Test func anRSAModulusIsOdd() {
    var bytes = Self.rsa(algorithm: [0x39, 0x01, 0x00], exponent: [0x01, 0x00, 0x01])
    #expect(throws: Never.self) { _ = try COSEKey(bytes) }
    // The modulus ends before the exponent's label, head and three bytes.
    bytes[bytes.count - 6] = 0xFE
    #expect(throws: ProofError(.malformedKey, "an RSA modulus that is even")) { _ = try COSEKey(bytes) }
  }

  /// RFC 8230 §4. One zero before a modulus is Java's sign of it; keys that were registered before may have more.
  @Test(
    arguments: [
      (1, 0, 0xFF, true), (2, 0, 0xFF, false), (1, 0, 0x7F, false), (0, 1, 0xFF, false), (1, 1, 0xFF, false),
    ] as [(Int, Int, UInt8, Bool)])
  func zerosBeforeRSANumbersAreRefused(_ before: Int, _ beforeExponent: Int, _ first: UInt8, _ isTaken: Bool) {
    let zeros = [UInt8](repeating: 0, count: 2)
    let bytes = Self.rsa(
      algorithm: [0x39, 0x01, 0x00],
      modulus: zeros.prefix(before) + [first] + [UInt8](repeating: 0xFF, count: 255),
      exponent: zeros.prefix(beforeExponent) + [0x01, 0x00, 0x01])
    #expect(Self.refusal(of: bytes) == (isTaken ? nil : ProofError(.malformedKey, "zeros before n or e")))
    #expect(throws: Never.self) { _ = try COSEKey(bytes, as: .wellFormed) }
  }

  /// WebAuthn Level 3, 6.5.1.1: key id, operations, unknown and text labels, a private part, for each kind of key.
  @Test(
    arguments: [Kind.ec2, .okp, .rsa],
    [
      [0x02, 0x41, 0x00], [0x04, 0x81, 0x01], [0x05, 0x41, 0x00], [0x18, 0x63, 0x00], [0x23, 0x41, 0x00],
      [0x24, 0x41, 0x00], [0x38, 0x63, 0x00], [0x61, 0x78, 0x00],
    ] as [[UInt8]])
  func aNewKeyHasNoOtherParameter(_ kind: Kind, _ parameter: [UInt8]) throws {
    let members = kind.members
    // CTAP2's order: unsigned before negative before text, each by its bytes.
    let sorted = (members + [parameter]).sorted { ($0[0] >> 5, $0[0]) < ($1[0] >> 5, $1[0]) }
    func map(_ members: [[UInt8]]) -> [UInt8] { [0xA0 + UInt8(members.count)] + members.joined() }
    #expect(throws: Never.self) { _ = try COSEKey(map(members)) }
    let refusal = ProofError(.malformedKey, "has a parameter that kty \(kind.rawValue) does not have")
    #expect(throws: refusal) { _ = try COSEKey(map(sorted)) }
    #expect(throws: Never.self) { _ = try COSEKey(map(sorted), as: .wellFormed) }
  }

  enum Kind: UInt8 {
    case okp = 1
    case ec2 = 2
    case rsa = 3

    /// The map of a key of this kind, in CTAP2's order.
    fileprivate var members: [[UInt8]] {
      let kind = [0x01, rawValue]
      switch self {
      case .okp:
        let x = Curve25519.Signing.PrivateKey().publicKey.rawRepresentation
        return [kind, [0x03, 0x27], [0x20, 0x06], [0x21] + PublicKeyTests.bytes(x)]
      case .ec2:
        let point = P256.Signing.PrivateKey().publicKey.rawRepresentation
        return [
          kind, [0x03, 0x26], [0x20, 0x01], [0x21] + PublicKeyTests.bytes(point.prefix(32)),
          [0x22] + PublicKeyTests.bytes(point.suffix(32)),
        ]
      case .rsa:
        let modulus = [0x20, 0x59, 0x01, 0x00] + [UInt8](repeating: 0xFF, count: 256)
        return [kind, [0x03, 0x39, 0x01, 0x00], modulus, [0x21, 0x43, 0x01, 0x00, 0x01]]
      }
    }
  }

  @Test func aStoredKeyMayBeOfAnotherForm() throws {
    let point = P256.Signing.PrivateKey().publicKey.x963Representation.dropFirst()
    let canonical = Self.ellipticCurve(algorithm: [0x26], x: point.prefix(32), y: point.suffix(32))
    let indefinite = [0xBF] + canonical.dropFirst() + [0xFF]
    #expect(throws: ProofError.self) { _ = try COSEKey(indefinite) }
    #expect(try COSEKey(indefinite, as: .wellFormed).p256Point == COSEKey(canonical).p256Point)
  }

  /// Their cost is bounded, and what is not served says so.
  @Test(arguments: [
    // ML-DSA-65's number (2.16.840.1.101.3.4.3.18).
    ("3012300b06096086480165030403120303000000", ProofError.Reason.unsupportedAlgorithm),
    // P-224, and P-256 spelled out: a curve of the peer's own making.
    (p224, .unsupportedAlgorithm), (explicitP256, .unsupportedAlgorithm),
    // P-256 without a point.
    ("3016301306072a8648ce3d020106082a8648ce3d0301070300", .malformedKey), ("", .malformedKey), ("3000", .malformedKey),
  ]) func certificatesKeysAreBounded(_ hexadecimal: String, _ reason: ProofError.Reason) {
    #expect(throws: ProofError.self) {
      do throws(ProofError) { _ = try PublicKey(subjectPublicKeyInfo: Self.hex(hexadecimal)) } catch {
        #expect(error.reason == reason)
        throw error
      }
    }
  }

  private static let p224 =
    "304e301006072a8648ce3d020106052b81040021033a000495c22ef65cf05ba8c5906e4913ed996058928d58ecbe9b58bc6ca307c9de951c"
    + "a887c7d5b5977cef29463f97e8f538c45580764c458594ad"
  private static let explicitP256 =
    "3082014b3082010306072a8648ce3d02013081f7020101302c06072a8648ce3d0101022100ffffffff000000010000000000000000000000"
    + "00ffffffffffffffffffffffff305b0420ffffffff00000001000000000000000000000000fffffffffffffffffffffffc04205ac635d8aa"
    + "3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b031500c49d360886e704936a6678e1139d26b7819f7e900441046b17d1"
    + "f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb640"
    + "6837bf51f5022100ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc63255102010103420004017420f4c9c229cd35"
    + "b131cd332660332ea8f846e70626106bb58ba50cb785275ecbcce432ee67c99c0fa65ebd2ccae490254b849a41464880ef0072abaf34bc"
}
