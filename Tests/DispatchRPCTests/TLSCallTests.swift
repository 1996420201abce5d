import Testing
import TestCertificates

@testable import DispatchRPC

// Calls over TLS: who gets through to whom, and who is then known as whom.

@Suite(.timeLimit(.minutes(1))) struct TLSCallTests {
  private let files = TLSFiles()

  @Test func callsGoThrough() async throws {
    let tls = try files.server()
    let loopback = try Loopback(tls: tls)
    let client = try await loopback.connect(RPCClientConfiguration(tls: files.client()))
    try await client.expectEcho([1, 2, 3])
    try await client.expectEcho([UInt8](repeating: 7, count: 3 << 20))
    #expect(tls.statistics == RPCTLSStatistics(full: 1, resumed: 0, failed: 0))
  }
}
