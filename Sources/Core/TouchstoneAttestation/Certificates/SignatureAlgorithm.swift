/// How a signature is made, as COSE numbers it (IANA's registry of COSE algorithms).
package enum SignatureAlgorithm: Sendable, Hashable {
  case ecdsa(Digest)
  /// PKCS #1 version 1.5.
  case rsa(Digest)
  case rsaPSS(Digest)
  case edDSA
  case mlDSA44
  case mlDSA65
  case mlDSA87

  package enum Digest: Sendable, Hashable {
    /// TPMs of 2020 still sign with it. A certificate may not.
    case sha1
    case sha256
    case sha384
    case sha512
  }

  /// Their numbers in COSE; several may name one.
  private static let numbers: [Int: SignatureAlgorithm] = [
    -7: .ecdsa(.sha256), -9: .ecdsa(.sha256), -35: .ecdsa(.sha384), -51: .ecdsa(.sha384), -36: .ecdsa(.sha512),
    -52: .ecdsa(.sha512), -47: .ecdsa(.sha256),
    -8: .edDSA, -19: .edDSA, -53: .edDSA,
    -37: .rsaPSS(.sha256), -38: .rsaPSS(.sha384), -39: .rsaPSS(.sha512),
    -257: .rsa(.sha256), -258: .rsa(.sha384), -259: .rsa(.sha512), -65535: .rsa(.sha1),
    -48: .mlDSA44, -49: .mlDSA65, -50: .mlDSA87,
  ]

  init(number: Int) throws(ProofError) {
    guard let algorithm = Self.numbers[number] else {
      throw ProofError(.unsupportedAlgorithm, "COSE algorithm \(number)")
    }
    self = algorithm
  }
}
