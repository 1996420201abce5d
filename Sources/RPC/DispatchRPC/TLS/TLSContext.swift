import COpenSSL
import Glibc

/// A protocol within TLS: the peers negotiate its name in ALPN (RFC 7301).
package enum ApplicationProtocol: UInt8, Sendable, CustomStringConvertible {
  case http2
  case http1
  /// HTTP/1.1, too. Clients may show certificates, as they may or must over HTTP/2.
  case http1WithCertificates

  fileprivate var name: String.UTF8View {
    switch self {
    case .http2: "h2".utf8
    case .http1, .http1WithCertificates: "http/1.1".utf8
    }
  }

  package var description: String {
    switch self {
    case .http2: "HTTP/2"
    case .http1, .http1WithCertificates: "HTTP/1.1"
    }
  }
}

/// The state that all connections of one side share: OpenSSL's SSL_CTX, set up once and constant from then on. A reload
/// makes a new one; connections keep the one they began with.
final class TLSContext: @unchecked Sendable {
  // Sendable because: an SSL_CTX may be used from several threads at once, and nothing of it is changed after `init`.

  /// TLS 1.2: forward secrecy and authenticated encryption, nothing else. AES-128 first: it is the cheapest that is
  /// strong.
  private static let ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
  private static let ciphers13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
  private static let groups = "X25519:P-256:P-384"
  /// 112 bits of security: RSA from 2,048 bits on, no SHA-1.
  private static let securityLevel: Int32 = 2
  /// Authorities between a peer's certificate and the root.
  private static let maxIntermediates: Int32 = 4
  /// A peer's chain is held in memory before it is verified. OpenSSL's default is 100 KiB.
  private static let maxChainBytes = 32 << 10
  /// The length of a session's context; 32 is OpenSSL's limit.
  private static let sessionContextBytes: UInt32 = 32

  let pointer: OpaquePointer
  /// For servers.
  let ticketKeys: TicketKeys?
  /// For clients.
  let sessions: ClientSessionCache?

  let applicationProtocol: ApplicationProtocol

  private init(
    _ method: OpaquePointer, _ applicationProtocol: ApplicationProtocol, ticketKeys: TicketKeys?,
    sessions: ClientSessionCache?
  ) throws(RPCTLSError) {
    self.applicationProtocol = applicationProtocol
    self.ticketKeys = ticketKeys
    self.sessions = sessions
    OpenSSLErrors.clear()
    guard let pointer = SSL_CTX_new(method) else {
      throw RPCTLSError(reason: OpenSSLErrors.take() ?? "OpenSSL cannot be used")
    }
    self.pointer = pointer
    guard copenssl_set_min_version(pointer, TLS1_2_VERSION) == 1,
      SSL_CTX_set_cipher_list(pointer, Self.ciphers) == 1, SSL_CTX_set_ciphersuites(pointer, Self.ciphers13) == 1,
      copenssl_set_groups(pointer, Self.groups) == 1
    else { throw RPCTLSError(reason: OpenSSLErrors.take() ?? "OpenSSL lacks what TLS 1.2 needs") }
    SSL_CTX_set_security_level(pointer, Self.securityLevel)
    // HTTP/2's frames have their length, so that a missing close_notify cuts off nothing unseen; gRPC's peers often
    // send none.
    SSL_CTX_set_options(
      pointer, copenssl_no_compression | copenssl_no_renegotiation | copenssl_ignore_unexpected_eof)
    // Buffers are there while a record is; what the transport retries lies elsewhere by then.
    copenssl_set_mode(
      pointer,
      Int(
        SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
          | SSL_MODE_NO_AUTO_CHAIN))
    copenssl_set_read_ahead(pointer)
    copenssl_set_max_certificate_bytes(pointer, Self.maxChainBytes)
    SSL_CTX_set_verify_depth(pointer, Self.maxIntermediates)
    SSL_CTX_set_timeout(pointer, Int(TicketKeys.rotationTime.components.seconds))
    TLSTransport.installCallbacks(in: pointer)
  }

  deinit {
    SSL_CTX_free(pointer)
  }

  // MARK: Server

