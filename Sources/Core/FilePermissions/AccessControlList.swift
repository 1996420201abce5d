internal import CExtendedAttributes
internal import Glibc

/// The entries of a POSIX access control list (acl(5)) that matter here: the named users and groups that may write.
///
/// If a file has such a list, the group's bits of its mode are the list's mask: no named user or group can do more.
public enum AccessControlList: Sendable, Hashable {
  /// It lets no other user write, or the file has no list, or its file system has none.
  case none
  /// The first of them: "user 1000" or "group 50".
  case letsWrite(String)
  /// It cannot be read, so it may let any user write.
  case unreadable(errno: Int32)

  /// The value of the attribute, as Linux keeps it on every architecture (`linux/posix_acl_xattr.h`): four bytes of the
  /// version, then entries of a tag, permissions (two bytes each) and an id (four), all little-endian.
  public init(attribute: [UInt8]) {
    let (user, group, mask) = (UInt32(ACL_USER), UInt32(ACL_GROUP), UInt32(ACL_MASK))
    let number = { (bytes: ArraySlice<UInt8>) in bytes.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
    guard number(attribute.prefix(4)) == POSIX_ACL_XATTR_VERSION, attribute.count % 8 == 4 else {
      self = .unreadable(errno: EINVAL)
      return
    }
    let entries = stride(from: 4, to: attribute.count, by: 8).map { start in
      (
        tag: number(attribute[start..<start + 2]), permissions: number(attribute[start + 2..<start + 4]),
        id: number(attribute[start + 4..<start + 8])
      )
    }
    let allowed = entries.first { $0.tag == mask }?.permissions ?? .max
    let writer = entries.first {
      ($0.tag == user || $0.tag == group) && $0.permissions & allowed & UInt32(ACL_WRITE) != 0
    }
    self = writer.map { .letsWrite("\($0.tag == user ? "user" : "group") \($0.id)") } ?? .none
  }

  init(path: String) {
    self.init { getxattr(path, Self.attribute, $0, $1) }
  }

  init(descriptor: Int32) {
    self.init { fgetxattr(descriptor, Self.attribute, $0, $1) }
  }

  /// The text follows the path and ": ".
  func violation(_ path: String) -> String? {
    switch self {
    case .none: nil
    case .letsWrite(let writer): "its access control list lets \(writer) change it: run `setfacl -b \(path)`"
    case .unreadable(let errno): "its access control list cannot be read: \(String(cString: strerror(errno)))"
    }
  }

  private static let attribute = "system.posix_acl_access"
  /// The kernel's own bound for the value of an attribute (`XATTR_SIZE_MAX`).
  private static let maximumBytes = 65_536

  private init(read: (UnsafeMutableRawPointer?, Int) -> Int) {
    var value = [UInt8](repeating: 0, count: Self.maximumBytes)
    let count = value.withUnsafeMutableBytes { read($0.baseAddress, $0.count) }
    guard count < 0 else {
      self.init(attribute: Array(value.prefix(count)))
      return
    }
    self = errno == ENODATA || errno == ENOTSUP ? .none : .unreadable(errno: errno)
  }
}
