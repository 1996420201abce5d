import Glibc
import TemporaryFiles
import Testing
import TouchstoneStore

/// What lets other users change a file is said, with the command that mends it.
@Suite struct FileProtectionTests {
  private static let root = FileProtection.User(id: 0, groups: [0])
  private static let service = FileProtection.User(id: 10_001, groups: [10_001, 2_000])
  private static let stranger: uid_t = 1_000

  private static func file(_ mode: mode_t, of owner: uid_t = 10_001, group: gid_t = 1, readOnly: Bool = false)
    -> FileProtection
  {
    FileProtection(mode: S_IFREG | mode, owner: owner, group: group, isOnReadOnlyFileSystem: readOnly)
  }

  private static func directory(_ mode: mode_t, of owner: uid_t = 10_001, group: gid_t = 1, readOnly: Bool = false)
    -> FileProtection
  {
    FileProtection(mode: S_IFDIR | mode, owner: owner, group: group, isOnReadOnlyFileSystem: readOnly)
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
      "mode 0664 lets other users change it: run `chmod go-w /x`"),
    Case("root's, by all", file(0o646, of: 0), "mode 0646 lets other users change it: run `chmod go-w /x`"),
    Case("a stranger's", file(0o600, of: stranger), "user 1000 owns it and can change it: run `chown 10001 /x`"),
    Case(
      "a stranger's, read-only", file(0o444, of: stranger), "user 1000 owns it and can change it: run `chown 10001 /x`"),
    Case("mounted", file(0o644, of: stranger, readOnly: true), nil),
    Case(
      "mounted, writable by all", file(0o666, of: 0, readOnly: true),
      "mode 0666 lets other users change it: mount it with mode 0644 or less"),

    Case("a directory", directory(0o755), .writes, nil),
    Case("for all", directory(0o777), .writes, "mode 0777 lets other users change it: run `chmod go-w /x`"),
    Case("sticky", directory(0o1777, of: 0), .writes, "mode 0777 lets other users change it: run `chmod go-w /x`"),
    Case("for its group", directory(0o770), .writes, "mode 0770 lets other users change it: run `chmod go-w /x`"),
    Case("given by root", directory(0o2775, of: 0, group: 2_000), .writes, nil),
    Case(
      "given to another group", directory(0o2775, of: 0, group: 3_000), .writes,
      "mode 0775 lets other users change it: run `chmod go-w /x`"),
    Case(
      "given, and to all", directory(0o2777, of: 0, group: 2_000), .writes,
      "mode 0777 lets other users change it: run `chmod o-w /x`"),
    Case(
      "given to read from", directory(0o2775, of: 0, group: 2_000),
      "mode 0775 lets other users change it: run `chmod go-w /x`"),
    Case(
      "a stranger's directory", directory(0o700, of: stranger), .writes,
      "user 1000 owns it and can change it: run `chown 10001 /x`"),
    Case("a ConfigMap's directory", directory(0o777, of: 0, readOnly: true), nil),
  ])
  func aServiceTrustsItsOwnUserAndRoot(_ test: Case) {
    #expect(test.protection.violation("/x", for: Self.service, test.use) == test.expected)
  }

  @Test func rootTrustsRootAlone() {
    #expect(Self.file(0o644, of: 0).violation("/x", for: Self.root) == nil)
    #expect(Self.file(0o644).violation("/x", for: Self.root) != nil)
    #expect(Self.directory(0o770, of: 0, group: 0).violation("/x", for: Self.root, .writes) != nil)
  }

  /// A link's own mode is 0777, and says nothing; what it leads to is looked at.
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
  }
}
