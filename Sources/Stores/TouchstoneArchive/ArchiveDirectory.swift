// The directory of archive files, which one process at a time locks while it changes files.

internal import FilePermissions
internal import Glibc
internal import TouchstoneStore

/// Files appear in it complete: written under another name, synchronized, read back, and only then renamed.
final class ArchiveDirectory {
  let path: String
  private let descriptor: FileDescriptor
  /// A file: a directory cannot be opened for writing, which locks of network file systems need.
  private let lock: FileDescriptor?

  private static let ownerOnly: mode_t = 0o700
  private static let lockName = "archive.lock"
  private static let unfinishedSuffix = ".new"

  /// Opens it for reading.
  init(reading path: String) throws(ArchiveError) {
    self.path = path
    descriptor = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
    lock = nil
  }

  /// Opens it for writing. Makes it with mode 0700 if it is missing, but not its parent. The kernel releases the lock
  /// however the process ends.
  init(claiming path: String) throws(ArchiveError) {
    if let violation = FileProtection.violation(onTheWayTo: path) {
      throw ArchiveError(code: .unusable, message: "\(path): \(violation)")
    }
    let isNew = mkdir(path, Self.ownerOnly) == 0
    guard isNew || errno == EEXIST else { throw .unusable(path, errno) }
    self.path = path
    descriptor = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
    try descriptor.requireNobodyElseWrites()
    if isNew { try Self.synchronizeParent(of: path) }
    let lock = try FileDescriptor(
      opening: "\(path)/\(Self.lockName)", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: ArchiveFileWriter.ownerOnly
    )
    self.lock = lock
    guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw .unusable(lock.path, errno) }
      throw ArchiveError(code: .inUse, message: "\(path): another process archives there")
    }
    try removeUnfinished()
  }

  deinit {
    // Closing alone would keep the lock until a child that is just being made has closed its copy of the descriptor.
    if let lock { flock(lock.number, LOCK_UN) }
  }

  /// Removes files of processes that ended before a file was complete, because an erasure searches only complete files.
  private func removeUnfinished() throws(ArchiveError) {
    for name in try names() where name.hasSuffix(Self.unfinishedSuffix) {
      guard ArchiveFileName(String(name.dropLast(Self.unfinishedSuffix.count))) != nil else { continue }
      guard unlink("\(path)/\(name)") == 0 else { throw .unusable("\(path)/\(name)", errno) }
    }
  }

  /// Makes a new directory durable.
  private static func synchronizeParent(of path: String) throws(ArchiveError) {
    let parent = try FileDescriptor(opening: "\(path)/..", O_RDONLY | O_DIRECTORY)
    guard fsync(parent.number) == 0 else { throw .unusable(parent.path, errno) }
  }

  func path(of name: ArchiveFileName) -> String { "\(path)/\(name.text)" }

  /// In their order.
  func files() throws(ArchiveError) -> [ArchiveFileName] {
    try names().compactMap { ArchiveFileName($0) }.sorted()
  }

  private func names() throws(ArchiveError) -> [String] {
    guard let stream = opendir(path) else { throw .unusable(path, errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // Not through the field's tuple, because an entry is only as long as its name.
      let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
      names.append(String(cString: name.assumingMemoryBound(to: CChar.self)))
    }
    return names
  }

  /// Writes one file, and replaces a file of that name.
  ///
  /// - Parameter write: returns what the file must hold.
  /// - Parameter isWanted: called when the file is complete and durable. False: the file is discarded.
  /// - Returns: whether the file was kept.
  func makeFile(
    _ name: ArchiveFileName, _ write: (ArchiveFileWriter) throws(ArchiveError) -> ArchiveFile.Range,
    isWanted: () throws(ArchiveError) -> Bool = { true }
  ) throws(ArchiveError) -> Bool {
    let newPath = "\(path)/\(name.text)\(Self.unfinishedSuffix)"
    defer { unlink(newPath) }
    let writer = try ArchiveFileWriter(creating: newPath)
    let range = try write(writer)
    try writer.finish()
    // By the same descriptor, because another process can put another file under that name.
    guard try ArchiveFile.verify(writer.file) == range, range.start.sequence + 1 == name.first,
      range.end.sequence == name.last
    else { throw .damaged(newPath, "does not hold what was written to it") }
    guard try isWanted() else { return false }
    try writer.file.requireEntry(newPath)
    guard rename(newPath, path(of: name)) == 0 else { throw .unusable(path(of: name), errno) }
    try writer.file.requireEntry(path(of: name))
    try synchronize()
    return true
  }

  func remove(_ name: ArchiveFileName) throws(ArchiveError) {
    guard unlink(path(of: name)) == 0 || errno == ENOENT else { throw .unusable(path(of: name), errno) }
    try synchronize()
  }

  /// Makes new and removed entries durable.
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

  /// The file may be the only copy of its events.
  func requireNobodyElseWrites() throws(ArchiveError) {
    guard let protection = FileProtection(descriptor: number) else { throw .unusable(path, errno) }
    if let violation = protection.violation(path, for: .current, .writes) {
      throw ArchiveError(code: .unusable, message: "\(path): \(violation)")
    }
  }

  func requireFile() throws(ArchiveError) {
    guard try status().st_mode & S_IFMT == S_IFREG else { throw .damaged(path, "is not a file") }
  }

  /// The path must lead to this very file. The kernel has no rename of an open file, so the caller looks before and
  /// after.
  func requireEntry(_ path: String) throws(ArchiveError) {
    var entry = stat()
    guard lstat(path, &entry) == 0 else { throw .unusable(path, errno) }
    let own = try status()
    guard entry.st_dev == own.st_dev, entry.st_ino == own.st_ino else {
      throw .damaged(path, "another process put another file there: verify the archive (`touchstone audit verify`)")
    }
  }

  private func status() throws(ArchiveError) -> stat {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw .unusable(path, errno) }
    return status
  }
}

extension ArchiveError {
  /// `error`: an errno.
  static func unusable(_ path: String, _ error: Int32) -> ArchiveError {
    ArchiveError(code: .unusable, message: "\(path): \(String(cString: strerror(error)))")
  }
}
