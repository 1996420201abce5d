import CExtendedAttributes
import FilePermissions
import Glibc
import TestSupport
import Testing

/// A violation names the way in which other users can change a file, and the command that mends it.
@Suite struct FileProtectionTests {
  private static let root = FileProtection.User(id: 0, groups: [0])
  private static let service = FileProtection.User(id: 10_001, groups: [10_001, 2_000], privateGroup: 10_001)
  private static let stranger: uid_t = 1_000
  private static let elsewhere = "use a path whose directories only root and user 10001 can change"

  private static func file(_ mode: mode_t, of owner: uid_t = 10_001, group: gid_t = 1, readOnly: Bool = false)
    -> FileProtection
  {
    FileProtection(mode: S_IFREG | mode, owner: owner, group: group, isOnReadOnlyFileSystem: readOnly)
  }

  private static func directory(
    _ mode: mode_t, of owner: uid_t = 10_001, group: gid_t = 1, readOnly: Bool = false,
    list: AccessControlList = .none
  ) -> FileProtection {
    FileProtection(
      mode: S_IFDIR | mode, owner: owner, group: group, isOnReadOnlyFileSystem: readOnly, accessControlList: list)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let protection: FileProtection
    let use: FileProtection.Use
    let expected: String?

    init(_ name: String, _ protection: FileProtection, _ expected: String?) {
      self.init(name, protection, .reads, expected)
    }

    init(_ name: String, _ protection: FileProtection, _ use: FileProtection.Use, _ expected: String?) {
      testDescription = name
      self.protection = protection
      self.use = use
      self.expected = expected
    }
  }

