// Values as they are spelled on the wire: timeouts, percent-encoding, metadata, codes, addresses.

import Testing

@testable import DispatchRPC

@Suite struct GRPCTimeoutTests {
  @Test(arguments: [
    ("1n", 1), ("999u", 999_000), ("250m", 250_000_000), ("5S", 5_000_000_000), ("2M", 120_000_000_000),
    ("1H", 3_600_000_000_000), ("0m", 0), ("99999999S", 99_999_999_000_000_000), ("99999999H", UInt64.max),
  ])
  func reads(_ text: String, nanoseconds: UInt64) {
    #expect(parse(text) == nanoseconds)
  }

  @Test(arguments: ["", "S", "5", "5s", "-1S", "+1S", "1.5S", " 1S", "1S ", "123456789S", "1SS", "0x1S"])
  func refuses(_ text: String) {
    #expect(parse(text) == nil)
  }

  @Test(arguments: [
    (1, "1n"), (999_999, "999999n"), (1_000_000, "1000u"), (1_000_001, "1001u"), (9_999_987_000, "10000m"),
    (10_000_000_000, "10000m"), (100_000_000_000, "100000m"), (1_000_000_000_000, "1000S"),
    (360_000_000_000_000, "360000S"), (UInt64.max, "5124096H"),
  ])
  func writesTheFinestUnitThatIsExactEnoughRoundedUp(_ nanoseconds: UInt64, text: String) {
    var output: [UInt8] = []
    GRPCTimeout.write(nanoseconds: nanoseconds, into: &output)
    #expect(String(decoding: output, as: UTF8.self) == text)
  }

  private func parse(_ text: String) -> UInt64? {
    Array(text.utf8).withUnsafeBytes { GRPCTimeout.parse($0) }
  }
}

@Suite struct PercentEncodingTests {
  @Test(arguments: [
    ("plain text, ~", "plain text, ~"), ("100%", "100%25"), ("a\nb", "a%0Ab"), ("grüße", "gr%C3%BC%C3%9Fe"),
    ("\u{0}\u{7F}", "%00%7F"), ("", ""),
  ])
  func roundTrips(_ message: String, encoded: String) {
    var output: [UInt8] = []
    PercentEncoding.encode(message, into: &output)
    #expect(String(decoding: output, as: UTF8.self) == encoded)
    #expect(decode(encoded) == message)
  }

  @Test(arguments: [
    ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("a%2", "a%2"), ("%c3%bc", "ü"), ("%FF", "\u{FFFD}"),
  ])
  func neverFails(_ encoded: String, message: String) {
    #expect(decode(encoded) == message)
  }

  @Test(arguments: [("x", 1_024), ("ü", 1_024), ("€", 1_023), ("🙂", 1_024)])
  func cutsLongMessagesBetweenCharacters(_ character: String, keptBytes: Int) {
    let message = String(repeating: character, count: 2_000)
    var output: [UInt8] = []
    PercentEncoding.encode(message, into: &output)
    let kept = decode(String(decoding: output, as: UTF8.self))
    #expect(kept.utf8.count == keptBytes)
    #expect(message.hasPrefix(kept))
  }

  private func decode(_ text: String) -> String {
    Array(text.utf8).withUnsafeBytes { PercentEncoding.decode($0) }
  }
}

@Suite struct MetadataTests {
  @Test func keepsOrderAndDuplicates() {
    var metadata: Metadata = [("b", "1"), ("a", "2"), ("b", "3")]
    metadata.append("X-Mixed-Case", "4")
    #expect(metadata.entries.map(\.name) == ["b", "a", "b", "x-mixed-case"])
    #expect(metadata.all("b") == [.text("1"), .text("3")])
    #expect(metadata.first("b") == "1")
  }

  @Test(arguments: [
    ("", "x"), (":path", "x"), ("sp ace", "x"), ("ümlaut", "x"), ("content-type", "x"), ("te", "trailers"),
    ("grpc-status", "0"), ("grpc-timeout", "1S"), ("Connection", "close"), ("a", "line\nbreak"), ("a", " x"),
    ("a", "x "), ("a", "é"), ("a-bin", "text"),
  ])
  func refusesText(_ name: String, _ value: String) {
    var metadata = Metadata()
    let isAdded = metadata.append(name, value)
    #expect(!isAdded)
    #expect(metadata.isEmpty)
  }

  @Test func bytesNeedABinaryName() {
    var metadata = Metadata()
    metadata.append("a", binary: [1])
    metadata.append("grpc-status-details-bin", binary: [0, 255])
    #expect(metadata.entries.count == 1)
    #expect(metadata.firstBinary("grpc-status-details-bin") == [0, 255])
  }

