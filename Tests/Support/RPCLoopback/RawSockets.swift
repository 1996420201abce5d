// Sockets for bytes that no client or server of ours would send. All is IPv4.

internal import Dispatch
public import DispatchRPC
internal import Glibc

/// A client that sends any bytes that a test gives it: blocking, on a queue of its own.
public final class RawPeer: Sendable {
  private let descriptor: CInt
  private let queue = DispatchQueue(label: "test.raw-peer")

  /// - Parameter host: the address of this machine from which it connects.
  /// - Parameter receiveBuffer: the size of the kernel's buffer for a peer that does not read, in bytes; `nil`:
  ///   megabytes.
  public convenience init(_ address: SocketAddress, from host: String? = nil, receiveBuffer: CInt? = nil) {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<CInt>.size))
    }
    let isBound = host.map { withName($0, port: 0) { bind(descriptor, $0, $1) } == 0 } ?? true
    let isConnected = withName(address.host, port: address.port) { connect(descriptor, $0, $1) } == 0
    precondition(isBound && isConnected, "the server under test listens")
    self.init(connected: descriptor)
  }

  public init(connected descriptor: CInt) {
    self.descriptor = descriptor
    setPatience(of: descriptor)
  }

  deinit {
    close(descriptor)
  }

  /// Waits for no answer, and does not mind a server that is gone.
  public func post(_ bytes: [UInt8]) {
    sendAll(bytes, to: descriptor)
  }

  /// Returns the bytes that came until the peer closed; `nil` if it did not close. Sending stops when the peer no
  /// longer takes it.
  public func exchange(_ bytes: [UInt8]) async -> [UInt8]? {
    DispatchQueue.global().async { [self] in sendAll(bytes, to: descriptor) }
    return await onQueue { descriptor in
      var received: [UInt8] = []
      while let piece = Self.read(descriptor) {
        if piece.isEmpty { return received }
        received += piece
      }
      return errno == EAGAIN ? nil : received
    }
  }

  /// Returns the bytes that came until they were enough, or no more came.
  public func answer(to bytes: [UInt8], until areEnough: @escaping @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
    await onQueue { descriptor in
      sendAll(bytes, to: descriptor)
      var received: [UInt8] = []
      while !areEnough(received), let piece = Self.read(descriptor), !piece.isEmpty { received += piece }
      return received
    }
  }

  private func onQueue<Value: Sendable>(_ work: @escaping @Sendable (CInt) -> Value) async -> Value {
    await withCheckedContinuation { done in
      queue.async { [self] in done.resume(returning: work(descriptor)) }
    }
  }

  private static func read(_ descriptor: CInt) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer[..<count])
  }
}

/// A free port, whose connections a test serves by hand.
public final class RawListener: Sendable {
  public let address: SocketAddress
  private let descriptor: CInt

  public init() throws {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    let isListening = withName("127.0.0.1", port: 0) { bind(descriptor, $0, $1) } == 0 && listen(descriptor, 16) == 0
    precondition(isListening, "a port is free")
    var name = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &name) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    address = try SocketAddress.resolve(host: "127.0.0.1", port: UInt16(bigEndian: name.sin_port))[0]
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// Waits for the next connection; whoever takes it closes it.
  public func accept() -> CInt {
    Glibc.accept(descriptor, nil, nil)
  }
}

/// The other side is expected to act sooner; this only keeps a failing test from hanging.
public func setPatience(of descriptor: CInt) {
  var patience = timeval(tv_sec: 20, tv_usec: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
}

/// Ends where the other side takes no more.
public func sendAll(_ bytes: [UInt8], to descriptor: CInt) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
    guard count > 0 else { return }
    rest = rest.dropFirst(count)
  }
}

private func withName(_ host: String, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
  var name = sockaddr_in()
  name.sin_family = sa_family_t(AF_INET)
  name.sin_port = port.bigEndian
  inet_pton(AF_INET, host, &name.sin_addr)
  return withUnsafePointer(to: &name) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}
