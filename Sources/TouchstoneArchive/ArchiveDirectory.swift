// The directory of archive files, held by one process at a time while it changes there.

internal import Glibc
internal import TouchstoneStore

/// Files come into it whole: written under another name, synchronized, read back, and only then renamed.
final class ArchiveDirectory {
  let path: String
  private let descriptor: FileDescriptor

  private static let ownerOnly: mode_t = 0o700

  /// To read from.
  init(reading path: String) throws(ArchiveError) {
    self.path = path
    descriptor = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
  }

  /// To write to: made where it is missing (its parent is not), with mode 0700. The kernel lets go of it however the
  /// process ends.
  init(claiming path: String) throws(ArchiveError) {
    if mkdir(path, Self.ownerOnly) != 0, errno != EEXIST { throw .unusable(path, errno) }
    self.path = path
    descriptor = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
    guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .unusable(path, errno) }
      throw ArchiveError(code: .inUse, message: "\(path): another process archives there")
    }
  }

  func path(of name: ArchiveFileName) -> String { "\(path)/\(name.text)" }

  /// In their order.
  func files() throws(ArchiveError) -> [ArchiveFileName] {
    guard let stream = opendir(path) else { throw .unusable(path, errno) }
    defer { closedir(stream) }
    var files: [ArchiveFileName] = []
    while let entry = readdir(stream) {
      // Not through the field's tuple: an entry is only as long as its name.
      let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
      if let file = ArchiveFileName(String(cString: name.assumingMemoryBound(to: CChar.self))) { files.append(file) }
    }
    return files.sorted()
  }

  /// Writes one file, in the place of one of that name.
  ///
  /// - Parameter write: answers the file's last event.
  /// - Parameter isWanted: asked when the file is whole and durable. False: it does not come into the directory.
  /// - Returns: whether it came.
  func makeFile(
    _ name: ArchiveFileName, _ write: (ArchiveFileWriter) throws(ArchiveError) -> Void,
    isWanted: () throws(ArchiveError) -> Bool = { true }
  ) throws(ArchiveError) -> Bool {
    let newPath = "\(path)/\(name.text).new"
    // Of a process that ended before its file was whole.
    unlink(newPath)
    defer { unlink(newPath) }
    let writer = try ArchiveFileWriter(creating: newPath)
    try write(writer)
    try writer.finish()
    let range = try ArchiveFile.verify(newPath)
    guard range.start.sequence + 1 == name.first, range.end.sequence == name.last else {
      throw .damaged(newPath, "does not hold what was written to it")
    }
    guard try isWanted() else { return false }
    guard rename(newPath, path(of: name)) == 0 else { throw .unusable(path(of: name), errno) }
    try synchronize()
    return true
  }

  func remove(_ name: ArchiveFileName) throws(ArchiveError) {
    guard unlink(path(of: name)) == 0 || errno == ENOENT else { throw .unusable(path(of: name), errno) }
    try synchronize()
  }

  /// What came and went is so after a power failure, too.
  private func synchronize() throws(ArchiveError) {
    guard fsync(descriptor.number) == 0 else { throw .unusable(path, errno) }
  }
}

/// Owns a file descriptor; closes it when released.
final class FileDescriptor {
  let number: Int32
  let path: String

  init(opening path: String, _ flags: Int32, mode: mode_t = 0) throws(ArchiveError) {
    number = open(path, flags | O_CLOEXEC, mode)
    self.path = path
    guard number >= 0 else { throw .unusable(path, errno) }
  }

  deinit {
    close(number)
  }
}

extension ArchiveError {
  /// `error`: an errno.
  static func unusable(_ path: String, _ error: Int32) -> ArchiveError {
    ArchiveError(code: .unusable, message: "\(path): \(String(cString: strerror(error)))")
  }
}
