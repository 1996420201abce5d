import COpenSSL
import Testing
import RPCLoopback
import TestSupport

@testable import DispatchRPC

// Sessions that go on: how often they do, as whom, and when they must not.

@Suite(.mustEnd) struct TLSSessionTests {
  private let files = TLSFiles()

  /// A server that tells whom it sees.
  private struct Witness {
    let tls: RPCServerTLS
    let loopback: Loopback

    init(_ tls: RPCServerTLS) throws {
      self.tls = tls
      loopback = try Loopback(tls: tls)
    }

    /// Whom a new connection is seen as. After the call the ticket is with the client.
    func visit(_ client: RPCClientTLS) async throws -> RPCPeerCertificate? {
      let connection = try await loopback.connect(RPCClientConfiguration(tls: client))
      _ = try await connection.call("Who")
      return await loopback.peers.next().certificate
    }
  }

  private func witness(_ mode: (String) -> RPCServerTLS.Clients) throws -> Witness {
    let authorities = files.authorities(files.authority, named: "clients.pem")
    return try Witness(files.server(clients: mode(authorities)))
  }

  @Test func theSecondConnectionResumesAsWhomTheFirstWas() async throws {
    let witness = try witness { .required(authoritiesFile: $0) }
    let client = try files.client(TLSFiles.client)
    for visit in 0..<4 {
      #expect(try await witness.visit(client) == TLSFiles.clientNames)
      #expect(witness.tls.statistics == RPCTLSStatistics(full: 1, resumed: visit, failed: 0))
    }
    #expect(client.statistics == RPCTLSStatistics(full: 1, resumed: 3, failed: 0))
  }

  @Test func whoWasNobodyResumesAsNobody() async throws {
    let witness = try witness { .optional(authoritiesFile: $0) }
    let client = try files.client()
    #expect(try await witness.visit(client) == nil)
    #expect(try await witness.visit(client) == nil)
    #expect(witness.tls.statistics.resumed == 1)
  }

  @Test func twoClientsShareNoSession() async throws {
    let witness = try witness { .optional(authoritiesFile: $0) }
    #expect(try await witness.visit(files.client()) == nil)
    #expect(try await witness.visit(files.client(TLSFiles.client)) == TLSFiles.clientNames)
    #expect(witness.tls.statistics.resumed == 0)
  }

  @Test func sessionsOutliveARenewedCertificate() async throws {
    let witness = try witness { .required(authoritiesFile: $0) }
    let client = try files.client(TLSFiles.client)
    _ = try await witness.visit(client)
    _ = files.pair("server", TLSFiles.server)
    try witness.tls.reload()
    #expect(try await witness.visit(client) == TLSFiles.clientNames)
    #expect(witness.tls.statistics == RPCTLSStatistics(full: 1, resumed: 1, failed: 0))
  }

  /// A ticket is no way around an authority that was taken out.
  @Test func sessionsEndWithTheAuthoritiesThatVouched() async throws {
    let witness = try witness { .required(authoritiesFile: $0) }
    let client = try files.client(TLSFiles.client)
    _ = try await witness.visit(client)
    _ = files.authorities(CertificateAuthority("New Authority"), named: "clients.pem")
    try witness.tls.reload()
    await #expect(throws: RPCError.self) { try await witness.visit(client) }
    let statistics = try await witness.tls.statistics(after: 2)
    #expect(statistics == RPCTLSStatistics(full: 1, resumed: 0, refused: 1, failed: 0))
  }

  /// Not even where an authority was only added: one rule that nobody has to think about.
  @Test func sessionsEndWithAnyChangeOfTheAuthorities() async throws {
    let witness = try witness { .required(authoritiesFile: $0) }
    let client = try files.client(TLSFiles.client)
    _ = try await witness.visit(client)
    _ = files.authorities(files.authority, CertificateAuthority("New Authority"), named: "clients.pem")
    try witness.tls.reload()
    #expect(try await witness.visit(client) == TLSFiles.clientNames)
    #expect(witness.tls.statistics == RPCTLSStatistics(full: 2, resumed: 0, failed: 0))
  }

