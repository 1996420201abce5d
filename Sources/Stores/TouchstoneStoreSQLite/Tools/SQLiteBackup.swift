// A copy of the database, made beside a running service, and its way back.

internal import CSQLite
internal import Glibc
public import TouchstonePolicy
public import TouchstoneStore

public enum SQLiteBackup {
  // MARK: There

  /// How much is written between two fsyncs: a single one at the end would keep the service's own waiting for seconds.
  private static let bytesPerSynchronization = 16 << 20

  /// Writes the directory's database to a new file, as it is at one moment: all that was answered before the call is in
  /// it. A service may run meanwhile: this does not take its lock. The new file is read again and verified as a whole
  /// before it gets its name.
  ///
  /// The keys are no part of it.
  ///
  /// - Parameter sign: takes the path of the whole copy before it gets its name.
  public static func write(
    directory: String, to file: String, sign: (_ path: String) throws(StoreOpenError) -> Void = { _ in }
  ) throws(StoreOpenError) -> DatabaseSummary {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false)
    let copied = try ClosedFile.reading(path) { access throws(StoreOpenError) in try copy(path, access, to: file) }
    return try publish(copied, sign)
  }

  private static func copy(
    _ path: String, _ access: SQLiteConnection.Access, to file: String
  ) throws(StoreOpenError) -> NewFile {
    let copy = try NewFile(for: file)
    do throws(SQLiteError) {
      let source = try SQLiteConnection(path: path, access: access)
      let destination = try SQLiteConnection(path: copy.path, access: .readWrite)
      // SQLite needs no journal and no fsync: if the copy ends early, the whole file is removed.
      try destination.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      var bytes = 0
      try source.copy(to: destination) { step in
        bytes += step
        guard bytes >= bytesPerSynchronization else { return }
        bytes = 0
        copy.synchronize()
      }
    } catch {
      throw StoreOpenError(error, path: path)
    }
    return copy
  }

  private static func publish(
    _ copy: NewFile, _ sign: (_ path: String) throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> DatabaseSummary {
    let summary = try DatabaseSummary.verified(path: copy.path)
    try sign(copy.path)
    try copy.publish()
    return summary
  }

  // MARK: And back

  /// Makes a data directory of a backup: one that is missing, or that holds nothing but `keys`. The backup is verified
  /// first, and the database gets its name only when it is complete.
  ///
  /// Changes after the backup are unknown. Everything issued before the restoration is void (`Lineage`), whose time is
  /// in the audit log. Everything else is as it was when the backup was made.
  ///
  /// - Parameters:
  ///   - now: the time of the restoration's event in the audit log.
  ///   - accept: judges the file once it was found to be whole, before anything is written.
  public static func restore(
    from file: String, to path: String, at now: UnixTime, accept: () throws(StoreOpenError) -> Void = {}
  ) throws(StoreOpenError) -> (backup: DatabaseSummary, restoration: Restoration) {
    try requireVacancy(path)
    let summary = try DatabaseSummary.verified(path: file)
    guard let backup = ClosedFile(path: file) else { throw .corrupt(file, "it changed while it was read") }
    try accept()
    let directory = try DataDirectory(claiming: path)
    try requireVacancy(path)
    for leftover in directory.leftovers { unlink(leftover) }
    let new = directory.newDatabasePath
    do throws(StoreOpenError) {
      try FileCopy.copy(file, to: new)
      guard ClosedFile(path: file) == backup else { throw .corrupt(file, "it changed while it was read") }
      let restoration = try begin(new, at: now)
      try directory.publishNewDatabase()
      return (summary, restoration)
    } catch {
      for leftover in directory.leftovers { unlink(leftover) }
      throw error
    }
  }

  private static func begin(_ path: String, at now: UnixTime) throws(StoreOpenError) -> Restoration {
    do throws(SQLiteError) {
      let connection = try SQLiteConnection(path: path, access: .readWrite)
      try connection.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
      try connection.execute("BEGIN IMMEDIATE")
      try Schema.upgrade(connection)
      let restoration = try SQLiteRestoration.begin(on: connection, at: now)
      try connection.execute("COMMIT; PRAGMA journal_mode = WAL")
      return restoration
    } catch {
      throw StoreOpenError(error, path: path)
    }
  }

  /// Nothing that could be a service's.
  private static func requireVacancy(_ path: String) throws(StoreOpenError) {
    guard let stream = opendir(path) else {
      if errno == ENOENT { return }
      throw .unwritable(path, errno)
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard DataDirectory.namesWithoutData.contains(name) else {
        throw StoreOpenError(
          code: .unwritable,
          message: "\(path) holds \(name): a backup is restored into a directory that is empty, or holds keys alone")
      }
    }
  }
}

