import CEpoll
import COpenSSL
import Glibc

/// TLS over a socket, behind the same calls as plain TCP. OpenSSL reads from and writes to the socket by way of this
/// module's `BIO`: one recv(2) or send(2) where the socket has or takes no more, and never a SIGPIPE.
final class TLSTransport: Transport {
  private enum State {
    case handshaking
    case established
    /// Bytes that still arrive are thrown away.
    case failed
  }

  let descriptor: Int32
  /// The callbacks use what hangs on it.
  private let context: TLSContext
  private let counters: TLSCounters
  /// For servers: it has the current authorities.
  private var server: RPCServerTLS?
  private let ssl: OpaquePointer
  private var state = State.handshaking
  private var isClosed = false
  /// The last recv(2) emptied the socket, or found its end: another one would learn nothing before the next readiness.
  private var isSocketEmpty = false
  private var isSocketEnded = false
  /// The end of the connection, while bytes that came before it must be handed over first.
  private var ending: TransportResult?
  /// The last read stopped for lack of room.
  private var wasFull = false
  private var budget = ControlRecordBudget()
  /// For servers, until the handshake is done.
  private var helloGuard: ClientHelloGuard?
  /// A certificate was refused before OpenSSL has read it.
  private var hasRefusedCertificate = false
  /// For clients: what sessions are kept under.
  private var sessionKey: [UInt8] = []
  private(set) var peerCertificate: RPCPeerCertificate?

  /// Takes the descriptor over, but not if it fails for lack of memory.
  private init?(_ descriptor: Int32, _ context: TLSContext, _ counters: TLSCounters) {
    OpenSSLErrors.clear()
    guard let ssl = SSL_new(context.pointer) else { return nil }
    self.descriptor = descriptor
    self.context = context
    self.counters = counters
    self.ssl = ssl
    guard let bio = BIO_new(SocketBIO.method) else {
      isClosed = true
      return nil
    }
    let this = Unmanaged.passUnretained(self).toOpaque()
    BIO_set_data(bio, this)
    SSL_set_bio(ssl, bio, bio)
    SSL_set_ex_data(ssl, Self.slot, this)
  }

  /// The server's side.
  convenience init?(
    accepting descriptor: Int32, for server: RPCServerTLS, _ context: TLSContext, _ counters: TLSCounters
  ) {
    self.init(descriptor, context, counters)
    self.server = server
    SSL_set_accept_state(ssl)
    helloGuard = ClientHelloGuard()
  }

  /// The client's side.
  convenience init?(
    connecting descriptor: Int32, to server: TLSServerName, _ context: TLSContext, _ counters: TLSCounters
  ) {
    self.init(descriptor, context, counters)
    SSL_set_connect_state(ssl)
    server.require(of: ssl)
    sessionKey = server.bytes
    guard let session = context.sessions?.take(for: sessionKey) else { return }
    SSL_set_session(ssl, session)
    SSL_SESSION_free(session)
  }

  deinit {
    close()
    // Without it OpenSSL would take the end for an attack and forget the session.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    SSL_free(ssl)
  }

  var isEncrypted: Bool { true }

  var hasUnreadInput: Bool {
    ending != nil || (wasFull && SSL_has_pending(ssl) == 1)
  }

  var certificateValidity: Duration? {
    guard peerCertificate != nil else { return nil }
    return .seconds(max(0, clientChainEnd(of: ssl) - time(nil)))
  }

  var isTrusted: Bool {
    guard peerCertificate != nil, let server else { return true }
    return server.trusts(ssl, since: context)
  }

  // MARK: Handshake

