import DispatchRPC
import Glibc
import Synchronization
import TestSupport

/// Refuses the first connection's first call as a closing server does, with a GOAWAY that excludes its stream, and
/// hands the second connection on to the real server.
final class GoingAwayProxy: Sendable {
  struct Failure: Error {}

  let target: String
  private let listener: Int32
  private let refused = Atomic(0)

  var refusedCalls: Int { refused.load(ordering: .acquiring) }

  init(to server: SocketAddress) throws {
    let (descriptor, port) = try Self.listen()
    listener = descriptor
    target = "127.0.0.1:\(port)"
    // Threads, because the sockets block; they end when the sockets close.
    startThread { [self] in
      refuseCall(on: accept(listener, nil, nil))
      relay(accept(listener, nil, nil), to: server)
    }
  }

  private static func listen() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = socketAddress("127.0.0.1", port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    guard address.pass(to: { bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 2) == 0,
      address.pass(to: { raw, _ in getsockname(descriptor, UnsafeMutablePointer(mutating: raw), &length) }) == 0
    else { throw Failure() }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// RFC 9113 §4.1: every frame begins with a length of 3 bytes, a type, flags, and a stream of 4 bytes.
  private func refuseCall(on client: Int32) {
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    let goAway: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0] + [0, 0, 0, 0] + [0, 0, 0, 0]
    let preface = 24
    let headers: UInt8 = 1
    Self.write(settings, to: client)
    guard Self.read(preface, from: client) != nil else { return }
    while let head = Self.read(9, from: client) {
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard length == 0 || Self.read(length, from: client) != nil else { return }
      if head[3] == headers {
        refused.add(1, ordering: .releasing)
        Self.write(goAway, to: client)
        break
      }
    }
    // Until the client has hung up.
    while Self.read(1, from: client) != nil {}
    close(client)
  }

  private func relay(_ client: Int32, to server: SocketAddress) {
    var address = Self.socketAddress(server.host, port: server.port)
    let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard address.pass(to: { connect(upstream, $0, $1) }) == 0 else { return }
    close(listener)
    startThread { Self.copy(from: upstream, to: client) }
    Self.copy(from: client, to: upstream)
  }

  private static func copy(from source: Int32, to sink: Int32) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = Glibc.read(source, &buffer, buffer.count), count > 0 {
      write(Array(buffer[..<count]), to: sink)
    }
    shutdown(sink, Int32(SHUT_RDWR))
  }

  private static func read(_ count: Int, from descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  private static func socketAddress(_ host: String, port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return address
  }
}

extension sockaddr_in {
  fileprivate mutating func pass<Result>(to body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: &self) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
