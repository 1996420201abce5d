// The bytes below HTTP/2. A seam: plain sockets here; the TLS transport does its handshake and records behind the same
// calls.

import CEpoll
import Glibc

package enum TransportResult {
  case bytes(Int)
  case wouldBlock
  /// The peer finished sending.
  case ended
  /// For people.
  case failed(String)

  /// The result of a call that returned -1 and set `errno`.
  static func socketFailure(_ code: Int32) -> TransportResult {
    code == EAGAIN || code == EINTR ? .wouldBlock : .failed(String(cString: strerror(code)))
  }
}

/// Progress of the handshake that comes before the first byte of HTTP.
package enum HandshakeProgress {
  case done
  case wantsRead
  case wantsWrite
  /// The peer was told, if there is a way.
  case failed(RPCHandshakeFailure)
}

/// Why a peer did not get through the TLS handshake.
public struct RPCHandshakeFailure: Hashable, Sendable {
  public enum Cause: Hashable, Sendable, CaseIterable {
    /// The peer has shown a certificate, and it was refused.
    case certificateRefused
    /// The peer has shown no certificate, and one is required.
    case certificateMissing
    /// Anything else: a probe that closes, plaintext, a peer that does not trust us, no protocol in common.
    case other
  }

  public var cause: Cause
  /// For people: our words or OpenSSL's, never the peer's.
  public var reason: String

  public init(_ cause: Cause, _ reason: String) {
    (self.cause, self.reason) = (cause, reason)
  }
}

/// A connected, non-blocking byte stream. Confined to one event loop.
package protocol Transport: AnyObject {
  /// For epoll.
  var descriptor: Int32 { get }
  var isEncrypted: Bool { get }
  /// A client's whose chain was verified, once the handshake is done.
  var peerCertificate: RPCPeerCertificate? { get }
  /// How long that certificate is still good for, by the wall clock; `nil` if there is none.
  var certificateValidity: Duration? { get }
  /// The authorities of now would vouch for that certificate, or there is none.
  var isTrusted: Bool { get }
  /// One step, whenever the socket is ready for it.
  func handshake() -> HandshakeProgress
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult
  /// `receive` has more, of which epoll knows nothing.
  var hasUnreadInput: Bool { get }
  /// After `wouldBlock`, or where only a part was taken, the same bytes come again.
  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult
  /// No more will be sent; what was sent still arrives.
  func finishSending()
  /// Gives the descriptor back; nothing else may be called after it. Once is enough, twice is harmless.
  func close()
}

/// Plaintext.
extension Transport {
  package var isEncrypted: Bool { false }
  package var peerCertificate: RPCPeerCertificate? { nil }
  package var certificateValidity: Duration? { nil }
  package var isTrusted: Bool { true }
  package var hasUnreadInput: Bool { false }

  package func handshake() -> HandshakeProgress { .done }
}

/// The transport of a connection that a server accepted: over TLS if there is `tls`, for peers that speak `name`. Takes
/// the descriptor over; `nil` when there is no memory.
package func makeTransport(
  _ descriptor: Int32, _ tls: RPCServerTLS?, _ name: ApplicationProtocol
) -> (any Transport)? {
  guard let tls else { return SocketTransport(descriptor: descriptor) }
  return tls.accept(descriptor, name)
}

/// Plain TCP, or a Unix socket. Owns the descriptor; closes it when released, if not before.
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
    Self.receive(from: descriptor, into: buffer)
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult {
    Self.send(bytes, to: descriptor)
  }

  func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    Glibc.close(descriptor)
  }

  static func receive(from descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> TransportResult {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
    if count > 0 { return .bytes(count) }
    return count == 0 ? .ended : .socketFailure(errno)
  }

  static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> TransportResult {
    let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    if count > 0 { return .bytes(count) }
    return count == 0 ? .wouldBlock : .socketFailure(errno)
  }
}
