// `attestation:` of the configuration: which certificates of phones' keys are trusted.

internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstoneService

struct AttestationFiles: Hashable {
  /// Certificates in PEM, which take the place of the built-in ones, so that a root that was withdrawn can be left out; `nil`:
  /// Google's, which are built in.
  var androidRoots: String?
  /// Google's list of revoked certificates; `nil`: none is compared.
  var androidRevoked: String?

  enum Key: String, CaseIterable {
    case roots
    case revoked
  }

  enum PlatformKey: String, CaseIterable {
    case android
  }

  static let rootsSetting = "attestation.roots.android"
  static let revokedSetting = "attestation.revoked.android"
  /// Google has five roots, of two kilobytes each.
  private static let maximumRootsBytes = 1 << 20
  /// Google's list has some thousand entries of a hundred bytes.
  private static let maximumRevokedBytes = 16 << 20

  init() {}

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    for entry in reader.mapping(node, "attestation", of: Key.allCases.map(\.rawValue)) ?? [] {
      let name = "attestation.\(entry.key.name)"
      let files = reader.mapping(entry.value, name, of: PlatformKey.allCases.map(\.rawValue)) ?? []
      for file in files {
        switch Key(rawValue: entry.key.name) {
        case .roots: androidRoots = reader.path(file.value, Self.rootsSetting)
        case .revoked: androidRevoked = reader.path(file.value, Self.revokedSetting)
        case nil: break
        }
      }
    }
  }

  /// Write access to the file would allow to bind any key as a proven one.
  fileprivate static func roots(in path: String) throws(FileError) -> [Certificate] {
    let bytes = try readFile(path, maximumBytes: maximumRootsBytes, from: .ownersOnly)
    do throws(ProofError) {
      return try Certificate.readPEM(String(decoding: bytes, as: UTF8.self))
    } catch {
      throw FileError(message: "has no roots: \(error.detail)")
    }
  }

  /// Write access to the file would bring back keys that became known.
  fileprivate static func revokedSerialNumbers(in path: String) throws(FileError) -> Set<String> {
    let bytes = try readFile(path, maximumBytes: maximumRevokedBytes, from: .ownersOnly)
    do {
      return try RevocationList(json: bytes).serialNumbers
    } catch {
      throw FileError(message: "is not the JSON of a list of revoked certificates: \(error)")
    }
  }
}

extension ProcessConfiguration {
  func loadAndroidTrust() throws(Failure) -> AndroidTrust {
    var trust = AndroidTrust()
    trust.roots = try load(attestation.androidRoots, of: AttestationFiles.rootsSetting, AttestationFiles.roots)
    trust.revokedSerialNumbers =
      try load(attestation.androidRevoked, of: AttestationFiles.revokedSetting, AttestationFiles.revokedSerialNumbers)
      ?? []
    return trust
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
