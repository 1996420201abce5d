// Opens a database file only after it proved to be ours and whole; until then nothing is written to it.

internal import Glibc
internal import TouchstoneStore

enum DatabaseFile {
  /// A new database's: a commit writes each page that it changes as a whole, and a login's event takes a quarter of
  /// one. A file that was made with pages of 4 KB keeps them.
  static let pageSize = 1_024

  /// Up to this size a start checks the whole file, in well under 0.1 s; beyond it, only the tables' definitions. It
  /// checks the audit log in either case, all of it or the latest part.
  static let fullCheckMaximumBytes: Int64 = 32 << 20

  /// Opens a connection to the directory's database, and makes the database first if there is none.
  ///
  /// - Parameters:
  ///   - isMoved: for the move that may have been cut short, and for nothing else.
  ///   - noteAccounts: takes the findings about the audit log's accounts.
  static func open(
    in directory: DataDirectory, virtualFileSystem: String?, isMoved: Bool = false,
    upgraded: (SchemaVersion) -> Void = { _ in }, noteAccounts: (AccountReview) -> Void = { _ in }
  ) throws(StoreOpenError) -> SQLiteConnection {
    let path = directory.databasePath
    if access(path, F_OK) != 0 {
      guard errno == ENOENT else { throw .unwritable(path, errno) }
      try requireNoLogIsLeft(in: directory)
      try create(in: directory)
    }
    try inspectHeader(path: path, isMoved: isMoved)
    try RecoveredLog.makeDurable(path: directory.writeAheadLogPath)
    let version: SchemaVersion
    let applicationID: Int64
    do throws(SQLiteError) {
      let connection = try SQLiteConnection(path: path, access: .readWrite, virtualFileSystem: virtualFileSystem)
      try connection.setCheckpointsOnClose(false)
      // Nothing is in the log that SQLite made just to read, and nothing of it is left behind.
      defer { if !directory.hasWriteAheadLog { try? connection.setCheckpointsOnClose(true) } }
      // The log beside the file may know a later one than the file's header.
      version = try Schema.version(of: connection)
      applicationID = try connection.integer("PRAGMA application_id")
      if Schema.canRead(version), refusal(of: applicationID, path, isMoved: isMoved) == nil {
        try check(connection)
        let isCurrent = version.serves(Schema.version)
        noteAccounts(try isCurrent ? checkLog(on: connection) : upgrade(connection))
        if !isCurrent { upgraded(version) }
        try connection.setCheckpointsOnClose(true)
        return connection
      }
    } catch {
      throw StoreOpenError(error, path: path)
    }
    throw refusal(of: applicationID, path, isMoved: isMoved) ?? .otherSchema(version, path)
  }

