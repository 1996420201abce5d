// `attestation:` of the configuration: which certificates of phones' and authenticators' keys are trusted.

internal import SettingFiles
internal import TouchstoneAttestation
package import TouchstonePolicy
package import TouchstoneService
internal import TouchstoneStore

struct AttestationFiles: Hashable {
  /// Certificates in PEM, which take the place of the built-in ones, so that a root that was withdrawn can be left out;
  /// `nil`: Google's, which are built in.
  var androidRoots: String?
  /// The same in place of Apple's, for App Attest.
  var appleRoots: String?
  /// The roots that authenticators' certificates lead to, if the metadata does not have their model; `nil`: none.
  var authenticatorRoots: String?
  /// The roots that the certificates of the metadata's signer lead to, in place of GlobalSign's roots, which are built
  /// in.
  var metadataRoots: String?
  /// Google's list of revoked certificates; `nil`: none is compared.
  var androidRevoked: String?
  /// FIDO's metadata of authenticators' models; `nil`: none is known.
  var metadata: String?
  /// Roots change once in years.
  var rootsMaximumAge = Duration.seconds(365 * 86_400)
  /// Google's list is to be fetched daily; a week of failures is one that nobody noticed.
  var revokedMaximumAge = Duration.seconds(7 * 86_400)
  /// After the day for which the next one was announced.
  var metadataMaximumAge = Duration.seconds(7 * 86_400)
  var refusesWhenTooOld = false

  static let rootsSetting = "attestation.roots.android"
  static let appleRootsSetting = "attestation.roots.apple"
  static let authenticatorRootsSetting = "attestation.roots.authenticators"
  static let metadataRootsSetting = "attestation.roots.fido"
  static let revokedSetting = "attestation.revoked.android"
  static let metadataSetting = "attestation.metadata.fido"
  /// Google has five roots, of two kilobytes each.
  private static let maximumRootsBytes = 1 << 20
  /// Google's list has some thousand entries of a hundred bytes.
  private static let maximumRevokedBytes = 16 << 20

  init() {}

  /// By setting, the files that are read.
  var namedFiles: [(setting: String, path: String)] { namedFiles(in: "attestation") }

  /// Write access to the file would allow to bind any key as a proven one.
  fileprivate static func roots(in path: String) throws(FileError) -> (value: [Certificate], writtenAt: UnixTime) {
    let file = try readDatedFile(path, maximumBytes: maximumRootsBytes, from: .ownersOnly)
    do throws(ProofError) {
      return (try Certificate.readPEM(String(decoding: file.bytes, as: UTF8.self)), file.writtenAt)
    } catch {
      throw FileError(message: "has no roots: \(error.detail)")
    }
  }

  /// Write access to the file would bring back keys that became known.
  fileprivate static func revokedSerialNumbers(
    in path: String
  ) throws(FileError) -> (value: Set<String>, writtenAt: UnixTime) {
    let file = try readDatedFile(path, maximumBytes: maximumRevokedBytes, from: .ownersOnly)
    do {
      return (try RevocationList(json: file.bytes).serialNumbers, file.writtenAt)
    } catch {
      throw FileError(message: "is not the JSON of a list of revoked certificates: \(error)")
    }
  }

  /// Its signature protects what it says, and write access would bring an old one back.
  fileprivate static func metadata(
    in path: String, roots: [Certificate]?, at now: UnixTime
  ) throws(FileError) -> AuthenticatorMetadata {
    let bytes = try readFile(path, maximumBytes: AuthenticatorMetadata.maximumBytes, from: .ownersOnly)
    do throws(ProofError) {
      guard let roots else {
        return try .read(bytes, roots: try AuthenticatorMetadata.builtInRoots(), at: Int(now.seconds))
      }
      return try .read(bytes, roots: roots, at: Int(now.seconds))
    } catch {
      throw FileError(message: "is not FIDO's metadata, signed: \(error.reason.rawValue): \(error.detail)")
    }
  }
}

extension AttestationFiles: ConfigurationSection {
  static var keys: [ConfigurationKey<AttestationFiles>] {
    ConfigurationKey(
      group: "roots", roots, "Certificates in PEM, which take the place of the built-in ones.", check: requireFile)
    ConfigurationKey(group: "revoked", revoked, "Lists of revoked certificates.", check: requireFile)
    ConfigurationKey(group: "metadata", ofModels, "Metadata of authenticators' models.", check: requireFile)
    ConfigurationKey(
      "when_too_old", .word([("warn", false), ("refuse", true)]), to: \.refusesWhenTooOld,
      "Whether keys are bound by proofs while a file is older than its `maximum_age`.")
  }

