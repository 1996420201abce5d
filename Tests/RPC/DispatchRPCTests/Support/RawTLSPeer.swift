// Peers that speak TLS by hand: old versions, odd offers, bad certificates, floods.

import CEpoll
import COpenSSL
import Dispatch
import Glibc
import RPCLoopback

@testable import DispatchRPC

/// How a raw peer speaks. The defaults are what a good one would do.
struct RawTLSOptions: Sendable {
  var minVersion = TLS1_2_VERSION
  var maxVersion = TLS1_3_VERSION
  /// The ciphers for TLS 1.2 and before.
  var ciphers: String?
  /// As the extension has them; `nil` leaves it out.
  var protocols: [UInt8]? = [2] + Array("h2".utf8)
  var identity: TLSFiles.Pair?
}

/// One connection, blocking, on a queue of its own.
final class RawTLSPeer: @unchecked Sendable {
  // Sendable because: everything is touched only on `queue`.

  enum Outcome: Equatable, Sendable {
    /// The first bytes that came.
    case bytes([UInt8])
    case ended
    case failed(String)
  }

  private let queue = DispatchQueue(label: "test.raw-tls")
  private let descriptor: Int32
  private let context: OpaquePointer
  let ssl: OpaquePointer

  /// A client's end.
  convenience init(_ address: SocketAddress, _ options: RawTLSOptions = RawTLSOptions()) {
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    let result = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) }
    precondition(result == 0, "the server under test listens")
    self.init(descriptor, TLS_client_method(), options)
    SSL_set_connect_state(ssl)
    if let protocols = options.protocols { SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) }
  }

  /// A server's end, which agrees to whatever protocol comes first.
  convenience init(accepted descriptor: Int32, _ options: RawTLSOptions) {
    self.init(descriptor, TLS_server_method(), options)
    SSL_set_accept_state(ssl)
    guard options.protocols != nil else { return }
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, selected, count, offered, _, _ in
        selected?.pointee = offered.map { $0 + 1 }
        count?.pointee = offered?.pointee ?? 0
        return SSL_TLSEXT_ERR_OK
      }, nil)
  }

  private init(_ descriptor: Int32, _ method: OpaquePointer, _ options: RawTLSOptions) {
    self.descriptor = descriptor
    setPatience(of: descriptor)
    context = SSL_CTX_new(method)
    // Old versions need old signatures.
    SSL_CTX_set_security_level(context, 0)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.minVersion), nil)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.maxVersion), nil)
    if let ciphers = options.ciphers {
      let isSet = SSL_CTX_set_cipher_list(context, ciphers) == 1
      precondition(isSet, "\(ciphers) is known")
    }
    if let identity = options.identity {
      SSL_CTX_use_certificate_chain_file(context, identity.chain)
      SSL_CTX_use_PrivateKey_file(context, identity.key, SSL_FILETYPE_PEM)
    }
    ssl = SSL_new(context)
    SSL_set_fd(ssl, descriptor)
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
    close(descriptor)
  }

  /// Runs with the connection, in turn.
  func perform<Result: Sendable>(_ body: @escaping @Sendable (RawTLSPeer) -> Result) async -> Result {
    await withCheckedContinuation { done in
      queue.async { done.resume(returning: withoutBrokenPipes { body(self) }) }
    }
  }

  /// The handshake, and what comes after it: a refusal of TLS 1.3 only shows there.
  func connect() async -> Outcome {
    await perform { peer in
      ERR_clear_error()
      guard SSL_do_handshake(peer.ssl) == 1 else { return peer.failure() }
      return peer.read()
    }
  }

  /// Before `connect`.
  func resume(_ other: RawTLSPeer) async {
    let session = await other.perform { Session(pointer: SSL_get1_session($0.ssl)) }
    await perform { peer in
      SSL_set_session(peer.ssl, session.pointer)
      SSL_SESSION_free(session.pointer)
    }
  }

  private struct Session: @unchecked Sendable {
    // Sendable because: a session is not changed once it is made.
    let pointer: OpaquePointer?
  }

  func read() -> Outcome {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    ERR_clear_error()
    let count = SSL_read(ssl, &buffer, Int32(buffer.count))
    return count > 0 ? .bytes(Array(buffer[..<Int(count)])) : failure()
  }

  func write(_ bytes: [UInt8]) -> Bool {
    ERR_clear_error()
    return SSL_write(ssl, bytes, Int32(bytes.count)) == bytes.count
  }

  /// Reads until the end, and returns how the connection ended.
  func readToEnd() -> Outcome {
    while true {
      let outcome = read()
      guard case .bytes = outcome else { return outcome }
    }
  }

  /// The peer's certificate, as it showed it.
  var peerCertificate: [UInt8]? {
    guard let certificate = SSL_get0_peer_certificate(ssl) else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
    bytes.withUnsafeMutableBufferPointer { buffer in
      var next = buffer.baseAddress
      i2d_X509(certificate, &next)
    }
    return bytes
  }

  /// The failure of the last call.
  func failure() -> Outcome {
    let code = ERR_peek_error()
    if code != 0, let text = ERR_reason_error_string(code) {
      let reason = String(cString: text)
      return reason == "unexpected eof while reading" ? .ended : .failed(reason)
    }
    return errno == EAGAIN ? .failed("nothing came") : .ended
  }
}

/// Takes connections one after the other, and serves each by `options`.
final class RawTLSServer: Sendable {
  let address: SocketAddress
  private let listener: RawListener
  private let queue = DispatchQueue(label: "test.raw-tls-server")

  init() throws {
    listener = try RawListener()
    address = listener.address
  }

  /// The next connection, before its handshake.
  func accept(_ options: RawTLSOptions) async -> RawTLSPeer {
    await withCheckedContinuation { done in
      queue.async { [listener] in
        done.resume(returning: RawTLSPeer(accepted: listener.accept(), options))
      }
    }
  }
}

/// OpenSSL's own sockets raise SIGPIPE. It is kept from this thread alone: that ours raise none is to be seen.
private func withoutBrokenPipes<Result>(_ body: () -> Result) -> Result {
  var pipe = sigset_t()
  var before = sigset_t()
  sigemptyset(&pipe)
  sigaddset(&pipe, SIGPIPE)
  pthread_sigmask(SIG_BLOCK, &pipe, &before)
  defer {
    var none = timespec()
    sigtimedwait(&pipe, nil, &none)
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }
  return body()
}
