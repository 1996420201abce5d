// `touchstone restored`: after a database was put back to an earlier time by other means than `touchstone restore`.

internal import ArgumentParser
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

struct Restored: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Void what was issued before, in a database that was put back to an earlier time.",
    discussion: """
      For what `touchstone restore` did not do: PostgreSQL's own tools (point-in-time recovery, pg_restore), a volume's \
      snapshot, a copied file. Challenges, tickets and tokens that were used since would serve once more otherwise. Run it \
      before a service starts on it. The audit log gets an event of it. Processes that serve from the database meanwhile \
      refuse all calls until they are started again; a data directory must be free, and hold no write-ahead log (-wal) of \
      another moment than its database.
      """)

  @OptionGroup var location: Audit.Location

  func run() throws {
    do throws(Failure) {
      let (name, restoration) = try begin()
      printLine("\(name): open evaluations, tickets and tokens of before are void")
      for line in restoration.account { printLine(line) }
    } catch {
      fail(error)
    }
  }

  private func begin() throws(Failure) -> (name: String, Restoration) {
    switch try location.log() {
    case .sqlite(let directory):
      let restoration = try Failure.ofStore { () throws(StoreOpenError) in
        try SQLiteRestoration.begin(directory: directory, at: systemTime())
      }
      return (directory, restoration)
    case .postgresql(let address):
      let restoration = try withDatabase(standardErrorLogger()) { () throws(StoreOpenError) in
        try await PostgresRestoration.begin(uri: address.uri, at: systemTime())
      }
      return (address.description, restoration)
    }
  }
}

extension Restoration {
  /// For people.
  var account: [String] {
    let last = last.sequence
    return [
      "The restoration is event \(head.sequence), with hash \(Hexadecimal.text(head.hash))",
      "LOST: what came after event \(last). Do again what was revoked, changed, locked or erased since; who follows the "
        + "audit log goes on after event \(last). Files of archived events after \(last) belong to what is lost: move them "
        + "away.",
    ]
  }
}