  @KeyList<AttestationFiles> private static var roots: [ConfigurationKey<AttestationFiles>] {
    ConfigurationKey(
      "android", .path, to: \.androidRoots, default: .words("Google's"), "The roots of Android's keys.")
    ConfigurationKey("apple", .path, to: \.appleRoots, default: .words("Apple's"), "The roots of App Attest.")
    ConfigurationKey(
      "authenticators", .path, to: \.authenticatorRoots,
      "The roots of authenticators whose models the metadata does not have.")
    ConfigurationKey(
      "fido", .path, to: \.metadataRoots, default: .words("GlobalSign's"), "The roots of the metadata's signer.")
    ConfigurationKey(maximumAge, .age, to: \.rootsMaximumAge, "The age at which a file of roots is too old.")
  }

  /// Apple publishes no list of revoked certificates.
  @KeyList<AttestationFiles> private static var revoked: [ConfigurationKey<AttestationFiles>] {
    ConfigurationKey("android", .path, to: \.androidRevoked, "Google's list of revoked certificates.")
    ConfigurationKey(maximumAge, .age, to: \.revokedMaximumAge, "The age at which a list is too old.")
  }

  @KeyList<AttestationFiles> private static var ofModels: [ConfigurationKey<AttestationFiles>] {
    ConfigurationKey("fido", .path, to: \.metadata, "FIDO's metadata, as it is signed.")
    ConfigurationKey(maximumAge, .age, to: \.metadataMaximumAge, "The time after the metadata's `nextUpdate`.")
  }

  private static let maximumAge = "maximum_age"

  private static func requireFile(_ written: WrittenSection, with reader: inout SettingReader) {
    guard written.entries.count == 1, let age = written.entry(maximumAge) else { return }
    reader.refuse(age.key.place, "\(written.name).\(maximumAge) has no effect: \(written.name) names no file")
  }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {
    if metadataRoots != nil, metadata == nil {
      reader.refuse(
        written.entry.value.place, "\(Self.metadataRootsSetting) has no effect: there is no \(Self.metadataSetting)")
    }
  }
}

extension ProcessConfiguration {
  /// As the setting `attestation.roots.apple` does.
  package mutating func trustAppAttest(byRootsIn file: String) { attestation.appleRoots = file }

  package func loadAttestationTrust(at now: UnixTime = systemTime()) throws(Failure) -> AttestationTrust {
    var trust = AttestationTrust()
    trust.refusesWhenTooOld = attestation.refusesWhenTooOld
    trust.roots = try loadRoots(attestation.androidRoots, AttestationFiles.rootsSetting, &trust.dates)
    trust.appAttestRoots = try loadRoots(
      attestation.appleRoots, AttestationFiles.appleRootsSetting, &trust.appAttestDates)
    trust.authenticatorRoots =
      try loadRoots(
        attestation.authenticatorRoots, AttestationFiles.authenticatorRootsSetting, &trust.authenticatorDates) ?? []
    let revoked = try load(
      attestation.androidRevoked, of: AttestationFiles.revokedSetting, AttestationFiles.revokedSerialNumbers)
    if let revoked {
      trust.revokedSerialNumbers = revoked.value
      trust.dates.append(
        TrustDate(
          setting: AttestationFiles.revokedSetting, .written(revoked.writtenAt),
          maximumAge: attestation.revokedMaximumAge))
    }
    try loadMetadata(into: &trust, at: now)
    return trust
  }

  /// `nil`: the setting is not there.
  private func loadRoots(
    _ path: String?, _ setting: String, _ dates: inout [TrustDate]
  ) throws(Failure) -> [Certificate]? {
    guard let roots = try load(path, of: setting, AttestationFiles.roots) else { return nil }
    dates.append(TrustDate(setting: setting, .written(roots.writtenAt), maximumAge: attestation.rootsMaximumAge))
    return roots.value
  }

  /// Its own date counts, and not its file's: a copy of an old one is old.
  private func loadMetadata(into trust: inout AttestationTrust, at now: UnixTime) throws(Failure) {
    let roots = try loadRoots(
      attestation.metadataRoots, AttestationFiles.metadataRootsSetting, &trust.authenticatorDates)
    let metadata = try load(attestation.metadata, of: AttestationFiles.metadataSetting) { path throws(FileError) in
      try AttestationFiles.metadata(in: path, roots: roots, at: now)
    }
    guard let metadata else { return }
    trust.metadata = metadata
    trust.authenticatorDates.append(
      TrustDate(
        setting: AttestationFiles.metadataSetting, .due(UnixTime(seconds: Int64(metadata.nextUpdate))),
        maximumAge: attestation.metadataMaximumAge))
  }

  private func load<Value>(
    _ path: String?, of setting: String, _ read: (String) throws(FileError) -> Value
  ) throws(Failure) -> Value? {
    guard let path else { return nil }
    do throws(FileError) {
      return try read(path)
    } catch {
      throw failure(of: setting, at: path, error.message)
    }
  }
}
