// A way to a server that fails as networks do: answers that are lost, connections that are cut or stand still.

internal import Glibc
internal import Synchronization

/// Listens on a Unix socket of its own, and passes bytes to the server's and back, a thread for each connection.
public final class FaultyWay: Sendable {
  public enum Mode: Sendable {
    case open
    /// The client's bytes arrive; the server's answers do not.
    case losesAnswers
    /// Nothing arrives, and neither side gets an error.
    case standsStill
    /// Connections are refused, and those that there are lose answers until they are cut.
    case closed
  }

  public let uri: String
  /// Past it.
  public let directURI: String
  private let listener: Int32
  private let target: sockaddr_un
  private let path: String
  private let mode = Mutex(Mode.open)
  /// Both ends of every connection.
  private let ends = Mutex<[Int32]>([])
  private let losses = Atomic<Int>(0)
  /// It only names the socket. The servers' own are lower.
  private static let nextPort = Atomic(10_000)

  /// - Parameter uri: a database's, of `server`.
  public init(to uri: String, of server: PostgresServer) throws(PostgresServer.Failure) {
    let port = Self.nextPort.add(1, ordering: .relaxed).oldValue
    path = "\(server.directory)/.s.PGSQL.\(port)"
    directURI = uri
    self.uri = uri.replacing("port=\(server.port)", with: "port=\(port)")
    target = Self.address("\(server.directory)/.s.PGSQL.\(server.port)")
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.address(path)
    guard Self.withSocketAddress(&address, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
      throw PostgresServer.Failure(description: "no socket at \(path): \(errno)")
    }
    startThread { self.accept() }
  }

  /// Ends it for good.
  public func close() {
    setMode(.closed)
    shutdown(listener, Int32(SHUT_RDWR))
    unlink(path)
  }

  /// For the connections that there are, and for later ones.
  public func setMode(_ mode: Mode) {
    self.mode.withLock { $0 = mode }
  }

  /// Cuts every connection.
  public func cut() {
    // A thread that closes one takes it out first: its number may be another connection's by then.
    ends.withLock { ends in
      for end in ends { shutdown(end, Int32(SHUT_RDWR)) }
    }
  }

  /// As a server does that ends its sessions: each client gets a notice first, and the end is behind it before any
  /// client has read.
  public func endSessions() {
    let notice: [UInt8] = Array("N".utf8) + [0, 0, 0, 13] + Array("SFATAL".utf8) + [0, 0]
    ends.withLock { ends in
      for end in ends { _ = send(end, notice, notice.count, Int32(MSG_NOSIGNAL)) }
    }
    cut()
  }

  /// How many times something was not passed on.
  public var lossCount: Int { losses.load(ordering: .sequentiallyConsistent) }

  // MARK: Threads

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else {
        if errno == EINTR { continue }
        Glibc.close(listener)
        return
      }
      let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      var target = target
      guard mode.withLock({ $0 }) != .closed,
        Self.withSocketAddress(&target, { connect(server, $0, $1) }) == 0
      else {
        Glibc.close(client)
        Glibc.close(server)
        continue
      }
      ends.withLock { $0 += [client, server] }
      let open = Pair(first: client, second: server)
      startThread { self.pass(from: open.first, to: open.second, isAnswer: false, pair: open) }
      startThread { self.pass(from: open.second, to: open.first, isAnswer: true, pair: open) }
    }
  }

  /// Closed by whichever thread ends last.
  private final class Pair: Sendable {
    let first: Int32
    let second: Int32
    let threads = Atomic(2)

    init(first: Int32, second: Int32) {
      self.first = first
      self.second = second
    }
  }

  private func pass(from source: Int32, to destination: Int32, isAnswer: Bool, pair: Pair) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(source, &buffer, buffer.count), count > 0 {
      switch mode.withLock({ $0 }) {
      case .losesAnswers where isAnswer, .closed where isAnswer, .standsStill:
        losses.add(1, ordering: .sequentiallyConsistent)
      default:
        var written = 0
        while written < count {
          let step = buffer[written..<count].withUnsafeBytes {
            send(destination, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          guard step > 0 else { break }
          written += step
        }
      }
    }
    for end in [pair.first, pair.second] { shutdown(end, Int32(SHUT_RDWR)) }
    guard pair.threads.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    ends.withLock { $0.removeAll { $0 == pair.first || $0 == pair.second } }
    for end in [pair.first, pair.second] { Glibc.close(end) }
  }

  // MARK: Sockets

  private static func address(_ path: String) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return address
  }

  private static func withSocketAddress(
    _ address: inout sockaddr_un, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