  @Test(arguments: [
    Case("its own", file(0o600), nil),
    Case("readable by all", file(0o644), nil),
    Case("root's", file(0o644, of: 0), nil),
    Case("writable by all", file(0o666), "mode 0666 lets other users change it: run `chmod go-w /x`"),
    Case("by others alone", file(0o602), "mode 0602 lets other users change it: run `chmod go-w /x`"),
    Case("by its group", file(0o664), "mode 0664 lets other users change it: run `chmod go-w /x`"),
    Case(
      "by the service's group", file(0o664, of: 0, group: 2_000),
      "mode 0664 lets other users change it: run `chmod go-w /x` as root"),
    Case("root's, by all", file(0o646, of: 0), "mode 0646 lets other users change it: run `chmod go-w /x` as root"),
    Case(
      "a stranger's", file(0o600, of: stranger),
      "user 1000 owns it and can change it: run the service as user 1000, or `chown 10001 /x` as root"),
    Case(
      "a stranger's, read-only", file(0o444, of: stranger),
      "user 1000 owns it and can change it: run the service as user 1000, or `chown 10001 /x` as root"),
    Case("mounted", file(0o644, of: stranger, readOnly: true), nil),
    Case(
      "mounted, writable by all", file(0o666, of: 0, readOnly: true),
      "mode 0666 lets other users change it: mount it with mode 0644 or less"),

    Case("a directory", directory(0o755), .writes, nil),
    Case("for all", directory(0o777), .writes, "mode 0777 lets other users change it: run `chmod go-w /x`"),
    Case(
      "sticky", directory(0o1777, of: 0), .writes,
      "mode 01777 lets other users change it: use a directory of the service's own inside of it"),
    Case("for its group", directory(0o770), .writes, "mode 0770 lets other users change it: run `chmod go-w /x`"),
    Case("given by root", directory(0o2775, of: 0, group: 2_000), .writes, nil),
    Case(
      "given to another group", directory(0o2775, of: 0, group: 3_000), .writes,
      "mode 02775 lets other users change it: run `chmod go-w /x` as root, "
        + "or mount a volume that only root and the service's group can change"),
    Case(
      "given, and to all", directory(0o2777, of: 0, group: 2_000), .writes,
      "mode 02777 lets other users change it: run `chmod o-w /x` as root, "
        + "or mount a volume that only root and the service's group can change"),
    Case(
      "given to read from", directory(0o2775, of: 0, group: 2_000),
      "mode 02775 lets other users change it: run `chmod go-w /x` as root"),
    Case(
      "a stranger's directory", directory(0o700, of: stranger), .writes,
      "user 1000 owns it and can change it: run the service as user 1000, or `chown 10001 /x` as root"),
    Case("a ConfigMap's directory", directory(0o777, of: 0, readOnly: true), nil),

    Case("on the way", directory(0o755, of: 0), .passes, nil),
    Case("on the way, sticky", directory(0o1777, of: 0), .passes, nil),
    Case(
      "on the way, for all", directory(0o777, of: 0), .passes,
      "mode 0777 lets other users change it: run `chmod go-w /x` as root, or \(elsewhere)"),
    Case(
      "on the way, for its group", directory(0o775), .passes,
      "mode 0775 lets other users change it: run `chmod go-w /x`, or \(elsewhere)"),
    Case("on the way, for the user's own group", directory(0o775, group: 10_001), .passes, nil),
    Case(
      "for the user's own group", directory(0o775, group: 10_001), .writes,
      "mode 0775 lets other users change it: run `chmod go-w /x`"),
    Case("on the way, given by root", directory(0o2775, of: 0, group: 2_000), .passes, nil),
    Case(
      "on the way, a stranger's", directory(0o1777, of: stranger), .passes,
      "user 1000 owns it and can change it: run the service as user 1000, or \(elsewhere)"),
    Case("on the way, read-only", directory(0o777, of: stranger, readOnly: true), .passes, nil),

    Case(
      "the user's own group, and a user by a list", directory(0o775, group: 10_001, list: .letsWrite("user 1000")),
      .passes, "its access control list lets user 1000 change it: run `setfacl -b /x`"),
    Case(
      "given by root, and to a group by a list", directory(0o2775, of: 0, group: 2_000, list: .letsWrite("group 50")),
      .writes, "its access control list lets group 50 change it: run `setfacl -b /x`"),
    Case(
      "a list that cannot be read", directory(0o775, group: 10_001, list: .unreadable(errno: EIO)), .passes,
      "its access control list cannot be read: Input/output error"),
    Case("a list whose mask lets none write", directory(0o755, list: .letsWrite("user 1000")), .passes, nil),
    Case("a sticky directory with a list", directory(0o1775, list: .letsWrite("user 1000")), .passes, nil),
  ])
  func aServiceTrustsItsOwnUserAndRoot(_ test: Case) {
    #expect(test.protection.violation("/x", for: Self.service, test.use) == test.expected)
  }

