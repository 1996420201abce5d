// A peer that sends any bytes that a test gives it: HTTP/2 frames by hand, or no HTTP/2 at all.

import CEpoll
import Dispatch
import Glibc

@testable import DispatchRPC

/// A blocking client on a queue of its own.
final class RawPeer: Sendable {
  /// The server is expected to act sooner; this only keeps a failing test from hanging.
  private static let patienceSeconds = 10

  private let descriptor: Int32
  private let queue = DispatchQueue(label: "test.raw-peer")

  /// - Parameter receiveBuffer: the size of the kernel's buffer for a peer that does not read, in bytes; `nil`:
  ///   megabytes.
  init(_ address: SocketAddress, receiveBuffer: CInt? = nil) {
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<CInt>.size))
    }
    var patience = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let result = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) }
    precondition(result == 0, "the server under test listens")
  }

  deinit {
    close(descriptor)
  }

  /// Waits for no answer.
  func post(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Returns the bytes that came until the peer closed; `nil` if it did not close. Sending stops when the peer no
  /// longer takes it.
  func exchange(_ bytes: [UInt8]) async -> [UInt8]? {
    await withCheckedContinuation { done in
      queue.async { [descriptor] in
        DispatchQueue.global().async {
          var rest = bytes[...]
          while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
          }
        }
        done.resume(returning: Self.readToEnd(descriptor))
      }
    }
  }

  /// Reads until `enough` returns true; returns the bytes so far.
  func exchange(_ bytes: [UInt8], until enough: @escaping @Sendable ([Frame]) -> Bool) async -> [Frame] {
    await withCheckedContinuation { done in
      queue.async { [descriptor] in
        _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        var received: [UInt8] = []
        while !enough(Frame.parse(received)), let piece = Self.read(descriptor), !piece.isEmpty { received += piece }
        done.resume(returning: Frame.parse(received))
      }
    }
  }

  private static func readToEnd(_ descriptor: Int32) -> [UInt8]? {
    var received: [UInt8] = []
    while let piece = read(descriptor) {
      if piece.isEmpty { return received }
      received += piece
    }
    return errno == EAGAIN ? nil : received
  }

  private static func read(_ descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer[..<count])
  }
}
