// A server that does to its client whatever a test wants: HTTP/2 frames by hand, in the order of a script.

import CEpoll
import Dispatch
import Glibc
import RPCLoopback

@testable import DispatchRPC

/// Plays its script to the first client, on a thread that may block.
final class ScriptedServer: Sendable {
  let address: SocketAddress
  private let listener: RawListener

  init(_ script: @escaping @Sendable (ScriptedConnection) -> Void) throws {
    let listener = try RawListener()
    self.listener = listener
    address = listener.address
    DispatchQueue(label: "test.scripted-server").async {
      let connection = ScriptedConnection(listener.accept())
      connection.exchangeSettings()
      script(connection)
      connection.end()
    }
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
    sendAll(frames.flatMap(\.bytes), to: descriptor)
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
