import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

// The frames that a client receives between the first GOAWAY and the end of its connection (RFC 9113 §6.8).

@Suite(.mustEnd) struct DrainStreamTests {
  private static let running: UInt32 = 1
  private static let crossing: UInt32 = 3
  private static let late: UInt32 = 5
  private static let allStreams: UInt32 = 0x7FFF_FFFF

  /// However busy the machine is, no timer comes before what the client does.
  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    configuration.drainWarningTime = .seconds(60)
    configuration.certificateGrace = .seconds(60)
    return configuration
  }

  /// Reads frames until some are enough.
  private typealias Exchange = (_ bytes: [UInt8], _ enough: @escaping @Sendable ([Frame]) -> Bool) async -> [Frame]

  @Test func aServerThatStopsRefusesNewStreamsAndLetsTheRunningOneEnd() async throws {
    let loopback = try Loopback(Self.configuration)
    let peer = RawPeer(loopback.address)
    _ = await peer.exchange(Frame.preface + Frame.request(Self.running, "/test/Hold")) { !$0.isEmpty }
    let held = await loopback.held.next()
    try await expectDrain(of: held, answersCrossing: true, by: { await peer.exchange($0, until: $1) }) {
      loopback.server.shutDown(grace: .seconds(60)) {}
    }
    #expect(await peer.exchange([]) == [])
  }

  /// Its certificate's authority is taken away: it begins no call any more, and what runs ends.
  @Test func aConnectionWhoseCertificateIsOverLetsTheRunningStreamEnd() async throws {
    #expect(RPCServerConfiguration().certificateGrace == .seconds(10))
    let files = TLSFiles()
    let tls = try files.server(clients: .required(authoritiesFile: files.authorities(named: "clients.pem")))
    let loopback = try Loopback(Self.configuration, tls: tls)
    let peer = RawTLSPeer(loopback.address, RawTLSOptions(identity: files.pair("client", TLSFiles.client)))
    guard case .bytes = await peer.connect() else { return #expect(Bool(false), "the server lets it in") }
    _ = await peer.perform { $0.write(Frame.preface + Frame.request(Self.running, "/test/Hold")) }
    let held = await loopback.held.next()
    _ = files.authorities(CertificateAuthority("Other Authority"), named: "clients.pem")
    try await expectDrain(of: held, answersCrossing: false, by: { await peer.exchange($0, until: $1) }) {
      try tls.reload()
    }
    #expect(await peer.perform { $0.readToEnd() } == .ended)
  }

  /// - Parameter answersCrossing: whether a call that crossed the warning on its way is answered, or refused.
  private func expectDrain(
    of held: RPCServerCall, answersCrossing: Bool, by exchange: Exchange, _ begin: () throws -> Void
  ) async throws {
    try begin()
    let warning = await exchange([]) { $0.contains { $0.isProbe } }
    #expect(warning.compactMap(\.lastStream) == [Self.allStreams])
    let probe = try #require(warning.first { $0.isProbe })

    let crossed = await exchange(Frame.request(Self.crossing, "/test/Echo")) { frames in
      frames.contains { $0.stream == Self.crossing && ($0.endsAnswer || $0.type == 3) }
    }
    let crossing = crossed.filter { $0.stream == Self.crossing }
    if answersCrossing {
      #expect(crossing.contains { $0.endsAnswer })
    } else {
      #expect(crossing.map(\.type) == [3] && crossing.map(\.firstWord) == [HTTP2ErrorCode.refusedStream.rawValue])
    }

    // The warning was seen: the last word names the last stream that is taken up.
    let acknowledgement = Frame(type: 6, flags: Frame.acknowledgement, payload: probe.payload).bytes
    let lastWord = await exchange(acknowledgement) { $0.contains { $0.type == 7 } }
    #expect(lastWord.compactMap(\.lastStream) == [Self.crossing])
    #expect(lastWord.allSatisfy { ($0.goawayCode ?? .noError) == .noError })

    // A call that begins later is refused, and its client may send it again elsewhere; the running one is answered.
    held.respond([7])
    let rest = await exchange(Frame.request(Self.late, "/test/Echo")) { frames in
      frames.contains { $0.endsAnswer && $0.stream == Self.running }
    }
    #expect(rest.contains { $0.type == 0 && $0.stream == Self.running && $0.payload == [0, 0, 0, 0, 1, 7] })
    #expect(rest.allSatisfy { $0.stream != Self.late || $0.firstWord == HTTP2ErrorCode.refusedStream.rawValue })
  }
}

extension Frame {
  /// A PING that requires an answer.
  fileprivate var isProbe: Bool { type == 6 && !isAcknowledgement }

  /// The last stream that the server may take up, by a GOAWAY.
  fileprivate var lastStream: UInt32? {
    type == 7 ? firstWord & 0x7FFF_FFFF : nil
  }
}

extension RawTLSPeer {
  /// Reads until `enough` returns true; returns the frames so far.
  fileprivate func exchange(_ bytes: [UInt8], until enough: @escaping @Sendable ([Frame]) -> Bool) async -> [Frame] {
    await perform { peer in
      if !bytes.isEmpty { _ = peer.write(bytes) }
      var received: [UInt8] = []
      while !enough(Frame.parse(received)), case .bytes(let piece) = peer.read() { received += piece }
      return Frame.parse(received)
    }
  }
}
