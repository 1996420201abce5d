// The sections `applications:` and `attestation:` of a file, for a command that judges proofs by them and serves
// nothing.

internal import SettingFiles
package import TouchstoneAttestation
package import TouchstoneService

package struct ApplicationRequirements {
  /// In the file's order.
  package let applications: [(id: String, requirements: AttestationRequirements)]
  /// "FILE:LINE:COLUMN: warning: MESSAGE"
  package let warnings: [String]
  private let configuration: ProcessConfiguration

  /// The roots, revoked certificates and metadata that the file names.
  package func loadAttestationTrust() throws(Failure) -> AttestationTrust {
    try configuration.loadAttestationTrust()
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
    var configuration = ProcessConfiguration()
    var written: WrittenSection?
    do throws(YAMLError) {
      var errors: [YAMLError] = []
      let root = try YAMLNode.parse(bytes, errors: &errors)
      reader.refuse(errors)
      written = reader.read(
        YAMLEntry(element: root), ProcessConfiguration.rootName, into: &configuration, by: ProcessConfiguration.keys,
        prefix: "", where: { [attestationKey, applicationsKey].contains($0) })
      if let written, written.entry(applicationsKey) == nil, reader.errors.isEmpty {
        reader.refuse(root.place, "there is no section \(applicationsKey)")
      }
    } catch {
      throw ConfigurationErrors(path, [error])
    }
    guard reader.errors.isEmpty, case .mapping(let entries)? = written?.entry(applicationsKey)?.value.content else {
      throw ConfigurationErrors(path, reader.errors)
    }
    let read = configuration.service.applications
    return ApplicationRequirements(
      applications: entries.compactMap { entry in read[entry.key.name].map { (entry.key.name, $0) } },
      warnings: reader.warnings(of: path), configuration: configuration)
  }

  private static let (attestationKey, applicationsKey) = ("attestation", "applications")
}

extension SettingReader {
  /// In the form of errors.
  func warnings(of path: String) -> [String] {
    warnings.map { YAMLError(message: "warning: \($0.message)", place: $0.place).line(of: path) }
  }
}
