import CEpoll
import Glibc

/// An IPv4 or IPv6 address with a port, or the path of a Unix socket. Printed as `127.0.0.1:7443`, `[::1]:7443` and
/// `unix:/run/touchstone.sock`.
public struct SocketAddress: Hashable, Sendable {
  private enum Storage: Hashable, Sendable {
    /// In network byte order, as the kernel keeps it.
    case v4(address: UInt32, port: UInt16)
    case v6(high: UInt64, low: UInt64, port: UInt16, scope: UInt32)
    /// In bytes, as the kernel compares it; without the NUL at its end.
    case unix(path: [UInt8])
  }

  /// The kernel's limit, less the NUL at the end (unix(7)).
  private static let maxPathBytes = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private var storage: Storage

  /// A Unix socket's, in the file system; abstract ones are not supported.
  public static func unix(path: String) throws(SocketAddressError) -> SocketAddress {
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, !bytes.contains(0) else {
      throw SocketAddressError(host: path, reason: "not a path")
    }
    guard bytes.count <= maxPathBytes else {
      throw SocketAddressError(host: path, reason: "a Unix socket's path has at most \(maxPathBytes) bytes")
    }
    return SocketAddress(storage: .unix(path: bytes))
  }

  private init(storage: Storage) {
    self.storage = storage
  }

  /// 0 for a Unix socket.
  public var port: UInt16 {
    switch storage {
    case .v4(_, let port), .v6(_, _, let port, _): UInt16(bigEndian: port)
    case .unix: 0
    }
  }

  /// Nothing but processes of this machine can be there: loopback or a Unix socket.
  public var isLocal: Bool { isUnix || isLoopback }

  public var isUnix: Bool {
    if case .unix = storage { true } else { false }
  }

  /// The address's in network order; an IPv4 address within IPv6 (RFC 4291 §2.5.5.2) is the IPv4 address. Empty for a
  /// Unix socket.
  var bytes: [UInt8] {
    switch storage {
    case .v4(let address, _): withUnsafeBytes(of: address) { Array($0) }
    case .v6(0, let low, _, _) where UInt64(bigEndian: low) >> 32 == 0xFFFF:
      withUnsafeBytes(of: low) { Array($0.suffix(4)) }
    case .v6(let high, let low, _, _): withUnsafeBytes(of: (high, low)) { Array($0) }
    case .unix: []
    }
  }

  /// True for 127.0.0.0/8, ::1 and its IPv4-mapped form.
  public var isLoopback: Bool {
    switch storage {
    case .v4(let address, _):
      return UInt32(bigEndian: address) >> 24 == 127
    case .v6(let high, let low, _, _):
      let tail = UInt64(bigEndian: low)
      return high == 0 && (tail == 1 || tail >> 24 == 0xFFFF_7F)
    case .unix:
      return false
    }
  }

  /// Without the port, and the same for all addresses that one subscriber has at will: those of an IPv6 /64, of
  /// which every subscriber has one.
  public var subscriber: SocketAddress {
    switch storage {
    case .v4(let address, _): SocketAddress(storage: .v4(address: address, port: 0))
    // An IPv4 address within IPv6 (RFC 4291 §2.5.5.2) is the IPv4 address; ::1 is of its own.
    case .v6(0, let low, _, _) where UInt64(bigEndian: low) >> 32 == 0xFFFF:
      SocketAddress(storage: .v4(address: UInt32(truncatingIfNeeded: UInt64(bigEndian: low)).bigEndian, port: 0))
    case .v6(0, let low, _, let scope): SocketAddress(storage: .v6(high: 0, low: low, port: 0, scope: scope))
    case .v6(let high, _, _, let scope): SocketAddress(storage: .v6(high: high, low: 0, port: 0, scope: scope))
    case .unix: self
    }
  }

  /// The addresses that the name stands for, in the resolver's order. May block on DNS: never call it on an event loop.
  public static func resolve(host: String, port: UInt16) throws(SocketAddressError) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host, String(port), &hints, &list)
    guard result == 0 else {
      throw SocketAddressError(host: host, reason: String(cString: gai_strerror(result)))
    }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var entry = list
    while let info = entry?.pointee {
      if let raw = info.ai_addr, let address = SocketAddress(raw), !addresses.contains(address) {
        addresses.append(address)
      }
      entry = info.ai_next
    }
    return addresses
  }
}

/// A host name that did not resolve.
public struct SocketAddressError: Error, Hashable, Sendable {
  public var host: String
  public var reason: String
}

extension SocketAddress: CustomStringConvertible {
  public var description: String {
    switch storage {
    case .v4: "\(host):\(port)"
    case .v6: "[\(host)]:\(port)"
    case .unix: "unix:\(host)"
    }
  }

  /// The numeric address or the path alone.
  public var host: String {
    if case .unix(let path) = storage { return String(decoding: path, as: UTF8.self) }
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let result = withSocketAddress { address, length in
      getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    }
    guard result == 0 else { return "?" }
    return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }
}

extension SocketAddress {
  /// `nil` for a family that is neither IPv4 nor IPv6. Unix sockets that we accept have no name, and those we bind are
  /// known.
  init?(_ raw: UnsafePointer<sockaddr>) {
    switch Int32(raw.pointee.sa_family) {
    case AF_INET:
      let address = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in.self)
      storage = .v4(address: address.sin_addr.s_addr, port: address.sin_port)
    case AF_INET6:
      let address = UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in6.self)
      let (high, low) = withUnsafeBytes(of: address.sin6_addr) {
        ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      }
      storage = .v6(high: high, low: low, port: address.sin6_port, scope: address.sin6_scope_id)
    default:
      return nil
    }
  }

  var family: Int32 {
    switch storage {
    case .v4: AF_INET
    case .v6: AF_INET6
    case .unix: AF_UNIX
    }
  }

  func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    switch storage {
    case .v4(let address, let port):
      var raw = sockaddr_in()
      raw.sin_family = sa_family_t(AF_INET)
      raw.sin_port = port
      raw.sin_addr.s_addr = address
      return Self.rebound(&raw, body)
    case .v6(let high, let low, let port, let scope):
      var raw = sockaddr_in6()
      raw.sin6_family = sa_family_t(AF_INET6)
      raw.sin6_port = port
      raw.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &raw.sin6_addr) {
        $0.storeBytes(of: high, as: UInt64.self)
        $0.storeBytes(of: low, toByteOffset: 8, as: UInt64.self)
      }
      return Self.rebound(&raw, body)
    case .unix(let path):
      var raw = sockaddr_un()
      raw.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &raw.sun_path) { $0.copyBytes(from: path) }
      return Self.rebound(&raw, body)
    }
  }

  private static func rebound<Raw, Result>(
    _ raw: inout Raw, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    withUnsafePointer(to: &raw) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Raw>.size)) }
    }
  }
}
