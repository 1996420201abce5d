// Checks whether users other than the service's can change the files that it relies on: its data, its configuration,
// its certificates.

public import Glibc

/// The users that may change a file or a directory: by stat(2), and by its access control list.
public struct FileProtection: Sendable, Hashable {
  /// The user and group of a process.
  public struct User: Sendable, Hashable {
    public var id: uid_t
    public var groups: Set<gid_t>
    /// The user's own group without other members, as many systems give each person.
    public var privateGroup: gid_t?

    public init(id: uid_t, groups: Set<gid_t>, privateGroup: gid_t? = nil) {
      self.id = id
      self.groups = groups
      self.privateGroup = privateGroup
    }

    public static var current: User {
      let count = getgroups(0, nil)
      var groups = [gid_t](repeating: 0, count: max(0, Int(count)))
      let filled = groups.withUnsafeMutableBufferPointer { getgroups(Int32($0.count), $0.baseAddress) }
      return User(
        id: geteuid(), groups: Set(groups.prefix(max(0, Int(filled))) + [getegid()]), privateGroup: ownGroup)
    }

    /// The user's first group, if it has the user's name and no other member. Never root's, because container images
    /// have many users in that. Looked up once, because the user database may be remote.
    private static let ownGroup: gid_t? = {
      guard let user = getpwuid(geteuid())?.pointee, user.pw_gid != 0, user.pw_gid == getegid(),
        let group = getgrgid(user.pw_gid)?.pointee, strcmp(group.gr_name, user.pw_name) == 0
      else { return nil }
      var member = group.gr_mem
      while let name = member?.pointee {
        guard strcmp(name, user.pw_name) == 0 else { return nil }
        member = member?.advanced(by: 1)
      }
      return user.pw_gid
    }()
  }

  /// How the service uses the file.
  public enum Use: Sendable {
    case reads
    case writes
    /// It is a directory on the path to something else.
    case passes
  }

  public var mode: mode_t
  public var owner: uid_t
  public var group: gid_t
  /// The file system is read-only here; unknown users may be able to write to it elsewhere.
  public var isOnReadOnlyFileSystem: Bool
  public var accessControlList: AccessControlList

  public init(
    mode: mode_t, owner: uid_t, group: gid_t, isOnReadOnlyFileSystem: Bool = false,
    accessControlList: AccessControlList = .none
  ) {
    self.mode = mode
    self.owner = owner
    self.group = group
    self.isOnReadOnlyFileSystem = isOnReadOnlyFileSystem
    self.accessControlList = accessControlList
  }

  /// For an open file. `nil` sets errno.
  public init?(descriptor: Int32) {
    var status = stat()
    var fileSystem = statvfs()
    guard fstat(descriptor, &status) == 0, fstatvfs(descriptor, &fileSystem) == 0 else { return nil }
    self.init(status, fileSystem, AccessControlList(descriptor: descriptor))
  }

  /// For a path. `nil` sets errno.
  private init?(path: String, followingLinks: Bool) {
    var status = stat()
    var fileSystem = statvfs()
    guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0, statvfs(path, &fileSystem) == 0 else {
      return nil
    }
    // A link has none of its own.
    let hasList = followingLinks || status.st_mode & S_IFMT != S_IFLNK
    self.init(status, fileSystem, hasList ? AccessControlList(path: path) : .none)
  }

  private init(_ status: stat, _ fileSystem: statvfs, _ accessControlList: AccessControlList) {
    self.init(
      mode: status.st_mode, owner: status.st_uid, group: status.st_gid,
      isOnReadOnlyFileSystem: fileSystem.f_flag & UInt(ST_RDONLY) != 0, accessControlList: accessControlList)
  }

