internal import Crypto
internal import Encodings
internal import FoundationEssentials

/// FIDO's data about authenticators' models (FIDO Metadata Service 3.0): the roots that each model's certificates lead
/// to, and what became known of the model.
package struct AuthenticatorMetadata: Sendable {
  /// Each publication has a greater one.
  package let number: Int
  /// The day on which the next publication was due, in seconds since 1970.
  package let nextUpdate: Int
  private let modelsByAAGUID: [[UInt8]: AuthenticatorModel]
  private let modelsByKeyID: [[UInt8]: AuthenticatorModel]
  /// The public keys of roots that models with different AAGUIDs share.
  private let sharedRoots: Set<[UInt8]>

  /// FIDO published some 300 entries in 2026.
  fileprivate static let maximumEntries = 10_000
  /// TPMs of all makers are one model, with some hundred.
  fileprivate static let maximumRootsOfEntry = 1_000
  fileprivate static let maximumReportsOfEntry = 1_000
  private static let zeros = [UInt8](repeating: 0, count: PasskeyRequirements.aaguidBytes)

  /// The model that a proof names.
  ///
  /// - Parameters:
  ///   - aaguid: as the authenticator signed it; `nil` or zeros: it has none, and its certificate alone tells the
  ///     model.
  ///   - chain: `nil`: there are no certificates.
  func model(_ aaguid: [UInt8]?, _ chain: CertificateChain? = nil) throws(ProofError) -> AuthenticatorModel? {
    if let aaguid, aaguid != Self.zeros { return modelsByAAGUID[aaguid] }
    guard !modelsByKeyID.isEmpty else { return nil }
    for certificate in chain?.certificates ?? [] {
      if let model = modelsByKeyID[try certificate.keyID()] { return model }
    }
    return nil
  }

  /// Whether certificates of several models lead to this root, so that it does not tell them apart.
  func isRootOfSeveralModels(_ root: Certificate) -> Bool {
    sharedRoots.contains(root.subjectPublicKeyInfo)
  }

  private static func sharedRoots(_ modelsByAAGUID: [[UInt8]: AuthenticatorModel]) -> Set<[UInt8]> {
    var seen: Set<[UInt8]> = []
    var shared: Set<[UInt8]> = []
    for model in modelsByAAGUID.values {
      for key in Set(model.roots.map(\.subjectPublicKeyInfo)) where !seen.insert(key).inserted {
        shared.insert(key)
      }
    }
    return shared
  }
}

/// An authenticator's model, as its maker describes it and FIDO published it.
package struct AuthenticatorModel: Sendable {
  package fileprivate(set) var name: String
  /// The maker says that keys are in hardware, a trusted environment or a chip, and not in software.
  package fileprivate(set) var keepsKeysInHardware: Bool
  /// The roots that its certificates lead to; some may be its certificates themselves.
  fileprivate(set) var roots: [Certificate]
  /// The reports by which the model is not to be trusted any more.
  fileprivate(set) var warnings: [Warning]

  struct Warning: Sendable {
    /// FIDO's word.
    var status: String
    /// The certificates that the report concerns; empty: the model.
    var certificates: [Certificate]
  }

  /// As of a report, whatever its date: what became known does not become unknown again.
  private static let undesired: Set<String> = [
    "REVOKED", "USER_VERIFICATION_BYPASS", "ATTESTATION_KEY_COMPROMISE", "USER_KEY_REMOTE_COMPROMISE",
    "USER_KEY_PHYSICAL_COMPROMISE",
  ]

  /// - Parameter path: the certificates of a proof up to their root; empty: nothing proves the model.
  func checkStatus(of path: [Certificate]) throws(ProofError) {
    for warning in warnings {
      guard !warning.certificates.isEmpty, !path.contains(where: warning.certificates.contains) else {
        throw ProofError(.authenticatorRevoked, "FIDO's metadata says \(warning.status) of \(name)")
      }
    }
  }
}

// MARK: - Reading

extension AuthenticatorMetadata {
  /// The strategy below would also take other years, and letters behind the day.
  private static func isDate(_ text: String) -> Bool {
    text.utf8.count == 10
      && text.utf8.enumerated().allSatisfy { index, byte in
        index == 4 || index == 7 ? byte == UInt8(ascii: "-") : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      }
  }

