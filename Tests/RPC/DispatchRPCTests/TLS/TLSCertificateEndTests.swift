import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

// A connection stands as long as every certificate of its client's chain, and as long as an authority vouches for that.

@Suite(.mustEnd) struct TLSCertificateEndTests {
  private let files = TLSFiles()

  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 2)
    configuration.certificateGrace = .milliseconds(100)
    return configuration
  }

  private func expectLeave(_ client: TestClient) async {
    await client.expectGoingAway()
    _ = await client.closed()
  }

  /// The certificate of the chain that ends first.
  enum Link: CaseIterable {
    case leaf, intermediate, root
  }

  private func server() throws -> RPCServerTLS {
    try files.server(clients: .required(authoritiesFile: files.authorities(named: "clients.pem")))
  }

  /// Connects with a chain that ends soon, and does what must be done before that. A busy machine may take longer than
  /// a short one lasts, and gets a longer one.
  private func connected(
    to tls: RPCServerTLS, until link: Link, _ connect: (RPCClientConfiguration) async throws -> TestClient
  ) async throws -> TestClient {
    for seconds in [3, 10] {
      do {
        return try await connect(configuration(for: tls, link, notAfterSeconds: seconds))
      } catch is RPCError {}
    }
    return try await connect(configuration(for: tls, link, notAfterSeconds: 40))
  }

  private func configuration(
    for tls: RPCServerTLS, _ link: Link, notAfterSeconds seconds: Int
  ) throws -> RPCClientConfiguration {
    var request = TLSFiles.client
    let issued: IssuedCertificate
    switch link {
    case .leaf:
      request.notAfterSeconds = seconds
      issued = files.authority.issue(request)
    case .intermediate:
      issued = files.authority.intermediate(notAfterSeconds: seconds).issue(request)
    case .root:
      let root = CertificateAuthority("Short Authority", notAfterSeconds: seconds)
      _ = files.authorities(files.authority, root, named: "clients.pem")
      try tls.reload()
      issued = root.issue(request)
    }
    return RPCClientConfiguration(
      tls: try RPCClientTLS(
        authorities: .file(files.authorities()), serverName: "rpc.test", identity: files.pair("client", issued).identity
      ))
  }

  /// Though a call runs, and whoever calls again does so in vain.
  @Test(arguments: Link.allCases) func aConnectionEndsWithItsClientsChain(_ link: Link) async throws {
    let tls = try server()
    let loopback = try Loopback(Self.configuration, tls: tls)
    let client = try await connected(to: tls, until: link) { configuration in
      let client = try await loopback.connect(configuration)
      let early = Box<RPCError>()
      client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { result in
        if case .failure(let error) = result { early.put(error) }
      }
      try await eventually {
        if early.count > 0 { throw await early.next() }
        return loopback.held.count > 0
      }
      return client
    }
    await client.expectGoingAway()
    let late = await client.failure("Echo")
    #expect(late.code == .unavailable)
    _ = await client.closed()
    #expect(await loopback.cancellations.next() == .connectionLost)
  }

  /// The ticket keeps the chain's time.
  @Test(arguments: Link.allCases) func aResumedConnectionEndsWithItToo(_ link: Link) async throws {
    let tls = try server()
    let loopback = try Loopback(Self.configuration, tls: tls)
    let resumed = try await connected(to: tls, until: link) { configuration in
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
