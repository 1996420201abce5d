// The bytes below HTTP/2. A seam: plain TCP here; a TLS transport does its handshake and records behind the same calls.

import CEpoll
import Glibc

enum TransportResult {
  case bytes(Int)
  case wouldBlock
  /// The peer finished sending.
  case ended
  /// `errno`.
  case failed(Int32)
}

/// A connected, non-blocking byte stream. Confined to one shard.
protocol Transport: AnyObject {
  /// For epoll.
  var descriptor: Int32 { get }
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult
  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult
  /// No more will be sent; what was sent still arrives.
  func finishSending()
  /// Gives the descriptor back; nothing else may be called after it. Once is enough, twice is harmless.
  func close()
}

/// Plain TCP. Owns the descriptor; closes it when released, if not before.
final class SocketTransport: Transport {
  let descriptor: Int32
  private var isClosed = false

  init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit {
    close()
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult {
    result(of: recv(descriptor, buffer.baseAddress, buffer.count, 0), endsAtZero: true)
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult {
    result(of: Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)), endsAtZero: false)
  }

  func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    Glibc.close(descriptor)
  }

  private func result(of count: Int, endsAtZero: Bool) -> TransportResult {
    if count > 0 { return .bytes(count) }
    if count == 0 { return endsAtZero ? .ended : .wouldBlock }
    let code = errno
    return code == EAGAIN || code == EINTR ? .wouldBlock : .failed(code)
  }
}
