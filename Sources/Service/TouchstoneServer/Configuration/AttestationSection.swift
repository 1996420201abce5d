// `attestation:` of the configuration: which certificates of phones' and authenticators' keys are trusted.

internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore

struct AttestationFiles: Hashable {
  /// Certificates in PEM, which take the place of the built-in ones, so that a root that was withdrawn can be left out; `nil`:
  /// Google's, which are built in.
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

  enum Key: String, CaseIterable {
    case roots
    case revoked
    case metadata
    case whenTooOld = "when_too_old"

    /// The keys of a section of files. Apple publishes no list of revoked certificates.
    var files: [FileKey] {
      switch self {
      case .roots: FileKey.allCases
      case .revoked: [.android, .maximumAge]
      case .metadata: [.fido, .maximumAge]
      case .whenTooOld: []
      }
    }
  }

  enum FileKey: String, CaseIterable {
    case android
    case apple
    case authenticators
    case fido
    case maximumAge = "maximum_age"
  }

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

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    for entry in reader.mapping(node, "attestation", of: Key.names) ?? [] {
      let name = "attestation.\(entry.key.name)"
      switch Key(rawValue: entry.key.name) {
      case .roots: readFiles(entry.value, of: .roots, name, \.rootsMaximumAge, with: &reader)
      case .revoked: readFiles(entry.value, of: .revoked, name, \.revokedMaximumAge, with: &reader)
      case .metadata: readFiles(entry.value, of: .metadata, name, \.metadataMaximumAge, with: &reader)
      case .whenTooOld:
        if let refuses = reader.word(entry.value, name, among: [("warn", false), ("refuse", true)]) {
          refusesWhenTooOld = refuses
        }
      case nil: break
      }
    }
    if metadataRoots != nil, metadata == nil {
      reader.refuse(node.place, "\(Self.metadataRootsSetting) has no effect: there is no \(Self.metadataSetting)")
    }
  }

  private mutating func readFiles(
    _ node: YAMLNode, of section: Key, _ name: String, _ maximumAge: WritableKeyPath<Self, Duration>,
    with reader: inout SettingReader
  ) {
    let entries = reader.mapping(node, name, of: section.files.map(\.rawValue)) ?? []
    for entry in entries {
      let setting = "\(name).\(entry.key.name)"
      switch FileKey(rawValue: entry.key.name) {
      case .maximumAge:
        if let age = RetentionSettings.readAge(entry.value, setting, with: &reader) { self[keyPath: maximumAge] = age }
        if entries.count == 1 {
          reader.refuse(entry.key.place, "\(setting) has no effect: \(name) names no file")
        }
      case let platform?:
        if let path = Self.path(section, platform) { self[keyPath: path] = reader.path(entry.value, setting) }
      case nil: break
      }
    }
  }

  /// By setting, the files that are read.
  var namedFiles: [(setting: String, path: String)] {
    Key.allCases.flatMap { section in
      section.files.compactMap { file in
        Self.path(section, file).flatMap { self[keyPath: $0] }.map { ("attestation.\(section).\(file)", $0) }
      }
    }
  }

  private static func path(_ section: Key, _ platform: FileKey) -> WritableKeyPath<Self, String?>? {
    switch (section, platform) {
    case (.roots, .android): \.androidRoots
    case (.roots, .apple): \.appleRoots
    case (.roots, .authenticators): \.authenticatorRoots
    case (.roots, .fido): \.metadataRoots
    case (.revoked, .android): \.androidRevoked
    case (.metadata, .fido): \.metadata
    default: nil
    }
  }

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

extension ProcessConfiguration {
  /// As the setting `attestation.roots.apple` does.
  package mutating func trustAppAttest(byRootsIn file: String) { attestation.appleRoots = file }

  func loadAttestationTrust(at now: UnixTime = systemTime()) throws(Failure) -> AttestationTrust {
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
