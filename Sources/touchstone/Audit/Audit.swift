// `touchstone audit …`: verifies the audit log, takes its beginning out into files, erases in these.

internal import ArgumentParser
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

struct Audit: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The audit log.", subcommands: [Verify.self, Archive.self, Erase.self])

  /// Which log. What is in SQLite is found by its directory alone.
  struct Location: ParsableArguments {
    @Option(help: ArgumentHelp("The service's data directory, where the log is in SQLite.", valueName: "directory"))
    var dataDir: String?

    @OptionGroup var store: StoreOption

    func validate() throws {
      guard dataDir == nil || store.store == nil else { throw ValidationError("either --data-dir or --store") }
    }

    enum Log {
      case sqlite(directory: String)
      case postgresql(PostgresAddress)
    }

    func log() throws(Failure) -> Log {
      if let dataDir { return .sqlite(directory: dataDir) }
      guard case .postgresql(let address) = try store.take() else {
        throw Failure(status: .usage, message: "either --data-dir is needed, or --store postgresql://HOST/DATABASE")
      }
      return .postgresql(address)
    }
  }
}
