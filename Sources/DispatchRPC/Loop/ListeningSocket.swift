// A TCP socket that listens, and what can come of accepting.

import CEpoll
import Glibc

/// Owns the descriptor; closed when released, if not before. Confined to one shard once it is handed over.
final class ListeningSocket {
  enum Accepted {
    case accepted(Int32, peer: SocketAddress)
    /// Nobody waits.
    case none
    /// Descriptors or memory are used up: trying again at once would spin.
    case outOfResources
  }

  /// Connections that the kernel completes while we are busy; it caps this at net.core.somaxconn.
  private static let backlog: Int32 = 1_024

  let descriptor: Int32
  let address: SocketAddress
  private(set) var isOpen = true

  init(host: String, port: UInt16) throws(RPCServerError) {
    let candidates: [SocketAddress]
    do throws(SocketAddressError) {
      candidates = try SocketAddress.resolve(host: host, port: port)
    } catch {
      throw RPCServerError(reason: "\(error.host): \(error.reason)")
    }
    guard let wanted = candidates.first else { throw RPCServerError(reason: "\(host) has no address") }
    descriptor = try Self.makeSocket(wanted)
    guard let bound = Self.boundAddress(descriptor) else {
      Glibc.close(descriptor)
      throw RPCServerError(reason: "\(wanted) has no address after binding")
    }
    address = bound
  }

  deinit {
    close()
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    Glibc.close(descriptor)
  }

  func accept() -> Accepted {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let (socket, peer) = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let socket = accept4(
          descriptor, address, &length, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
        return (socket, socket >= 0 ? SocketAddress(address) : nil)
      }
    }
    guard socket >= 0 else { return Self.failure(errno) }
    guard let peer else {
      Glibc.close(socket)
      return .none
    }
    setNoDelay(socket)
    return .accepted(socket, peer: peer)
  }

  /// Connections that died while they waited show as various errors (accept(2)); the next readiness tells of others.
  private static func failure(_ code: Int32) -> Accepted {
    switch code {
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: .outOfResources
    default: .none
    }
  }

  private static func makeSocket(_ address: SocketAddress) throws(RPCServerError) -> Int32 {
    let descriptor = socket(
      address.family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure("socket", address) }
    // A restarted server takes its port back from connections that are in TIME_WAIT.
    setOption(descriptor, SOL_SOCKET, SO_REUSEADDR)
    if address.family == AF_INET6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
    guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
      defer { Glibc.close(descriptor) }
      throw failure("bind", address)
    }
    guard listen(descriptor, backlog) == 0 else {
      defer { Glibc.close(descriptor) }
      throw failure("listen", address)
    }
    return descriptor
  }

  private static func failure(_ step: String, _ address: SocketAddress) -> RPCServerError {
    RPCServerError(reason: "\(step) \(address): \(String(cString: strerror(errno)))")
  }

  private static func boundAddress(_ descriptor: Int32) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        getsockname(descriptor, address, &length) == 0 ? SocketAddress(address) : nil
      }
    }
  }
}
