import DispatchRPC
import Glibc
import RPCChannel
import Testing
import TestCertificates

// Over TLS each address has to prove the name that the target found it by.

/// Files of a certificate and its authority, gone after the test.
private final class Certificate {
  private let directory: String
  private let request: CertificateRequest
  private let authority = CertificateAuthority()

  init(for names: [CertificateRequest.AlternativeName]) throws {
    var template = Array("/tmp/rpc-channel-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    request = CertificateRequest(commonName: "server", names, for: .server)
  }

  deinit {
    for name in ["chain.pem", "key.pem", "authority.pem"] { unlink("\(directory)/\(name)") }
    rmdir(directory)
  }

  func server() throws -> RPCServerTLS {
    let issued = authority.issue(request)
    return try RPCServerTLS(
      certificateChainFile: write(issued.chainPEM, to: "chain.pem"),
      privateKeyFile: write(issued.keyPEM, to: "key.pem"), clients: .anonymous)
  }

  func client() throws -> RPCClientTLS {
    try RPCClientTLS(authorities: .file(write(authority.pem, to: "authority.pem")))
  }

  private func write(_ bytes: [UInt8], to name: String) throws -> String {
    let path = "\(directory)/\(name)"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(Glibc.write(file, bytes, bytes.count) == bytes.count && close(file) == 0)
    return path
  }
}

@Suite struct TLSChannelTests {
  private func call(_ host: String, certificateFor names: [CertificateRequest.AlternativeName]) async throws -> RPCCode
  {
    let certificate = try Certificate(for: names)
    let server = try TestServer()
    let address = try server.server.listen(host: "127.0.0.1", port: 0, tls: certificate.server())
    var configuration = RPCChannelConfiguration()
    configuration.connection.tls = try certificate.client()
    let channel = RPCChannel(target: "\(host):\(address.port)", configuration: configuration)
    let options = RPCCallOptions(metadata: [("authorization", "Bearer key")])
    let error = await failure { () throws(RPCError) in try await channel.call("/test/Echo", [], options: options) }
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