  func handshake() -> HandshakeProgress {
    guard state == .handshaking else { return .done }
    isSocketEmpty = false
    OpenSSLErrors.clear()
    let result = SSL_do_handshake(ssl)
    guard result != 1 else { return establish() }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ where !isSocketEnded: return .wantsRead
    case SSL_ERROR_WANT_WRITE: return .wantsWrite
    default: return fail()
    }
  }

  private func establish() -> HandshakeProgress {
    guard hasAgreedOnProtocol else { return fail(.other, "the peer does not speak \(context.applicationProtocol)") }
    if let certificate = SSL_get0_peer_certificate(ssl), SSL_is_server(ssl) == 1 {
      guard SSL_get_verify_result(ssl) == X509_V_OK, let names = RPCPeerCertificate(x509: certificate) else {
        return fail(.certificateRefused, "the peer's certificate is not verified")
      }
      peerCertificate = names
    }
    state = .established
    helloGuard = nil
    counters.succeeded(isResumed: SSL_session_reused(ssl) == 1)
    return .done
  }

  private func fail(_ cause: RPCHandshakeFailure.Cause, _ reason: String) -> HandshakeProgress {
    state = .failed
    OpenSSLErrors.clear()
    counters.failed(cause)
    return .failed(RPCHandshakeFailure(cause, "TLS: \(reason)"))
  }

  /// For the reason of the last call.
  private func fail() -> HandshakeProgress {
    let verification = SSL_get_verify_result(ssl)
    let isMissing = OpenSSLErrors.isMissingCertificate
    let reason = OpenSSLErrors.take() ?? "the peer went away during the handshake"
    if verification != X509_V_OK {
      return fail(.certificateRefused, String(cString: X509_verify_cert_error_string(verification)))
    }
    if hasRefusedCertificate { return fail(.certificateRefused, reason) }
    return fail(isMissing ? .certificateMissing : .other, reason)
  }

  private var hasAgreedOnProtocol: Bool {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    return context.allows(UnsafeBufferPointer(start: name, count: Int(count)))
  }

  // MARK: Records

  /// As many records as there are, up to the buffer's end.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult {
    guard state == .established else { return discard(into: buffer) }
    if let ending { return ending }
    isSocketEmpty = false
    var count = 0
    while count < buffer.count {
      var part = 0
      OpenSSLErrors.clear()
      guard SSL_read_ex(ssl, buffer.baseAddress! + count, buffer.count - count, &part) == 1 else {
        return received(count, then: result(of: 0))
      }
      count += part
      budget.received(part)
      // Another read would only return "would block".
      if isSocketEmpty && SSL_has_pending(ssl) == 0 { return received(count, then: .wouldBlock) }
    }
    wasFull = true
    return .bytes(count)
  }

  private func received(_ count: Int, then result: TransportResult) -> TransportResult {
    wasFull = false
    guard count > 0 else { return result }
    if case .wouldBlock = result { return .bytes(count) }
    ending = result
    return .bytes(count)
  }

  /// No peer can read it.
  private func discard(into buffer: UnsafeMutableRawBufferPointer) -> TransportResult {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
    if count > 0 { return .bytes(count) }
    return count == 0 ? .ended : .socketFailure(errno)
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> TransportResult {
    var count = 0
    while count < bytes.count {
      var part = 0
      OpenSSLErrors.clear()
      guard SSL_write_ex(ssl, bytes.baseAddress! + count, bytes.count - count, &part) == 1 else {
        let result = result(of: 0)
        return count > 0 ? .bytes(count) : result
      }
      count += part
    }
    return .bytes(count)
  }

  private func result(of returned: Int32) -> TransportResult {
    switch SSL_get_error(ssl, returned) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return .ended
    case _ where budget.isExceeded: return .failed("TLS: too many records without data")
    default: return .failed("TLS: \(OpenSSLErrors.take() ?? "the connection was lost")")
    }
  }

  // MARK: The end

  /// close_notify, then the end of the stream. A socket that is full goes without the former.
  func finishSending() {
    OpenSSLErrors.clear()
    if state == .established { SSL_shutdown(ssl) }
    OpenSSLErrors.clear()
    shutdown(descriptor, Int32(SHUT_WR))
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    Glibc.close(descriptor)
  }
}

// MARK: - The socket below

extension TLSTransport {
  /// For `BIO`: how many bytes, 0 at the end, `nil` when it has to wait.
  fileprivate func readSocket(into buffer: UnsafeMutableRawBufferPointer) -> SocketBIO.Result {
    guard !budget.isExceeded else { return .failed }
    guard !isSocketEmpty else { return isSocketEnded ? .ended : .wouldBlock }
    switch SocketTransport.receive(from: descriptor, into: buffer) {
    case .bytes(let count):
      isSocketEmpty = count < buffer.count
      // In TLS 1.2, a client resumes a session with encrypted bytes, which may look like anything. Nothing can be
      // retried.
      if SSL_version(ssl) == TLS1_2_VERSION { helloGuard = nil }
      let isAccepted = helloGuard?.accepts(UnsafeRawBufferPointer(rebasing: buffer[..<count])) ?? true
      return isAccepted ? .bytes(count) : .failed
    case .wouldBlock:
      isSocketEmpty = true
      return .wouldBlock
    case .ended:
      isSocketEmpty = true
      isSocketEnded = true
      return .ended
    case .failed:
      return .failed
    }
  }

  fileprivate func writeSocket(_ bytes: UnsafeRawBufferPointer) -> SocketBIO.Result {
    switch SocketTransport.send(bytes, to: descriptor) {
    case .bytes(let count): .bytes(count)
    case .wouldBlock: .wouldBlock
    case .ended, .failed: .failed
    }
  }

  fileprivate var isAtSocketEnd: Bool { isSocketEnded }
}

/// The functions that OpenSSL calls to read and write bytes.
private enum SocketBIO {
  enum Result {
    case bytes(Int)
    case wouldBlock
    case ended
    case failed
  }

