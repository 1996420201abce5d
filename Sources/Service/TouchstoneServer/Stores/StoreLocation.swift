// One store, for a start and the commands. Only this folder, and what only one kind of store has, name the kinds.

package import EventLoops
package import Logging
package import TouchstonePolicy
package import TouchstoneStore
package import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

package enum StoreLocation: Sendable {
  case sqlite(directory: String)
  case postgresql(PostgresAddress)

  /// For people, without secrets.
  package var description: String {
    switch self {
    case .sqlite: "SQLite (\(place))"
    case .postgresql: "PostgreSQL (\(place))"
    }
  }

  /// The directory or the address, without secrets.
  package var place: String {
    switch self {
    case .sqlite(let directory): directory
    case .postgresql(let address): address.description
    }
  }

  /// If it refuses, it has changed nothing.
  ///
  /// - Parameter eventLoops: of the process's calls.
  package func open(
    on eventLoops: [EventLoop] = [], observer: StoreObserver = StoreObserver(), logger: Logger
  ) throws(Failure) -> any Store {
    let brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void = { fault in
      logger.error(
        """
        an erasure left an altered event of the profile as it is: find out how it was altered, and restore the log from a backup
        """, metadata: ["finding": "\(fault)"])
    }
    switch self {
    case .sqlite(let directory):
      var options = SQLiteStoreOptions()
      options.brokenEventFound = brokenEventFound
      options.observer = observer
      options.upgraded = { logger.notice("the database was upgraded", metadata: ["from": "\($0)", "to": "\($1)"]) }
      options.takesWriting = { delay, work in EventLoop.block(after: delay, work) }
      return try withDatabase(logger) { [options] () throws(StoreOpenError) in
        try SQLiteStore.open(directory: directory, options: options)
      }
    case .postgresql(let address):
      var options = PostgresStoreOptions()
      options.eventLoops = eventLoops
      options.brokenEventFound = brokenEventFound
      options.observer = observer
      options.sealingStopped = { reason in
        logger.error(
          "committed events do not get into the audit log, and in the database they can be altered without a trace until they do",
          metadata: ["reason": "\(reason)"])
      }
      options.timelinesHidden = { reason in
        logger.warning(
          """
          the database does not say which timeline it writes, so a primary that was replaced and goes on is not found: let the role \
          read it (GRANT EXECUTE ON FUNCTION pg_control_system() TO it)
          """, metadata: ["reason": "\(reason)"])
      }
      return try withDatabase(logger) { [options] () throws(StoreOpenError) in
        try await PostgresStore.open(uri: address.uri, options: options)
      }
    }
  }

  /// Reads the whole audit log, beside running services too (R41).
  package func verifyLog(accounts: AccountReview, logger: Logger) throws(Failure) -> AuditLogVerification {
    try withDatabase(logger) { () throws(StoreOpenError) in
      switch self {
      case .sqlite(let directory): try SQLiteAuditLog.verify(directory: directory, accounts: accounts)
      case .postgresql(let address): try await PostgresAuditLog.verify(uri: address.uri, accounts: accounts)
      }
    }
  }

  /// Voids what was issued before, in a database that was put back to an earlier time.
  package func beginRestoration(at now: UnixTime, logger: Logger) throws(Failure) -> Restoration {
    try withDatabase(logger) { () throws(StoreOpenError) in
      switch self {
      case .sqlite(let directory): try SQLiteRestoration.begin(directory: directory, at: now)
      case .postgresql(let address): try await PostgresRestoration.begin(uri: address.uri, at: now)
      }
    }
  }
}
