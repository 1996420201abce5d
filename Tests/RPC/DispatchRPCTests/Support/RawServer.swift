// A server that says whatever frames a test wants, to whatever its first caller asks.

import CEpoll
import Dispatch
import Glibc

@testable import DispatchRPC

/// Takes one connection and answers its first request, on a queue of its own.
final class RawServer: Sendable {
  /// Only keeps a failing test from hanging.
  private static let patienceMilliseconds: Int32 = 50_000

  let address: SocketAddress

  init(answering frames: [Frame]) throws {
    let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
    address = listener.address
    // The queue has it from here on.
    nonisolated(unsafe) let handedOver = listener
    DispatchQueue(label: "test.raw-server").async {
      Self.wait(for: handedOver.descriptor)
      guard case .accepted(let descriptor, _) = handedOver.accept() else { return }
      Self.serve(descriptor, frames)
      close(descriptor)
    }
  }

  private static func serve(_ descriptor: Int32, _ answer: [Frame]) {
    send(Frame.settings().bytes, to: descriptor)
    var received: [UInt8] = []
    var hasAnswered = false
    while let piece = read(descriptor) {
      received += piece
      // The client's preface comes before its first frame.
      let frames = Frame.parse(Array(received.dropFirst(24)))
      guard !hasAnswered, frames.contains(where: { $0.type == 1 }) else { continue }
      hasAnswered = true
      send(answer.flatMap(\.bytes), to: descriptor)
    }
  }

  /// `nil` at the end.
  private static func read(_ descriptor: Int32) -> [UInt8]? {
    wait(for: descriptor)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  private static func send(_ bytes: [UInt8], to descriptor: Int32) {
    _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  private static func wait(for descriptor: Int32) {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    poll(&watched, 1, patienceMilliseconds)
  }
}
