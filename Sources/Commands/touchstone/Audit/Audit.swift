// `touchstone audit …`: verifies the audit log, moves its beginning into files, and erases in these files.

internal import ArgumentParser
internal import TouchstoneServer
internal import TouchstoneStore

struct Audit: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The audit log.", subcommands: [Verify.self, Archive.self, Erase.self])

  /// Selects the log, and says where the service's keys are.
  struct Location: ParsableArguments {
    @Option(
      help: ArgumentHelp("The service's data directory, where the log is in SQLite.", valueName: "directory"),
      completion: .directory)
    var dataDir: String?

    @OptionGroup var store: StoreOption

    @Option(
      help: ArgumentHelp(
        "The service's YAML settings: data_dir, store and keys. Flags take precedence.", valueName: "file"),
      completion: .file())
    var config: String?

    func validate() throws {
      guard dataDir == nil || store.store == nil else { throw ValidationError("either --data-dir or --store") }
    }

    func chosen() throws(Failure) -> StoreLocation { try configuration().storeLocation }

    /// The file's settings, or the defaults, with the log's place as the options have it.
    func configuration() throws(Failure) -> ProcessConfiguration {
      var configuration = try store.sources().load(config)
      if let dataDir {
        configuration.dataDirectory = dataDir
        configuration.store = .sqlite
        return configuration
      }
      if config == nil, !configuration.namesDataDirectory, configuration.store == .sqlite {
        throw Failure(
          kind: .usage, message: "--data-dir, --store \(StoreSetting.postgresForm) or --config is needed")
      }
      return configuration
    }

    /// `nil` if no option says where it is: the default may be the directory of another service.
    func keysDirectory(_ configuration: ProcessConfiguration) -> String? {
      dataDir == nil && config == nil && !configuration.namesDataDirectory ? nil : configuration.dataDirectory + "/keys"
    }
  }
}
