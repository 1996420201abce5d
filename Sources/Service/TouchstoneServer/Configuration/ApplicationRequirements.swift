// The sections `applications:` and `attestation:` of a file, for a command that judges proofs by them and serves nothing.

internal import SettingFiles
package import TouchstoneAttestation
package import TouchstoneService

package struct ApplicationRequirements {
  /// In the file's order.
  package let applications: [(id: String, requirements: AttestationRequirements)]
  /// "FILE:LINE:COLUMN: warning: MESSAGE"
  package let warnings: [String]
  private let trustFiles: AttestationFiles

  /// The roots, revoked certificates and metadata that the file names.
  package func loadAttestationTrust() throws(Failure) -> AttestationTrust {
    var configuration = ProcessConfiguration()
    configuration.attestation = trustFiles
    return try configuration.loadAttestationTrust()
  }

  package static func load(_ path: String) throws(Failure) -> ApplicationRequirements {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try readFile(path, maximumBytes: ProcessConfiguration.maximumFileBytes)
    } catch {
      throw Failure(ConfigurationErrors(path, error.message))
    }
    do throws(ConfigurationErrors) {
      return try parse(bytes, of: path)
    } catch {
      throw Failure(error)
    }
  }

  /// Leaves a configuration's other sections unread.
  static func parse(_ bytes: [UInt8], of path: String) throws(ConfigurationErrors) -> ApplicationRequirements {
    var reader = SettingReader()
    var section: ApplicationSection?
    var trustFiles = AttestationFiles()
    do throws(YAMLError) {
      var errors: [YAMLError] = []
      let root = try YAMLNode.parse(bytes, errors: &errors)
      reader.refuse(errors)
      if let entries = reader.mapping(root, "the configuration", of: ProcessConfiguration.Key.names) {
        func entry(_ key: ProcessConfiguration.Key) -> YAMLEntry? { entries.first { $0.key.name == key.rawValue } }
        if let found = entry(.attestation) { trustFiles = AttestationFiles(found.value, with: &reader) }
        if let found = entry(.applications) {
          section = ApplicationSection(found.value, with: &reader)
        } else if reader.errors.isEmpty {
          reader.refuse(root.place, "there is no section applications")
        }
      }
    } catch {
      throw ConfigurationErrors(path, [error])
    }
    guard reader.errors.isEmpty, let section else { throw ConfigurationErrors(path, reader.errors) }
    return ApplicationRequirements(
      applications: section.applications, warnings: reader.warnings(of: path), trustFiles: trustFiles)
  }
}

extension SettingReader {
  /// In the form of errors.
  func warnings(of path: String) -> [String] {
    warnings.map { YAMLError(message: "warning: \($0.message)", place: $0.place).line(of: path) }
  }
}
