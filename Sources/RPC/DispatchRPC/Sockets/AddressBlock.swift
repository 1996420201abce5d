import Glibc

/// A network: the addresses that begin with the same bits (RFC 4632). Printed as 10.0.0.0/8.
package struct AddressBlock: Hashable, Sendable {
  private let bytes: [UInt8]
  private let bits: Int

  /// `nil` for a text that is no ADDRESS/BITS. A single address may go without its bits.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let bytes = Self.bytes(String(parts[0])) else { return nil }
    self.bytes = bytes
    guard parts.count == 2 else {
      bits = 8 * bytes.count
      return
    }
    guard let bits = Int(parts[1]), String(bits) == parts[1], (0...8 * bytes.count).contains(bits) else { return nil }
    self.bits = bits
  }

  package func contains(_ address: SocketAddress) -> Bool {
    let other = address.bytes
    guard other.count == bytes.count else { return false }
    let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
    guard other.prefix(whole).elementsEqual(bytes.prefix(whole)) else { return false }
    return rest == 0 || (other[whole] ^ bytes[whole]) >> (8 - rest) == 0
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    var v4 = in_addr()
    if inet_pton(AF_INET, text, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
    var v6 = in6_addr()
    return inet_pton(AF_INET6, text, &v6) == 1 ? withUnsafeBytes(of: v6) { Array($0) } : nil
  }

  /// IANA's registries of special purpose addresses (RFC 6890), of which none is a server on the Internet.
  fileprivate static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/3",
    // Teredo and 6to4 hold IPv4 addresses.
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ].compactMap(AddressBlock.init)
  fileprivate static let globalIPv6 = AddressBlock("2000::/3")
}

extension SocketAddress {
  /// Whether a server on the Internet may have it, and nothing on this machine or in a private network.
  package var isGlobal: Bool {
    guard !isUnix, bytes.count == 4 || AddressBlock.globalIPv6?.contains(self) == true else { return false }
    return !AddressBlock.special.contains { $0.contains(self) }
  }

  /// Begins a connection; poll(2) tells its end. Returns a descriptor; -1: there is none.
  package func beginConnecting() -> Int32 {
    let descriptor = socket(
      family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    let result = withSocketAddress { connect(descriptor, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      close(descriptor)
      return -1
    }
    return descriptor
  }
}
