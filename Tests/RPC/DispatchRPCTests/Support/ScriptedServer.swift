// A server that does to its client whatever a test wants: HTTP/2 frames by hand, in the order of a script.

import CEpoll
import Dispatch
import Glibc
import RPCLoopback

@testable import DispatchRPC

/// Plays its script to the first client, on a thread that may block.
final class ScriptedServer: Sendable {
  let address: SocketAddress
  private let listener: Int32

  init(_ script: @escaping @Sendable (ScriptedConnection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let loopback = try SocketAddress.resolve(host: "127.0.0.1", port: 0)[0]
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = loopback.withSocketAddress { Glibc.bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0
    precondition(isListening, "a free port is free")
    withUnsafeMutablePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    self.address = try SocketAddress.resolve(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port))[0]
    self.listener = listener
    DispatchQueue(label: "test.scripted-server").async {
      let connection = ScriptedConnection(accept(listener, nil, nil))
      connection.exchangeSettings()
      script(connection)
      connection.end()
    }
  }

  deinit {
    close(listener)
  }

  /// A client of it, connected.
  func connect(_ configuration: RPCClientConfiguration = RPCClientConfiguration()) async throws -> TestClient {
    let client = TestClient(address, configuration)
    try await client.connect()
    return client
  }
}

/// Blocking; on its script's thread.
final class ScriptedConnection {
  private static let prefaceBytes = 24

  private let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  func send(_ frames: Frame...) {
    send(frames)
  }

  func send(_ frames: [Frame]) {
    var rest = frames.flatMap(\.bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// `nil`: the client has closed.
  func next() -> Frame? {
    guard let head = read(9) else { return nil }
    let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
    guard let payload = read(length) else { return nil }
    return Frame.parse(head + payload).first
  }

  /// Skips what comes before.
  @discardableResult
  func next(where fits: (Frame) -> Bool) -> Frame? {
    while let frame = next() { if fits(frame) { return frame } }
    return nil
  }

  /// The stream of the next call, once its HEADERS are here.
  @discardableResult
  func nextCall() -> UInt32 {
    next { $0.type == Frame.headersType }?.stream ?? 0
  }

  func exchangeSettings() {
    _ = read(Self.prefaceBytes)
    send(Frame.settings())
    next { $0.type == Frame.settingsType }
    send(Frame(type: Frame.settingsType, flags: Frame.acknowledgement))
    next { $0.type == Frame.settingsType && $0.flags == Frame.acknowledgement }
  }

  /// Reads until the client closes.
  func end() {
    shutdown(descriptor, Int32(SHUT_WR))
    while next() != nil {}
    close(descriptor)
  }

  private func read(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    guard count > 0 else { return bytes }
    return recv(descriptor, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
  }
}
