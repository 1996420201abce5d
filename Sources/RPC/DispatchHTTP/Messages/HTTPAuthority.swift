internal import Encodings
internal import Glibc

/// A server's name and port, as the field Host, a request's target and an origin have them (RFC 3986 §3.2). Pure.
package struct HTTPAuthority: Hashable, Sendable {
  /// In lower case. An IPv6 address is in brackets; empty in a field Host that names no server.
  package let host: String
  /// `nil`: the scheme's.
  package let port: UInt16?

  /// `nil`: the text has a user's name, brackets around anything but an IPv6 address, or a port that is no number.
  package init?(_ text: some StringProtocol) {
    let bytes = text.utf8
    let end: String.UTF8View.Index
    if bytes.first == UInt8(ascii: "[") {
      guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      end = bytes.index(after: bracket)
      guard Self.isIPv6(text[bytes.index(after: bytes.startIndex)..<bracket]) else { return nil }
    } else {
      end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
      guard bytes[..<end].allSatisfy(Self.isOfName) else { return nil }
    }
    host = text[..<end].asciiLowercased()
    guard end < bytes.endIndex else {
      port = nil
      return
    }
    let digits = bytes[bytes.index(after: end)...]
    guard bytes[end] == UInt8(ascii: ":"), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    if digits.isEmpty {
      port = nil
    } else {
      guard let number = UInt16(text[digits.startIndex...]) else { return nil }
      port = number
    }
  }

  /// Whether both name one server under this scheme, which adds its port where none is written.
  package func isSame(as other: HTTPAuthority, scheme: Scheme) -> Bool {
    host == other.host && (port ?? scheme.port) == (other.port ?? scheme.port)
  }

  package enum Scheme: String, Sendable {
    case http
    case https

    package var port: UInt16 {
      switch self {
      case .http: 80
      case .https: 443
      }
    }
  }

  /// Whether the host is an address or localhost, which lead to no other machine.
  package var isAddress: Bool {
    let isIPv4 = !host.isEmpty && host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    return isIPv4 || host.hasPrefix("[") || host == "localhost"
  }

  /// A registered name or an IPv4 address: letters, digits, and the few other characters that names have in practice.
  private static func isOfName(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || "-._%".utf8.contains(byte) }

  private static func isIPv6(_ text: some StringProtocol) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET6, String(text), &address) == 1
  }
}
