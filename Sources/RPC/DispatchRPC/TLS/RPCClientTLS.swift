import COpenSSL
import Synchronization

/// A client's side of TLS: the authorities that it trusts, and its own identity. TLS 1.2 and 1.3, for HTTP/2 only. May
/// serve any number of connections, which share its sessions.
public final class RPCClientTLS: Sendable {
  /// The authorities that may vouch for servers.
  public enum Authorities: Hashable, Sendable {
    case system
    /// PEM; these and no others.
    case file(String)
  }

  /// The client's own certificate, for servers that require one.
  public struct Identity: Hashable, Sendable {
    /// PEM, the client's certificate first.
    public var certificateChainFile: String
    /// PEM without a password, closed to other users.
    public var privateKeyFile: String

    public init(certificateChainFile: String, privateKeyFile: String) {
      self.certificateChainFile = certificateChainFile
      self.privateKeyFile = privateKeyFile
    }
  }

  private let authorities: Authorities
  private let identity: Identity?
  private let serverName: String?
  private let context: Mutex<TLSContext>
  let counters = TLSCounters()

  /// - Parameter serverName: the name that the server's certificate must have (a DNS name or an IP address, among its
  ///   subject alternative names); the host of the connection's authority when `nil`.
  public init(
    authorities: Authorities = .system, serverName: String? = nil, identity: Identity? = nil
  ) throws(RPCTLSError) {
    self.authorities = authorities
    self.identity = identity
    self.serverName = serverName
    if let serverName, TLSServerName(serverName) == nil { throw RPCTLSError(reason: "the server's name is none") }
    context = Mutex(try Self.load(authorities, identity))
  }

  /// For HTTP/1.1.
  package init(http1 authorities: Authorities) throws(RPCTLSError) {
    (self.authorities, identity, serverName) = (authorities, nil, nil)
    context = Mutex(try .client(.http1, authorities: authorities, identity: nil))
  }

  /// As `connect`, of a client for HTTP/1.1.
  package func connectHTTP1(_ descriptor: Int32, authority: String) -> (any Transport)? {
    connect(descriptor, authority: authority)
  }

  /// As `RPCServerTLS.reload()`. Sessions are forgotten with the identity that made them.
  public func reload() throws(RPCTLSError) {
    let new = try Self.load(authorities, identity)
    context.withLock { $0 = new }
  }

  /// Since the start.
  public var statistics: RPCTLSStatistics { counters.statistics }

  /// For a new connection. `nil` when there is no name that the server could prove, or no memory.
  func connect(_ descriptor: Int32, authority: String) -> TLSTransport? {
    guard let name = serverName.map({ TLSServerName($0) }) ?? TLSServerName(authority: authority) else { return nil }
    return TLSTransport(connecting: descriptor, to: name, context.withLock(\.self), counters)
  }

  private static func load(_ authorities: Authorities, _ identity: Identity?) throws(RPCTLSError) -> TLSContext {
    let identity = try identity.map { (identity) throws(RPCTLSError) in
      try TLSIdentity(
        certificateChainFile: identity.certificateChainFile, privateKeyFile: identity.privateKeyFile, for: .client)
    }
    return try .client(authorities: authorities, identity: identity)
  }
}
