// `attestation:` of the configuration: the roots that the certificates of phones' keys must lead to.

internal import SettingFiles
internal import TouchstoneAttestation

/// Each root's file takes the place of the built-in ones, so that a root that was withdrawn can be left out.
struct AttestationRoots: Hashable {
  /// A PEM file with one or more certificates; `nil`: Google's, which are built in.
  var androidRoots: String?

  enum Key: String, CaseIterable {
    case roots
  }

  enum RootsKey: String, CaseIterable {
    case android
  }

  static let androidSetting = "attestation.roots.android"
  /// Google has five roots, of two kilobytes each.
  private static let maximumFileBytes = 1 << 20

  init() {}

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    for entry in reader.mapping(node, "attestation", of: Key.allCases.map(\.rawValue)) ?? [] {
      let roots = reader.mapping(entry.value, "attestation.roots", of: RootsKey.allCases.map(\.rawValue)) ?? []
      for root in roots { androidRoots = reader.path(root.value, Self.androidSetting) }
    }
  }

  /// Write access to the file would allow to bind any key as a proven one.
  fileprivate func loadAndroidRoots() throws(FileError) -> [Certificate]? {
    guard let androidRoots else { return nil }
    let bytes = try readFile(androidRoots, maximumBytes: Self.maximumFileBytes, from: .ownersOnly)
    do throws(ProofError) {
      return try Certificate.readPEM(String(decoding: bytes, as: UTF8.self))
    } catch {
      throw FileError(message: "has no roots: \(error.detail)")
    }
  }
}

extension ProcessConfiguration {
  /// Returns `nil` for the built-in ones.
  func loadAndroidRoots() throws(Failure) -> [Certificate]? {
    do throws(FileError) {
      return try attestation.loadAndroidRoots()
    } catch {
      throw failure(of: AttestationRoots.androidSetting, at: attestation.androidRoots ?? "", error.message)
    }
  }
}
