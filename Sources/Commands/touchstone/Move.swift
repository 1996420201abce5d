// `touchstone migrate --from sqlite --to postgresql`: moves a stopped service's state.

internal import CommandProgram
internal import Glibc
internal import TouchstoneServer
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

struct Move {
  /// A data directory.
  var source: String
  var target: PostgresAddress

  func run() throws(Failure) {
    let (before, move) = try withDatabase(standardErrorLogger()) { [source, target] () throws(StoreOpenError) in
      // Opened here, because it holds the directory's lock: if the database is unreachable, everything begins anew.
      let directory = try SQLiteMoveSource(directory: source)
      let before = try directory.verifyLog()
      if let fault = before.fault {
        throw StoreOpenError(code: .corrupt, message: "\(source): \(fault); what is broken is not moved")
      }
      let move = try await PostgresMove.fill(uri: target.uri, from: directory, by: Program.version)
      // It was marked as being moved before a service could use the database.
      try directory.markMoved()
      return (before, move)
    }
    for (table, count) in move.counts.sorted(by: { $0.key < $1.key }) { printLine(counted(count, rowsOf: table)) }
    printLine("\(source): \(before.text)")
    printLine("\(target): \(move.events.text)")
    printLine("Moved. Serve with --store, and with the same keys; \(source) is not served from any more.")
    let keys = "\(source)/keys"
    guard access(keys, F_OK) == 0 else { return }
    printLine(
      "KEEP \(keys): it may be the only copy of the keys, and no backup of \(target) has them. Copy it to where the service reads its keys "
        + "(--keys), or export it (`touchstone keys export \(keys)`), before you remove \(source).")
  }

  func describe() throws(Failure) {
    let counts = try failing { () throws(StoreOpenError) in
      try SQLiteMoveSource.counts(directory: source)
    }
    for (table, count) in counts.sorted(by: { $0.key < $1.key }) { printLine(counted(count, rowsOf: table)) }
    printLine("would be moved from \(source) to \(target)")
  }
}
