// Certificates and keys as files, as a server and a client are given them.

import TestSupport

@testable import DispatchRPC

/// Gone after the test.
final class TLSFiles: Sendable {
  struct Pair: Sendable {
    let chain: String
    let key: String
    let certificate: IssuedCertificate

    var identity: RPCClientTLS.Identity {
      RPCClientTLS.Identity(certificateChainFile: chain, privateKeyFile: key)
    }
  }

  let directory = TemporaryDirectory()
  let authority: CertificateAuthority

  init(_ authority: CertificateAuthority = CertificateAuthority()) {
    self.authority = authority
  }

  static let serverNames: [CertificateRequest.AlternativeName] = [.dns("rpc.test"), .loopback]

  static var server: CertificateRequest { CertificateRequest(commonName: "server", serverNames, for: .server) }

  static var client: CertificateRequest {
    CertificateRequest(
      commonName: "client", [.uri("spiffe://test/client"), .dns("Client.Test")], for: .client)
  }

  /// The names in the certificate of `client`, as a server is to see them.
  static let clientNames = RPCPeerCertificate(
    uris: ["spiffe://test/client"], dnsNames: ["client.test"], commonName: "client")

  func authorities(_ authorities: CertificateAuthority..., named name: String = "authorities.pem") -> String {
    directory.write((authorities.isEmpty ? [authority] : authorities).flatMap(\.pem), to: name)
  }

  func pair(_ name: String, _ issued: IssuedCertificate) -> Pair {
    Pair(
      chain: directory.write(issued.chainPEM, to: "\(name).pem"),
      key: directory.write(issued.keyPEM, to: "\(name).key"), certificate: issued)
  }

  func pair(_ name: String, _ request: CertificateRequest, key: TestKey.Kind = .p256) -> Pair {
    pair(name, authority.issue(request, key: key))
  }

  func server(
    _ request: CertificateRequest = TLSFiles.server, key: TestKey.Kind = .p256,
    clients: RPCServerTLS.Clients = .anonymous
  ) throws -> RPCServerTLS {
    let pair = pair("server", request, key: key)
    return try RPCServerTLS(certificateChainFile: pair.chain, privateKeyFile: pair.key, clients: clients)
  }

  func client(_ request: CertificateRequest? = nil, serverName: String? = "rpc.test") throws -> RPCClientTLS {
    let identity = request.map { pair("client", $0).identity }
    return try RPCClientTLS(authorities: .file(authorities()), serverName: serverName, identity: identity)
  }
}

extension RPCClientConfiguration {
  init(tls: RPCClientTLS) {
    self.init()
    self.tls = tls
  }
}

extension RPCServerTLS {
  /// Once so many handshakes are over: a client sees its own fail a moment before it is counted.
  func statistics(after handshakes: Int) async throws -> RPCTLSStatistics {
    try await eventually {
      let statistics = statistics
      return statistics.full + statistics.resumed + statistics.refused + statistics.failed >= handshakes
    }
    return statistics
  }
}
