// Reads the file of `--config`. A missing setting keeps its default; an unknown setting is an error.

internal import SettingFiles

/// The errors in a configuration file, one in each line.
struct ConfigurationErrors: Error {
  /// "FILE:LINE:COLUMN: MESSAGE", in the file's order; without line and column if the file as a whole is wrong.
  var lines: [String]

  init(_ path: String, _ message: String) {
    lines = ["\(path): \(message)"]
  }

  init(_ path: String, _ errors: [YAMLError]) {
    lines = errors.sorted { $0.place < $1.place }.prefix(SettingReader.maximumErrors).map { $0.line(of: path) }
    if errors.count > SettingReader.maximumErrors { lines.append("\(path): and more") }
  }
}

/// The file of a configuration, for errors that are found after it was read.
struct ConfigurationOrigin: Sendable {
  var path: String
  /// By setting, the places that name files and directories.
  var places: [String: YAMLPlace]
}

extension ProcessConfiguration {
  /// The failure because of the file or directory that a setting names.
  func failure(of setting: String, at path: String, _ reason: String) -> Failure {
    let message = "\(setting) \(path): \(reason)"
    guard let origin else { return Failure(kind: .badConfiguration, message: message) }
    guard let place = origin.places[setting] else { return Failure(ConfigurationErrors(origin.path, message)) }
    return Failure(ConfigurationErrors(origin.path, [YAMLError(message: message, place: place)]))
  }

  /// A configuration is much smaller.
  static let maximumFileBytes = 1 << 20

  /// Returns the defaults if there is no file.
  ///
  /// - Parameter trust: a file by which no process serves may be writable by anyone.
  package static func load(_ path: String?, from trust: FileTrust = .ownersOnly) throws(Failure) -> ProcessConfiguration
  {
    guard let path else { return ProcessConfiguration() }
    do throws(ConfigurationErrors) {
      return try load(path: path, from: trust)
    } catch {
      throw Failure(error)
    }
  }

  private static func load(path: String, from trust: FileTrust) throws(ConfigurationErrors) -> ProcessConfiguration {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try readFile(path, maximumBytes: maximumFileBytes, from: trust)
    } catch {
      throw ConfigurationErrors(path, error.message)
    }
    let configuration = try parse(bytes, of: path)
    guard !configuration.store.hasSecret || !isReadableByOthers(path) else {
      throw ConfigurationErrors(path, "other users can read this file, and store holds a password: run chmod o-r on it")
    }
    return configuration
  }

  /// - Parameter path: the file's name in errors.
  static func parse(_ bytes: [UInt8], of path: String) throws(ConfigurationErrors) -> ProcessConfiguration {
    var reader = SettingReader()
    var configuration = ProcessConfiguration()
    do throws(YAMLError) {
      var errors: [YAMLError] = []
      let root = try YAMLNode.parse(bytes, errors: &errors)
      reader.refuse(errors)
      configuration.apply(root, with: &reader)
    } catch {
      throw ConfigurationErrors(path, [error])
    }
    guard reader.errors.isEmpty else { throw ConfigurationErrors(path, reader.errors) }
    configuration.origin = ConfigurationOrigin(path: path, places: reader.paths)
    configuration.warnings = reader.warnings(of: path)
    return configuration
  }
}
