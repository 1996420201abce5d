import FilePermissions
import Glibc
import Testing

/// The named users and groups that a list lets write are found in its attribute's bytes.
@Suite struct AccessControlListTests {
  /// Entries as `linux/posix_acl_xattr.h` has them: tag, permissions, id. -1: the entry names none.
  static func attribute(_ entries: [(tag: UInt8, permissions: UInt8, id: Int32)]) -> [UInt8] {
    [2, 0, 0, 0]
      + entries.flatMap { entry in
        [entry.tag, 0, entry.permissions, 0] + (0..<4).map { UInt8(truncatingIfNeeded: entry.id >> ($0 * 8)) }
      }
  }

  private static let (owner, user, owningGroup, group, mask, other): (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) =
    (1, 2, 4, 8, 16, 32)

  @Test(
    arguments: [
      ([(owner, 7, -1), (owningGroup, 7, -1), (other, 7, -1)], AccessControlList.none),
      (
        [(owner, 7, -1), (user, 7, 1_000), (owningGroup, 5, -1), (mask, 7, -1), (other, 5, -1)], .letsWrite("user 1000")
      ),
      (
        [(owner, 7, -1), (user, 2, 70_000), (owningGroup, 5, -1), (mask, 2, -1), (other, 5, -1)],
        .letsWrite("user 70000")
      ),
      ([(owner, 7, -1), (owningGroup, 5, -1), (group, 7, 50), (mask, 7, -1), (other, 5, -1)], .letsWrite("group 50")),
      ([(owner, 7, -1), (user, 5, 1_000), (group, 4, 50), (mask, 7, -1), (other, 5, -1)], .none),
      ([(owner, 7, -1), (user, 7, 1_000), (owningGroup, 7, -1), (mask, 5, -1), (other, 5, -1)], .none),
      ([(owner, 7, -1), (user, 5, 1_000), (user, 7, 1_001), (mask, 7, -1), (other, 5, -1)], .letsWrite("user 1001")),
    ] as [([(UInt8, UInt8, Int32)], AccessControlList)])
  func namedWritersAreFound(_ entries: [(UInt8, UInt8, Int32)], _ expected: AccessControlList) {
    #expect(AccessControlList(attribute: Self.attribute(entries)) == expected)
  }

  @Test(arguments: [[], [2, 0], [3, 0, 0, 0], [2, 0, 0, 0, 1], [2, 0, 0, 0, 1, 0, 7, 0, 0, 0, 0]] as [[UInt8]])
  func whatIsNoListMayLetAnyUserWrite(_ attribute: [UInt8]) {
    #expect(AccessControlList(attribute: attribute) == .unreadable(errno: EINVAL))
  }
}
