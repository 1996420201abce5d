// The other end of a connection, as far as the transport knows it.

/// The data that a server has about a client before the first byte of HTTP/2.
public struct RPCPeer: Hashable, Sendable {
  /// A client of a Unix socket has no address of its own: then it is that of the socket it came by.
  public var address: SocketAddress
  /// Only ever one whose chain was verified up to the authorities configured for clients.
  public var certificate: RPCPeerCertificate?
  /// TLS, and not only a local socket.
  public var isEncrypted: Bool

  public init(address: SocketAddress, certificate: RPCPeerCertificate? = nil, isEncrypted: Bool = false) {
    self.address = address
    self.certificate = certificate
    self.isEncrypted = isEncrypted
  }
}
