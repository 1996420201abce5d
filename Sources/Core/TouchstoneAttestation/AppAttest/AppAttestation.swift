internal import Crypto
internal import Encodings

/// Apple App Attest: a genuine app on a genuine device made this key (Apple, "Validating apps that connect to your
/// server").
package struct AppAttestation: Sendable {
  /// The one of the expected that it is of.
  package let appID: String
  package let keyID: [UInt8]
  /// 04 ‖ x ‖ y on P-256.
  package let publicKey: [UInt8]
  package let environment: AppAttestEnvironment
  /// For Apple's service of risk metrics.
  package let receipt: [UInt8]
  /// From iOS 27 on.
  package let appVersion: String?
  package let category: AppCategory?

  package struct Expectation: Sendable {
    /// Each "TEAMID.bundle".
    package var appIDs: Set<String>
    package var environments: Set<AppAttestEnvironment>
    package var clientDataHash: [UInt8]
    package var keyID: [UInt8]

    package init(
      appIDs: Set<String>, environments: Set<AppAttestEnvironment>, clientDataHash: [UInt8], keyID: [UInt8]
    ) {
      self.appIDs = appIDs
      self.environments = environments
      self.clientDataHash = clientDataHash
      self.keyID = keyID
    }
  }

  private static let format = "apple-appattest"
  /// Apple's extension of the leaf with the nonce.
  static let nonceExtension = "1.2.840.113635.100.8.2"
  /// Seen: 3 to 4 KB.
  private static let maximumReceiptBytes = 16_384

  package static func verify(
    _ bytes: [UInt8], _ expected: Expectation, anchors: [Certificate], at time: Int, _ encoding: ProofEncoding = .strict
  ) throws(ProofError) -> AppAttestation {
    var signatures = AuthoritySignatures()
    return try verify(bytes, expected, anchors: anchors, at: time, encoding, known: { _ in nil }, &signatures)
  }

  /// - Parameters:
  ///   - time: seconds since 1970.
  ///   - known: a certificate with these bytes that was read before.
  ///   - signatures: which need not be verified again. Apple's authority signs by P-384, which costs ten times as much
  ///     as P-256.
  package static func verify(
    _ bytes: [UInt8], _ expected: Expectation, anchors: [Certificate], at time: Int, _ encoding: ProofEncoding,
    known: ([UInt8]) -> Certificate?, _ signatures: inout AuthoritySignatures
  ) throws(ProofError) -> AppAttestation {
    let object = try AttestationObject(bytes, encoding)
    guard object.format == format else { throw ProofError(.unsupportedFormat, "fmt \"\(object.format)\"") }
    guard let receipt = object.statement["receipt"]?.bytes, receipt.count <= maximumReceiptBytes else {
      throw ProofError(.malformedStatement, "receipt")
    }
    let data = try AuthenticatorData(object.authenticatorData, as: .appAttestation)
    guard let credential = data.credential else {
      throw ProofError(.malformedAuthenticatorData, "there is no credential")
    }
    let chain = try CertificateChain(x5c: object.statement["x5c"], known: known)
    _ = try chain.anchor(among: anchors, at: time, .all, &signatures)

    let nonce = SHA256.hash(data: object.authenticatorData + expected.clientDataHash)
    guard areEqual(try AppleNonce.read(chain.leaf), Array(nonce)) else {
      throw ProofError(.challengeDiffers, "the nonce in the leaf is not that of this request")
    }
    let point = try chain.leaf.publicPoint()
    let keyID = Array(SHA256.hash(data: point))
    guard keyID == expected.keyID, keyID == credential.id else {
      throw ProofError(.keyDiffers, "the key id is not the hash of the leaf's key")
    }
    guard try COSEKey(credential.publicKey).p256Point == point else {
      throw ProofError(.keyDiffers, "the credential's key is not the leaf's")
    }
    guard let appID = expected.appIDs.first(where: { SHA256.hash(data: Array($0.utf8)) == data.rpIDHash }) else {
      let expects = expected.appIDs.isEmpty ? "no app is expected" : "the attestation is of another app"
      throw ProofError(.applicationDiffers, expects)
    }
    guard data.signCount == 0 else { throw ProofError(.counterNotZero, "the counter is \(data.signCount)") }
    guard let environment = AppAttestEnvironment(aaguid: credential.aaguid) else {
      throw ProofError(.environmentDiffers, "the AAGUID is not App Attest's")
    }
    guard expected.environments.contains(environment) else {
      throw ProofError(.environmentDiffers, "the attestation is of the \(environment.rawValue) environment")
    }
    return AppAttestation(
      appID: appID, keyID: keyID, publicKey: point, environment: environment, receipt: receipt,
      appVersion: data.extensions?["apple_bundle_version_01"]?.text,
      category: data.extensions?["apple_validation_category_01"]?.bytes.flatMap(AppCategory.init))
  }

  package var facts: [ProofFact] {
    var facts = Self.facts(ofKey: keyID, environment) + [ProofFact("receipt_bytes", "\(receipt.count)")]
    if let appVersion { facts.append(ProofFact("app_version", appVersion)) }
    if let category { facts.append(ProofFact("app_category", category.name)) }
    return facts
  }

  /// Returns the facts that are known of a key also when it vouches by an assertion.
  package static func facts(ofKey keyID: [UInt8], _ environment: AppAttestEnvironment) -> [ProofFact] {
    [ProofFact("environment", environment.rawValue), ProofFact("key_id", Base64.encode(keyID))]
  }
}

package enum AppAttestEnvironment: String, Sendable, Hashable, CaseIterable {
  case development
  case production

  fileprivate init?(aaguid: [UInt8]) {
    switch aaguid {
    case Array("appattestdevelop".utf8): self = .development
    case Array("appattest".utf8) + [UInt8](repeating: 0, count: 7): self = .production
    default: return nil
    }
  }
}

/// How the app came to the device, from iOS 27 on.
package struct AppCategory: Sendable, Hashable {
  package let number: UInt32

  private static let names: [UInt32: String] = [
    1: "os", 2: "testflight", 3: "development", 4: "app_store", 5: "enterprise", 6: "developer_id", 10: "other",
  ]

  /// Four bytes, little-endian.
  fileprivate init?(_ bytes: [UInt8]) {
    guard bytes.count == 4 else { return nil }
    number = bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  package var name: String { Self.names[number] ?? "\(number)" }
}

/// SEQUENCE { [1] { OCTET STRING } }, in leaves of App Attest and of Apple's passkeys.
enum AppleNonce {
  static func read(_ leaf: Certificate) throws(ProofError) -> [UInt8] {
    guard let found = leaf.extension(AppAttestation.nonceExtension) else {
      throw ProofError(.extensionMissing, "the leaf lacks Apple's nonce")
    }
    let fields = try DERNode(found.value, or: .malformedCertificate).sequence()
    guard let nonce = fields.first(where: { $0.tag == 1 }) else {
      throw ProofError(.malformedCertificate, "Apple's nonce")
    }
    return try nonce.tagged().octets()
  }
}
