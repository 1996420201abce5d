import CEpoll
import COpenSSL
import Glibc
import Testing
import RPCLoopback
import TestSupport

@testable import DispatchRPC

// TLS itself: what is spoken, what is not, and what becomes of peers that do otherwise.

@Suite(.mustEnd) struct TLSProtocolTests {
  private let files = TLSFiles()

  // MARK: Versions and ciphers

  struct Offer: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var options: RawTLSOptions
    /// `nil`: agreed.
    var refusal: String?

    static func only(_ version: Int32, _ name: String, refusal: String? = nil) -> Offer {
      Offer(
        testDescription: name, options: RawTLSOptions(minVersion: version, maxVersion: version), refusal: refusal)
    }

    static func cipher(_ name: String, isAgreed: Bool) -> Offer {
      Offer(
        testDescription: name, options: RawTLSOptions(maxVersion: TLS1_2_VERSION, ciphers: name),
        refusal: isAgreed ? nil : "sslv3 alert handshake failure")
    }

    static func protocols(_ names: [String]?, isAgreed: Bool) -> Offer {
      let bytes = names.map { $0.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } }
      return Offer(
        testDescription: names.map { "ALPN \($0)" } ?? "no ALPN", options: RawTLSOptions(protocols: bytes),
        refusal: isAgreed ? nil : "tlsv1 alert no application protocol")
    }

    static let all = [
      only(TLS1_3_VERSION, "TLS 1.3"), only(TLS1_2_VERSION, "TLS 1.2"),
      only(TLS1_1_VERSION, "TLS 1.1", refusal: "tlsv1 alert protocol version"),
      only(TLS1_VERSION, "TLS 1.0", refusal: "tlsv1 alert protocol version"),
      cipher("ECDHE-RSA-AES128-GCM-SHA256", isAgreed: true), cipher("ECDHE-RSA-AES256-GCM-SHA384", isAgreed: true),
      cipher("ECDHE-RSA-CHACHA20-POLY1305", isAgreed: true),
      // No forward secrecy.
      cipher("AES128-GCM-SHA256", isAgreed: false), cipher("DHE-RSA-AES128-GCM-SHA256", isAgreed: false),
      // No authenticated encryption.
      cipher("ECDHE-RSA-AES128-SHA", isAgreed: false), cipher("ECDHE-RSA-AES128-SHA256", isAgreed: false),
      cipher("AES128-SHA", isAgreed: false),
      // No authentication.
      cipher("AECDH-AES128-SHA", isAgreed: false), cipher("ADH-AES128-GCM-SHA256", isAgreed: false),
      protocols(["h2"], isAgreed: true), protocols(["http/1.1", "h2"], isAgreed: true),
      protocols(["http/1.1"], isAgreed: false), protocols(["h2c", "h"], isAgreed: false),
      protocols(nil, isAgreed: false),
    ]
  }

  @Test(arguments: Offer.all) func whatIsAgreedOn(_ offer: Offer) async throws {
    let tls = try files.server(key: .rsa2048)
    let loopback = try Loopback(tls: tls)
    let peer = RawTLSPeer(loopback.address, offer.options)
    let outcome = await peer.connect()
    if let refusal = offer.refusal {
      #expect(outcome == .failed(refusal))
      let statistics = try await tls.statistics(after: 1)
      #expect(statistics == RPCTLSStatistics(full: 0, resumed: 0, failed: 1))
    } else {
      guard case .bytes(let bytes) = outcome else {
        Issue.record("no SETTINGS: \(outcome)")
        return
      }
      #expect(Frame.parse(bytes).first?.type == 4)
    }
  }

  /// Also in TLS 1.2, where only the extension names the protocol.
  @Test(arguments: [nil, [8] + Array("http/1.1".utf8)]) func noOtherProtocolInTLS12(protocols: [UInt8]?) async throws {
    let loopback = try Loopback(tls: files.server())
    let peer = RawTLSPeer(loopback.address, RawTLSOptions(maxVersion: TLS1_2_VERSION, protocols: protocols))
    #expect(await peer.connect() == .failed("tlsv1 alert no application protocol"))
  }

  @Test func theNewestVersionAndTheCheapestCipherArePreferred() async throws {
    let loopback = try Loopback(tls: files.server())
    let peer = RawTLSPeer(loopback.address)
    _ = await peer.connect()
    let (version, cipher) = await peer.perform { peer in
      (SSL_version(peer.ssl), String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(peer.ssl))))
    }
    #expect(version == TLS1_3_VERSION)
    #expect(cipher == "TLS_AES_128_GCM_SHA256")
  }

  @Test(
    arguments: [
      (TLS1_1_VERSION, "TLS: tlsv1 alert protocol version"), (TLS1_2_VERSION, nil), (TLS1_3_VERSION, nil),
    ] as [(Int32, String?)])
  func aClientSpeaksNothingOlder(version: Int32, expected: String?) async throws {
    let options = RawTLSOptions(
      minVersion: TLS1_VERSION, maxVersion: version, identity: files.pair("server", TLSFiles.server))
    let refused = try await refusal(by: options)
    #expect(refused == expected)
  }

  @Test func aClientSpeaksOnlyHTTP2() async throws {
    let server = files.pair("server", TLSFiles.server)
    #expect(try await refusal(by: RawTLSOptions(identity: server)) == nil)
    let refused = try await refusal(by: RawTLSOptions(protocols: nil, identity: server))
    #expect(refused == "TLS: the peer does not speak HTTP/2")
  }

  @Test func thereIsNoEarlyData() async throws {
    let loopback = try Loopback(tls: files.server())
    let peer = RawTLSPeer(loopback.address)
    _ = await peer.connect()
    let maximum = await peer.perform { peer in
      SSL_SESSION_get_max_early_data(SSL_get_session(peer.ssl))
    }
    #expect(maximum == 0)
  }

  /// Why our client refuses a server that speaks so; `nil` when it does not.
  private func refusal(by options: RawTLSOptions) async throws -> String? {
    let server = try RawTLSServer()
    let client = TestClient(server.address, RPCClientConfiguration(tls: try files.client()))
    client.connection.connect()
    let peer = await server.accept(options)
    if case .bytes = await peer.connect() { return nil }
    return await client.closed().message
  }

  // MARK: Not TLS at all

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\0\0\0\0\0\0\0\0\0\0", "\u{16}\u{3}\u{1}",
  ])
  func plaintextOnATLSPortIsCutOff(text: String) async throws {
    var configuration = RPCServerConfiguration()
    configuration.handshakeTimeout = .milliseconds(200)
    let tls = try files.server()
    let loopback = try Loopback(configuration, tls: tls)
    let answer = try #require(await RawPeer(loopback.address).exchange(Array(text.utf8)))
    // An alert at most: not one byte of HTTP/2.
    #expect(answer.count <= 7)
    try await loopback.expectAlive(RPCClientConfiguration(tls: files.client()))
  }

  @Test func aPlaintextClientIsToldSoonByATLSServer() async throws {
    let loopback = try Loopback(tls: files.server())
    let client = TestClient(loopback.address)
    #expect(await client.refusal().code == .unavailable)
  }

  @Test func aTLSClientIsToldSoonByAPlaintextServer() async throws {
    let loopback = try Loopback()
    let client = TestClient(loopback.address, RPCClientConfiguration(tls: try files.client()))
    #expect(await client.refusal().message == "TLS: wrong version number")
  }

  // MARK: Stalling and flooding

  /// The beginning of a ClientHello whose length is the longest that OpenSSL takes.
  private static let halfHello: [UInt8] = [0x16, 3, 1, 0x40, 0, 1, 2, 0, 0, 3, 3]

  @Test func aHandshakeThatStallsTimesOut() async throws {
    var configuration = RPCServerConfiguration()
    configuration.handshakeTimeout = .milliseconds(50)
    let loopback = try Loopback(configuration, tls: files.server())
    #expect(await RawPeer(loopback.address).exchange(Self.halfHello) == [])
    #expect(await RawPeer(loopback.address).exchange([]) == [])
  }

  @Test func aConnectTimesOutInTheHandshake() async throws {
    let server = try RawTLSServer()
    var configuration = RPCClientConfiguration(tls: try files.client())
    configuration.connectTimeout = .milliseconds(50)
    let client = TestClient(server.address, configuration)
    client.connection.connect()
    let silent = await server.accept(RawTLSOptions())
    #expect(await client.closed().message == "not connected in time")
    withExtendedLifetime(silent) {}
  }

  @Test func manyHalfOpenHandshakesKeepNobodyOut() async throws {
    let loopback = try Loopback(tls: files.server())
    let flood = (0..<200).map { _ in RawPeer(loopback.address) }
    for peer in flood { peer.post(Self.halfHello) }
    try await loopback.connect(RPCClientConfiguration(tls: files.client())).expectEcho([1])
    withExtendedLifetime(flood) {}
  }

  @Test func aServerThatShutsDownDoesNotWaitForHandshakes() async throws {
    let loopback = try Loopback(tls: files.server())
    let stalling = RawPeer(loopback.address)
    stalling.post(Self.halfHello)
    let done = RawTLSPeer(loopback.address)
    _ = await done.connect()
    async let end = stalling.exchange([])
    await loopback.stop(grace: .seconds(5))
    #expect(await end == [])
  }

  @Test func someKeyUpdatesAreFine() async throws {
    let loopback = try Loopback(tls: files.server())
    let peer = RawTLSPeer(loopback.address)
    _ = await peer.connect()
    let acknowledgements = await peer.perform { peer in
      _ = peer.write(Frame.preface)
      for _ in 0..<8 {
        SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED)
        _ = peer.write(Frame.settings().bytes)
      }
      var frames: [Frame] = []
      while frames.count < 9, case .bytes(let bytes) = peer.read() { frames += Frame.parse(bytes) }
      return frames.count { $0.type == 4 && $0.flags == Frame.acknowledgement }
    }
    #expect(acknowledgements == 9)
  }

  /// Each would cost us new keys, and the peer hardly a thing.
  @Test func aFloodOfKeyUpdatesIsCutOff() async throws {
    let loopback = try Loopback(tls: files.server())
    let peer = RawTLSPeer(loopback.address)
    _ = await peer.connect()
    let (outcome, sent) = await peer.perform { peer in
      var sent = 0
      // Without data in between.
      while sent < 20_000 {
        SSL_key_update(peer.ssl, SSL_KEY_UPDATE_NOT_REQUESTED)
        ERR_clear_error()
        guard SSL_do_handshake(peer.ssl) == 1 else { break }
        sent += 1
      }
      return (peer.readToEnd(), sent)
    }
    #expect(sent < 20_000)
    #expect(outcome != .failed("nothing came"))
  }

  @Test func nobodyRenegotiates() async throws {
    let loopback = try Loopback(tls: files.server())
    let peer = RawTLSPeer(loopback.address, RawTLSOptions(maxVersion: TLS1_2_VERSION))
    _ = await peer.connect()
    let outcome = await peer.perform { peer in
      SSL_renegotiate(peer.ssl)
      ERR_clear_error()
      return SSL_do_handshake(peer.ssl) == 1 ? .bytes([]) : peer.failure()
    }
    #expect(outcome == .failed("no renegotiation"))
  }

  // MARK: Pure parts

  private static func record(_ content: [UInt8], type: UInt8 = 22) -> [UInt8] {
    [type, 3, 1, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
  }

  private static func hello(saying count: Int, type: UInt8 = 1) -> [UInt8] {
    [type, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
  }

  private static let hellos: [(bytes: [UInt8], isAccepted: Bool)] = {
    let short = hello(saying: 200) + [UInt8](repeating: 7, count: 200)
    let huge = hello(saying: 131_072)
    return [
      ([], true), (Array("GET / HTTP/1.1\r\n".utf8), true),
      (record(hello(saying: 16 << 10)), true), (record(hello(saying: 16 << 10 + 1)), false), (record(huge), false),
      // Each byte in a record of its own, and records of nothing.
      (huge.flatMap { record([$0]) }, false), (record([]) + record(huge), false),
      // The second, after a request to retry.
      (record(short) + record(huge), false), (record(short + huge), false),
      (record(short) + record([1], type: 20) + record(huge), false),
      // OpenSSL passes these over.
      (record(short) + record([1, 90], type: 21) + record(huge), false),
      (record(short) + record(short, type: 23) + record(huge), false),
      // The bytes that follow are bounded elsewhere, or encrypted.
      (record(short) + record(hello(saying: 131_072, type: 11)), true), (record(short) + record(huge, type: 23), true),
    ]
  }()

  @Test(arguments: hellos)
  func howLongAClientHelloMayBe(bytes: [UInt8], isAccepted: Bool) {
    for size in [1, 3, 7, 1_000] {
      var watch = ClientHelloGuard()
      var areAllAccepted = true
      for start in stride(from: 0, to: bytes.count, by: size) where areAllAccepted {
        areAllAccepted = bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { watch.accepts($0) }
      }
      #expect(areAllAccepted == isAccepted)
    }
  }

  @Test func aClientThatSaysItsHelloIsHugeIsCutOff() async throws {
    let loopback = try Loopback(tls: files.server())
    let answer = await RawPeer(loopback.address).exchange(Self.record(Self.hello(saying: 131_072)))
    #expect(answer?.isEmpty == true)
  }

  @Test func recordsWithoutDataArePaidForWithData() {
    var budget = ControlRecordBudget()
    for _ in 0..<32 { budget.receivedControlRecord() }
    #expect(!budget.isExceeded)
    budget.received(3 << 20)
    for _ in 0..<3 { budget.receivedControlRecord() }
    #expect(!budget.isExceeded)
    budget.receivedControlRecord()
    #expect(budget.isExceeded)
  }

  @Test func handshakesTakeTurnsAndTimeEndsATurn() throws {
    final class Connection: HandshakingConnection {
      func continueHandshake() {}
    }
    let connections = (0..<3).map { _ in Connection() }
    var turns = HandshakeTurns()
    let start = MonotonicTime(nanoseconds: 1_000)
    let areFirst = connections.map { turns.add($0) }
    #expect(areFirst == [true, false, false])
    func next(after time: Duration) -> Connection? {
      turns.next(since: start, at: start.advanced(by: time)) as? Connection
    }
    #expect(next(after: .zero) === connections[0])
    #expect(next(after: .microseconds(499)) === connections[1])
    #expect(next(after: .microseconds(500)) == nil)
    #expect(!turns.isEmpty)
    #expect(next(after: .zero) === connections[2])
    #expect(next(after: .zero) == nil)
    #expect(turns.isEmpty)
    let isFirst = turns.add(connections[0])
    #expect(isFirst)
  }

  /// As many come as are served, so the queue is never empty.
  @Test func aFloodOfHandshakesThatNeverEndsIsNotKept() throws {
    final class Connection: HandshakingConnection {
      func continueHandshake() {}
    }
    var turns = HandshakeTurns()
    let start = MonotonicTime(nanoseconds: 1_000)
    weak var served: Connection?
    do {
      let connection = Connection()
      served = connection
      _ = turns.add(connection)
    }
    for _ in 0..<9 { _ = turns.add(Connection()) }
    _ = turns.next(since: start, at: start)
    #expect(served == nil)
    for _ in 0..<1_000 {
      _ = turns.add(Connection())
      let next = turns.next(since: start, at: start)
      #expect(next != nil && !turns.isEmpty)
      #expect(turns.storedCount <= 20)
    }
  }
}
