// The names in a client's certificate.

/// Whom a verified certificate names. A name that is not plain text of its kind is left out as a whole, never cut short: a NUL in the
/// middle must not make "admin" of "admin\0.example.com".
public struct RPCPeerCertificate: Hashable, Sendable {
  /// Subject alternative names of the kind URI, such as `spiffe://example.com/payments`. Printable ASCII.
  public var uris: [String]
  /// Subject alternative names of the kind DNS, in lower case. Printable ASCII.
  public var dnsNames: [String]
  /// The subject's common name; `nil` where there is none or several. Without control characters.
  public var commonName: String?

  public init(uris: [String] = [], dnsNames: [String] = [], commonName: String? = nil) {
    self.uris = uris
    self.dnsNames = dnsNames
    self.commonName = commonName
  }
}
