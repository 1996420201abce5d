// Whether users other than the service's can change the files that it relies on: its data, its configuration, its certificates.

public import Glibc

/// Who may change a file or a directory, as stat(2) has it.
public struct FileProtection: Sendable, Hashable {
  /// As which a process runs.
  public struct User: Sendable, Hashable {
    public var id: uid_t
    public var groups: Set<gid_t>

    public init(id: uid_t, groups: Set<gid_t>) {
      self.id = id
      self.groups = groups
    }

    public static var current: User {
      let count = getgroups(0, nil)
      var groups = [gid_t](repeating: 0, count: max(0, Int(count)))
      let filled = groups.withUnsafeMutableBufferPointer { getgroups(Int32($0.count), $0.baseAddress) }
      return User(id: geteuid(), groups: Set(groups.prefix(max(0, Int(filled))) + [getegid()]))
    }
  }

  /// What the service does with it.
  public enum Use: Sendable {
    case reads
    case writes
  }

  public var mode: mode_t
  public var owner: uid_t
  public var group: gid_t
  /// Here: others may be able to write to it elsewhere, whom we do not know.
  public var isOnReadOnlyFileSystem: Bool

  public init(mode: mode_t, owner: uid_t, group: gid_t, isOnReadOnlyFileSystem: Bool = false) {
    self.mode = mode
    self.owner = owner
    self.group = group
    self.isOnReadOnlyFileSystem = isOnReadOnlyFileSystem
  }

  /// Of what was opened. `nil` sets errno.
  public init?(descriptor: Int32) {
    var status = stat()
    var fileSystem = statvfs()
    guard fstat(descriptor, &status) == 0, fstatvfs(descriptor, &fileSystem) == 0 else { return nil }
    self.init(status, fileSystem)
  }

  /// Of what is at a path. `nil` sets errno.
  private init?(path: String, followingLinks: Bool) {
    var status = stat()
    var fileSystem = statvfs()
    guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0, statvfs(path, &fileSystem) == 0 else {
      return nil
    }
    self.init(status, fileSystem)
  }

  private init(_ status: stat, _ fileSystem: statvfs) {
    self.init(
      mode: status.st_mode, owner: status.st_uid, group: status.st_gid,
      isOnReadOnlyFileSystem: fileSystem.f_flag & UInt(ST_RDONLY) != 0)
  }

  /// What lets others change it, and the command that mends it; `nil` where nothing does. To go behind the path and ": ".
  ///
  /// Root and the service's own user may. Root may also give a directory to a service that is not root's by the directory's group,
  /// as orchestrators give volumes (Kubernetes: `fsGroup`). A file system that is read-only here protects its directories, whatever
  /// their mode (Kubernetes mounts a ConfigMap's with 0777), and its files' owners mounted them.
  public func violation(_ path: String, for user: User, _ use: Use = .reads) -> String? {
    let isDirectory = mode & S_IFMT == S_IFDIR
    if isOnReadOnlyFileSystem, isDirectory { return nil }
    guard isOnReadOnlyFileSystem || owner == user.id || owner == 0 else {
      return "user \(owner) owns it and can change it: run `chown \(user.id) \(path)`"
    }
    // A link's own mode means nothing.
    guard mode & S_IFMT != S_IFLNK else { return nil }
    let isGiven = isDirectory && use == .writes && owner == 0 && user.id != 0 && user.groups.contains(group)
    guard mode & (isGiven ? S_IWOTH : S_IWOTH | S_IWGRP) != 0 else { return nil }
    let octal = String(mode & 0o777, radix: 8)
    let mending =
      isOnReadOnlyFileSystem
      ? "mount it with mode 0644 or less" : "run `chmod \(isGiven ? "o-w" : "go-w") \(path)`"
    return "mode 0\(octal) lets other users change it: \(mending)"
  }
}

extension FileProtection {
  /// As above, of what is at a path, and of the link that it may be. `nil` also where nothing is: whoever opens it says so.
  public static func violation(at path: String, for user: User = .current, _ use: Use = .reads) -> String? {
    for followingLinks in [false, true] {
      let protection = FileProtection(path: path, followingLinks: followingLinks)
      if let violation = protection?.violation(path, for: user, use) { return violation }
    }
    return nil
  }
}