  /// A log without its database still holds commits that were answered: a new store must not take its place.
  private static func requireNoLogIsLeft(in directory: DataDirectory) throws(StoreOpenError) {
    let path = directory.writeAheadLogPath
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw .unwritable(path, errno) }
      return
    }
    guard status.st_size == 0 else {
      throw StoreOpenError(
        code: .corrupt,
        message: "\(path): holds committed changes, but \(directory.databasePath) is missing; put it back or restore "
          + "both from a backup (to begin an empty store, move the log away)")
    }
  }

  /// Under another name until it is complete: a crash in between leaves nothing that could be taken for a database.
  private static func create(in directory: DataDirectory) throws(StoreOpenError) {
    let path = directory.newDatabasePath
    for leftover in directory.leftovers { unlink(leftover) }
    _ = try FileDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_EXCL, mode: DataDirectory.ownerOnlyFile)
    do throws(SQLiteError) {
      let connection = try SQLiteConnection(path: path, access: .readWrite)
      try connection.execute(
        """
        PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = DELETE;
        PRAGMA synchronous = FULL
        """)
      try Schema.create(on: connection)
      // Kept in the file's header. The log beside it inherits the file's mode.
      try connection.execute("PRAGMA journal_mode = WAL")
    } catch {
      unlink(path)
      throw StoreOpenError(error, path: path)
    }
    // Empty if there is one: `requireNoLogIsLeft`.
    unlink(directory.writeAheadLogPath)
    try directory.publishNewDatabase()
  }

  /// Reads the header without SQLite, which might already repair what it opens.
  ///
  /// https://www.sqlite.org/fileformat2.html#the_database_header
  ///
  /// - Parameter name: the file's in errors; `nil`: its path.
  static func inspectHeader(
    path: String, named name: String? = nil, isWritten: Bool = true, isMoved: Bool = false
  ) throws(StoreOpenError) {
    let file = try FileDescriptor(opening: path, flags: isWritten ? O_RDWR : O_RDONLY)
    let path = name ?? path
    var header = [UInt8](repeating: 0, count: 100)
    let count = pread(file.number, &header, header.count, 0)
    guard count >= 0 else { throw .unwritable(path, errno) }
    guard count == header.count, header.starts(with: "SQLite format 3\0".utf8) else {
      throw .corrupt(path, "not a database")
    }
    func field(at offset: Int) -> Int64 {
      header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) }
    }
    if let refusal = refusal(of: field(at: 68), path, isMoved: isMoved) { throw refusal }
    let version = SchemaVersion(header: field(at: 60))
    guard Schema.canRead(version) else { throw .otherSchema(version, path) }
  }

  /// `nil`: the database is a service's own, or one that a move may take up again.
  private static func refusal(of applicationID: Int64, _ path: String, isMoved: Bool) -> StoreOpenError? {
    switch applicationID {
    case Schema.applicationID: nil
    case Schema.beingMovedApplicationID where isMoved: nil
    case Schema.beingMovedApplicationID:
      StoreOpenError(
        code: .otherSchema,
        message: "\(path): its state was being moved to PostgreSQL, where it may be served already: run `touchstone "
          + "migrate --from DIRECTORY --to URI` again, to the same database")
    case Schema.movedApplicationID:
      StoreOpenError(
        code: .otherSchema,
        message:
          "\(path): its state was moved to PostgreSQL, which is served with --store; to begin anew, take another "
          + "directory")
    default: .corrupt(path, "a database of another application")
    }
  }

  /// A file that is shorter than its header says is refused by SQLite itself.
  private static func check(_ connection: SQLiteConnection) throws(SQLiteError) {
    let bytes = try connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size")
    if bytes <= fullCheckMaximumBytes { try checkPages(connection) }
    try require(try Schema.isIntact(on: connection), "its tables are not as its version makes them")
  }

  /// All of them.
  static func checkPages(_ connection: SQLiteConnection) throws(SQLiteError) {
    let finding = try Statement("PRAGMA quick_check(1)", on: connection).first { row in row.text() }
    try require(finding == "ok", finding ?? "it cannot be checked")
  }

  /// An earlier version's database. It stays as it is if its log is not as it was written.
  private static func upgrade(_ connection: SQLiteConnection) throws(SQLiteError) -> AccountReview {
    try connection.execute("BEGIN IMMEDIATE")
    // If this connection closes before the commit, SQLite undoes it.
    try Schema.upgrade(connection)
    let accounts = try checkLog(on: connection)
    try connection.execute("COMMIT")
    return accounts
  }

  private static func checkLog(on connection: SQLiteConnection) throws(SQLiteError) -> AccountReview {
    let (fault, accounts) = try EventLog(on: connection).checkAtStart()
    guard let fault else { return accounts }
    throw SQLiteError(code: .corrupt, message: "the audit log is not as it was written: \(fault)")
  }

  private static func require(_ condition: Bool, _ finding: String) throws(SQLiteError) {
    if !condition { throw SQLiteError(code: .corrupt, message: finding) }
  }
}

extension StoreOpenError {
  fileprivate static func otherSchema(_ version: SchemaVersion, _ path: String) -> StoreOpenError {
    StoreOpenError(
      code: .otherSchema,
      message: "\(path): schema \(version), where this version knows \(Schema.version): use the version of Touchstone "
        + "that made it, or another directory")
  }

  init(_ error: SQLiteError, path: String) {
    switch error.code.primary {
    case .corrupt, .notADatabase: self = .corrupt(path, error.message)
    default:
      self.init(
        code: .unwritable,
        message: "\(path): \(error.message) (SQLite \(error.code.rawValue)); check disk and permissions")
    }
  }
}

enum RecoveredLog {
  private static let stepBytes = 1 << 20

  /// Writes the log's content over itself, and waits for the disk: some 20 ms for the longest log.
  ///
  /// After a failed fsync the kernel shows the written pages, and treats them as written. SQLite would append after
  /// them, and a power failure would leave a gap there and lose everything that was answered since. The kernel must
  /// write the second copy to the disk, or report that it cannot.
  static func makeDurable(path: String) throws(StoreOpenError) {
    guard access(path, F_OK) == 0 else { return }
    let file = try FileDescriptor(opening: path, flags: O_RDWR)
    var bytes = [UInt8](repeating: 0, count: stepBytes)
    var offset: off_t = 0
    while case let count = pread(file.number, &bytes, stepBytes, offset), count != 0 {
      guard count > 0, pwrite(file.number, bytes, count, offset) == count else { throw .unwritable(path, errno) }
      offset += off_t(count)
    }
    guard fsync(file.number) == 0 else { throw .unwritable(path, errno) }
  }
}
