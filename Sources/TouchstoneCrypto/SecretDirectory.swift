// Files that only the service may read: how they are opened, checked and made.

import Glibc

/// An open directory that only its owner can enter.
///
/// Everything goes through its descriptor and no symbolic link is followed, so what was checked is what is read.
struct SecretDirectory: ~Copyable {
  let path: String
  private let descriptor: CInt

  /// The directory itself, made with mode 0700 where it is missing.
  static func openOrCreate(_ path: String) throws(KeyRingError) -> SecretDirectory {
    try openOrCreate(path, in: AT_FDCWD, path: path)
  }

  /// One inside of this, made likewise.
  func subdirectory(_ name: String) throws(KeyRingError) -> SecretDirectory {
    try Self.openOrCreate(name, in: descriptor, path: path(of: name))
  }

  private static func openOrCreate(
    _ name: String, in parent: CInt, path: String
  ) throws(KeyRingError) -> SecretDirectory {
    let isNew = mkdirat(parent, name, 0o700) == 0
    guard isNew || errno == EEXIST else { throw .system("mkdir", errno, path: path) }
    let descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw errno == ELOOP || errno == ENOTDIR
        ? KeyRingError(code: .wrongFileType, path: path, reason: "is not a directory, or is a symbolic link")
        : .system("open", errno, path: path)
    }
    let directory = SecretDirectory(path: path, descriptor: descriptor)
    try requirePrivacy(of: descriptor, type: S_IFDIR, path: path)
    if isNew { try directory.synchronizeParent() }
    return directory
  }

  private init(path: String, descriptor: CInt) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  func path(of name: String) -> String {
    "\(path)/\(name)"
  }

  func fileNames() throws(KeyRingError) -> [String] {
    // A descriptor of its own: closedir closes it, and its position is its own too.
    let listed = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard listed >= 0, let stream = fdopendir(listed) else { throw .system("opendir", errno, path: path) }
    defer { closedir(stream) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw .system("readdir", errno, path: path) }
    return names
  }

  /// A plain file's content. Longer than `maximumByteCount` throws `.malformed`.
  func read(_ name: String, maximumByteCount: Int) throws(KeyRingError) -> [UInt8] {
    // O_NONBLOCK: a FIFO under this name must not hold up the start.
    let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      switch errno {
      case ELOOP:
        throw KeyRingError(code: .wrongFileType, path: path(of: name), reason: "is a symbolic link")
      case ENOENT:
        throw KeyRingError(
          code: .missing, path: path(of: name), reason: "is missing beside other keys; restore it from a backup")
      default:
        throw .system("open", errno, path: path(of: name))
      }
    }
    defer { close(file) }
    try requirePrivacy(of: file, type: S_IFREG, path: path(of: name))

    var bytes = [UInt8](repeating: 0, count: maximumByteCount + 1)
    var filled = 0
    while filled < bytes.count {
      let received = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + filled, $0.count - filled) }
      if received == 0 { break }
      guard received > 0 || errno == EINTR else { throw .system("read", errno, path: path(of: name)) }
      filled += max(received, 0)
    }
    guard filled <= maximumByteCount else {
      throw KeyRingError(
        code: .malformed, path: path(of: name), reason: "is longer than \(maximumByteCount) bytes")
    }
    return Array(bytes[..<filled])
  }

  /// Makes a file of mode 0600, complete and durable, or leaves the one that is there.
  ///
  /// link(2) refuses a name that is taken, so of several writers one wins, and no one ever sees half a file.
  func createIfAbsent(_ name: String, contents: [UInt8]) throws(KeyRingError) {
    let temporary = ".new-\(Base64URL.encode(randomBytes(12)))"
    let file = openat(descriptor, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .system("create", errno, path: path(of: name)) }
    defer {
      close(file)
      unlinkat(descriptor, temporary, 0)
    }

    var written = 0
    while written < contents.count {
      let sent = contents.withUnsafeBytes { write(file, $0.baseAddress! + written, $0.count - written) }
      guard sent > 0 || errno == EINTR else { throw .system("write", errno, path: path(of: name)) }
      written += max(sent, 0)
    }
    guard fsync(file) == 0 else { throw .system("fsync", errno, path: path(of: name)) }
    guard linkat(descriptor, temporary, descriptor, name, 0) == 0 || errno == EEXIST else {
      throw .system("link", errno, path: path(of: name))
    }
    // Also where another process won: it may not have come this far.
    guard fsync(descriptor) == 0 else { throw .system("fsync", errno, path: path) }
  }

  /// Makes this directory's own name durable.
  private func synchronizeParent() throws(KeyRingError) {
    let parent = openat(descriptor, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { throw .system("open parent", errno, path: path) }
    defer { close(parent) }
    guard fsync(parent) == 0 else { throw .system("fsync parent", errno, path: path) }
  }
}

/// Refuses what is not of this type, belongs to a stranger, or is open to the group or to others.
private func requirePrivacy(of descriptor: CInt, type: mode_t, path: String) throws(KeyRingError) {
  var status = stat()
  guard fstat(descriptor, &status) == 0 else { throw .system("stat", errno, path: path) }
  guard status.st_mode & S_IFMT == type else {
    throw KeyRingError(code: .wrongFileType, path: path, reason: "is not a plain file")
  }
  guard status.st_uid == geteuid() || status.st_uid == 0 else {
    throw KeyRingError(
      code: .foreignOwner, path: path, reason: "belongs to user \(status.st_uid), not to \(geteuid()) or root")
  }
  guard status.st_mode & 0o077 == 0 else {
    let mode = String(status.st_mode & 0o777, radix: 8)
    throw KeyRingError(code: .exposed, path: path, reason: "mode 0\(mode) is open to others; use chmod go=")
  }
}

extension KeyRingError {
  fileprivate static func system(_ call: String, _ number: CInt, path: String) -> KeyRingError {
    KeyRingError(code: .system, path: path, reason: "\(call): \(String(cString: strerror(number)))")
  }
}
