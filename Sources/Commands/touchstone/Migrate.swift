// `touchstone migrate`: gives a PostgreSQL database its tables, or moves all state of a SQLite service into it.

internal import ArgumentParser
internal import CommandProgram
internal import TouchstoneServer
internal import TouchstoneStore
internal import TouchstoneStorePostgres

struct Migrate: FallibleCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make or upgrade the tables of a PostgreSQL database, or move a SQLite service into it.",
    discussion: """
      All is done in one transaction under a lock, also if several start at once. A database that has this version's tables \
      stays as it is. In one of an earlier version, what is missing is added beside running services; run it before the \
      first process of the new version starts. A database with other tables, or whose version cannot be added to, is \
      refused and stays as it is.

      With --from and --to it moves all state of a stopped service from SQLite into an empty database: every record, and the \
      audit log with its numbers and hashes. It counts and verifies both, and no service uses the directory afterwards. The \
      next run begins an interrupted move anew; no service uses the database before a run has ended. The keys stay where \
      they are: the services on PostgreSQL need the same ones.
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

  @Option(help: ArgumentHelp("YAML settings, for the store that they name.", valueName: "file"), completion: .file())
  var config: String?

  @Flag(help: "Print what would be done, as SQL, and change nothing.")
  var dryRun = false

  func validate() throws {
    guard (from == nil) == (to == nil) else { throw ValidationError("--from and --to go together") }
  }

  func perform() throws(Failure) {
    let configuration = try location.sources().load(config)
    if let from, let to {
      let move = try move(from: from, to: to, configuration)
      return dryRun ? try move.describe() : try move.run()
    }
    let address = try address(of: configuration)
    let change = try withDatabase(standardErrorLogger()) { [dryRun] () throws(StoreOpenError) in
      dryRun
        ? try await PostgresMigration.plan(uri: address.uri, by: Program.version)
        : try await PostgresMigration.run(uri: address.uri, by: Program.version)
    }
    report(change, of: address)
  }

  private func move(from: String, to: String, _ configuration: ProcessConfiguration) throws(Failure) -> Move {
    let directory = from == StoreSetting.sqliteName ? configuration.dataDirectory : from
    if to == StoreSetting.postgresName { return Move(source: directory, target: try address(of: configuration)) }
    guard case .postgresql(let address) = try StoreSetting.visible(to, from: "--to") else {
      throw Failure(
        kind: .usage, message: "--to must be \(StoreSetting.postgresName), or a URI \(StoreSetting.postgresForm)")
    }
    return Move(source: directory, target: address)
  }

  private func address(of configuration: ProcessConfiguration) throws(Failure) -> PostgresAddress {
    guard case .postgresql(let address) = configuration.store else {
      throw Failure(
        kind: .usage,
        message: "migrate is for PostgreSQL (--store, TOUCHSTONE_STORE or --config): SQLite's file is made by `serve`")
    }
    return address
  }

  private func report(_ change: SchemaChange, of place: PostgresAddress) {
    guard !change.statements.isEmpty else {
      let latest = change.latest.map { ", made at \($0)" } ?? ""
      return printLine("\(place): nothing to do, it has schema \(change.version)\(latest)")
    }
    guard dryRun else { return printLine("\(place): has schema \(change.version) now") }
    printLine("-- \(place): would get schema \(change.version)")
    for statement in change.statements { printLine("\(statement);") }
  }
}