  /// - Parameter previous: whose tickets stay valid as long as the same authorities vouch for clients.
  static func server(
    _ applicationProtocol: ApplicationProtocol, identity: TLSIdentity, clients: RPCServerTLS.Clients,
    previous: TLSContext?
  ) throws(RPCTLSError) -> TLSContext {
    let authorities = try clients.authoritiesFile.map { (path) throws(RPCTLSError) in try TLSAuthorities(path) }
    let session = SHA256.digest([applicationProtocol.rawValue, clients.code] + (authorities?.digest ?? []))
    let keys = previous?.ticketKeys(ifOf: session) ?? TicketKeys()
    let context = try TLSContext(TLS_server_method(), applicationProtocol, ticketKeys: keys, sessions: nil)
    context.session = session
    context.certificateEnd = identity.end
    try identity.install(in: context.pointer)
    keys.install(in: context.pointer)
    SSL_CTX_set_options(context.pointer, copenssl_cipher_server_preference | copenssl_prioritize_chacha)
    // Sessions are in the clients' tickets; a server keeps none. One ticket each: connections are few and long.
    copenssl_set_session_cache_mode(context.pointer, Int(SSL_SESS_CACHE_OFF))
    SSL_CTX_set_num_tickets(context.pointer, 1)
    // A ticket's session is refused if this differs, whatever keys it was sealed with.
    SSL_CTX_set_session_id_context(context.pointer, session, sessionContextBytes)
    SSL_CTX_set_session_ticket_cb(context.pointer, noteSession, refuseExpiredSession, nil)
    switch applicationProtocol {
    case .http2:
      SSL_CTX_set_client_hello_cb(context.pointer, requireALPN, nil)
      SSL_CTX_set_alpn_select_cb(context.pointer, selectHTTP2, nil)
    case .http1, .http1WithCertificates: SSL_CTX_set_alpn_select_cb(context.pointer, selectHTTP1, nil)
    }
    authorities?.install(in: context.pointer)
    authorities?.announce(in: context.pointer)
    SSL_CTX_set_verify(context.pointer, clients.verifyMode, requirePlainNames)
    return context
  }

  /// The context that sessions are bound to.
  private var session: [UInt8] = []
  /// When the first certificate of a server's own chain ends.
  private(set) var certificateEnd: time_t = 0

  private func ticketKeys(ifOf session: [UInt8]) -> TicketKeys? {
    self.session == session ? ticketKeys : nil
  }

  /// Returns true if the peer may speak this context's protocol. HTTP/1.1 needs no negotiation.
  func allows(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    name.elementsEqual(applicationProtocol.name) || applicationProtocol != .http2 && name.isEmpty
  }

  func hasSameAuthorities(as other: TLSContext) -> Bool { session == other.session }

  /// Returns true if the connection's client would be admitted now, judged by its certificate and the chain that it
  /// sent. A resumed session has no intermediates any more, so a client that needs them must connect again.
  func verifiesClient(of ssl: OpaquePointer) -> Bool {
    guard let certificate = SSL_get0_peer_certificate(ssl), let store = SSL_CTX_get_cert_store(pointer),
      let verification = X509_STORE_CTX_new()
    else { return false }
    defer { X509_STORE_CTX_free(verification) }
    OpenSSLErrors.clear()
    defer { OpenSSLErrors.clear() }
    guard X509_STORE_CTX_init(verification, store, certificate, SSL_get_peer_cert_chain(ssl)) == 1,
      X509_STORE_CTX_set_default(verification, "ssl_client") == 1
    else { return false }
    let parameters = X509_STORE_CTX_get0_param(verification)
    X509_VERIFY_PARAM_set_depth(parameters, Self.maxIntermediates)
    X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
    return X509_verify_cert(verification) == 1
  }

  // MARK: Client

  static func client(
    _ applicationProtocol: ApplicationProtocol = .http2, authorities: RPCClientTLS.Authorities, identity: TLSIdentity?
  ) throws(RPCTLSError) -> TLSContext {
    let sessions = ClientSessionCache()
    let context = try TLSContext(TLS_client_method(), applicationProtocol, ticketKeys: nil, sessions: sessions)
    switch authorities {
    case .system: SSL_CTX_set_default_verify_paths(context.pointer)
    case .file(let path): try TLSAuthorities(path).install(in: context.pointer)
    }
    try identity?.install(in: context.pointer)
    let protocols = [UInt8(applicationProtocol.name.count)] + Array(applicationProtocol.name)
    SSL_CTX_set_alpn_protos(context.pointer, protocols, UInt32(protocols.count))
    SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
    copenssl_set_session_cache_mode(
      context.pointer, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
    SSL_CTX_sess_set_new_cb(context.pointer, TLSTransport.keepSession)
    return context
  }
}

extension RPCServerTLS.Clients {
  fileprivate var authoritiesFile: String? {
    switch self {
    case .anonymous: nil
    case .optional(let file), .required(let file): file
    }
  }

  fileprivate var verifyMode: Int32 {
    switch self {
    case .anonymous: SSL_VERIFY_NONE
    case .optional: SSL_VERIFY_PEER
    case .required: SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
    }
  }

