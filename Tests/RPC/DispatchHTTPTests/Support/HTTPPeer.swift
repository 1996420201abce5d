// A client that sends any bytes that a test gives it.

import Dispatch
import DispatchRPC
import Glibc

/// Blocking, on a queue of its own.
final class HTTPPeer: Sendable {
  /// The server is expected to act sooner; this only keeps a failing test from hanging.
  private static let patienceSeconds = 20

  private let descriptor: Int32
  private let queue = DispatchQueue(label: "test.http-peer")

  /// - Parameter host: the address of this machine from which it connects.
  /// - Parameter receiveBuffer: the size of the kernel's buffer for a peer that does not read, in bytes.
  init(_ address: SocketAddress, from host: String = "127.0.0.1", receiveBuffer: CInt? = nil) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<CInt>.size))
    }
    var patience = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let isBound = Self.with(host, port: 0) { Glibc.bind(descriptor, $0, $1) } == 0
    let isConnected = Self.with(address.host, port: address.port) { Glibc.connect(descriptor, $0, $1) } == 0
    precondition(isBound && isConnected, "the server under test listens")
  }

  deinit {
    close(descriptor)
  }

  private static func with(
    _ host: String, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// Waits for no answer, and does not mind a server that is gone.
  func post(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Returns the text that came until the server closed; `nil` if it did not close. A reset ends it, too.
  func readToEnd() async -> String? {
    await onQueue { descriptor in
      var received: [UInt8] = []
      while let piece = Self.read(descriptor) {
        if piece.isEmpty { return String(decoding: received, as: UTF8.self) }
        received += piece
      }
      return errno == EAGAIN ? nil : String(decoding: received, as: UTF8.self)
    }
  }

  /// Returns the text that came until it contained `text`; `nil` if it never did.
  func read(until text: String) async -> String? {
    await onQueue { descriptor in
      var received = ""
      while let piece = Self.read(descriptor), !piece.isEmpty {
        received += String(decoding: piece, as: UTF8.self)
        if received.contains(text) { return received }
      }
      return nil
    }
  }

  private func onQueue(_ work: @escaping @Sendable (Int32) -> String?) async -> String? {
    await withCheckedContinuation { done in
      queue.async { [descriptor] in done.resume(returning: work(descriptor)) }
    }
  }

  private static func read(_ descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer[..<count])
  }
}
