// A new file that appears complete or not at all, and never replaces another one.

internal import CSQLite
internal import Glibc
internal import TouchstoneStore

/// Written under a temporary name, with mode 0600; removed unless it is published.
///
/// `@unchecked Sendable`: its owner writes, verifies and publishes it, one after the other.
final class NewFile: @unchecked Sendable {
  let path: String
  private let finalPath: String
  private let descriptor: FileDescriptor
  private var isPublished = false

  /// A write that the system had accepted failed later. The system reports that only once.
  private var failure: StoreOpenError?

  /// Fails if there is something at `finalPath`.
  init(for finalPath: String) throws(StoreOpenError) {
    guard access(finalPath, F_OK) != 0 else { throw .occupied(finalPath) }
    guard access(DataDirectory.parent(of: finalPath) + "/.", W_OK) == 0 else { throw .unwritten(finalPath, errno) }
    self.finalPath = finalPath
    path = finalPath + Self.randomSuffix()
    descriptor = try FileDescriptor(
      opening: path, flags: O_RDWR | O_CREAT | O_EXCL, mode: DataDirectory.ownerOnlyFile)
    // By this lock other processes tell the file from a leftover.
    flock(descriptor.number, LOCK_EX | LOCK_NB)
    removeLeftovers()
  }

  deinit {
    if !isPublished { unlink(path) }
  }

  /// Writes everything so far to the disk.
  func synchronize() {
    if fdatasync(descriptor.number) != 0, failure == nil { failure = .unwritten(path, errno) }
  }

  /// Durably gives the file its name. From then on it stays.
  func publish() throws(StoreOpenError) {
    if let failure { throw failure }
    guard fsync(descriptor.number) == 0 else { throw .unwritten(path, errno) }
    guard moveWithoutReplacing() else {
      if errno == EEXIST { throw .occupied(finalPath) }
      throw .unwritten(finalPath, errno)
    }
    isPublished = true
    try DataDirectory.synchronize(directory: DataDirectory.parent(of: finalPath))
  }

  /// Unlike rename(2), it never replaces a file that appeared there meanwhile. False: `errno` says why.
  private func moveWithoutReplacing() -> Bool {
    if csqlite_rename_noreplace(path, finalPath) == 0 { return true }
    // NFS has only links; exFAT and many FUSE file systems have no links.
    guard errno == EINVAL || errno == ENOSYS else { return false }
    guard link(path, finalPath) == 0 else { return false }
    unlink(path)
    return true
  }
}

// MARK: Interrupted files

extension NewFile {
  /// In seconds: a file's writer locks it at once, and until it ends.
  private static let leftoverAge = 60

  private static let mark = ".part-"

  private static func randomSuffix() -> String { mark + String(UInt32.random(in: 0 ... .max), radix: 16) }

  /// Removes the files that killed processes left under this name, or under one that differs only in digits, as times
  /// do. No other program removes them, and they hold a whole database's content.
  private func removeLeftovers() {
    let directory = DataDirectory.parent(of: finalPath)
    var own = stat()
    guard fstat(descriptor.number, &own) == 0, let stream = opendir(directory) else { return }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      let leftover = "\(directory)/\(name)"
      var status = stat()
      // By the file system's clock, which may be another machine's.
      guard isOurs(name), lstat(leftover, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        status.st_uid == own.st_uid,
        Self.isAbandoned(leftover, age: own.st_mtim.tv_sec - status.st_mtim.tv_sec)
      else { continue }
      unlink(leftover)
    }
  }

  private static func isAbandoned(_ path: String, age: Int) -> Bool {
    guard age > leftoverAge, let file = try? FileDescriptor(opening: path, flags: O_RDWR | O_NOFOLLOW) else {
      return false
    }
    return flock(file.number, LOCK_EX | LOCK_NB) == 0
  }

  private func isOurs(_ name: String) -> Bool {
    let parts = name.split(separator: Self.mark, omittingEmptySubsequences: false)
    guard parts.count == 2, let final = finalPath.split(separator: "/").last else { return false }
    return (1...8).contains(parts[1].count) && parts[1].allSatisfy { $0.isHexDigit }
      && Self.withoutDigits(parts[0]) == Self.withoutDigits(final)
  }

  private static func withoutDigits(_ name: Substring) -> [UInt8] {
    name.utf8.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) ? UInt8(ascii: "0") : $0 }
  }
}

extension StoreOpenError {
  /// `error`: an errno.
  static func unwritten(_ path: String, _ error: Int32) -> StoreOpenError {
    StoreOpenError(code: .unwritable, message: "\(path): cannot be written: \(String(cString: strerror(error)))")
  }

  static func occupied(_ path: String) -> StoreOpenError {
    StoreOpenError(
      code: .unwritable, message: "\(path) is there already, and nothing is overwritten: choose another name")
  }
}
