internal import Crypto
internal import FoundationEssentials

/// A stand-in for Apple's App Attestation CA, which certifies App Attest keys. A service believes it if its
/// configuration has the root in `attestation.roots.apple`.
///
/// The root and the authority below it have keys of P-384, as Apple's. All certificates are valid from 2020 to 2049.
public final class AppAttestAuthority: Sendable {
  /// DER
  public let root: [UInt8]
  private let intermediate: [UInt8]
  private let key: P384.Signing.PrivateKey

  private static let rootName = "Simulated App Attestation Root CA"
  private static let intermediateName = "Simulated App Attestation CA 1"

  public init() {
    let rootKey = P384.Signing.PrivateKey()
    key = P384.Signing.PrivateKey()
    root = Self.certificate(
      of: Array(rootKey.publicKey.derRepresentation), Self.rootName, by: rootKey, Self.rootName, X509.authority)
    intermediate = Self.certificate(
      of: Array(key.publicKey.derRepresentation), Self.intermediateName, by: rootKey, Self.rootName, X509.authority)
  }

  /// As the configuration's file has it.
  public var rootPEM: String {
    let digits = Data(root).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    return "-----BEGIN CERTIFICATE-----\n\(digits)\n-----END CERTIFICATE-----\n"
  }

  /// - Returns: DER, leaf first, without the root.
  func chain(for key: SoftwareKey, nonce: [UInt8]) -> [[UInt8]] {
    let leaf = Self.certificate(
      of: Array(key.privateKey.publicKey.derRepresentation), "App Attest key", by: self.key, Self.intermediateName,
      [X509.nonce(nonce)])
    return [leaf, intermediate]
  }

  private static func certificate(
    of publicKey: [UInt8], _ subject: String, by issuerKey: P384.Signing.PrivateKey, _ issuer: String,
    _ extensions: [[UInt8]]
  ) -> [UInt8] {
    let body = X509.body(publicKey, subject, issuer, extensions)
    do {
      // With SHA-256, as Apple's intermediate signs.
      let signature = try issuerKey.signature(for: SHA256.hash(data: body))
      return X509.certificate(body, signature: Array(signature.derRepresentation))
    } catch {
      fatalError("a valid P-384 key signs every digest: \(error)")
    }
  }
}
