// Attestation by a Trusted Platform Module (WebAuthn Level 3 §8.3; TPM 2.0 Library, part 2).

extension AttestationStatement {
  func tpm() throws(ProofError) -> Trust {
    guard fields["ver"]?.text == "2.0" else { throw ProofError(.malformedStatement, "ver") }
    guard let certInfo = fields["certInfo"]?.bytes, let pubArea = fields["pubArea"]?.bytes else {
      throw ProofError(.malformedStatement, "certInfo or pubArea is missing")
    }
    let (number, signature) = try signature()
    let algorithm = try SignatureAlgorithm(number: number)
    let area = try TPMPublicArea(pubArea)
    guard area.holds(key) else { throw ProofError(.keyDiffers, "pubArea is not the credential's key") }
    let certified = try TPMCertification(certInfo)
    guard let digest = algorithm.digest, areEqual(certified.extraData, digest.hash(message)) else {
      throw ProofError(.challengeDiffers, "certInfo is not of this registration")
    }
    guard certified.name == area.name else { throw ProofError(.keyDiffers, "certInfo is not of pubArea") }
    let chain = try chain()
    try chain.leaf.publicKey().verify(signature, of: certInfo, algorithm, "attestation")
    try checkLeaf(chain.leaf)
    try checkIdentityKey(chain.leaf)
    return try authenticatorTrust(chain, of: credential.aaguid)
  }

  /// §8.3.1.
  private func checkIdentityKey(_ leaf: Certificate) throws(ProofError) {
    guard leaf.hasEmptySubject else {
      throw ProofError(.certificateUnsuitable, "the leaf of a TPM has a subject")
    }
    guard leaf.extension("2.5.29.17") != nil else {
      throw ProofError(.certificateUnsuitable, "the leaf of a TPM has no alternative name")
    }
    guard leaf.hasExtendedKeyUsage("2.23.133.8.3") else {
      throw ProofError(.certificateUnsuitable, "the leaf is not of an attestation identity key")
    }
  }
}

extension SignatureAlgorithm {
  var digest: Digest? {
    switch self {
    case .ecdsa(let digest), .rsa(let digest), .rsaPSS(let digest): digest
    case .edDSA, .mlDSA44, .mlDSA65, .mlDSA87: nil
    }
  }
}

/// TPMS_ATTEST of a key that the TPM certifies.
struct TPMCertification {
  let extraData: [UInt8]
  let name: [UInt8]

  private static let magic = 0xFF54_4347
  private static let typeCertify = 0x8017
  /// TPMS_CLOCK_INFO and the firmware's version.
  private static let clockAndFirmwareBytes = 17 + 8

  init(_ bytes: [UInt8]) throws(ProofError) {
    var reader = TPMReader(bytes, "certInfo")
    guard try reader.number(4) == Self.magic, try reader.number(2) == Self.typeCertify else {
      throw ProofError(.malformedStatement, "certInfo: no certification by a TPM")
    }
    _ = try reader.sized()
    extraData = try reader.sized()
    _ = try reader.take(Self.clockAndFirmwareBytes)
    name = try reader.sized()
    _ = try reader.sized()
    try reader.end()
  }
}

/// TPMT_PUBLIC of an RSA or an elliptic-curve key.
struct TPMPublicArea {
  /// nameAlg ‖ hash of the area.
  let name: [UInt8]
  private let key: Key

  private enum Key {
    case rsa(modulus: [UInt8], exponent: [UInt8])
    case ellipticCurve(number: Int, x: [UInt8], y: [UInt8])
  }

  private enum Algorithm {
    static let rsa = 0x0001
    static let sha1 = 0x0004
    static let sha256 = 0x000B
    static let sha384 = 0x000C
    static let sha512 = 0x000D
    static let null = 0x0010
    static let ecc = 0x0023
  }

