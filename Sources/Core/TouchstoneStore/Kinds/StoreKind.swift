// The operations of a store beside serving, for commands and for a start. Each store's target has its kind;
// TouchstoneServer's registry lists the kinds.

package import TouchstonePolicy

/// The operations of all kinds. A database in a data directory has those of `DirectoryStoreKind`, too, and one on a
/// server those of `ServerStoreKind`.
package protocol StoreKind: Sendable {
  /// As settings have it: "sqlite".
  var name: String { get }
  /// For people: "SQLite".
  var title: String { get }

  /// Opens the store to serve from it. If it refuses, nothing was changed.
  func open(_ place: StorePlace, options: StoreOptions) async throws(StoreOpenError) -> OpenStore

  /// Reads the whole audit log, beside running services too (R41).
  func verifyLog(_ place: StorePlace, accounts: AccountReview) async throws(StoreOpenError) -> AuditLogVerification

  /// Voids what was issued before, in a database that was put back to an earlier time.
  func beginRestoration(_ place: StorePlace, at now: UnixTime) async throws(StoreOpenError) -> Restoration
}

/// A database in a file of a data directory, which one process has at a time. The directory is its place.
package protocol DirectoryStoreKind: StoreKind {
  func isThere(in directory: String) -> Bool

  /// Copies the database to a new file, beside a running service too.
  ///
  /// - Parameter sign: takes the path of the whole copy before it gets its name.
  func backUp(
    _ directory: String, to file: String, sign: (_ path: String) throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> DatabaseSummary

  /// - Parameter accept: judges the file once it was found to be whole, before anything is written.
  func restore(
    _ directory: String, from file: String, at now: UnixTime, accept: () throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> (backup: DatabaseSummary, restoration: Restoration)

  /// Takes the directory's lock until the source is released.
  func moveSource(in directory: String) throws(StoreOpenError) -> any MoveSource

  /// Rows by table, of a directory that stays as it is.
  func movedCounts(in directory: String) throws(StoreOpenError) -> [String: Int64]
}

/// A database that a URI names, for any number of processes.
package protocol ServerStoreKind: StoreKind {
  /// The URI's form: "postgresql://HOST/DATABASE".
  var form: String { get }

  /// `nil`: the text is meant for another kind. Connects to nothing, and no error quotes the text.
  func place(ofURI text: String) throws(StoreOpenError) -> StorePlace?

  /// Makes this version's tables, or only says how.
  func makeTables(_ place: StorePlace, isDryRun: Bool) async throws(StoreOpenError) -> SchemaChange

  /// Moves another store's state into an empty database.
  func fill(_ place: StorePlace, from source: any MoveSource) async throws(StoreOpenError) -> StoreMove
}

/// Which store of a kind is meant.
package struct StorePlace: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// A directory's path, or a URI, which may hold a password.
  package let text: String
  /// For people, without secrets.
  package let description: String
  package let hasSecret: Bool
  package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

  package init(uri: String, description: String, hasSecret: Bool) {
    text = uri
    self.description = description
    self.hasSecret = hasSecret
  }

  package init(directory: String) {
    text = directory
    description = directory
    hasSecret = false
  }
}

package struct StoreOptions: Sendable {
  /// An erasure met an event that is not as it was written.
  package var brokenEventFound: @Sendable (EventChainVerifier.Fault) -> Void
  /// Committed events do not get into the log. Called again as long as that is so.
  package var sealingStopped: @Sendable (_ reason: String) -> Void
  /// The database does not say which primary is the newest, so a replaced one is not found.
  package var timelinesHidden: @Sendable (_ reason: String) -> Void
  package var observer: StoreObserver

  package init(
    observer: StoreObserver = StoreObserver(),
    brokenEventFound: @escaping @Sendable (EventChainVerifier.Fault) -> Void = { _ in },
    sealingStopped: @escaping @Sendable (_ reason: String) -> Void = { _ in },
    timelinesHidden: @escaping @Sendable (_ reason: String) -> Void = { _ in }
  ) {
    self.observer = observer
    self.brokenEventFound = brokenEventFound
    self.sealingStopped = sealingStopped
    self.timelinesHidden = timelinesHidden
  }
}

/// A store that was opened, and what only some kinds have.
package struct OpenStore: Sendable {
  package typealias ClockDifference = @Sendable (@escaping @Sendable (Result<Duration, StoreError>) -> Void) -> Void
  package typealias Clients = @Sendable (@escaping @Sendable (Result<[StoreClient], StoreError>) -> Void) -> Void

  package let store: any Store
  /// The counts of the store's writes, if this process makes the commits.
  package let statistics: (@Sendable () -> StoreStatistics)?
  /// By how much this machine's clock is ahead of the database's, if that is another clock.
  package let clockDifference: ClockDifference?
  /// The connections, if the store is on a server.
  package let lanes: (@Sendable () -> [StoreLane])?
  /// For how long the log's end has stayed in place while committed events wait to be sealed, if sealing is work of its
  /// own.
  package let unsealedFor: (@Sendable () -> Duration)?
  /// The machines whose processes are connected to the same database, if the store is on a server.
  package let clients: Clients?

  package init(
    _ store: any Store, statistics: (@Sendable () -> StoreStatistics)? = nil, clockDifference: ClockDifference? = nil,
    lanes: (@Sendable () -> [StoreLane])? = nil, unsealedFor: (@Sendable () -> Duration)? = nil,
    clients: Clients? = nil
  ) {
    self.store = store
    self.statistics = statistics
    self.clockDifference = clockDifference
    self.lanes = lanes
    self.unsealedFor = unsealedFor
    self.clients = clients
  }
}

/// A machine with a connection to a store's server.
package struct StoreClient: Sendable, Hashable {
  /// As the server sees it; a proxy's, if the connections go through one.
  package var address: String
  package var connections: Int
  /// The beginning of its oldest connection.
  package var since: UnixTime

  package init(address: String, connections: Int, since: UnixTime) {
    (self.address, self.connections, self.since) = (address, connections, since)
  }
}

/// A change of a server's tables, made or only planned.
package struct SchemaChange: Sendable, Hashable {
  /// The tables' version afterwards.
  package var version: Int64
  /// In their order; none if nothing is to be done.
  package var statements: [String]

  package init(version: Int64, statements: [String]) {
    self.version = version
    self.statements = statements
  }
}