  /// Distinguishes the three in a session's context.
  fileprivate var code: UInt8 {
    switch self {
    case .anonymous: 0
    case .optional: 1
    case .required: 2
    }
  }
}

// MARK: - Callbacks

/// Without the extension OpenSSL does not call the other callback, and HTTP/1.1 would be meant.
private let requireALPN: SSL_client_hello_cb_fn = { ssl, alert, _ in
  var protocols: UnsafePointer<UInt8>?
  var count = 0
  let type = UInt32(TLSEXT_TYPE_application_layer_protocol_negotiation)
  if SSL_client_hello_get0_ext(ssl, type, &protocols, &count) == 1 { return SSL_CLIENT_HELLO_SUCCESS }
  alert?.pointee = SSL_AD_NO_APPLICATION_PROTOCOL
  return SSL_CLIENT_HELLO_ERROR
}

private let selectHTTP2: SSL_CTX_alpn_select_cb_func = { _, selected, selectedCount, offered, offeredCount, _ in
  selectName(.http2, selected, selectedCount, offered, offeredCount)
}

private let selectHTTP1: SSL_CTX_alpn_select_cb_func = { _, selected, selectedCount, offered, offeredCount, _ in
  selectName(.http1, selected, selectedCount, offered, offeredCount)
}

private func selectName(
  _ wanted: ApplicationProtocol, _ selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ selectedCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32
) -> Int32 {
  let list = UnsafeBufferPointer(start: offered, count: Int(offeredCount))
  var position = 0
  while position < list.count {
    let count = Int(list[position])
    let name = list[(position + 1)...].prefix(count)
    if name.elementsEqual(wanted.name) {
      selected?.pointee = offered.map { $0 + position + 1 }
      selectedCount?.pointee = UInt8(count)
      return SSL_TLSEXT_ERR_OK
    }
    position += 1 + count
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// At the end of a chain that OpenSSL has found good.
private let requirePlainNames: SSL_verify_cb = { isGood, store in
  guard isGood == 1, X509_STORE_CTX_get_error_depth(store) == 0 else { return isGood }
  guard let certificate = X509_STORE_CTX_get_current_cert(store), RPCPeerCertificate(x509: certificate) != nil else {
    X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_EXTENSION)
    return 0
  }
  return 1
}

/// How long a client may go from ticket to ticket before it has to show its certificate again (RFC 8446 §4.6.1).
private let maxSessionSeconds = 24 * 60 * 60

/// A ticket holds the time when the session began and the time when its client's chain ends, however often it was
/// renewed. A resumed session has the client's certificate, but not the rest of the chain.
private struct SessionNote {
  var birth: time_t
  var chainEnd: time_t

  init?(_ session: OpaquePointer?) {
    var data: UnsafeMutableRawPointer?
    var count = 0
    guard SSL_SESSION_get0_ticket_appdata(session, &data, &count) == 1, count == MemoryLayout<Self>.size, let data
    else { return nil }
    self = data.loadUnaligned(as: Self.self)
  }

  init(birth: time_t, chainEnd: time_t) {
    self.birth = birth
    self.chainEnd = chainEnd
  }
}

private let noteSession: SSL_CTX_generate_session_ticket_fn = { ssl, _ in
  guard let ssl, let session = SSL_get_session(ssl) else { return 0 }
  guard SessionNote(session) == nil else { return 1 }
  var note = SessionNote(birth: time(nil), chainEnd: verifiedChainEnd(of: ssl) ?? .max)
  return SSL_SESSION_set1_ticket_appdata(session, &note, MemoryLayout<SessionNote>.size)
}

/// A chain that ended since is not good for another connection, nor is a session that is too old.
private let refuseExpiredSession: SSL_CTX_decrypt_session_ticket_fn = { _, session, _, _, status, _ in
  switch status {
  case SSL_TICKET_SUCCESS, SSL_TICKET_SUCCESS_RENEW:
    let now = time(nil)
    guard let note = SessionNote(session), now < note.chainEnd, (0...maxSessionSeconds).contains(now - note.birth)
    else { return SSL_TICKET_RETURN_IGNORE_RENEW }
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW
  case SSL_TICKET_EMPTY, SSL_TICKET_NO_DECRYPT:
    return SSL_TICKET_RETURN_IGNORE_RENEW
  default:
    return SSL_TICKET_RETURN_ABORT
  }
}

/// When the first certificate of the client's chain ends, the root's included. On a server, after the handshake.
func clientChainEnd(of ssl: OpaquePointer) -> time_t {
  let end = SSL_session_reused(ssl) == 1 ? SessionNote(SSL_get_session(ssl))?.chainEnd : verifiedChainEnd(of: ssl)
  // A chain without a known end counts as over.
  return end ?? 0
}

/// `nil`: this handshake verified no chain.
private func verifiedChainEnd(of ssl: OpaquePointer) -> time_t? {
  guard let chain = SSL_get0_verified_chain(ssl) else { return nil }
  let now = time(nil)
  return (0..<OPENSSL_sk_num(chain)).map { index in
    certificateEnd(OPENSSL_sk_value(chain, index).map { OpaquePointer($0) }, now: now)
  }.min()
}

/// When the certificate ends. A time that cannot be read is over.
func certificateEnd(_ certificate: OpaquePointer?, now: time_t) -> time_t {
  var (days, seconds): (Int32, Int32) = (0, 0)
  guard ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1 else { return 0 }
  return now + time_t(days) * 24 * 60 * 60 + time_t(seconds)
}

/// The certificate that the session was made with, if the peer had one.
func hasExpired(_ session: OpaquePointer) -> Bool {
  guard let certificate = SSL_SESSION_get0_peer(session) else { return false }
  return X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0
}