  /// Constant once it is set up.
  nonisolated(unsafe) static let method: OpaquePointer? = {
    let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket")
    BIO_meth_set_create(method) { bio in
      BIO_set_init(bio, 1)
      return 1
    }
    BIO_meth_set_read(method) { bio, buffer, count in
      guard let transport = transport(bio) else { return -1 }
      copenssl_clear_retry(bio)
      switch transport.readSocket(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))) {
      case .bytes(let count):
        return Int32(count)
      case .ended:
        return 0
      case .wouldBlock:
        copenssl_set_retry_read(bio)
        return -1
      case .failed:
        return -1
      }
    }
    BIO_meth_set_write(method) { bio, bytes, count in
      guard let transport = transport(bio) else { return -1 }
      copenssl_clear_retry(bio)
      switch transport.writeSocket(UnsafeRawBufferPointer(start: bytes, count: Int(count))) {
      case .bytes(let count):
        return Int32(count)
      case .wouldBlock:
        copenssl_set_retry_write(bio)
        return -1
      case .ended, .failed:
        return -1
      }
    }
    BIO_meth_set_ctrl(method) { bio, command, _, _ in
      switch command {
      case BIO_CTRL_FLUSH: 1
      case BIO_CTRL_EOF: transport(bio)?.isAtSocketEnd == true ? 1 : 0
      default: 0
      }
    }
    return method
  }()

  private static func transport(_ bio: OpaquePointer?) -> TLSTransport? {
    guard let data = BIO_get_data(bio) else { return nil }
    return Unmanaged<TLSTransport>.fromOpaque(data).takeUnretainedValue()
  }
}

// MARK: - Callbacks

extension TLSTransport {
  /// "Application data", which is ours.
  private static let slot: Int32 = 0

  static func installCallbacks(in context: OpaquePointer) {
    SSL_CTX_set_msg_callback(context) { isSent, _, type, bytes, count, ssl, _ in
      if isSent == 0, type == SSL3_RT_HANDSHAKE, let bytes {
        TLSTransport.of(ssl)?.refuseCostlyCertificates(in: bytes, count)
      }
      guard isSent == 0, let transport = TLSTransport.of(ssl), transport.state == .established else { return }
      // TLS 1.2 has a record's type in its header; TLS 1.3 has "application data" there for all, and the type within.
      guard type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE, count > 0 else { return }
      let recordType = bytes?.load(as: UInt8.self)
      guard recordType.map(Int32.init) != SSL3_RT_APPLICATION_DATA else { return }
      transport.budget.receivedControlRecord()
      // Without this, OpenSSL would still process the bytes that it has already read.
      if transport.budget.isExceeded { SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN) }
    }
  }

  private static let handshakeHeaderBytes = 4

  /// OpenSSL has the whole message and has not read it yet. A peer can send one without a certificate that an authority
  /// vouches for.
  private func refuseCostlyCertificates(in message: UnsafeRawPointer, _ count: Int) {
    guard count > Self.handshakeHeaderBytes, Int32(message.load(as: UInt8.self)) == SSL3_MT_CERTIFICATE,
      copenssl_spells_curve_out(message, count) != 0
    else { return }
    // The callback has no way to refuse: an empty list with bytes after it ends the handshake (decode_error).
    let content = UnsafeMutableRawPointer(mutating: message) + Self.handshakeHeaderBytes
    memset(content, 0, count - Self.handshakeHeaderBytes)
    hasRefusedCertificate = true
  }

  /// Takes a client's new session; returns 1 if it keeps the reference.
  static let keepSession: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = { ssl, session in
    guard let session, let transport = TLSTransport.of(ssl), let sessions = transport.context.sessions else { return 0 }
    sessions.put(session, for: transport.sessionKey)
    return 1
  }

  private static func of(_ ssl: OpaquePointer?) -> TLSTransport? {
    guard let pointer = SSL_get_ex_data(ssl, slot) else { return nil }
    return Unmanaged<TLSTransport>.fromOpaque(pointer).takeUnretainedValue()
  }
}

/// How many records a peer may send that carry no data: key updates, tickets, alerts. Pure. Each costs us new keys or
/// at least a decryption, and the peer next to nothing.
struct ControlRecordBudget {
  /// Several tickets and some alerts.
  private static let burst = 32
  /// No peer needs new keys as often as that: AES-GCM is good for 2^24 full records (RFC 8446 §5.5).
  private static let bytesPerRecord = 1 << 20

  private var count = 0
  private var bytes = 0

  private(set) var isExceeded = false

  mutating func received(_ count: Int) {
    bytes &+= count
  }

  mutating func receivedControlRecord() {
    count += 1
    if count > Self.burst + bytes / Self.bytesPerRecord { isExceeded = true }
  }
}
