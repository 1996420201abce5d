import Testing
import RPCLoopback
import TestSupport

@testable import DispatchRPC

// Calls over TLS: the peers that reach each other, and the names by which the server then sees its client.

@Suite(.mustEnd) struct TLSCallTests {
  private let files = TLSFiles()

  @Test(arguments: [TestKey.Kind.p256, .rsa2048, .ed25519]) func callsGoThrough(key: TestKey.Kind) async throws {
    let tls = try files.server(key: key)
    let loopback = try Loopback(tls: tls)
    let client = try await loopback.connect(RPCClientConfiguration(tls: files.client()))
    try await client.expectEcho([1, 2, 3])
    #expect(tls.statistics == RPCTLSStatistics(full: 1, resumed: 0, failed: 0))
  }

  /// More than the buffers of both ends and of the sockets between them.
  @Test func largeMessagesGoThroughInParallel() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 2)
    configuration.maxBufferedRequestBytesPerConnection = 32 << 20
    let loopback = try Loopback(configuration, tls: files.server())
    let client = try await loopback.connect(RPCClientConfiguration(tls: files.client()))
    try await withThrowingTaskGroup { group in
      for index in 0..<6 {
        group.addTask {
          let message = [UInt8](repeating: UInt8(index), count: 1 << 20 + index)
          try await client.expectEcho(message, by: index % 2 == 0 ? "Echo" : "Later")
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func anAuthoritysIntermediateIsBroughtAlong() async throws {
    let intermediate = files.authority.intermediate()
    let server = files.pair("server", intermediate.issue(TLSFiles.server))
    let tls = try RPCServerTLS(
      certificateChainFile: server.chain, privateKeyFile: server.key,
      clients: .required(authoritiesFile: files.authorities()))
    let identity = files.pair("client", intermediate.issue(TLSFiles.client)).identity
    let client = try RPCClientTLS(
      authorities: .file(files.authorities()), serverName: "rpc.test", identity: identity)
    #expect(try await outcome(of: client, at: tls) == .served(certificate: TLSFiles.clientNames))
  }
}

// MARK: - Clients' certificates

extension TLSCallTests {
  enum ServerAsks: CaseIterable {
    case nobody
    case whoWants
    case everybody
  }

  struct ClientCase: CustomTestStringConvertible, Sendable {
    enum Certificate: String, CaseIterable {
      case none, good, expired, notYetValid, ofAnotherAuthority, forged, selfSigned, aServers, weak
      case nameless, withNUL, malformedNames, twiceNamed, crowded
    }

    var certificate: Certificate
    var asks: ServerAsks

    var expected: Outcome {
      switch (asks, certificate) {
      case (.nobody, _), (.whoWants, .none): .served(certificate: nil)
      case (.everybody, .none): .refused("tlsv13 alert certificate required")
      case (_, .good): .served(certificate: TLSFiles.clientNames)
      case (_, .nameless): .served(certificate: RPCPeerCertificate())
      // Never "admin".
      case (_, .withNUL): .served(certificate: RPCPeerCertificate(dnsNames: ["other.test"]))
      case (_, .expired): .refused("sslv3 alert certificate expired")
      case (_, .notYetValid), (_, .weak): .refused("sslv3 alert bad certificate")
      case (_, .ofAnotherAuthority), (_, .selfSigned): .refused("tlsv1 alert unknown ca")
      case (_, .forged): .refused("tlsv1 alert decrypt error")
      case (_, .aServers): .refused("sslv3 alert unsupported certificate")
      // OpenSSL has nothing to do with the former; the latter is ours.
      case (_, .malformedNames), (_, .twiceNamed): .refused("tlsv1 alert unknown ca")
      case (_, .crowded): .refused("sslv3 alert certificate unknown")
      }
    }

    var testDescription: String { "\(asks) is asked, \(certificate.rawValue)" }

    static let all = ServerAsks.allCases.flatMap { asks in
      Certificate.allCases.map { ClientCase(certificate: $0, asks: asks) }
    }
  }

  /// A raw client, as ours would not load most of these.
  @Test(arguments: ClientCase.all) func whoGetsInAndAsWhom(_ row: ClientCase) async throws {
    let clients: RPCServerTLS.Clients =
      switch row.asks {
      case .nobody: .anonymous
      case .whoWants: .optional(authoritiesFile: files.authorities())
      case .everybody: .required(authoritiesFile: files.authorities())
      }
    let tls = try files.server(clients: clients)
    let options = RawTLSOptions(identity: certificate(row.certificate).map { files.pair("client", $0) })
    let outcome = try await outcome(of: options, at: tls)
    #expect(outcome == row.expected)
    let isServed = if case .served = row.expected { 1 } else { 0 }
    let statistics = try await tls.statistics(after: 1)
    #expect(statistics == RPCTLSStatistics(full: isServed, resumed: 0, refused: 1 - isServed, failed: 0))
  }

  @Test func theOwnerIsToldWhoWasRefusedAndWhy() async throws {
    let refusals = Box<(SocketAddress, RPCHandshakeFailure)>()
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.onHandshakeFailure = { refusals.put(($0, $1)) }
    let tls = try files.server(clients: .required(authoritiesFile: files.authorities()))
    let loopback = try Loopback(configuration, tls: tls)
    let outcome = await RawTLSPeer(loopback.address).connect()
    #expect(outcome == .failed("tlsv13 alert certificate required"))
    let (client, failure) = await refusals.next()
    #expect(client.description.hasPrefix("127.0.0.1:"))
    #expect(failure == RPCHandshakeFailure(.certificateMissing, "TLS: peer did not return a certificate"))
    #expect(refusals.count == 0)
  }

  private func certificate(_ kind: ClientCase.Certificate) -> IssuedCertificate? {
    var request = TLSFiles.client
    switch kind {
    case .none: return nil
    case .good: break
    case .expired: request.notAfterSeconds = -30
    case .notYetValid: request.notBeforeSeconds = 1_000
    case .ofAnotherAuthority: return CertificateAuthority("Other Authority").issue(request)
    // Its issuer has the authority's name and another key.
    case .forged: return CertificateAuthority().issue(request)
    case .selfSigned: return CertificateAuthority.selfSigned(request)
    case .aServers: request.usage = .server
    case .weak: return files.authority.issue(request, key: .rsa1024)
    case .nameless: request = CertificateRequest(for: .client)
    case .withNUL:
      request = CertificateRequest([.dns("admin\0.test"), .uri("spiffe://admin\0"), .dns("other.test")], for: .client)
      request.commonNames = [.init(Array("admin\0".utf8))]
    case .malformedNames: request.alternativeNames[0].removeLast()
    case .crowded: request = CertificateRequest((0...64).map { .dns("\($0).test") }, for: .client)
    case .twiceNamed: request.alternativeNames.append(request.alternativeNames[0])
    }
    return files.authority.issue(request)
  }
}

// MARK: - Servers' certificates

extension TLSCallTests {
  struct ServerCase: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var name: String
    var certificate: Certificate
    /// `nil`: accepted.
    var refusal: String?

    enum Certificate: Sendable {
      case of(CertificateRequest)
      case ofAnotherAuthority
      case forged
      case selfSigned
      case weak
    }

    init(_ what: String, name: String = "rpc.test", _ certificate: Certificate, refusal: String? = nil) {
      testDescription = what
      self.name = name
      self.certificate = certificate
      self.refusal = refusal
    }

    private static func names(_ names: CertificateRequest.AlternativeName...) -> Certificate {
      .of(CertificateRequest(commonName: "rpc.test", names, for: .server))
    }

    private static func changed(_ change: (inout CertificateRequest) -> Void) -> Certificate {
      var request = TLSFiles.server
      change(&request)
      return .of(request)
    }

    static let all: [ServerCase] = [
      ServerCase("good", .of(TLSFiles.server)),
      ServerCase("by address", name: "127.0.0.1", .of(TLSFiles.server)),
      ServerCase("wildcard", name: "a.rpc.test", names(.dns("*.rpc.test"))),
      ServerCase("any usage", changed { $0.usage = nil }),
      ServerCase("another name", names(.dns("other.test")), refusal: "hostname mismatch"),
      ServerCase("a longer name", names(.dns("rpc.test.example")), refusal: "hostname mismatch"),
      ServerCase("a name cut by NUL", names(.dns("rpc.test\0.example")), refusal: "hostname mismatch"),
      ServerCase(
        "wildcard over two labels", name: "a.b.rpc.test", names(.dns("*.rpc.test")), refusal: "hostname mismatch"),
      ServerCase("partial wildcard", name: "abc.rpc.test", names(.dns("a*.rpc.test")), refusal: "hostname mismatch"),
      ServerCase("wildcard of a top level", names(.dns("*.test")), refusal: "hostname mismatch"),
      ServerCase("common name only", names(), refusal: "hostname mismatch"),
      ServerCase(
        "an address as a DNS name", name: "127.0.0.1", names(.dns("127.0.0.1")), refusal: "IP address mismatch"),
      ServerCase("another address", name: "127.0.0.2", names(.loopback), refusal: "IP address mismatch"),
      ServerCase("expired", changed { $0.notAfterSeconds = -30 }, refusal: "certificate has expired"),
      ServerCase("not yet valid", changed { $0.notBeforeSeconds = 1_000 }, refusal: "certificate is not yet valid"),
      ServerCase("a client's", changed { $0.usage = .client }, refusal: "unsuitable certificate purpose"),
      ServerCase("of another authority", .ofAnotherAuthority, refusal: "unable to get local issuer certificate"),
      ServerCase("forged", .forged, refusal: "certificate signature failure"),
      ServerCase("self-signed", .selfSigned, refusal: "self-signed certificate"),
      ServerCase("weak", .weak, refusal: "EE certificate key too weak"),
    ]
  }

  /// A raw server, as ours would not load most of these.
  @Test(arguments: ServerCase.all) func whomAClientTrusts(_ row: ServerCase) async throws {
    let issued =
      switch row.certificate {
      case .of(let request): files.authority.issue(request)
      case .ofAnotherAuthority: CertificateAuthority("Other Authority").issue(TLSFiles.server)
      case .forged: CertificateAuthority().issue(TLSFiles.server)
      case .selfSigned: CertificateAuthority.selfSigned(TLSFiles.server)
      case .weak: files.authority.issue(TLSFiles.server, key: .rsa1024)
      }
    let server = try RawTLSServer()
    let options = RawTLSOptions(identity: files.pair("server", issued))
    let tls = try files.client(serverName: row.name)
    let client = TestClient(server.address, RPCClientConfiguration(tls: tls))
    client.connection.connect()
    let peer = await server.accept(options)
    let seen = await peer.connect()
    if let refusal = row.refusal {
      let message = await client.closed().message
      #expect(message == "TLS: \(refusal)")
      #expect(tls.statistics == RPCTLSStatistics(full: 0, resumed: 0, refused: 1, failed: 0))
    } else {
      guard case .bytes(let bytes) = seen else {
        Issue.record("the client says nothing: \(seen)")
        return
      }
      #expect(bytes.starts(with: "PRI * HTTP/2.0".utf8))
    }
  }

  @Test func theConnectionsAuthorityIsTheServersName() async throws {
    let loopback = try Loopback(tls: files.server())
    var configuration = try RPCClientConfiguration(tls: files.client(serverName: nil))
    // The address has 127.0.0.1, which the certificate is for.
    try await loopback.connect(configuration).expectEcho([1])
    configuration.authority = "rpc.test:443"
    try await loopback.connect(configuration).expectEcho([2])
    configuration.authority = "other.test:443"
    let client = TestClient(loopback.address, configuration)
    #expect(await client.refusal().message == "TLS: hostname mismatch")
  }

  @Test(arguments: ["", ".rpc.test", "rpc\0.test", "rpc test", String(repeating: "a", count: 254)])
  func aServersNameIsAName(name: String) {
    #expect(throws: RPCTLSError(reason: "the server's name is none")) { try files.client(serverName: name) }
  }

  @Test(arguments: [
    ("rpc.test", "rpc.test"), ("rpc.test:443", "rpc.test"), ("[::1]:443", "::1"), ("[::1]", "::1"), ("::1", "::1"),
    ("127.0.0.1:7443", "127.0.0.1"),
  ])
  func theHostOfAnAuthority(authority: String, host: String) throws {
    #expect(try #require(TLSServerName(authority: authority)).bytes == Array(host.utf8))
  }
}

// MARK: - Outcomes

extension TLSCallTests {
  enum Outcome: Equatable {
    case served(certificate: RPCPeerCertificate?)
    case refused(String)
  }

  /// Returns the outcome of a call to a server that reports the peer that it sees.
  private func outcome(of client: RPCClientTLS, at tls: RPCServerTLS) async throws -> Outcome {
    let loopback = try Loopback(tls: tls)
    let connection = TestClient(loopback.address, RPCClientConfiguration(tls: client))
    do {
      try await connection.connect()
    } catch let error as RPCError {
      return .refused(error.message)
    }
    _ = try await connection.call("Who")
    return await served(loopback)
  }

  private func outcome(of client: RawTLSOptions, at tls: RPCServerTLS) async throws -> Outcome {
    let loopback = try Loopback(tls: tls)
    let peer = RawTLSPeer(loopback.address, client)
    switch await peer.connect() {
    case .failed(let reason): return .refused(reason)
    case .ended: return .refused("closed")
    case .bytes: break
    }
    let call =
      Frame.request(1, "/test/Who")
    _ = await peer.perform { $0.write(Frame.preface + call) }
    return await served(loopback)
  }

  private func served(_ loopback: Loopback) async -> Outcome {
    let peer = await loopback.peers.next()
    #expect(peer.isEncrypted && peer.address.isLoopback)
    return .served(certificate: peer.certificate)
  }
}
