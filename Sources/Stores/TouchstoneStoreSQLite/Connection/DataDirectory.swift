// The directory of a store: made if it is missing, and locked by one process at a time.

internal import FilePermissions
internal import Glibc
internal import TouchstoneStore

/// Holds the directory's lock until it is released.
final class DataDirectory: Sendable {
  let path: String
  /// flock(2): the kernel releases it however the process ends.
  private let lock: FileDescriptor

  static let databaseName = "touchstone.db"
  var databasePath: String { "\(path)/\(Self.databaseName)" }
  var writeAheadLogPath: String { "\(databasePath)-wal" }
  /// A database that is not complete yet.
  var newDatabasePath: String { "\(databasePath).new" }
  /// The files that a crash may leave of one.
  var leftovers: [String] { Self.fileSuffixes.map { newDatabasePath + $0 } }

  private static let lockName = "touchstone.lock"
  /// The files that SQLite keeps for one database.
  private static let fileSuffixes = ["", "-journal", "-wal", "-shm"]

  /// The entries that a directory without a service's state may have.
  static let namesWithoutData = [".", "..", lockName, "keys"] + fileSuffixes.map { "\(databaseName).new\($0)" }

  private static let ownerOnlyDirectory: mode_t = 0o700
  static let ownerOnlyFile: mode_t = 0o600

  /// Makes the directory if it is missing; its parent must exist. Refuses a directory that other users can change or
  /// replace, or whose files they can change.
  init(claiming path: String) throws(StoreOpenError) {
    if let violation = FileProtection.violation(onTheWayTo: path) {
      throw StoreOpenError(code: .unprotected, message: "\(path): \(violation)")
    }
    if mkdir(path, Self.ownerOnlyDirectory) == 0 {
      try Self.synchronize(directory: Self.parent(of: path))
    } else if errno != EEXIST {
      throw .unwritable(path, errno)
    }
    try Self.requireProtection(of: path)
    let lockPath = "\(path)/\(Self.lockName)"
    lock = try FileDescriptor(opening: lockPath, flags: O_RDWR | O_CREAT, mode: Self.ownerOnlyFile)
    guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .unwritable(lockPath, errno) }
      throw StoreOpenError(
        code: .locked, message: "\(path): another process has this data directory; stop it or choose another one")
    }
    self.path = path
  }

  /// If no other user can write to the directory, only changed modes let others in. Otherwise they could put a
  /// write-ahead log beside the database, even in a sticky directory.
  private static func requireProtection(of path: String) throws(StoreOpenError) {
    let user = FileProtection.User.current
    let files = (fileSuffixes.map { databaseName + $0 } + [lockName]).map { "\(path)/\($0)" }
    for (path, use) in [(path, FileProtection.Use.writes)] + files.map({ ($0, .reads) }) {
      if let violation = FileProtection.violation(at: path, for: user, use) {
        throw StoreOpenError(code: .unprotected, message: "\(path): \(violation)")
      }
    }
  }

  /// With something in it.
  var hasWriteAheadLog: Bool {
    var status = stat()
    return stat(writeAheadLogPath, &status) == 0 && status.st_size > 0
  }

  /// Makes the directory's entries durable: a new file is only there after this.
  func synchronizeEntries() throws(StoreOpenError) {
    try Self.synchronize(directory: path)
  }

  /// Durably makes the complete file at `newDatabasePath` the database.
  func publishNewDatabase() throws(StoreOpenError) {
    let file = try FileDescriptor(opening: newDatabasePath, flags: O_RDONLY)
    guard fsync(file.number) == 0, rename(newDatabasePath, databasePath) == 0 else {
      throw .unwritable(newDatabasePath, errno)
    }
    try synchronizeEntries()
  }

  /// Removes the directory if there is only its lock in it.
  func remove() {
    unlink("\(path)/\(Self.lockName)")
    rmdir(path)
  }

  /// Releases the directory for another process.
  func unlock() {
    flock(lock.number, LOCK_UN)
  }

  static func synchronize(directory: String) throws(StoreOpenError) {
    let descriptor = try FileDescriptor(opening: directory, flags: O_RDONLY | O_DIRECTORY)
    guard fsync(descriptor.number) == 0 else { throw .unwritable(directory, errno) }
  }

  static func parent(of path: String) -> String {
    let parts = path.split(separator: "/").dropLast()
    let parent = parts.joined(separator: "/")
    return path.hasPrefix("/") ? "/\(parent)" : parent.isEmpty ? "." : parent
  }
}

/// Owns a file descriptor; closes it when released.
final class FileDescriptor: Sendable {
  let number: Int32

  init(opening path: String, flags: Int32, mode: mode_t = 0) throws(StoreOpenError) {
    number = Glibc.open(path, flags | O_CLOEXEC, mode)
    guard number >= 0 else { throw .unwritable(path, errno) }
  }

  deinit {
    Glibc.close(number)
  }
}

extension StoreOpenError {
  /// `error`: an errno.
  static func unwritable(_ path: String, _ error: Int32) -> StoreOpenError {
    StoreOpenError(
      code: .unwritable,
      message: "\(path): \(String(cString: strerror(error))); the data directory must be writable for this user")
  }

  static func corrupt(_ path: String, _ finding: String) -> StoreOpenError {
    StoreOpenError(code: .corrupt, message: "\(path): \(finding); it was left as it is: restore it from a backup")
  }
}