  /// Reads a publication whose signature holds (`SignedMetadata`).
  package init(payload json: [UInt8]) throws(ProofError) {
    let payload: Payload
    do {
      payload = try JSONDecoder().decode(Payload.self, from: Data(json))
    } catch {
      throw ProofError(.malformedStatement, "not the JSON of FIDO's metadata: \(error)")
    }
    guard payload.number >= 0 else { throw ProofError(.malformedStatement, "no is negative") }
    guard
      Self.isDate(payload.nextUpdate),
      let nextUpdate = try? Date(payload.nextUpdate, strategy: .iso8601.year().month().day())
    else {
      throw ProofError(.malformedStatement, "nextUpdate is not a date such as 2026-12-01")
    }
    guard payload.entries.count <= Self.maximumEntries else {
      throw ProofError(.malformedStatement, "more than \(Self.maximumEntries) entries")
    }
    var certificates = CertificateReader()
    var modelsByAAGUID: [[UInt8]: AuthenticatorModel] = [:]
    var modelsByKeyID: [[UInt8]: AuthenticatorModel] = [:]
    for entry in payload.entries {
      let model = try AuthenticatorModel(entry, with: &certificates)
      if let aaguid = entry.aaguidBytes {
        modelsByAAGUID[aaguid] = model.joined(with: modelsByAAGUID[aaguid])
      }
      for id in entry.keyIDs { modelsByKeyID[id] = model.joined(with: modelsByKeyID[id]) }
    }
    self.init(
      number: payload.number, nextUpdate: Int(nextUpdate.timeIntervalSince1970), modelsByAAGUID: modelsByAAGUID,
      modelsByKeyID: modelsByKeyID, sharedRoots: Self.sharedRoots(modelsByAAGUID))
  }

  fileprivate struct Payload: Decodable {
    let number: Int
    let nextUpdate: String
    let entries: [Entry]

    private enum CodingKeys: String, CodingKey {
      case number = "no"
      case nextUpdate, entries
    }
  }

  fileprivate struct Entry: Decodable {
    let aaguid: String?
    let attestationCertificateKeyIdentifiers: [String]?
    let metadataStatement: Statement?
    let statusReports: [Report]

    struct Statement: Decodable {
      let description: String?
      let attestationRootCertificates: [String]?
      let keyProtection: [String]?
    }

    struct Report: Decodable {
      let status: String
      /// The certificates that the report concerns; none: the model.
      let certificate: String?
      let batchCertificate: String?
    }

    /// `nil`: an authenticator of an older protocol, which makes no passkeys.
    var aaguidBytes: [UInt8]? {
      let read = aaguid.flatMap { Hexadecimal.bytes(inEitherCase: $0.filter { $0 != "-" }) }
      return read?.count == PasskeyRequirements.aaguidBytes ? read : nil
    }

    var keyIDs: [[UInt8]] {
      (attestationCertificateKeyIdentifiers ?? []).prefix(AuthenticatorMetadata.maximumRootsOfEntry)
        .compactMap { Hexadecimal.bytes(inEitherCase: $0) }
    }
  }
}

extension AuthenticatorModel {
  /// A description has up to 200 characters. A binding keeps it, and each login reads its binding.
  private static let maximumNameCharacters = 64

  fileprivate init(
    _ entry: AuthenticatorMetadata.Entry, with certificates: inout CertificateReader
  ) throws(ProofError) {
    let statement = entry.metadataStatement
    let roots = statement?.attestationRootCertificates ?? []
    guard
      roots.count <= AuthenticatorMetadata.maximumRootsOfEntry,
      entry.statusReports.count <= AuthenticatorMetadata.maximumReportsOfEntry
    else { throw ProofError(.malformedStatement, "an entry with too many certificates or reports") }
    let protection = Set(statement?.keyProtection ?? [])
    name = String((statement?.description ?? "").prefix(Self.maximumNameCharacters))
    keepsKeysInHardware =
      !protection.isDisjoint(with: ["hardware", "tee", "secure_element"]) && !protection.contains("software")
    self.roots = roots.compactMap { certificates.read($0) }
    warnings = entry.statusReports.filter { Self.undesired.contains($0.status) }.map { report in
      let named = [report.certificate, report.batchCertificate].compactMap { $0 }
      let readable = named.compactMap { certificates.read($0) }
      // If one cannot be read, it concerns the model.
      return Warning(status: report.status, certificates: readable.count == named.count ? readable : [])
    }
  }

  /// Joins two entries that name one model. The warnings of both count, and only the roots that both trust.
  fileprivate func joined(with other: AuthenticatorModel?) -> AuthenticatorModel {
    guard let other else { return self }
    var joined = self
    joined.keepsKeysInHardware = keepsKeysInHardware && other.keepsKeysInHardware
    joined.roots = roots.filter(other.roots.contains)
    joined.warnings += other.warnings
    return joined
  }
}

/// Many models have the same roots.
private struct CertificateReader {
  private var known: [String: Certificate?] = [:]

  /// `nil`: it cannot be read, and what leads to it is not trusted. The other entries count all the same.
  mutating func read(_ text: String) -> Certificate? {
    if let certificate = known[text] { return certificate }
    var certificate: Certificate?
    do throws(ProofError) {
      certificate = try Self.bytes(text).map { bytes throws(ProofError) in try Certificate(der: bytes) }
    } catch {
      certificate = nil
    }
    known[text] = .some(certificate)
    return certificate
  }

  /// Some entries have line feeds in them.
  private static func bytes(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text, options: .ignoreUnknownCharacters).map(Array.init)
  }
}

extension Certificate {
  /// SHA-1 of the public key's bits (RFC 5280 §4.2.1.2, the first method), by which FIDO names certificates of U2F
  /// keys. It names a certificate and proves nothing.
  fileprivate func keyID() throws(ProofError) -> [UInt8] {
    Array(Insecure.SHA1.hash(data: try publicPoint()))
  }
}
