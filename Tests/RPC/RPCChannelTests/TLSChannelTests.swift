import DispatchRPC
import Glibc
import RPCChannel
import Testing
import RPCLoopback
import TestSupport

// Over TLS each address has to prove the name that the target found it by.

/// Files of a certificate and its authority, gone after the test.
private final class Certificate {
  private let directory = TemporaryDirectory()
  private let request: CertificateRequest
  private let authority = CertificateAuthority()

  init(for names: [CertificateRequest.AlternativeName]) {
    request = CertificateRequest(commonName: "server", names, for: .server)
  }

  func server() throws -> RPCServerTLS {
    let issued = authority.issue(request)
    return try RPCServerTLS(
      certificateChainFile: directory.write(issued.chainPEM, to: "chain.pem"),
      privateKeyFile: directory.write(issued.keyPEM, to: "key.pem"), clients: .anonymous)
  }

  func client() throws -> RPCClientTLS {
    try RPCClientTLS(authorities: .file(directory.write(authority.pem, to: "authority.pem")))
  }
}

@Suite struct TLSChannelTests {
  private func call(_ host: String, certificateFor names: [CertificateRequest.AlternativeName]) async throws -> RPCCode
  {
    let certificate = Certificate(for: names)
    let server = try Loopback()
    let address = try server.server.listen(host: "127.0.0.1", port: 0, tls: certificate.server())
    var configuration = RPCChannelConfiguration()
    configuration.connection.tls = try certificate.client()
    let channel = RPCChannel(target: "\(host):\(address.port)", configuration: configuration)
    let options = RPCCallOptions(metadata: [("authorization", "Bearer key")])
    let error = await channel.failure("/test/Echo", options)
    await channel.close()
    await server.stop()
    return error?.code ?? .ok
  }

  @Test(arguments: ["localhost", "127.0.0.1", "dns:///localhost", "ipv4:127.0.0.1"])
  func theTargetsNameIsProven(host: String) async throws {
    #expect(try await call(host, certificateFor: [.dns("localhost"), .loopback]) == .ok)
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func anotherNameIsNoProof(host: String) async throws {
    #expect(try await call(host, certificateFor: [.dns("elsewhere.test")]) == .unavailable)
  }
}
