// What a called server may answer, and where a call may go.

import DispatchRPC
import Testing

@testable import DispatchHTTP

@Suite("Answers of called servers")
struct ResponseParserTests {
  private func parse(_ text: String, inPiecesOf count: Int = .max) throws(ResponseParser.Malformed) -> HTTPAnswer? {
    var parser = ResponseParser()
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let piece = rest.prefix(count)
      rest = rest.dropFirst(piece.count)
      if let answer = try parser.take(piece) { return answer }
    }
    return nil
  }

  @Test("An answer is read in pieces of any size", arguments: [1, 2, 7, .max])
  func pieces(_ count: Int) throws {
    let plain = try #require(
      try parse("HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello", inPiecesOf: count))
    #expect(plain.status == 200 && plain.body == Array("hello".utf8))
    #expect(plain.fields.values(of: "content-type") == ["a/b"])
    let chunked = try #require(
      try parse(
        "HTTP/1.1 404 \r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", inPiecesOf: count))
    #expect(chunked.status == 404 && chunked.body == Array("hello".utf8))
  }

  @Test("An answer that is not whole is none")
  func cutOff() throws {
    #expect(try parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell") == nil)
    #expect(try parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n") == nil)
  }

  @Test(
    "What two readers could understand differently is refused",
    arguments: [
      "HTTP/1.0 200 OK\r\nContent-Length: 0", "HTTP/2 200\r\nContent-Length: 0", "HTTP/1.1 100 Continue\r\nA: b",
      "HTTP/1.1 999 \r\nContent-Length: 0", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nContent-Length: +1",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1", "HTTP/1.1 200 OK\r\nContent-Length: 999999999",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Encoding: gzip", "HTTP/1.1 200 OK\r\nA\r\nContent-Length: 0",
      "HTTP/1.1 200 OK\r\nContent-Length : 0", "HTTP/1.1 200 OK\r\n Content-Length: 0",
      "HTTP/1.1 200 OK\r\nA: b\nContent-Length: 0", "HTTP/1.1 200 OK\r\nA: \u{0}\r\nContent-Length: 0",
      "GET / HTTP/1.1",
    ])
  func strictness(_ head: String) {
    #expect(throws: ResponseParser.Malformed.self) { try parse(head + "\r\n\r\n") }
  }

  @Test("No answer takes more memory than its bounds")
  func bounds() {
    let long = String(repeating: "a", count: ResponseParser.maximumHeadBytes)
    #expect(throws: ResponseParser.Malformed.self) { try parse("HTTP/1.1 200 OK\r\nA: \(long)") }
    let chunk = "10000\r\n\(String(repeating: "a", count: 65_536))\r\n"
    let chunks = String(repeating: chunk, count: 5)
    #expect(throws: ResponseParser.Malformed("the answer is too large")) {
      try parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)", inPiecesOf: 16_384)
    }
  }
}

@Suite("Where calls go")
struct CalledServerTests {
  @Test(
    "A URL is https, with a host, and without a user or a fragment",
    arguments: [
      ("https://sso.example", "sso.example", 443, "/"), ("https://sso.example:8443/a?b", "sso.example", 8_443, "/a?b"),
      ("https://[::1]:1/", "[::1]", 1, "/"), ("https://sso.example?b", "sso.example", 443, "/?b"),
    ] as [(String, String, UInt16, String)])
  func urls(_ text: String, host: String, port: UInt16, target: String) throws {
    let url = try #require(HTTPSURL(text))
    #expect((url.host, url.port, url.target) == (host, port, target))
  }

  @Test(
    "Anything else is none",
    arguments: [
      "", "http://sso.example", "HTTPS://sso.example", "https://", "https:///a", "https://a@sso.example", "https://a b",
      "https://sso.example#a", "https://sso.example:99999", "https://sso.example/\r\nHost: evil", "file:///etc/passwd",
    ])
  func noURLs(_ text: String) {
    #expect(HTTPSURL(text) == nil)
  }

  @Test(
    "A server on the Internet is global, and what is on this machine or in a private network is not",
    arguments: [
      ("8.8.8.8", true), ("172.15.255.255", true), ("172.32.0.0", true), ("2606:4700::1111", true),
      ("127.0.0.1", false),
      ("10.1.2.3", false), ("172.16.0.0", false), ("172.31.255.255", false), ("192.168.1.1", false),
      ("169.254.169.254", false), ("100.64.0.1", false), ("0.0.0.0", false), ("224.0.0.1", false),
      ("255.255.255.255", false), ("::1", false), ("::", false), ("fe80::1", false), ("fd00::1", false),
      ("::ffff:127.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::7f00:1", false), ("2002:7f00:1::", false),
      ("2001:db8::1", false), ("ff02::1", false),
    ])
  func global(_ host: String, expected: Bool) throws {
    let address = try #require(try SocketAddress.resolve(host: host, port: 443).first)
    #expect(address.isGlobal == expected)
  }

  @Test("A block has the addresses that begin with its bits")
  func blocks() throws {
    func contains(_ block: String, _ host: String) throws -> Bool {
      let address = try #require(try SocketAddress.resolve(host: host, port: 443).first)
      return try #require(AddressBlock(block)).contains(address)
    }
    #expect(try contains("10.32.0.0/11", "10.63.255.255"))
    #expect(try !contains("10.32.0.0/11", "10.64.0.0"))
    #expect(try contains("127.0.0.1", "127.0.0.1"))
    #expect(try !contains("127.0.0.1", "127.0.0.2"))
    #expect(try contains("::/0", "fd00::1"))
    #expect(try !contains("::/0", "10.0.0.1"))
    for text in ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0/8", "example.org", "10.0.0.0/8/8"] {
      #expect(AddressBlock(text) == nil, "\(text)")
    }
  }
}
