// `touchstone migrate --from sqlite --to postgresql`: a stopped service's state, moved.

internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

struct Move {
  /// A data directory.
  var source: String
  var target: PostgresAddress

  func run() throws(Failure) {
    let (before, move) = try withDatabase(standardErrorLogger()) { [source, target] () throws(StoreOpenError) in
      // In here, for it holds the directory's lock: where the database is out of reach, it is all begun anew.
      let directory = try SQLiteMoveSource(directory: source)
      let before = try directory.verifyLog()
      if let fault = before.fault {
        throw StoreOpenError(code: .corrupt, message: "\(source): \(fault); what is broken is not moved")
      }
      let move = try await PostgresMove.fill(uri: target.uri, from: directory)
      // It was marked as being moved before the database could be served from.
      try directory.markMoved()
      return (before, move)
    }
    for (table, count) in move.counts.sorted(by: { $0.key < $1.key }) { printLine("\(count) \(table)") }
    printLine("\(source): \(before.text)")
    printLine("\(target.description): \(move.events.text)")
    printLine(
      "Moved. Serve with --store, and with the same keys; \(source) is not served from any more, and can go when there is a "
        + "backup of the other.")
  }

  func describe() throws(Failure) {
    let counts = try Failure.ofStore { () throws(StoreOpenError) in try SQLiteMoveSource.counts(directory: source) }
    for (table, count) in counts.sorted(by: { $0.key < $1.key }) { printLine("\(count) \(table)") }
    printLine("would be moved from \(source) to \(target.description)")
  }
}
