internal import SwiftASN1

/// A public key of a credential (RFC 9052, RFC 9053).
package struct COSEKey: Sendable {
  package let algorithm: SignatureAlgorithm
  /// As COSE numbers it.
  package let algorithmNumber: Int
  package let key: PublicKey
  /// The same key in a certificate's form; `nil` for ML-DSA.
  let subjectPublicKeyInfo: [UInt8]?
  /// 04 ‖ x ‖ y of a P-256 key; `nil` for others.
  var p256Point: [UInt8]? { ellipticPoint.flatMap { $0.curve == Self.p256 ? $0.point : nil } }
  /// By COSE's number of the curve, 04 ‖ x ‖ y; `nil` for other kinds.
  let ellipticPoint: (curve: Int, point: [UInt8])?
  /// The parts of an RSA key; `nil` for others.
  let rsa: (modulus: [UInt8], exponent: [UInt8])?

  /// RFC 9052 §7.1, RFC 9053 §7.
  private enum Label {
    static let kind = 1
    static let algorithm = 3
    static let curve = -1
    static let x = -2
    static let y = -3
    static let modulus = -1
    static let exponent = -2
    static let mlDSA = -1
  }

  private enum Kind {
    static let okp = 1
    static let ec2 = 2
    static let rsa = 3
    static let akp = 7
  }

  /// COSE's number of the curve.
  static let p256 = 1

  /// - Parameter form: of a new credential; one that was registered before this was asked for may be of another.
  package init(_ bytes: [UInt8], as form: CBORReader.Form = .ctap2Canonical) throws(ProofError) {
    guard let map = try CBORReader.read(bytes, as: form).map else { throw ProofError(.malformedKey, "not a map") }
    guard let kind = map[Label.kind]?.integer, let number = map[Label.algorithm]?.integer else {
      throw ProofError(.malformedKey, "kty or alg is missing")
    }
    if form == .ctap2Canonical { try Self.requireNothingElse(in: map, kind) }
    algorithmNumber = number
    algorithm = try SignatureAlgorithm(number: number)
    guard algorithm != .rsa(.sha1) else { throw ProofError(.unsupportedAlgorithm, "RS1: SHA-1 no longer holds") }
    var rsa: (modulus: [UInt8], exponent: [UInt8])?
    var ellipticPoint: (curve: Int, point: [UInt8])?
    var info: [UInt8]?
    switch (kind, algorithm) {
    case (Kind.ec2, .ecdsa):
      let curve = Self.curve(number)
      let point = try Self.point(map, on: curve, number)
      info = SubjectPublicKeyInfo.ellipticCurve(curve.oid, point: point)
      ellipticPoint = (curve.number, point)
    case (Kind.okp, .edDSA):
      info = try Self.edwards(map, number)
    case (Kind.rsa, .rsa), (Kind.rsa, .rsaPSS):
      let numbers = try Self.numbers(map, form)
      info = SubjectPublicKeyInfo.rsa(modulus: numbers.modulus, exponent: numbers.exponent)
      rsa = numbers
    case (Kind.akp, .mlDSA65), (Kind.akp, .mlDSA87):
      break
    case (Kind.akp, .mlDSA44):
      throw ProofError(.unsupportedAlgorithm, "ML-DSA-44")
    default:
      throw ProofError(.malformedKey, "kty \(kind) with alg \(number)")
    }
    if let info {
      key = try PublicKey(subjectPublicKeyInfo: info, minimumRSABits: Self.minimumModulusBits)
    } else {
      guard let raw = map[Label.mlDSA]?.bytes else { throw ProofError(.malformedKey, "pub is missing") }
      key = algorithm == .mlDSA65 ? try PublicKey(mlDSA65: raw) : try PublicKey(mlDSA87: raw)
    }
    self.rsa = rsa
    self.ellipticPoint = ellipticPoint
    subjectPublicKeyInfo = info
  }

  // MARK: Kinds

  /// A credential's key has the parameters of its kind and no other (WebAuthn Level 3, 6.5.1.1).
  private static func requireNothingElse(in map: CBORMap, _ kind: Int) throws(ProofError) {
    let own =
      switch kind {
      case Kind.ec2: [Label.curve, Label.x, Label.y]
      case Kind.okp: [Label.curve, Label.x]
      case Kind.rsa: [Label.modulus, Label.exponent]
      default: [Label.mlDSA]
      }
    let labels = [Label.kind, Label.algorithm] + own
    guard map.members.keys.allSatisfy({ $0.integer.map(labels.contains) ?? false }) else {
      throw ProofError(.malformedKey, "has a parameter that kty \(kind) does not have")
    }
  }

  private struct Curve {
    let number: Int
    let oid: ASN1ObjectIdentifier
    let coordinateBytes: Int
  }

  /// By algorithm: in WebAuthn one algorithm has one curve (Level 3 §5.8.5).
  private static func curve(_ algorithm: Int) -> Curve {
    switch algorithm {
    case -35, -51: Curve(number: 2, oid: [1, 3, 132, 0, 34], coordinateBytes: 48)
    case -36, -52: Curve(number: 3, oid: [1, 3, 132, 0, 35], coordinateBytes: 66)
    case -47: Curve(number: 8, oid: [1, 3, 132, 0, 10], coordinateBytes: 32)
    default: Curve(number: p256, oid: SubjectPublicKeyInfo.p256, coordinateBytes: 32)
    }
  }

  private static func point(_ map: CBORMap, on curve: Curve, _ algorithm: Int) throws(ProofError) -> [UInt8] {
    guard
      map[Label.curve]?.integer == curve.number, let x = map[Label.x]?.bytes, let y = map[Label.y]?.bytes,
      x.count == curve.coordinateBytes, y.count == curve.coordinateBytes
    else { throw ProofError(.malformedKey, "crv, x or y does not fit alg \(algorithm)") }
    return [0x04] + x + y
  }

  private static func edwards(_ map: CBORMap, _ algorithm: Int) throws(ProofError) -> [UInt8] {
    let isLong = algorithm == -53
    guard
      map[Label.curve]?.integer == (isLong ? 7 : 6), let x = map[Label.x]?.bytes, x.count == (isLong ? 57 : 32)
    else { throw ProofError(.malformedKey, "crv or x does not fit alg \(algorithm)") }
    return SubjectPublicKeyInfo.edwards([1, 3, 101, isLong ? 113 : 112], key: x)
  }

  /// A TPM's key may have so few: see `PasskeyRegistration`.
  private static let minimumModulusBits = 1_024
  private static let modulusBytes = minimumModulusBits / 8...1_024
  private static let exponentBytes = 1...8

  /// RFC 8230 §4 allows no zeros before a number. Registrations exist with one before the modulus: Java writes it as
  /// the sign of a number whose first bit is set. Keys that are stored already may have more, because they were
  /// accepted.
  private static func numbers(
    _ map: CBORMap, _ form: CBORReader.Form
  ) throws(ProofError) -> (modulus: [UInt8], exponent: [UInt8]) {
    guard let n = map[Label.modulus]?.bytes, let e = map[Label.exponent]?.bytes else {
      throw ProofError(.malformedKey, "n or e is missing")
    }
    let modulus = n.drop { $0 == 0 }
    let exponent = e.drop { $0 == 0 }
    guard modulusBytes.contains(modulus.count), exponentBytes.contains(exponent.count) else {
      throw ProofError(.malformedKey, "n or e is too short or too long")
    }
    let hasSign = n.count == modulus.count + 1 && modulus.first.map { $0 >= 0x80 } == true
    guard form == .wellFormed || (e.count == exponent.count && (n.count == modulus.count || hasSign)) else {
      throw ProofError(.malformedKey, "zeros before n or e")
    }
    return (Array(modulus), Array(exponent))
  }
}
