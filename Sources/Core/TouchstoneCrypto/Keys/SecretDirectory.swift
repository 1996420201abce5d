internal import Encodings
import Glibc

/// An open directory that only its owner can change: opens, checks and makes files that only the service may read.
///
/// Everything goes through its descriptor. Links are followed only inside of it, as secrets' mounts need. The checked
/// file is the opened one.
struct SecretDirectory: ~Copyable {
  let path: String
  private let descriptor: CInt

  /// Opens an existing directory.
  static func open(_ path: String) throws(KeyRingError) -> SecretDirectory {
    try open(path, path: path) { openat(AT_FDCWD, $0, $1 | O_NOFOLLOW) }
  }

  /// Opens the directory, and makes it with mode 0700 if it is missing.
  static func openOrCreate(_ path: String) throws(KeyRingError) -> SecretDirectory {
    let isNew = try create(path, in: AT_FDCWD, path: path)
    let directory = try open(path)
    if isNew { try directory.synchronizeParent() }
    return directory
  }

  /// Opens a directory inside of this one.
  func subdirectory(_ name: String) throws(KeyRingError) -> SecretDirectory {
    let target = try resolve(name)
    return try Self.open(target, path: path(of: name)) { openat(descriptor, $0, $1 | O_NOFOLLOW) }
  }

  /// Opens a directory inside of this one, and makes it with mode 0700 if it is missing.
  func subdirectoryOrCreated(_ name: String) throws(KeyRingError) -> SecretDirectory {
    let isNew = try Self.create(name, in: descriptor, path: path(of: name))
    let directory = try subdirectory(name)
    if isNew { try directory.synchronizeParent() }
    return directory
  }

  /// Returns whether it was missing.
  private static func create(_ name: String, in parent: CInt, path: String) throws(KeyRingError) -> Bool {
    let isNew = mkdirat(parent, name, 0o700) == 0
    guard isNew || errno == EEXIST else { throw .system("mkdir", errno, path: path) }
    return isNew
  }

  private static func open(
    _ name: String, path: String, by open: (String, CInt) -> CInt
  ) throws(KeyRingError) -> SecretDirectory {
    let descriptor = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      switch errno {
      case ELOOP, ENOTDIR:
        throw KeyRingError(code: .wrongFileType, path: path, reason: "is not a directory, or is a symbolic link")
      case ENOENT:
        throw KeyRingError(
          code: .missing, path: path,
          reason: "is missing: restore it from a backup; for a new service, make it with `touchstone keys new`")
      default:
        throw .system("open", errno, path: path)
      }
    }
    let directory = SecretDirectory(path: path, descriptor: descriptor)
    try requirePrivacy(of: descriptor, type: S_IFDIR, path: path)
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
    // A separate descriptor: closedir closes it, and it has its own position.
    try Self.fileNames(openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path)
  }

  /// Lists a directory that nothing was checked of; `nil`: it cannot be listed.
  static func fileNames(at path: String) -> [String]? {
    try? fileNames(Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path)
  }

  /// - Parameter listed: an open directory, which it closes.
  private static func fileNames(_ listed: CInt, _ path: String) throws(KeyRingError) -> [String] {
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
  func read(_ name: String, maximumByteCount: Int) throws(KeyRingError) -> SecretBytes {
    // O_NONBLOCK: a FIFO with this name must not block the start.
    let file = openat(descriptor, try resolve(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      switch errno {
      case ELOOP: throw .linkLeadsOut(path: path(of: name))
      case ENOENT:
        throw KeyRingError(
          code: .missing, path: path(of: name), reason: "is missing beside other keys; restore it from a backup")
      default:
        throw .system("open", errno, path: path(of: name))
      }
    }
    defer { close(file) }
    try requirePrivacy(of: file, type: S_IFREG, path: path(of: name))

    return try SecretBytes(capacity: maximumByteCount + 1) { buffer throws(KeyRingError) in
      var filled = 0
      while filled < buffer.count {
        let received = Glibc.read(file, buffer.baseAddress! + filled, buffer.count - filled)
        if received == 0 { break }
        guard received > 0 || errno == EINTR else { throw .system("read", errno, path: path(of: name)) }
        filled += max(received, 0)
      }
      guard filled <= maximumByteCount else {
        throw KeyRingError(
          code: .malformed, path: path(of: name), reason: "is longer than \(maximumByteCount) bytes")
      }
      return filled
    }
  }

  /// Makes a file of mode 0600, complete and durable, or leaves the existing one.
  ///
  /// link(2) refuses an existing name, so one of several writers wins, and no process ever sees half a file.
  ///
  /// Returns whether it made the file.
  @discardableResult
  func createIfAbsent(_ name: String, contents: [UInt8]) throws(KeyRingError) -> Bool {
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
    let isNew = linkat(descriptor, temporary, descriptor, name, 0) == 0
    guard isNew || errno == EEXIST else { throw .system("link", errno, path: path(of: name)) }
    // Also if another process won: it may not have come this far.
    guard fsync(descriptor) == 0 else { throw .system("fsync", errno, path: path) }
    return isNew
  }

  /// Removes it durably.
  func remove(_ name: String) throws(KeyRingError) {
    guard unlinkat(descriptor, name, 0) == 0 else { throw .system("unlink", errno, path: path(of: name)) }
    guard fsync(descriptor) == 0 else { throw .system("fsync", errno, path: path) }
  }

  /// Waits until no other process (or other `SecretDirectory`) has the lock. The lock ends with this value.
  func lock() throws(KeyRingError) {
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .system("flock", errno, path: path) }
    }
  }

  /// Makes this directory's own name durable.
  private func synchronizeParent() throws(KeyRingError) {
    let parent = openat(descriptor, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { throw .system("open parent", errno, path: path) }
    defer { close(parent) }
    guard fsync(parent) == 0 else { throw .system("fsync parent", errno, path: path) }
  }
}

