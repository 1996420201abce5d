// One connection to a database file: owns the pointer, closes it when released.

internal import CSQLite
internal import Glibc

/// Confined to one thread at a time (opened without SQLite's own mutex): its owner is a queue or a lock.
final class SQLiteConnection {
  /// The time that a writer waits for another process's lock: tools for backup and replication hold one for some 20 ms.
  /// Calls wait meanwhile, so it is short.
  private static let lockWaitMilliseconds: Int32 = 250

  let pointer: OpaquePointer
  private let lockWaitMilliseconds: Int32
  /// Frames in the write-ahead log after this connection's latest commit.
  private let walFrameCount = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

  enum Access {
    case create
    case readWrite
    case readOnly
    /// Reads a file that no process changes meanwhile, without locks, log or a trace.
    case readImmutable
  }

  /// `virtualFileSystem`: one registered with SQLite; `nil`: `ClearingFileSystem`.
  init(path: String, access: Access, virtualFileSystem: String? = nil) throws(SQLiteError) {
    let mode =
      switch access {
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readWrite: SQLITE_OPEN_READWRITE
      case .readOnly: SQLITE_OPEN_READONLY
      case .readImmutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      }
    let name = access == .readImmutable ? Self.immutableURI(path) : path
    var opened: OpaquePointer?
    let flags = mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = ResultCode(
      rawValue: sqlite3_open_v2(name, &opened, flags, virtualFileSystem ?? ClearingFileSystem.name))
    guard code == .ok, let opened else {
      let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(opened)
      walFrameCount.deallocate()
      throw SQLiteError(code: code, message: message)
    }
    pointer = opened
    walFrameCount.initialize(to: 0)
    // Readers need no lock that a process holds for long, and event loops wait for some of them.
    lockWaitMilliseconds = access == .readWrite ? Self.lockWaitMilliseconds : 0
    try check(sqlite3_busy_timeout(pointer, lockWaitMilliseconds))
  }

  deinit {
    // v2: also right where a statement outlives its connection.
    sqlite3_close_v2(pointer)
    walFrameCount.deallocate()
  }

  /// https://www.sqlite.org/uri.html
  private static func immutableURI(_ path: String) -> String {
    let escaped = path.unicodeScalars.map { scalar in
      switch scalar {
      case "%": "%25"
      case "?": "%3F"
      case "#": "%23"
      default: String(scalar)
      }
    }
    return "file:\(escaped.joined())?immutable=1"
  }

  /// One or more statements, without parameters or rows.
  func execute(_ sql: String) throws(SQLiteError) {
    try check(sqlite3_exec(pointer, sql, nil, nil, nil))
  }

  /// The first column of the only row, such as a pragma's value.
  func integer(_ sql: String) throws(SQLiteError) -> Int64 {
    let statement = Statement(sql, on: self)
    defer { statement.reset() }
    guard var row = try statement.next() else { return 0 }
    return row.integer()
  }

  /// How many rows the latest statement inserted, changed or deleted.
  var changedRows: Int { Int(sqlite3_changes(pointer)) }

  /// False after SQLite itself rolled a transaction back.
  var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

  /// Frames in the write-ahead log after the latest commit; `countWALFrames()` first.
  var walFrames: Int { Int(walFrameCount.pointee) }

  /// Takes the place of SQLite's automatic checkpoint, which would run inside of a commit.
  func countWALFrames() {
    sqlite3_wal_hook(
      pointer,
      { context, _, _, frames in
        context?.assumingMemoryBound(to: Int32.self).pointee = frames
        return SQLITE_OK
      }, walFrameCount)
  }

  struct CheckpointProgress: Sendable, Hashable {
    var walFrames: Int
    var copiedFrames: Int
  }

  /// Copies from the write-ahead log into the database as far as no reader or writer is in the way; blocks neither.
  func checkpoint() throws(SQLiteError) -> CheckpointProgress {
    var frames: Int32 = 0
    var copied: Int32 = 0
    try check(sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied))
    return CheckpointProgress(walFrames: Int(frames), copiedFrames: Int(copied))
  }

  /// Copies all of the write-ahead log into the database and empties it, so that what was erased is not in it either.
  /// Fails where a reader needs the log, and needs it for longer than may be waited; commits wait, too.
  func emptyLog(waitMilliseconds: Int32 = 0) throws(SQLiteError) {
    try check(sqlite3_busy_timeout(pointer, waitMilliseconds))
    defer { sqlite3_busy_timeout(pointer, lockWaitMilliseconds) }
    try check(sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
    // Cached pages still have what `ClearingFileSystem` keeps out of the file, and would bring it into the log again.
    try check(sqlite3_db_release_memory(pointer))
  }

  /// Otherwise the last connection to close copies the write-ahead log into the database.
  func setCheckpointsOnClose(_ enabled: Bool) throws(SQLiteError) {
    try check(csqlite_disable_checkpoint_on_close(pointer, enabled ? 0 : 1))
  }

  func check(_ code: Int32) throws(SQLiteError) {
    guard code == SQLITE_OK else { throw error(ResultCode(rawValue: code)) }
  }

  func error(_ code: ResultCode) -> SQLiteError {
    let message = String(cString: sqlite3_errmsg(pointer))
    // The number is that of the latest system call that failed on one of the files. With other codes that was another
    // one.
    let reason = code.primary == .ioError ? csqlite_last_errno(pointer) : 0
    return SQLiteError(
      code: code, message: reason == 0 ? message : "\(message) (\(String(cString: strerror(reason))))")
  }
}