extension SQLiteConnection {
  private static let bytesPerStep = 1 << 20
  /// The pause after each step, in which a service on the same disk can use it.
  private static let pauseMicroseconds: UInt32 = 1_000

  /// Copies the database as it is at the first step, whatever is committed meanwhile. A snapshot delays no commit, but
  /// keeps the write-ahead log from starting anew until it ends.
  ///
  /// - Parameter stepped: called after each step with the number of copied bytes.
  func copy(to destination: SQLiteConnection, stepped: (Int) -> Void) throws(SQLiteError) {
    let pagesPerStep = Int32(clamping: Self.bytesPerStep / Int(max(1, try integer("PRAGMA page_size"))))
    // Without a snapshot each commit by another process would begin the copy anew.
    try execute("BEGIN; SELECT 1 FROM sqlite_schema")
    defer { try? execute("ROLLBACK") }
    guard let backup = sqlite3_backup_init(destination.pointer, "main", pointer, "main") else {
      throw destination.error(ResultCode(rawValue: sqlite3_extended_errcode(destination.pointer)))
    }
    defer { sqlite3_backup_finish(backup) }
    while true {
      let code = sqlite3_backup_step(backup, pagesPerStep)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_OK else {
        throw SQLiteError(code: ResultCode(rawValue: code), message: String(cString: sqlite3_errstr(code)))
      }
      stepped(Self.bytesPerStep)
      usleep(Self.pauseMicroseconds)
    }
  }
}

enum FileCopy {
  private static let bufferBytes = 1 << 20

  /// To a file that is not there yet, for its owner alone. Not synchronized.
  static func copy(_ source: String, to destination: String) throws(StoreOpenError) {
    let input = try FileDescriptor(opening: source, flags: O_RDONLY)
    let output = try FileDescriptor(
      opening: destination, flags: O_WRONLY | O_CREAT | O_EXCL, mode: DataDirectory.ownerOnlyFile)
    var buffer = [UInt8](repeating: 0, count: bufferBytes)
    while true {
      let count = read(input.number, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unwritten(source, errno) }
      guard count > 0 else { return }
      try write(buffer[..<count], to: output, destination)
    }
  }

  private static func write(
    _ bytes: ArraySlice<UInt8>, to output: FileDescriptor, _ path: String
  ) throws(StoreOpenError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(output.number, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { throw .unwritten(path, errno) }
      rest = rest.dropFirst(max(0, count))
    }
  }
}

public enum SQLiteRestoration {
  /// Declares a directory restored whose database file was put back by other means than `SQLiteBackup`: what was issued
  /// before is void from then on. Fails where a service has the directory, or there is no whole database in it.
  ///
  /// - Parameter now: when the audit log says that it was restored.
  public static func begin(directory path: String, at now: UnixTime) throws(StoreOpenError) -> Restoration {
    let database = "\(path)/\(DataDirectory.databaseName)"
    // Before the directory is claimed, which would make it.
    try DatabaseFile.inspectHeader(path: database)
    let directory = try DataDirectory(claiming: path)
    // No other process opens the database before this connection has released it.
    defer { withExtendedLifetime(directory) {} }
    let connection = try DatabaseFile.open(in: directory, virtualFileSystem: nil)
    do throws(SQLiteError) {
      // However large: if another moment's write-ahead log lay beside the file, SQLite has put its pages into the file.
      try DatabaseFile.checkPages(connection)
      try connection.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
      let restoration = try begin(on: connection, at: now)
      try connection.execute("COMMIT")
      return restoration
    } catch {
      throw StoreOpenError(error, path: database)
    }
  }

  /// A line of history of its own, whose first event is the restoration: within a transaction.
  static func begin(on connection: SQLiteConnection, at now: UnixTime) throws(SQLiteError) -> Restoration {
    let log = EventLog(on: connection)
    let last = try log.head()
    var chain = EventChain(continuing: last)
    let lineage = try connection.lineage().successor()
    // The mark speaks for keys of lines that are past, which are void already. It may be a wrong clock's.
    try connection.execute("UPDATE lineage SET number = \(lineage.rawValue); UPDATE sweep_mark SET swept_before = 0")
    try log.append(chain.append(.restored(after: last, at: now), salt: .random()))
    try log.setHead(chain.head)
    return Restoration(last: last, head: chain.head)
  }
}