// MARK: Symbolic links

extension SecretDirectory {
  /// Kubernetes needs two for a file: to `..data`, and from there to the present directory.
  private static let maximumLinks = 8

  /// The name with the links in it replaced by their targets, which must be inside this directory.
  ///
  /// Only users that may change the directory can interfere, and the opened file is checked itself.
  private func resolve(_ name: String) throws(KeyRingError) -> String {
    var (resolved, pending, links) = ([String](), [name], 0)
    while let next = pending.popLast() {
      let place = (resolved + [next]).joined(separator: "/")
      guard let target = target(ofLink: place) else {
        resolved.append(next)
        continue
      }
      links += 1
      let steps = target.split(separator: "/").map(String.init).filter { $0 != "." }
      guard links <= Self.maximumLinks, !target.hasPrefix("/"), !steps.contains("..") else {
        throw .linkLeadsOut(path: path(of: name))
      }
      pending += steps.reversed()
    }
    return resolved.isEmpty ? "." : resolved.joined(separator: "/")
  }

  /// `nil` if it is not a link, or does not exist.
  private func target(ofLink place: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlinkat(descriptor, place, &buffer, buffer.count)
    return count < 0 ? nil : String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

// MARK: One file

extension SecretDirectory {
  /// A file that is a secret itself, wherever it is.
  static func readFile(_ path: String, maximumByteCount: Int) throws(KeyRingError) -> SecretBytes {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let parent = parts.dropLast().joined(separator: "/")
    let parentPath = parts.count == 1 ? "." : parent.isEmpty ? "/" : parent
    let descriptor = openat(AT_FDCWD, parentPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system("open", errno, path: parentPath) }
    let directory = SecretDirectory(path: parentPath, descriptor: descriptor)
    return try directory.read(parts.last.map(String.init) ?? "", maximumByteCount: maximumByteCount)
  }

  /// Whether there is a plain file, or a link to one.
  static func isFile(_ path: String) throws(KeyRingError) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else {
      guard errno == ENOENT else { throw .system("stat", errno, path: path) }
      return false
    }
    return status.st_mode & S_IFMT == S_IFREG
  }

  static func isEmptyOrMissing(_ path: String) throws(KeyRingError) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT else { throw .system("stat", errno, path: path) }
      return true
    }
    return try open(path).fileNames().isEmpty
  }
}

// MARK: Permissions

/// Refuses a file of another type, of another owner, or with access for others.
///
/// If the service's user is not root, root may give it a file by the file's group, which may then read it, as
/// orchestrators mount secrets (0440). On a read-only file system a directory's mode reveals only names: the
/// directories of such mounts are open to all.
private func requirePrivacy(of descriptor: CInt, type: mode_t, path: String) throws(KeyRingError) {
  var status = stat()
  var fileSystem = statvfs()
  guard fstat(descriptor, &status) == 0, fstatvfs(descriptor, &fileSystem) == 0 else {
    throw .system("stat", errno, path: path)
  }
  guard status.st_mode & S_IFMT == type else {
    throw KeyRingError(code: .wrongFileType, path: path, reason: "is not a plain file")
  }
  guard status.st_uid == geteuid() || status.st_uid == 0 else {
    throw KeyRingError(
      code: .foreignOwner, path: path, reason: "belongs to user \(status.st_uid), not to \(geteuid()) or root")
  }
  let isReadOnly = fileSystem.f_flag & UInt(ST_RDONLY) != 0
  if type == S_IFDIR, isReadOnly { return }
  let isGiven = status.st_uid == 0 && geteuid() != 0
  let forbidden: mode_t = !isGiven ? 0o077 : type == S_IFDIR ? 0o027 : 0o037
  guard status.st_mode & forbidden == 0 else {
    let mode = String(status.st_mode & 0o777, radix: 8)
    let advice =
      isReadOnly ? "mount it with mode 0400 (Kubernetes: defaultMode)" : "use chmod \(isGiven ? "g-w,o=" : "go=")"
    throw KeyRingError(code: .exposed, path: path, reason: "mode 0\(mode) is open to others; \(advice)")
  }
}

extension KeyRingError {
  fileprivate static func linkLeadsOut(path: String) -> KeyRingError {
    KeyRingError(
      code: .wrongFileType, path: path, reason: "is a symbolic link that does not lead to a place below its directory")
  }

  fileprivate static func system(_ call: String, _ number: CInt, path: String) -> KeyRingError {
    KeyRingError(code: .system, path: path, reason: "\(call): \(String(cString: strerror(number)))")
  }
}
