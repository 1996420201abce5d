// A server's side of TLS: its certificate, and whose certificates it wants.

/// May serve several listeners and servers.
public final class RPCServerTLS: Sendable {
  /// What clients have to show.
  public enum Clients: Hashable, Sendable {
    /// Nobody is asked for a certificate.
    case anonymous
    /// Who shows a certificate needs one of these authorities', as PEM.
    case optional(authoritiesFile: String)
    /// Everybody needs one.
    case required(authoritiesFile: String)
  }

  /// - Parameter certificateChainFile: PEM, the server's certificate first.
  /// - Parameter privateKeyFile: PEM without a password, readable by its owner alone.
  public init(
    certificateChainFile: String, privateKeyFile: String, clients: Clients = .anonymous
  ) throws(RPCTLSError) {
    throw RPCTLSError(reason: "TLS is not supported")
  }

  /// Reads all files again: new connections get what they say now. All or nothing; running connections stay as they are. It
  /// reads files and checks signatures, so never call it on a shard.
  public func reload() throws(RPCTLSError) {}
}
