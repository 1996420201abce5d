// The files of a signed backup: a database, and its signature beside it.

internal import Encodings
internal import FilePermissions
internal import Glibc
package import TouchstoneCrypto
package import TouchstonePolicy
package import TouchstoneStore
internal import TouchstoneStoreSQLite

package enum BackupFiles {
  package static func signaturePath(of backup: String) -> String { backup + ".signature" }

  /// Requires that no other user can change the backup: it becomes accounts.
  package static func requireProtectedWay(to path: String) throws(StoreOpenError) {
    guard let violation = FileProtection.violation(onTheWayTo: path) else { return }
    throw StoreOpenError(code: .unprotected, message: "\(path): \(violation)")
  }

  /// - Parameter copy: the file whose bytes are signed.
  package static func signature(
    of copy: String, by keys: AuditKeys?, at now: UnixTime
  ) throws(StoreOpenError) -> BackupSignature {
    guard let digest = BackupSignature.digest(ofFile: copy) else {
      throw StoreOpenError(code: .unwritable, message: "\(copy): cannot be read: \(String(cString: strerror(errno)))")
    }
    guard let signature = keys.flatMap({ BackupSignature(digest: digest, by: $0, at: now.seconds) }) else {
      throw StoreOpenError(
        code: .unprotected,
        message: "no backup is made: the audit key, which signs it, is missing or not in use yet; try again later")
    }
    return signature
  }

  /// Signs a copy before it has its name: no backup is without its signature, however early the process ends. A
  /// signature without a backup says nothing, and the next backup of the name replaces it.
  package static func sign(
    _ copy: String, as backup: String, by keys: AuditKeys?, at now: UnixTime
  ) throws(StoreOpenError) -> BackupSignature {
    let signature = try signature(of: copy, by: keys, at: now)
    let path = signaturePath(of: backup)
    removeStale(path, of: backup)
    guard write(path, signature.text) else {
      let reason =
        errno == EEXIST
        ? "is there: a backup is under way, or was killed less than \(staleAge) s ago; if it stays, remove it"
        : "cannot be written: \(String(cString: strerror(errno)))"
      throw StoreOpenError(code: .unwritable, message: "\(path): \(reason)")
    }
    return signature
  }

  /// In seconds: a backup gets its name as soon as its signature is on the disk.
  private static let staleAge = 60

  /// Removes what an ended process left. A younger one is of another process that makes a backup of the same name.
  private static func removeStale(_ path: String, of backup: String) {
    var status = stat()
    guard access(backup, F_OK) != 0, lstat(path, &status) == 0, time(nil) - status.st_mtim.tv_sec > staleAge else {
      return
    }
    unlink(path)
  }

  /// Writes a new file of mode 0600 to the disk, and never over another one: it may be the signature of a backup that
  /// is not ours. False sets errno, and leaves nothing.
  private static func write(_ path: String, _ text: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var text = text
    // A few hundred bytes are written at once, or not at all.
    let isWritten = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count }
    if isWritten, fsync(descriptor) == 0 { return true }
    let error = errno
    unlink(path)
    errno = error
    return false
  }

  // MARK: Of the service

  static func name(at time: UnixTime) -> String { "touchstone-\(CalendarTime.basic(time.seconds)).db" }

  /// The name is the database's: it must not lead to another file than a backup, because the file is removed one day.
  static func isThere(_ backup: BackupRecord, in directory: String) -> Bool {
    var status = stat()
    return backup.name == name(at: backup.madeAt) && stat("\(directory)/\(backup.name)", &status) == 0
      && status.st_size == off_t(backup.byteCount)
  }

  /// Removes the backup before its signature. False sets errno.
  static func remove(_ path: String) -> Bool {
    guard unlink(path) == 0 || errno == ENOENT else { return false }
    unlink(signaturePath(of: path))
    return true
  }
}
