import COpenSSL
import Glibc

/// The server that a client means to talk to, and that the certificate must name: a DNS name or an IP address.
struct TLSServerName {
  private enum Kind {
    case dns
    case address
  }

  private let text: String
  private let kind: Kind

  /// The longest that DNS has.
  private static let maxBytes = 253

  /// `nil` when it cannot be one. A dot in front would stand for all names below.
  init?(_ text: String) {
    guard (1...Self.maxBytes).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      !text.hasPrefix(".")
    else { return nil }
    self.text = text
    kind = Self.isAddress(text) ? .address : .dns
  }

  /// The host of `host`, `host:port` or `[address]:port`.
  init?(authority: String) {
    if authority.hasPrefix("[") {
      self.init(String(authority.dropFirst().prefix { $0 != "]" }))
    } else if authority.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
      self.init(String(authority.prefix { $0 != ":" }))
    } else {
      self.init(authority)
    }
  }

  var bytes: [UInt8] { Array(text.utf8) }

  /// The server is told the name, and its certificate must have it among its subject alternative names; no check looks
  /// at its common name (RFC 9525 §2).
  func require(of ssl: OpaquePointer) {
    let parameters = SSL_get0_param(ssl)
    X509_VERIFY_PARAM_set_hostflags(
      parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    switch kind {
    case .dns:
      copenssl_set_server_name(ssl, text)
      let isSet = X509_VERIFY_PARAM_set1_host(parameters, text, text.utf8.count) == 1
      precondition(isSet, "a name without NUL bytes can be required")
    case .address:
      let isSet = X509_VERIFY_PARAM_set1_ip_asc(parameters, text) == 1
      precondition(isSet, "an address can be required")
    }
  }

  private static func isAddress(_ text: String) -> Bool {
    var v4 = in_addr()
    var v6 = in6_addr()
    return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1
  }
}