  /// The reason why other users can change it, and the command that mends it; `nil` if only the service's user and root
  /// can. The text follows the path and ": ".
  ///
  /// Root and the service's own user may change it. Root may also give a directory to a service of another user by the
  /// directory's group, as orchestrators give volumes (Kubernetes: `fsGroup`). A file system that is read-only here
  /// protects its directories, whatever their mode (Kubernetes mounts a ConfigMap's with 0777), and the owners of its
  /// files mounted them. On the path to something else, a sticky directory is as good as one that only its owner can
  /// change, because only owners rename entries in it.
  public func violation(_ path: String, for user: User, _ use: Use = .reads) -> String? {
    let isDirectory = mode & S_IFMT == S_IFDIR
    if isOnReadOnlyFileSystem, isDirectory { return nil }
    // Others may need a directory on the path as it is, such as a person's own.
    let elsewhere =
      "use a path whose directories only root\(user.id == 0 ? "" : " and user \(user.id)") can change"
    guard isOnReadOnlyFileSystem || owner == user.id || owner == 0 else {
      // Giving the file to root would take it from a service that runs as its owner. A process in a container cannot
      // give files away.
      let mending =
        use == .passes
        ? user.id == 0
          ? "if that is the service's user, run this command as it: `\(commandPrefix(asUser: owner)) …`; otherwise \(elsewhere)"
          : "run the service as user \(owner), or \(elsewhere)"
        : user.id == 0
          ? isDirectory
            ? "run this command as that user: `\(commandPrefix(asUser: owner)) …`"
            : "if that is the service's user, run this command as it: `\(commandPrefix(asUser: owner)) …`; a stranger's file is to be "
              + "copied by root, after a look at it"
          : "run the service as user \(owner), or `chown \(user.id) \(path)` as root"
      return "user \(owner) owns it and can change it: \(mending)"
    }
    // A link's own mode means nothing.
    guard mode & S_IFMT != S_IFLNK, !(use == .passes && mode & S_ISVTX != 0) else { return nil }
    let isGiven = isDirectory && use != .reads && owner == 0 && user.id != 0 && user.groups.contains(group)
    let isPrivate = use == .passes && group == user.privateGroup
    guard mode & (isGiven || isPrivate ? S_IWOTH : S_IWOTH | S_IWGRP) != 0 else {
      return mode & S_IWGRP != 0 ? accessControlList.violation(path) : nil
    }
    let octal = String(mode & 0o7777, radix: 8)
    var mending = "run `chmod \(isGiven ? "o-w" : "go-w") \(path)`"
    if isOnReadOnlyFileSystem {
      mending = "mount it with mode 0644 or less"
    } else if isDirectory, mode & S_ISVTX != 0, owner != user.id {
      // Others need it as it is, such as /tmp.
      mending = "use a directory of the service's own inside of it"
    } else if owner == 0, user.id != 0 {
      mending += " as root"
      // It may be an orchestrator's volume, which no process in the container can change.
      if isDirectory, use == .writes {
        mending += ", or mount a volume that only root and the service's group can change"
      }
    }
    if use == .passes { mending += ", or \(elsewhere)" }
    return "mode 0\(octal) lets other users change it: \(mending)"
  }
}

extension FileProtection {
  /// The same for a path, and for the link that it may be. `nil` also if nothing is there: opening it reports that.
  public static func violation(at path: String, for user: User = .current, _ use: Use = .reads) -> String? {
    for followingLinks in [false, true] {
      let protection = FileProtection(path: path, followingLinks: followingLinks)
      if let violation = protection?.violation(path, for: user, use) { return violation }
    }
    return nil
  }

  /// Checks the directories in which a path's names are looked up, from the root on and through links: a user who can
  /// change one of them can exchange what is at the path. The text follows the path and ": ".
  public static func violation(onTheWayTo path: String, for user: User = .current) -> String? {
    var way = Way(to: path)
    while let (directory, link) = way.next() {
      if let violation = FileProtection(path: directory, followingLinks: false)?.violation(
        directory, for: user, .passes)
      {
        return "its directory \(directory): \(violation)"
      }
      guard let link, let violation = FileProtection(path: link, followingLinks: false)?.violation(link, for: user)
      else {
        continue
      }
      return "the link \(link): \(violation)"
    }
    return nil
  }
}