  /// Within the second that is left, or at once: no client resumes an expired session. If an intermediate ends first,
  /// the client offers its session, and the server does not take it. A busy machine may take longer for the first visit
  /// than a certificate lasts, and gets one that lasts longer.
  @Test(arguments: [false, true]) func sessionsEndWithTheClientsChain(_ endsWithIntermediate: Bool) async throws {
    var request = TLSFiles.client
    for seconds in [4, 12, 40] {
      let witness = try witness { .required(authoritiesFile: $0) }
      var issuer = files.authority
      if endsWithIntermediate {
        issuer = issuer.intermediate(notAfterSeconds: seconds)
      } else {
        request.notAfterSeconds = seconds
      }
      let client = try RPCClientTLS(
        authorities: .file(files.authorities()), serverName: "rpc.test",
        identity: files.pair("client", issuer.issue(request)).identity)
      guard (try? await witness.visit(client)) != nil else { continue }
      var visits = 1
      while true {
        let isAnswered = (try? await witness.visit(client)) != nil
        // The certificate may also end during the call, after a handshake that still went well.
        if !isAnswered, try await witness.tls.statistics(after: visits + 1).refused > 0 { break }
        visits += 1
      }
      #expect(witness.tls.statistics == RPCTLSStatistics(full: 1, resumed: visits - 1, refused: 1, failed: 0))
      return
    }
    Issue.record("the machine is too busy for a chain of 40 s")
  }

  @Test func anotherServersTicketIsOfNoUse() async throws {
    let first = try witness { .required(authoritiesFile: $0) }
    let second = try witness { .required(authoritiesFile: $0) }
    let client = try files.client(TLSFiles.client)
    _ = try await first.visit(client)
    #expect(try await second.visit(client) == TLSFiles.clientNames)
    #expect(second.tls.statistics == RPCTLSStatistics(full: 1, resumed: 0, failed: 0))
  }

  @Test func sessionsResumeInTLS12Too() async throws {
    let witness = try witness { .required(authoritiesFile: $0) }
    let identity = files.pair("client", TLSFiles.client)
    let options = RawTLSOptions(maxVersion: TLS1_2_VERSION, identity: identity)
    let first = RawTLSPeer(witness.loopback.address, options)
    _ = await first.connect()
    let second = RawTLSPeer(witness.loopback.address, options)
    await second.resume(first)
    _ = await second.connect()
    #expect(witness.tls.statistics == RPCTLSStatistics(full: 1, resumed: 1, failed: 0))
  }

  // MARK: Parts

  @Test func ticketKeysRotate() throws {
    let start = MonotonicTime(nanoseconds: 1)
    let keys = TicketKeys(now: start)
    let hour = TicketKeys.rotationTime
    func opens(_ key: TicketKeys.Key, after time: Duration) -> Bool {
      key.name.withUnsafeBytes { keys.openingKey(named: $0, at: start.advanced(by: time)) } != nil
    }
    let first = try #require(keys.sealingKey(at: start))
    #expect(keys.sealingKey(at: start.advanced(by: hour - .nanoseconds(1)))?.name == first.name)
    let second = try #require(keys.sealingKey(at: start.advanced(by: hour)))
    #expect(second.name != first.name && second.encryption != first.encryption)
    #expect(second.authentication != first.authentication)
    #expect(opens(first, after: hour) && opens(second, after: hour))
    let third = try #require(keys.sealingKey(at: start.advanced(by: hour * 2)))
    #expect(!opens(first, after: hour * 2) && opens(second, after: hour * 2) && opens(third, after: hour * 2))
    // Nobody came for long.
    #expect(!opens(third, after: hour * 5))
  }

  @Test func aClientKeepsFewSessions() {
    let cache = ClientSessionCache()
    for index in 0..<(ClientSessionCache.capacity + 10) { cache.put(SSL_SESSION_new(), for: [UInt8(index)]) }
    #expect(cache.count == ClientSessionCache.capacity)
  }

  @Test func aClientUsesASessionOnce() async throws {
    let witness = try witness { .required(authoritiesFile: $0) }
    let client = try files.client(TLSFiles.client)
    _ = try await witness.visit(client)
    let loop = EventLoop(label: "test.client")
    let connections = (0..<2).map { _ in
      TestClient(witness.loopback.address, RPCClientConfiguration(tls: client), loop: loop)
    }
    // In one turn of the loop: the first has the ticket, the second none.
    loop.execute { for connection in connections { connection.connection.connect() } }
    for connection in connections {
      guard case .connected = await connection.events.next() else {
        Issue.record("no connection")
        return
      }
    }
    #expect(witness.tls.statistics == RPCTLSStatistics(full: 2, resumed: 1, failed: 0))
  }
}
