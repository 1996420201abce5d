import TestCertificates
import Testing

@testable import DispatchRPC

// A connection stands as long as its client's certificate, and as long as somebody vouches for that.

@Suite(.timeLimit(.minutes(2))) struct TLSCertificateEndTests {
  private let files = TLSFiles()

  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration(shards: 2)
    configuration.certificateGrace = .milliseconds(100)
    return configuration
  }

  private func expectLeave(_ client: TestClient) async {
    guard case .goingAway = await client.events.next() else { return #expect(Bool(false), "GOAWAY comes first") }
    _ = await client.closed()
  }

  /// Connects with a certificate that ends soon. A busy machine may take longer than a short one lasts, and gets a longer one.
  private func connected(_ connect: (RPCClientConfiguration) async throws -> TestClient) async throws -> TestClient {
    var request = TLSFiles.client
    for seconds in [3, 10] {
      let start = ContinuousClock.now
      request.notAfterSeconds = seconds
      do {
        let client = try await connect(RPCClientConfiguration(tls: files.client(request)))
        if ContinuousClock.now - start < .seconds(seconds - 2) { return client }
      } catch is RPCError {}
    }
    request.notAfterSeconds = 40
    return try await connect(RPCClientConfiguration(tls: files.client(request)))
  }

  /// Though a call runs, and whoever calls again does so in vain.
  @Test func aConnectionEndsWithItsClientsCertificate() async throws {
    let loopback = try Loopback(
      Self.configuration, tls: files.server(clients: .required(authoritiesFile: files.authorities())))
    let client = try await connected { configuration in
      let client = try await loopback.connect(configuration)
      try await client.expectEcho([1])
      return client
    }
    client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { _ in }
    _ = await loopback.held.next()
    guard case .goingAway = await client.events.next() else { return #expect(Bool(false), "GOAWAY comes first") }
    let late = await failure { () throws(RPCError) in try await client.call("Echo") }
    #expect(late.code == .unavailable)
    _ = await client.closed()
    #expect(await loopback.cancellations.next() == .connectionLost)
  }

  /// The ticket's session keeps the certificate's time.
  @Test func aResumedConnectionEndsWithItTo() async throws {
    let tls = try files.server(clients: .required(authoritiesFile: files.authorities()))
    let loopback = try Loopback(Self.configuration, tls: tls)
    let resumed = try await connected { configuration in
      try await loopback.connect(configuration).expectEcho([1])
      let before = tls.statistics.resumed
      let resumed = try await loopback.connect(configuration)
      try await resumed.expectEcho([1])
      #expect(tls.statistics.resumed == before + 1)
      return resumed
    }
    await expectLeave(resumed)
  }

  @Test func aReloadThatTakesAnAuthorityAwayEndsItsClientsConnections() async throws {
    let other = CertificateAuthority("Other Authority")
    let authorities = files.authorities(files.authority, other, named: "clients.pem")
    let tls = try files.server(clients: .required(authoritiesFile: authorities))
    let loopback = try Loopback(Self.configuration, tls: tls)
    let leaving = try await loopback.connect(RPCClientConfiguration(tls: files.client(TLSFiles.client)))
    let identity = files.pair("other", other.issue(TLSFiles.client)).identity
    let staying = try await loopback.connect(
      RPCClientConfiguration(
        tls: RPCClientTLS(authorities: .file(files.authorities()), serverName: "rpc.test", identity: identity)))
    // By way of an intermediate, which the client has shown.
    let intermediate = files.pair("third", other.intermediate().issue(TLSFiles.client)).identity
    let chained = try await loopback.connect(
      RPCClientConfiguration(
        tls: RPCClientTLS(authorities: .file(files.authorities()), serverName: "rpc.test", identity: intermediate)))
    for client in [leaving, staying, chained] { try await client.expectEcho([1]) }

    _ = files.authorities(other, named: "clients.pem")
    try tls.reload()
    await expectLeave(leaving)
    for client in [staying, chained] {
      try await client.expectEcho([2])
      #expect(client.events.count == 0)
    }
  }

  @Test func aReloadThatKeepsTheAuthoritiesEndsNothing() async throws {
    let tls = try files.server(clients: .optional(authoritiesFile: files.authorities(named: "clients.pem")))
    let loopback = try Loopback(Self.configuration, tls: tls)
    let known = try await loopback.connect(RPCClientConfiguration(tls: files.client(TLSFiles.client)))
    let anonymous = try await loopback.connect(RPCClientConfiguration(tls: files.client()))
    for client in [known, anonymous] { try await client.expectEcho([1]) }
    _ = files.pair("server", TLSFiles.server)
    try tls.reload()
    // Who shows no certificate has nothing to lose by another authority.
    _ = files.authorities(files.authority, CertificateAuthority("New Authority"), named: "clients.pem")
    try tls.reload()
    for client in [known, anonymous] {
      try await client.expectEcho([2])
      #expect(client.events.count == 0)
    }
  }
}
