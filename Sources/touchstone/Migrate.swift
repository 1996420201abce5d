// `touchstone migrate`: brings a PostgreSQL database to this version's schema, or all of a SQLite service's state into it.

internal import ArgumentParser
internal import TouchstoneStore
internal import TouchstoneStorePostgres

struct Migrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make or bring up to date the tables of a PostgreSQL database.",
    discussion: """
      Forward only, and safe beside running services and other migrations: each step is a transaction under a lock, and \
      what an earlier version reads and writes stays as it was. What was cut short, the next run takes up again. A \
      database with other tables in it, or of a newer version, is refused and stays as it is.

      With --from and --to it moves all that a stopped service has in SQLite into an empty database: every record, and the \
      audit log with its numbers and hashes. It counts and verifies both, and the directory is not served from afterwards. \
      What was cut short, the next run begins anew; until one has ended, nobody serves from the database. The keys stay \
      where they are: the services on PostgreSQL need the same.
      """)

  @Option(
    help: ArgumentHelp(
      "Move from there: a data directory, or sqlite for the configuration's.", valueName: "directory|sqlite"))
  var from: String?

  @Option(
    help: ArgumentHelp(
      "Move there: postgresql://HOST/DATABASE, or postgresql for what --store, TOUCHSTONE_STORE or the configuration say.",
      valueName: "store"))
  var to: String?

  @OptionGroup var location: StoreOption

  @Option(help: ArgumentHelp("YAML settings, for the store that they name.", valueName: "file"))
  var config: String?

  @Flag(help: "Print what would be done, as SQL, and change nothing.")
  var dryRun = false

  func validate() throws {
    guard (from == nil) == (to == nil) else { throw ValidationError("--from and --to go together") }
  }

  func run() throws {
    do throws(Failure) {
      if let from, let to {
        let move = try move(from: from, to: to)
        return dryRun ? try move.describe() : try move.run()
      }
      let address = try address()
      let migration = try withDatabase(standardErrorLogger()) { [dryRun] () throws(StoreOpenError) in
        dryRun
          ? try await PostgresMigration.plan(uri: address.uri) : try await PostgresMigration.run(uri: address.uri)
      }
      report(migration, of: address)
    } catch {
      fail(error)
    }
  }

  private func move(from: String, to: String) throws(Failure) -> Move {
    let directory = from == "sqlite" ? try ProcessConfiguration.load(config).dataDirectory : from
    guard to != "postgresql" else { return Move(source: directory, target: try address()) }
    guard case .postgresql(let address) = try StoreOption.visible(to, from: "--to") else {
      throw Failure(status: .usage, message: "--to must be postgresql, or a URI postgresql://HOST/DATABASE")
    }
    return Move(source: directory, target: address)
  }

  private func address() throws(Failure) -> PostgresAddress {
    let configuration = try ProcessConfiguration.load(config)
    switch try location.take() ?? configuration.store {
    case .postgresql(let address): return address
    case .sqlite:
      throw Failure(
        status: .usage,
        message: "migrate is for PostgreSQL (--store, TOUCHSTONE_STORE or --config): SQLite's file is made by `serve`")
    }
  }

  private func report(_ migration: PostgresMigration, of address: PostgresAddress) {
    guard !migration.statements.isEmpty else {
      return printLine("\(address.description): nothing to do, it has schema \(migration.toVersion)")
    }
    let step = "from schema \(migration.fromVersion) to \(migration.toVersion)"
    guard dryRun else { return printLine("\(address.description): migrated \(step)") }
    printLine("-- \(address.description): would be migrated \(step)")
    for statement in migration.statements { printLine("\(statement);") }
  }
}
