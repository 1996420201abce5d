// FIDO's metadata as it is published: a JWS (RFC 7515) with the certificates of its signer (FIDO Metadata Service 3.0,
// §3.1.7).

internal import Crypto
internal import Encodings
internal import FoundationEssentials

extension AuthenticatorMetadata {
  /// In 2026 it has 10 MB, most of it pictures.
  package static let maximumBytes = 32 << 20
  /// GlobalSign's roots vouch for every site's certificate. This site alone signs metadata.
  private static let signer = "mds.fidoalliance.org"
  /// id-kp-serverAuth (RFC 5280 §4.2.1.12). A certificate for mail or code with the same name does not sign metadata.
  private static let serverAuthentication = "1.3.6.1.5.5.7.3.1"

  /// - Parameters:
  ///   - roots: what the signer's certificates must lead to.
  ///   - time: seconds since 1970. Certificates count as of the day on which the next publication was due, if that has
  ///     passed: how old metadata may be is decided by its age (R45).
  package static func read(
    _ file: [UInt8], roots: [Certificate], at time: Int
  ) throws(ProofError) -> AuthenticatorMetadata {
    guard file.count <= maximumBytes else {
      throw ProofError(.malformedStatement, "\(file.count) bytes, more than \(maximumBytes)")
    }
    let text = try SignedText(file)
    // First who signed, then whether they did, and only then what it says.
    let chain = try text.header.chain()
    _ = try chain.anchor(among: roots, at: time, .notBefore)
    guard chain.leaf.isOf(host: signer) else {
      throw ProofError(.certificateUnsuitable, "the signer's certificate is not of \(signer)")
    }
    guard chain.leaf.hasExtendedKeyUsage(serverAuthentication) else {
      throw ProofError(.certificateUnsuitable, "the signer's certificate is not for a site")
    }
    try text.verify(by: try chain.leaf.publicKey())
    let metadata = try AuthenticatorMetadata(payload: try text.payload())
    _ = try chain.anchor(among: roots, at: min(time, metadata.nextUpdate), .all)
    return metadata
  }

  /// GlobalSign's, to which FIDO's own publications lead: until August 2026 to R3, and since then to R46.
  package static func builtInRoots() throws(ProofError) -> [Certificate] {
    let roots = PackageResources.globalsign_root_r3_pem + PackageResources.globalsign_root_r46_pem
    return try Certificate.readPEM(String(decoding: roots, as: UTF8.self))
  }
}

/// A JWS in its compact form: header, payload and signature, each in base64url, with dots between them.
private struct SignedText {
  let header: Header
  private let encodedPayload: ArraySlice<UInt8>
  private let signature: [UInt8]
  /// Header and payload as they were signed.
  private let message: [UInt8]

  /// The signer's certificates in base64, and a few words.
  private static let maximumHeaderBytes = 256 << 10
  /// RSA of 8,192 bits has 1,024.
  private static let maximumSignatureBytes = 2_048

  init(_ file: [UInt8]) throws(ProofError) {
    // Editors and `echo` end files with a line feed.
    let end = file.lastIndex { !Self.isWhiteSpace($0) }.map { $0 + 1 } ?? 0
    let parts = file[..<end].split(
      separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw Self.malformed("not a JWS of three parts") }
    guard parts[0].count <= Self.maximumHeaderBytes, parts[2].count <= Self.maximumSignatureBytes else {
      throw Self.malformed("its header or its signature is too long")
    }
    guard let headerBytes = Base64URL.decode(parts[0]), let signature = Base64URL.decode(parts[2]) else {
      throw Self.malformed("its header or its signature is not base64url")
    }
    do {
      header = try JSONDecoder().decode(Header.self, from: Data(headerBytes))
    } catch {
      throw Self.malformed("its header: \(error)")
    }
    self.signature = signature
    encodedPayload = parts[1]
    message = Array(file[..<parts[1].endIndex])
  }

  func payload() throws(ProofError) -> [UInt8] {
    guard let bytes = Base64URL.decode(encodedPayload) else { throw Self.malformed("its payload is not base64url") }
    return bytes
  }

  func verify(by key: PublicKey) throws(ProofError) {
    switch header.algorithm {
    case "RS256":
      try key.verify(signature, of: message, .rsa(.sha256), "metadata")
    case "ES256":
      // RFC 7518 §3.4: both numbers, one after the other.
      guard let pair = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
        throw Self.malformed("its signature does not have 64 bytes")
      }
      try key.verify(Array(pair.derRepresentation), of: message, .ecdsa(.sha256), "metadata")
    default:
      throw ProofError(.unsupportedAlgorithm, "alg \"\(header.algorithm.prefix(32))\" is not served")
    }
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    [UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " ")].contains(byte)
  }

  private static func malformed(_ detail: String) -> ProofError { ProofError(.malformedStatement, detail) }

  struct Header: Decodable {
    let algorithm: String
    /// DER in base64, the signer's first. Their address alone (x5u) would not do: nothing is fetched.
    private let certificates: [String]?
    /// The extensions that a reader must understand (RFC 7515 §4.1.11). This reader understands none.
    private let critical: [String]?

    private enum CodingKeys: String, CodingKey {
      case algorithm = "alg"
      case certificates = "x5c"
      case critical = "crit"
    }

    func chain() throws(ProofError) -> CertificateChain {
      guard critical == nil else { throw SignedText.malformed("its header has crit") }
      guard let certificates else { throw ProofError(.chainIncomplete, "its header has no x5c") }
      guard certificates.count <= CertificateChain.maximumCount else {
        throw ProofError(.chainBroken, "more than \(CertificateChain.maximumCount) certificates")
      }
      var der: [[UInt8]] = []
      for text in certificates {
        guard let bytes = Base64.decode(text) else { throw SignedText.malformed("x5c is not base64") }
        der.append(bytes)
      }
      return try CertificateChain(der: der)
    }
  }
}
