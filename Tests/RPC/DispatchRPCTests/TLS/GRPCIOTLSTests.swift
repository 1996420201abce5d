// Google's gRPC in Python over TLS, both ways; see GRPCIOTests.

import Testing
import RPCLoopback
import TestSupport

@testable import DispatchRPC

@Suite(.timeLimit(.minutes(2)), .enabled(if: python != nil)) struct GRPCIOTLSTests {
  private let files = TLSFiles()

  @Test(arguments: [TestKey.Kind.p256, .rsa2048]) func googlesClientComesOverTLS(key: TestKey.Kind) async throws {
    let loopback = try Loopback(tls: files.server(key: key))
    let (status, output) = try await Script("grpcio_tls_client.py", port(loopback), files.authorities()).run()
    #expect(status == 0, "\(output)")
  }

  @Test func googlesClientIsKnownByItsCertificate() async throws {
    let loopback = try Loopback(tls: files.server(clients: .required(authoritiesFile: files.authorities())))
    let client = files.pair("client", TLSFiles.client)
    let (status, output) = try await Script(
      "grpcio_tls_client.py", port(loopback), files.authorities(), client.chain, client.key
    ).run()
    #expect(status == 0, "\(output)")
    #expect(await loopback.peers.next().certificate == TLSFiles.clientNames)
  }

  @Test func googlesServerKnowsOurClientByItsCertificate() async throws {
    let pair = files.pair("server", TLSFiles.server)
    let server = try Script("grpcio_tls_server.py", pair.chain, pair.key, files.authorities())
    let port = try #require(UInt16(server.firstLine()))
    let address = try #require(SocketAddress.resolve(host: "127.0.0.1", port: port).first)
    let client = try files.client(TLSFiles.client)
    for _ in 0..<2 {
      let connection = TestClient(address, RPCClientConfiguration(tls: client))
      try await connection.connect()
      let response = try await connection.call("Who", [UInt8](repeating: 7, count: 100_000))
      #expect(response.message == Array("client spiffe://test/client".utf8))
    }
    #expect(client.statistics == RPCTLSStatistics(full: 1, resumed: 1, failed: 0))
    let stranger = TestClient(address, RPCClientConfiguration(tls: try files.client()))
    #expect(await stranger.refusal().code == .unavailable)
    await server.stop()
  }

  private func port(_ loopback: Loopback) -> String { String(loopback.address.port) }
}
