// A database that no process writes to: as long as it stays the same, it can be read without SQLite's own bookkeeping.

internal import Glibc
internal import TouchstoneStore

/// Equal to another one of the same path if the file did not change in between.
struct ClosedFile: Equatable {
  private let inode: ino_t
  private let size: off_t
  private let modified: [Int]

  /// Returns `nil` if there is a write-ahead log that is not empty, or no such file.
  init?(path: String) {
    guard let file = Self.status(of: path), Self.status(of: "\(path)-wal")?.st_size ?? 0 == 0 else { return nil }
    inode = file.st_ino
    size = file.st_size
    modified = [file.st_mtim.tv_sec, file.st_mtim.tv_nsec]
  }

  /// Reads the database at the path, beside a service too. `read` is called again if a service opened it meanwhile.
  ///
  /// Even to read, SQLite makes a missing write-ahead log, unless the file is opened as immutable.
  static func reading<Value, Failure>(
    _ path: String, _ read: (SQLiteConnection.Access) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    if let file = ClosedFile(path: path) {
      let value = Result { () throws(Failure) in try read(.readImmutable) }
      if ClosedFile(path: path) == file { return try value.get() }
    }
    return try read(.readOnly)
  }

  static func requireNoLog(of path: String) throws(StoreOpenError) {
    guard status(of: "\(path)-wal")?.st_size ?? 0 > 0 else { return }
    throw StoreOpenError(
      code: .corrupt,
      message: "\(path) has a write-ahead log beside it: that is a service's own database; make a backup of it first")
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }
}
