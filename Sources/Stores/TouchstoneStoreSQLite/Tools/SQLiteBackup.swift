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
    try copy(directory: directory, to: file).publish(sign)
  }

  /// The same without the last steps: the copy is removed unless it is published.
  public static func copy(directory: String, to file: String) throws(StoreOpenError) -> SQLiteCopy {
    let path = "\(directory)/\(DataDirectory.databaseName)"
    try DatabaseFile.inspectHeader(path: path, isWritten: false)
    return try ClosedFile.reading(path) { access throws(StoreOpenError) in try copy(path, access, to: file) }
  }

  /// Opens the database only by SQLite: closing another descriptor of it would end the locks of this process's store on
  /// it (fcntl(2)).
  static func copy(
    _ path: String, _ access: SQLiteConnection.Access, to file: String, isCancelled: () -> Bool = { false }
  ) throws(StoreOpenError) -> SQLiteCopy {
    let copy = try NewFile(for: file)
    try requireRoom(for: path, at: copy.path)
    do throws(SQLiteError) {
      let source = try SQLiteConnection(path: path, access: access)
      let destination = try SQLiteConnection(path: copy.path, access: .readWrite)
      // SQLite needs no journal and no fsync: if the copy ends early, the whole file is removed.
      try destination.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      var bytes = 0
      try source.copy(to: destination) { step throws(SQLiteError) in
        if isCancelled() { throw SQLiteError(code: ResultCode(rawValue: SQLITE_INTERRUPT), message: "interrupted") }
        bytes += step
        guard bytes >= bytesPerSynchronization else { return }
        bytes = 0
        copy.synchronize()
      }
    } catch {
      // The copy's disk, not the service's, may be full: SQLite's error does not say which.
      throw StoreOpenError(error, path: "\(path), copied to \(file)")
    }
    return SQLiteCopy(copy)
  }

  /// What a copy leaves free: on the service's own disk the write-ahead log may grow so far meanwhile.
  private static let reservedBytes = 64 << 20

  /// A service must not come to a full disk by its own backup. Some file systems do not tell their size.
  private static func requireRoom(for path: String, at copy: String) throws(StoreOpenError) {
    var (database, disk) = (stat(), statvfs())
    guard stat(path, &database) == 0, statvfs(copy, &disk) == 0, disk.f_blocks > 0 else { return }
    // The write-ahead log adds at most its own size to the copy.
    var log = stat()
    let logSize = stat("\(path)-wal", &log) == 0 ? Int(log.st_size) : 0
    let (size, free) = (Int(database.st_size) + logSize, Int(disk.f_bavail) * Int(disk.f_frsize))
    guard free < size + reservedBytes else { return }
    throw StoreOpenError(
      code: .unwritable,
      message: "\(copy): the disk has \(free) bytes free; a backup takes \(size), and \(reservedBytes) must stay free")
  }

  // MARK: And back

  /// Makes a data directory of a backup: one that is missing, or that holds nothing but `keys`. The copy in it is
  /// verified, and gets the database's name only when it is complete.
  ///
  /// Changes after the backup are unknown. Everything issued before the restoration is void (`Lineage`), whose time is
  /// in the audit log. Everything else is as it was when the backup was made.
  ///
  /// - Parameters:
  ///   - file: the backup's name.
  ///   - first: its first bytes.
  ///   - descriptor: reads the others.
  ///   - now: the time of the restoration's event in the audit log.
  ///   - accept: judges the copy at its path before any of it is parsed.
  public static func restore(
    from file: String, _ first: [UInt8], reading descriptor: Int32, to path: String, at now: UnixTime,
    accept: (_ path: String) throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> (backup: DatabaseSummary, restoration: Restoration) {
    try requireVacancy(path)
    try ClosedFile.requireNoLog(of: file)
    let isMade = access(path, F_OK) != 0
    let directory = try DataDirectory(claiming: path)
    try requireVacancy(path)
    let new = directory.newDatabasePath
    for leftover in directory.leftovers { unlink(leftover) }
    do throws(StoreOpenError) {
      try FileCopy.copy(first, reading: descriptor, to: new)
      try accept(new)
      let summary = try DatabaseSummary.verified(path: new, named: file)
      let restoration = try begin(new, at: now)
      try directory.publishNewDatabase()
      return (summary, restoration)
    } catch {
      for leftover in directory.leftovers { unlink(leftover) }
      if isMade { directory.remove() }
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

/// A whole copy of a database under a temporary name. It is removed unless it is published.
public final class SQLiteCopy: Sendable {
  private let file: NewFile
  public var path: String { file.path }

  init(_ file: NewFile) {
    self.file = file
  }

  public func verified() throws(StoreOpenError) -> DatabaseSummary { try DatabaseSummary.verified(path: path) }

  /// Verifies the copy, has it signed, and durably gives it its name.
  public func publish(
    _ sign: (_ path: String) throws(StoreOpenError) -> Void
  ) throws(StoreOpenError) -> DatabaseSummary {
    let summary = try verified()
    try sign(path)
    try file.publish()
    return summary
  }

  /// Writes some bytes and then the copy to stdout.
  public func stream(after first: [UInt8]) throws(StoreOpenError) {
    let input = try FileDescriptor(opening: path, flags: O_RDONLY)
    try FileCopy.copy(first, reading: input.number, to: STDOUT_FILENO, "stdout")
  }
}

extension SQLiteConnection {
  private static let bytesPerStep = 1 << 20
  /// The pause after each step, in which a service on the same disk can use it.
  private static let pauseMicroseconds: UInt32 = 1_000

  /// Copies the database as it is at the first step, whatever is committed meanwhile. A snapshot delays no commit, but
  /// keeps the write-ahead log from starting anew until it ends.
  ///
  /// - Parameter stepped: called after each step with the number of copied bytes. Its error ends the copying.
  func copy(
    to destination: SQLiteConnection, stepped: (Int) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
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
      try stepped(Self.bytesPerStep)
      usleep(Self.pauseMicroseconds)
    }
  }
}

private enum FileCopy {
  private static let bufferBytes = 1 << 20

  /// To a file that is not there yet, for its owner alone. Not synchronized.
  static func copy(_ first: [UInt8], reading input: Int32, to path: String) throws(StoreOpenError) {
    let output = try FileDescriptor(
      opening: path, flags: O_WRONLY | O_CREAT | O_EXCL, mode: DataDirectory.ownerOnlyFile)
    try copy(first, reading: input, to: output.number, path)
  }

  /// - Parameter name: the output's in errors.
  static func copy(
    _ first: [UInt8], reading input: Int32, to output: Int32, _ name: String
  ) throws(StoreOpenError) {
    var rest = first[...]
    var buffer = [UInt8](repeating: 0, count: bufferBytes)
    while true {
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
        guard count > 0 || errno == EINTR else { throw .unwritten(name, errno) }
        rest = rest.dropFirst(max(0, count))
      }
      let count = read(input, &buffer, buffer.count)
      guard count >= 0 || errno == EINTR else {
        throw StoreOpenError(
          code: .unwritable, message: "the backup cannot be read: \(String(cString: strerror(errno)))")
      }
      guard count != 0 else { return }
      rest = buffer[..<max(0, count)]
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
    // The backups of the list are another service's, which may still run, or the last ones of what is lost: they stay.
    try connection.execute(
      """
      UPDATE lineage SET number = \(lineage.rawValue); UPDATE sweep_mark SET swept_before = 0; DELETE FROM backups
      """)
    try log.append(chain.append(.restored(after: last, at: now), salt: .random()))
    try log.setHead(chain.head)
    return Restoration(last: last, head: chain.head)
  }
}