  @Test func anAccessControlListOfTheFileSystemCounts() async throws {
    try await withTemporaryDirectory { directory in
      let (path, owner) = ("\(directory)/shared", geteuid())
      #expect(mkdir(path, 0o700) == 0 && chmod(path, 0o775) == 0)
      let user = FileProtection.User(id: owner, groups: [getegid()], privateGroup: getegid())
      #expect(FileProtection.violation(at: path, for: user, .passes) == nil)
      let list = AccessControlListTests.attribute([(1, 7, -1), (2, 7, 1_000), (4, 7, -1), (16, 7, -1), (32, 5, -1)])
      #expect(setxattr(path, "system.posix_acl_access", list, list.count, 0) == 0)
      #expect(
        FileProtection.violation(at: path, for: user, .passes)
          == "its access control list lets user 1000 change it: run `setfacl -b \(path)`")
      #expect(chmod(path, 0o755) == 0)
      #expect(FileProtection.violation(at: path, for: user, .passes) == nil)
    }
  }

  /// A person's own directory is neither given away nor closed.
  @Test func rootIsToldOfADirectoryOnTheWay() throws {
    let violation = Self.directory(0o755, of: Self.stranger).violation("/x", for: Self.root, .passes)
    let text = try #require(violation)
    #expect(
      text.hasPrefix("user 1000 owns it and can change it: if that is the service's user, run this command as it: `"))
    #expect(text.hasSuffix("`; otherwise use a path whose directories only root can change"))
  }

  @Test func rootTrustsRootAlone() {
    #expect(Self.file(0o644, of: 0).violation("/x", for: Self.root) == nil)
    #expect(Self.file(0o644).violation("/x", for: Self.root) != nil)
    #expect(Self.directory(0o770, of: 0, group: 0).violation("/x", for: Self.root, .writes) != nil)
  }

  /// A link's own mode is 0777 and has no meaning; the check reads the mode of its target.
  @Test func linksAreFollowed() async throws {
    try await withTemporaryDirectory { directory in
      try File.write([], to: "\(directory)/file")
      #expect(symlink("file", "\(directory)/link") == 0)
      #expect(chmod("\(directory)/file", 0o644) == 0)
      #expect(FileProtection.violation(at: "\(directory)/link") == nil)
      #expect(chmod("\(directory)/file", 0o646) == 0)
      #expect(FileProtection.violation(at: "\(directory)/link")?.contains("mode 0646") == true)
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func aStrangersLinkIsNotFollowed() async throws {
    try await withTemporaryDirectory { directory in
      try File.write([], to: "\(directory)/file")
      #expect(symlink("file", "\(directory)/link") == 0)
      #expect(lchown("\(directory)/link", Self.stranger, Self.stranger) == 0)
      #expect(FileProtection.violation(at: "\(directory)/link")?.contains("user 1000 owns it") == true)
    }
  }

  @Test func whereNothingIsNobodyChangesIt() {
    #expect(FileProtection.violation(at: "/nowhere/at/all") == nil)
    #expect(FileProtection.violation(onTheWayTo: "/nowhere/at/all") == nil)
  }

  /// Through a link, and from where it leads on.
  @Test(arguments: ["a/b/file", "link/file", "a/../link/./file", "a/absolute/file"])
  func everyDirectoryOnTheWayIsLookedAt(_ path: String) async throws {
    try await withTemporaryDirectory { directory in
      for name in ["a", "a/b"] { #expect(mkdir("\(directory)/\(name)", 0o755) == 0) }
      #expect(symlink("a/b", "\(directory)/link") == 0)
      #expect(symlink("\(directory)/link", "\(directory)/a/absolute") == 0)
      #expect(FileProtection.violation(onTheWayTo: "\(directory)/\(path)") == nil)
      for name in ["a/b", "a"] {
        #expect(chmod("\(directory)/\(name)", 0o777) == 0)
        #expect(
          FileProtection.violation(onTheWayTo: "\(directory)/\(path)")?
            .hasPrefix("its directory \(directory)/\(name): mode 0777") == true)
        #expect(chmod("\(directory)/\(name)", 0o755) == 0)
      }
      // Not the last one: that is looked at by itself.
      #expect(chmod("\(directory)/a/b", 0o777) == 0)
      #expect(FileProtection.violation(onTheWayTo: "\(directory)/a/b") == nil)
      #expect(chmod("\(directory)/a/b", 0o755) == 0)
    }
  }

  @Test func aCircleOfLinksEnds() async throws {
    try await withTemporaryDirectory { directory in
      #expect(symlink("circle", "\(directory)/circle") == 0)
      #expect(FileProtection.violation(onTheWayTo: "\(directory)/circle/file") == nil)
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func aStrangersLinkInAStickyDirectoryIsNotGone() async throws {
    try await withTemporaryDirectory { directory in
      #expect(chmod(directory, 0o1777) == 0)
      #expect(mkdir("\(directory)/own", 0o755) == 0 && symlink("own", "\(directory)/link") == 0)
      #expect(lchown("\(directory)/link", Self.stranger, Self.stranger) == 0)
      #expect(
        FileProtection.violation(onTheWayTo: "\(directory)/link/file")?.hasPrefix(
          "the link \(directory)/link: user 1000")
          == true)
    }
  }
}
