// One store, by its kind and its place, for a start and the commands.

package import Logging
package import TouchstonePolicy
package import TouchstoneStore

package struct StoreLocation: Sendable {
  package let kind: any StoreKind
  package let place: StorePlace

  package init(kind: any StoreKind, place: StorePlace) {
    self.kind = kind
    self.place = place
  }

  /// If it refuses, it has changed nothing.
  package func open(
    observer: StoreObserver = StoreObserver(),
    logger: Logger
  ) throws(Failure) -> OpenStore {
    let options = StoreOptions(
      observer: observer,
      brokenEventFound: { fault in
        logger.error(
          """
          an erasure left an altered event of the profile as it is: find out how it was altered, and restore the log from a backup
          """, metadata: ["finding": "\(fault)"])
      },
      sealingStopped: { reason in
        logger.error(
          "committed events do not get into the audit log, and in the database they can be altered without a trace until they do",
          metadata: ["reason": "\(reason)"])
      },
      timelinesHidden: { reason in
        logger.warning(
          """
          the database does not say which timeline it writes, so a primary that was replaced and goes on is not found: let the role \
          read it (GRANT EXECUTE ON FUNCTION pg_control_system() TO it)
          """, metadata: ["reason": "\(reason)"])
      })
    return try withDatabase(logger) { () throws(StoreOpenError) in try await kind.open(place, options: options) }
  }

  package func verifyLog(accounts: AccountReview, logger: Logger) throws(Failure) -> AuditLogVerification {
    try withDatabase(logger) { () throws(StoreOpenError) in try await kind.verifyLog(place, accounts: accounts) }
  }

  package func beginRestoration(at now: UnixTime, logger: Logger) throws(Failure) -> Restoration {
    try withDatabase(logger) { () throws(StoreOpenError) in try await kind.beginRestoration(place, at: now) }
  }
}
