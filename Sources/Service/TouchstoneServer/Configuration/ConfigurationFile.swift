// Reads the file of `--config`. A missing setting keeps its default; an unknown setting is an error.

internal import SettingFiles

/// The errors in a configuration, one in each line.
struct ConfigurationErrors: Error {
  /// "FILE:LINE:COLUMN: MESSAGE" or "VARIABLE: MESSAGE", in the file's order; without line and column if the file as a
  /// whole is wrong.
  var lines: [String]
  /// Whether each error is a flag's.
  private(set) var areOfFlags = false

  /// Stands for the name of a file where there is none.
  static let noFile = "the configuration"

  init(_ path: String, _ message: String) {
    lines = ["\(path): \(message)"]
  }

  init(_ path: String?, _ errors: [YAMLError]) {
    let path = path ?? Self.noFile
    lines = errors.sorted { $0.place < $1.place }.prefix(SettingReader.maximumErrors).map { $0.line(of: path) }
    if errors.count > SettingReader.maximumErrors { lines.append("\(path): and more") }
    areOfFlags = errors.allSatisfy { $0.place.source?.hasPrefix("--") == true }
  }
}

/// The sources of a configuration, for errors that are found after it was read.
struct ConfigurationOrigin: Sendable {
  /// `nil`: there is no file.
  var path: String?
  /// The file's, from before it was read.
  var identity: FileIdentity?
  /// By setting, the places that name files and directories.
  var places: [String: YAMLPlace]
}

extension ProcessConfiguration {
  /// The failure because of the file or directory that a setting names.
  func failure(of setting: String, at path: String, _ reason: String) -> Failure {
    failure(of: setting, "\(setting) \(path): \(reason)")
  }

  /// The same with a whole message.
  func failure(of setting: String, _ message: String) -> Failure {
    if let place = origin?.places[setting] {
      var failure = Failure(ConfigurationErrors(origin?.path, [YAMLError(message: message, place: place)]))
      failure.kind = .badConfiguration
      return failure
    }
    guard let file = origin?.path else { return Failure(kind: .badConfiguration, message: message) }
    return Failure(ConfigurationErrors(file, message))
  }

  /// Whether a file, a variable or a flag says where the data directory is.
  package var namesDataDirectory: Bool { origin?.places[Self.dataDirectorySetting] != nil }

  /// A configuration is much smaller.
  static let maximumFileBytes = 1 << 20

  /// Reads a file alone. Returns the defaults if there is none.
  ///
  /// - Parameter trust: a file by which no process serves may be writable by anyone.
  package static func load(_ path: String?, from trust: FileTrust = .ownersOnly) throws(Failure) -> ProcessConfiguration
  {
    try ConfigurationSources().load(path, from: trust)
  }

  /// - Parameter path: the file's name in errors.
  static func parse(_ bytes: [UInt8], of path: String) throws(ConfigurationErrors) -> ProcessConfiguration {
    try EffectiveConfiguration(bytes, of: path).configuration
  }
}