  init(_ bytes: [UInt8]) throws(ProofError) {
    var reader = TPMReader(bytes, "pubArea")
    let type = try reader.number(2)
    let nameAlgorithm = try reader.number(2)
    let digest: SignatureAlgorithm.Digest =
      switch nameAlgorithm {
      case Algorithm.sha1: .sha1
      case Algorithm.sha256: .sha256
      case Algorithm.sha384: .sha384
      case Algorithm.sha512: .sha512
      default: throw ProofError(.unsupportedAlgorithm, "pubArea: nameAlg \(nameAlgorithm)")
      }
    // Attributes and the policy that guards its use.
    _ = try reader.take(4)
    _ = try reader.sized()
    switch type {
    case Algorithm.rsa: key = try Self.rsa(&reader)
    case Algorithm.ecc: key = try Self.ellipticCurve(&reader)
    default: throw ProofError(.unsupportedAlgorithm, "pubArea: type \(type)")
    }
    try reader.end()
    name = [UInt8(nameAlgorithm >> 8), UInt8(nameAlgorithm & 0xFF)] + digest.hash(bytes)
  }

  private static func rsa(_ reader: inout TPMReader) throws(ProofError) -> Key {
    try skipSchemes(&reader)
    _ = try reader.number(2)
    let exponent = try reader.number(4)
    // Zero stands for 65537.
    let number = exponent == 0 ? 65_537 : exponent
    let digits = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    return .rsa(modulus: try reader.sized(), exponent: Array(digits.drop { $0 == 0 }))
  }

  private static func ellipticCurve(_ reader: inout TPMReader) throws(ProofError) -> Key {
    try skipSchemes(&reader)
    let curve = try reader.number(2)
    if try reader.number(2) != Algorithm.null { _ = try reader.number(2) }
    return .ellipticCurve(number: curve, x: try reader.sized(), y: try reader.sized())
  }

  /// TPMT_SYM_DEF_OBJECT, then TPMT_RSA_SCHEME or TPMT_ECC_SCHEME.
  private static func skipSchemes(_ reader: inout TPMReader) throws(ProofError) {
    if try reader.number(2) != Algorithm.null { _ = try reader.take(4) }
    if try reader.number(2) != Algorithm.null { _ = try reader.number(2) }
  }

  func holds(_ credential: COSEKey) -> Bool {
    switch key {
    case .rsa(let modulus, let exponent):
      return credential.rsa?.modulus == modulus && credential.rsa?.exponent == exponent
    case .ellipticCurve(let number, let x, let y):
      guard let key = credential.ellipticPoint, Self.curves[number] == key.curve else { return false }
      let count = key.point.count / 2
      return key.point == [0x04] + Self.padded(x, to: count) + Self.padded(y, to: count)
    }
  }

  /// COSE's numbers of P-256, P-384 and P-521, by TPM_ECC_CURVE.
  private static let curves = [0x0003: 1, 0x0004: 2, 0x0005: 3]

  /// Some TPMs leave a coordinate's zeros out.
  private static func padded(_ coordinate: [UInt8], to count: Int) -> [UInt8] {
    [UInt8](repeating: 0, count: max(0, count - coordinate.count)) + coordinate
  }
}

/// Big-endian fields.
private struct TPMReader {
  private let bytes: [UInt8]
  private let name: String
  private var position = 0

  init(_ bytes: [UInt8], _ name: String) {
    self.bytes = bytes
    self.name = name
  }

  mutating func take(_ count: Int) throws(ProofError) -> [UInt8] {
    guard bytes.count - position >= count else { throw ProofError(.malformedStatement, "\(name) ends early") }
    defer { position += count }
    return Array(bytes[position..<position + count])
  }

  mutating func number(_ count: Int) throws(ProofError) -> Int {
    try take(count).reduce(0) { $0 << 8 | Int($1) }
  }

  /// TPM2B: two bytes of length, then as many.
  mutating func sized() throws(ProofError) -> [UInt8] { try take(try number(2)) }

  func end() throws(ProofError) {
    guard position == bytes.count else {
      throw ProofError(.malformedStatement, "\(name) has \(bytes.count - position) bytes after its end")
    }
  }
}
