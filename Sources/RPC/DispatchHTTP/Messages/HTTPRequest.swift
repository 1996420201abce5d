package import DispatchRPC
internal import Encodings

/// Header fields in their order.
package struct HTTPFields: Sendable {
  /// Names in lower case.
  private(set) var all: [(name: String, value: String)] = []

  init() {}

  mutating func append(_ name: String, _ value: String) {
    all.append((name.asciiLowercased(), value))
  }

  /// The values of all fields of the name, which is in lower case.
  package func values(of name: String) -> [String] {
    all.compactMap { $0.name == name ? $0.value : nil }
  }

  /// The elements of comma-separated lists, without the white space around them (RFC 9110 §5.6.1). For fields without
  /// quoted commas.
  package func list(_ name: String) -> [Substring] {
    values(of: name).flatMap { value in
      value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0.trimmed()) }.filter { !$0.isEmpty }
    }
  }
}

extension String {
  func trimmed() -> Substring { Substring(self[...].utf8.trimmed()) }
}

/// By bytes: where characters end in what a stranger sends takes forty times as long to find out.
extension Substring.UTF8View {
  fileprivate func trimmed() -> Substring.UTF8View {
    var rest = drop(while: Self.isBlank)
    while let last = rest.last, Self.isBlank(last) { rest.removeLast() }
    return rest
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

/// A request's line and fields: all that comes before its body.
package struct HTTPRequestHead: Sendable {
  /// Case matters.
  package var method: String
  /// Begins with "/", or is "*". Percent-encoded as it came.
  package var path: String
  /// The text after the "?".
  package var query: String?
  package var fields: HTTPFields
  /// HOST or HOST:PORT, which `HTTPAuthority` reads; `nil` in a request of HTTP/1.0 without it.
  package var host: String?
  var contentLength = 0
  /// The body comes in chunks, and has no length before.
  var isChunked = false
  /// The client takes another answer on this connection.
  var keepsAlive = true
  /// The client waits for 100 (Continue) before it sends the body.
  var expectsContinue = false
}

extension HTTPRequestHead {
  var hasBody: Bool { contentLength > 0 || isChunked }

  /// The host without its port, in lower case.
  package var hostName: String? { host.flatMap { HTTPAuthority($0)?.host } }

  /// Whether the host is an address or localhost, which lead to no other machine. Without TLS any other name may be
  /// another site's that leads here (DNS rebinding), and a browser then gives the answer to that site's page.
  package var hostIsAddress: Bool { host.flatMap { HTTPAuthority($0)?.isAddress } ?? false }
}

package struct HTTPRequest: Sendable {
  package var head: HTTPRequestHead
  package var body: [UInt8]
  package var client: SocketAddress
  /// It came over TLS.
  package var isEncrypted: Bool
  /// The client's, whose chain was verified. Only on an address that takes certificates.
  package var certificate: RPCPeerCertificate?
}