  @Test func receivedBinaryValuesMayBeJoinedAndPadded() {
    #expect(received("k-bin", "AQI=,AQI,!!,,AA").all("k-bin") == [[1, 2], [1, 2], [], [0]].map { .binary($0) })
  }

  /// Even if it could not be sent so.
  @Test(arguments: [
    ("Bearer\tkey", "Bearer?key"), (" \tkey \t", "key"), ("two  spaces", "two  spaces"), ("é", "??"),
    ("a\r\nb\0", "a??b?"),
    ("", ""), (" \t", ""),
  ])
  func aReceivedTextIsNeverAbsent(_ value: String, _ text: String) {
    let metadata = received("k", value)
    #expect(metadata.all("k") == [.text(text)])
    var copy = Metadata()
    copy.append("k", text)
    #expect(copy == metadata)
  }

  @Test(arguments: ["grpc-status", ":path", "UPPER", "te"])
  func receivedNamesThatAreNotTheApplicationsAreDropped(_ name: String) {
    #expect(received(name, "x").isEmpty)
  }

  private func received(_ name: String, _ value: String) -> Metadata {
    var metadata = Metadata()
    Array(value.utf8).withUnsafeBytes { metadata.appendReceived(name: name, value: $0) }
    return metadata
  }
}

@Suite struct RPCCodeTests {
  @Test(arguments: [
    (400, RPCCode.internalError), (401, .unauthenticated), (403, .permissionDenied), (404, .unimplemented),
    (429, .unavailable), (502, .unavailable), (503, .unavailable), (504, .unavailable), (500, .unknown),
    (200, .unknown),
  ])
  func fromHTTPStatus(_ status: Int, code: RPCCode) {
    #expect(RPCCode(httpStatus: status) == code)
  }

  @Test(arguments: [
    (HTTP2ErrorCode.noError, RPCCode.internalError), (.protocolError, .internalError), (.streamClosed, .unknown),
    (.refusedStream, .unavailable), (.cancel, .cancelled), (.enhanceYourCalm, .resourceExhausted),
    (.inadequateSecurity, .permissionDenied), (HTTP2ErrorCode(rawValue: 99), .unknown),
  ])
  func fromReset(_ reset: HTTP2ErrorCode, code: RPCCode) {
    #expect(RPCCode(resetWith: reset) == code)
  }

  @Test(arguments: [("0", RPCCode.ok), ("16", .unauthenticated), ("", .unknown), ("x", .unknown), ("300", .unknown)])
  func fromHeader(_ text: String, code: RPCCode) {
    #expect(Array(text.utf8).withUnsafeBytes { RPCCode(headerValue: $0) } == code)
  }

  @Test func printsItsName() {
    #expect("\(RPCError(code: .deadlineExceeded, message: "late"))" == "DEADLINE_EXCEEDED: late")
  }
}

@Suite struct SocketAddressTests {
  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1:80", true), ("10.1.2.3", "10.1.2.3:80", false), ("::1", "[::1]:80", true),
    ("2001:db8::1", "[2001:db8::1]:80", false), ("::ffff:127.0.0.9", "[::ffff:127.0.0.9]:80", true),
  ])
  func resolvesNumbers(_ host: String, text: String, isLoopback: Bool) throws {
    let address = try #require(try SocketAddress.resolve(host: host, port: 80).first)
    #expect(address.description == text)
    #expect(address.port == 80)
    #expect(address.isLoopback == isLoopback)
  }

  @Test func saysWhatDidNotResolve() {
    #expect(throws: SocketAddressError.self) { try SocketAddress.resolve(host: "no such host", port: 1) }
  }
}

@Suite struct MonotonicTimeTests {
  @Test func saturatesAtBothEnds() {
    #expect(MonotonicTime(nanoseconds: 5).advanced(by: .nanoseconds(-9)) == MonotonicTime(nanoseconds: 0))
    #expect(
      MonotonicTime(nanoseconds: 5).advanced(by: .seconds(Int64.max)).advanced(by: .seconds(Int64.max))
        == .distantFuture)
    #expect(MonotonicTime(nanoseconds: 5).advanced(by: .nanoseconds(7)) == MonotonicTime(nanoseconds: 12))
  }

  @Test func measuresBothWays() {
    let (early, late) = (MonotonicTime(nanoseconds: 5), MonotonicTime(nanoseconds: 25))
    #expect(early.duration(to: late) == .nanoseconds(20))
    #expect(late.duration(to: early) == .nanoseconds(-20))
    #expect(late - early == .nanoseconds(20))
  }

  @Test func aDistanceOfCenturiesSaturates() {
    let early = MonotonicTime(nanoseconds: 5)
    #expect(early.duration(to: .distantFuture) == .nanoseconds(Int64.max))
    #expect(MonotonicTime.distantFuture.duration(to: early) == .nanoseconds(-Int64.max))
  }
}
