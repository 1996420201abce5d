import CEpoll
import Glibc

/// A socket that listens, TCP or Unix. Owns the descriptor; closed when released, if not before. Confined to one event
/// loop once it is handed over.
package final class ListeningSocket {
  enum Accepted {
    case accepted(Int32, peer: SocketAddress)
    /// No connection waits.
    case none
    /// Descriptors or memory are used up: trying again at once would spin.
    case outOfResources
  }

  /// Connections that the kernel completes while we are busy; it caps this at net.core.somaxconn.
  private static let backlog: Int32 = 1_024

  /// A Unix socket's file is for processes of the same user only.
  package static let ownerOnly: UInt32 = 0o600

  let descriptor: Int32
  package let address: SocketAddress
  /// A Unix socket's.
  private let file: UnixSocketFile?
  private(set) var isOpen = true

  package init(host: String, port: UInt16) throws(RPCServerError) {
    let candidates: [SocketAddress]
    do throws(SocketAddressError) {
      candidates = try SocketAddress.resolve(host: host, port: port)
    } catch {
      throw RPCServerError(reason: "\(error.host): \(error.reason)")
    }
    guard let wanted = candidates.first else { throw RPCServerError(reason: "\(host) has no address") }
    descriptor = try Self.makeSocket(wanted)
    file = nil
    do throws(RPCServerError) {
      try Self.bind(descriptor, wanted)
      try Self.listen(descriptor, wanted)
      address = try Self.boundAddress(descriptor, wanted)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  /// Blocks while another server of the directory starts.
  package init(unixPath: String, permissions: UInt32 = ownerOnly) throws(RPCServerError) {
    do throws(SocketAddressError) {
      address = try .unix(path: unixPath)
    } catch {
      throw RPCServerError(reason: "\(error.host): \(error.reason)")
    }
    descriptor = try Self.makeSocket(address)
    do throws(RPCServerError) {
      let file = try UnixSocketFile.bind(descriptor, to: address, permissions: permissions)
      self.file = file
      do throws(RPCServerError) {
        try Self.listen(descriptor, address)
      } catch {
        file.remove()
        throw error
      }
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  deinit {
    close()
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    // While we still listen, so that no other server takes it for a dead one's in between.
    file?.remove()
    // A child of the process has a copy of the descriptor between fork and exec, which keeps a socket alive that is
    // only closed. It would go on listening, and no server could take the address.
    shutdown(descriptor, Int32(SHUT_RDWR))
    Glibc.close(descriptor)
  }

  func accept() -> Accepted {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let (socket, peer) = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let socket = accept4(
          descriptor, address, &length, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
        return (socket, socket >= 0 ? SocketAddress(address) ?? self.nameless : nil)
      }
    }
    guard socket >= 0 else { return Self.failure(errno) }
    guard let peer else {
      Glibc.close(socket)
      return .none
    }
    if !self.address.isUnix { setNoDelay(socket) }
    return .accepted(socket, peer: peer)
  }

  /// Connections that died while they waited show as various errors (accept(2)); the next readiness reports others.
  private static func failure(_ code: Int32) -> Accepted {
    switch code {
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: .outOfResources
    default: .none
    }
  }

  /// A client of a Unix socket has no address.
  private var nameless: SocketAddress? { address.isUnix ? address : nil }

  private static func makeSocket(_ address: SocketAddress) throws(RPCServerError) -> Int32 {
    let descriptor = socket(
      address.family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure("socket", address) }
    return descriptor
  }

  private static func bind(_ descriptor: Int32, _ address: SocketAddress) throws(RPCServerError) {
    // A restarted server takes its port back from connections that are in TIME_WAIT.
    setOption(descriptor, SOL_SOCKET, SO_REUSEADDR)
    if address.family == AF_INET6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
    guard address.withSocketAddress({ Glibc.bind(descriptor, $0, $1) }) == 0 else { throw failure("bind", address) }
  }

  private static func listen(_ descriptor: Int32, _ address: SocketAddress) throws(RPCServerError) {
    guard Glibc.listen(descriptor, backlog) == 0 else { throw failure("listen", address) }
  }

  private static func failure(_ step: String, _ address: SocketAddress) -> RPCServerError {
    RPCServerError(reason: "\(step) \(address): \(String(cString: strerror(errno)))")
  }

  /// With the port that the kernel chose.
  private static func boundAddress(
    _ descriptor: Int32, _ wanted: SocketAddress
  ) throws(RPCServerError) -> SocketAddress {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let bound = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        getsockname(descriptor, address, &length) == 0 ? SocketAddress(address) : nil
      }
    }
    guard let bound else { throw failure("getsockname", wanted) }
    return bound
  }
}
