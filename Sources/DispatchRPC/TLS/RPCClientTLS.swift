// A client's side of TLS: whom it trusts, and as whom it comes.

/// May serve any number of connections, which share its sessions.
public final class RPCClientTLS: Sendable {
  /// Who may vouch for servers.
  public enum Authorities: Hashable, Sendable {
    case system
    /// PEM; these and no others.
    case file(String)
  }

  /// The client's own certificate, for servers that ask for one.
  public struct Identity: Hashable, Sendable {
    /// PEM, the client's certificate first.
    public var certificateChainFile: String
    /// PEM without a password, readable by its owner alone.
    public var privateKeyFile: String

    public init(certificateChainFile: String, privateKeyFile: String) {
      self.certificateChainFile = certificateChainFile
      self.privateKeyFile = privateKeyFile
    }
  }

  /// - Parameter serverName: what the server's certificate has to be for (a DNS name or an IP address, among its subject
  ///   alternative names); the host of the connection's authority when `nil`.
  public init(
    authorities: Authorities = .system, serverName: String? = nil, identity: Identity? = nil
  ) throws(RPCTLSError) {
    throw RPCTLSError(reason: "TLS is not supported")
  }

  /// As `RPCServerTLS.reload()`.
  public func reload() throws(RPCTLSError) {}
}
