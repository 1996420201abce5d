// The bytes that are a request, and the bytes that the parser refuses.

import Testing

@testable import DispatchHTTP

@Suite("Reading requests")
struct RequestParserTests {
  private static let limits = RequestParser.Limits(headBytes: 512, headerFields: 8)

  /// The steps to the end of the bytes, each head followed by its body, as if every request were wanted.
  private static func steps(of text: String, inPiecesOf size: Int = .max) -> [String] {
    var parser = RequestParser(limits)
    var steps: [String] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      rest.prefix(size).withUnsafeBytes { parser.append($0) }
      rest = rest.dropFirst(size)
      read(&parser, into: &steps)
    }
    return steps
  }

  private static func read(_ parser: inout RequestParser, into steps: inout [String]) {
    while true {
      switch parser.next() {
      case .more: return
      case .head(let head):
        steps.append("\(head.method) \(head.path)\(head.query.map { " \($0)" } ?? "")")
        parser.takeBody(upTo: 16)
      case .tooLarge:
        steps.append("too large")
        return
      case .body(let body): steps.append("[\(String(decoding: body, as: UTF8.self))]")
      case .refuse(let status, _):
        steps.append("\(status.code)")
        return
      }
    }
  }

  private static let host = "Host: a\r\n"

  @Test("Requests one after the other, in pieces of any size", arguments: [1, 2, 3, 7, 64, Int.max])
  func several(size: Int) {
    let text =
      "\r\nGET /livez HTTP/1.1\r\n\(Self.host)\r\n"
      + "POST /form?a=%2F HTTP/1.1\r\n\(Self.host)Content-Length: 5\r\n\r\na=b&c"
      + "POST /chunks HTTP/1.1\r\n\(Self.host)Transfer-Encoding: Chunked\r\n\r\n"
      + "4\r\na=b&\r\n00A\r\n0123456789\r\n0\r\n\r\n"
      + "POST /none HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      + "HEAD HTTP://A:80?q HTTP/1.1\r\n\(Self.host)\r\n" + "OPTIONS * HTTP/1.1\r\n\(Self.host)\r\n"
    #expect(
      Self.steps(of: text, inPiecesOf: size)
        == [
          "GET /livez", "[]", "POST /form a=%2F", "[a=b&c]", "POST /chunks", "[a=b&0123456789]", "POST /none", "[]",
          "HEAD / q", "[]", "OPTIONS *", "[]",
        ])
  }

  @Test(
    "A chunk that two readers could end differently is refused, and so is a body that is too long",
    arguments: [
      ("1\n", "400"), ("\r\n", "400"), ("g\r\n", "400"), ("-1\r\n", "400"), ("+1\r\n", "400"), ("0x1\r\n", "400"),
      ("1 \r\n", "400"), (" 1\r\n", "400"), ("1;a\r\n", "400"), ("1;a=b\r\n", "400"), ("1\r\nabc\r\n", "400"),
      ("1\r\na\n\n0", "400"), ("1\r\na0\r\n\r\n", "400"), ("000000001\r\n", "400"), ("0\r\nA: b\r\n\r\n", "400"),
      ("0\r\n\n0", "400"), ("ffffffff\r\n", "too large"), ("11\r\n", "too large"),
      ("8\r\n01234567\r\n9\r\n", "too large"), ("1\r\r\n", "400"),
    ])
  func chunks(text: String, step: String) {
    let head = "POST / HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n"
    let hidden = "GET /hidden HTTP/1.1\r\n\(Self.host)\r\n"
    for size in [1, 3, Int.max] {
      #expect(
        Self.steps(of: head + text + hidden, inPiecesOf: size) == ["POST /", step],
        "\(text.debugDescription) by \(size)")
    }
  }

  @Test(
    "A host is an address, or a name that may lead anywhere",
    arguments: [
      ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1:80", "127.0.0.1", true), ("10.1:80", "10.1", true),
      ("[::1]:80", "[::1]", true), ("LocalHost:80", "localhost", true), ("localhost", "localhost", true),
      ("localhost.evil:80", "localhost.evil", false), ("127.0.0.1.evil", "127.0.0.1.evil", false),
      ("evil:127.0.0.1", nil, false), (":80", "", false), ("", "", false), ("[evil.example", nil, false),
      ("[evil.example]", nil, false), ("[::1", nil, false), ("[::1]80", nil, false), ("[::1%25eth0]", nil, false),
      ("a:99999", nil, false), ("a:", "a", false), ("a@b", nil, false),
      ("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]", true),
    ] as [(String, String?, Bool)])
  func hosts(host: String, name: String?, isAddress: Bool) {
    let head = HTTPRequestHead(method: "GET", path: "/", fields: HTTPFields(), host: host)
    #expect(head.hostName == name)
    #expect(head.hostIsAddress == isAddress)
  }

  @Test("A head's fields, its host, and whether the connection goes on")
  func fields() throws {
    var parser = RequestParser(Self.limits)
    let text = """
      GET / HTTP/1.1\r
      Host:\tlocalhost:80 \r
      Cookie: a=1\r
      cookie: b=2\r
      Accept: text/plain , \t*/* ,\r
      Connection: Keep-Alive, CLOSE\r
      Empty:\r
      \r\n
      """
    Array(text.utf8).withUnsafeBytes { parser.append($0) }
    guard case .head(let head) = parser.next() else { return try #require(Bool(false)) }
    #expect(head.host == "localhost:80")
    #expect(head.fields.values(of: "cookie") == ["a=1", "b=2"])
    #expect(head.fields.list("accept") == ["text/plain", "*/*"])
    #expect(head.fields.values(of: "empty") == [""])
    #expect(!head.keepsAlive && !head.expectsContinue && head.contentLength == 0)
  }

  @Test("The elements of a list are told by bytes, whatever characters these make together")
  func combiningCharacters() {
    var fields = HTTPFields()
    fields.append("Connection", "e\u{301},\u{301} , \t\u{301}close")
    #expect(fields.list("connection") == ["e\u{301}", "\u{301}", "\u{301}close"])
  }

  @Test(
    "What two readers could understand differently is refused, at the first wrong byte",
    arguments: [
      // Not HTTP at all: TLS, HTTP/2, noise.
      ("\u{16}\u{3}\u{1}", "400"), ("\0", "400"), ("\r\n\r\nGET", "400"), ("GET / HTTP/1.1\n", "400"),
      ("GET / HTTP/1.1\rX", "400"), ("PRI * HTTP/2.0\r\n\r\n", "505"), ("GET /\r\n\r\n", "400"),
      ("GET  / HTTP/1.1\r\n\r\n", "400"), ("GET / HTTP/1.1 \r\n\r\n", "400"), ("G(T / HTTP/1.1\r\n\r\n", "400"),
      ("GET / HTTP/1.2\r\n\r\n", "505"), ("GET / FTP/1.1\r\n\r\n", "400"), ("GET a HTTP/1.1\r\n\r\n", "400"),
      ("GET /#a HTTP/1.1\r\n\r\n", "400"), ("GET /ä HTTP/1.1\r\n\r\n", "400"),
      ("CONNECT a:1 HTTP/1.1\r\n\(host)\r\n", "400"),
      // Fields.
      ("GET / HTTP/1.1\r\n\r\n", "400"), ("GET / HTTP/1.1\r\n\(host)\(host)\r\n", "400"),
      ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400"), ("GET / HTTP/1.1\r\nHost: a\"><\r\n\r\n", "400"),
      ("GET / HTTP/1.1\r\n\(host)A : 1\r\n\r\n", "400"), ("GET / HTTP/1.1\r\n\(host)A: 1\r\n B\r\n\r\n", "400"),
      ("GET / HTTP/1.1\r\n\(host): 1\r\n\r\n", "400"), ("GET / HTTP/1.1\r\n\(host)A\r\n\r\n", "400"),
      ("GET / HTTP/1.1\r\n\(host)A: \u{7F}", "400"), ("GET / HTTP/1.1\r\n\(host)Expect: tea\r\n\r\n", "417"),
      ("GET / HTTP/1.1\r\nHost: [evil.example\r\n\r\n", "400"), ("GET / HTTP/1.1\r\nHost: [a]\r\n\r\n", "400"),
      ("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", "400"), ("GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", "400"),
      // The target names another server than the field.
      ("GET http://b/ HTTP/1.1\r\n\(host)\r\n", "400"), ("GET http://a:81/ HTTP/1.1\r\n\(host)\r\n", "400"),
      ("GET https://a:80/ HTTP/1.1\r\n\(host)\r\n", "400"), ("GET http:///x HTTP/1.1\r\n\(host)\r\n", "400"),
      ("GET http://b@a/ HTTP/1.1\r\n\(host)\r\n", "400"), ("GET http://b/ HTTP/1.1\r\nHost:\r\n\r\n", "400"),
      // Lengths.
      ("POST / HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length: +1\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length: 0x1\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length:\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length: 1, 1\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length: 99999999999999999999\r\n\r\n", "413"),
      ("POST / HTTP/1.1\r\n\(host)Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
      ("POST / HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "501"),
      ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, chunked\r\n\r\n", "501"),
      ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: \u{B}chunked\r\n\r\n", "400"),
      ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n", "501"),
      // The Kelvin sign's lower case is k.
      ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chun\u{212A}ed\r\n\r\n", "501"),
      ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding:\r\n\r\n", "501"),
      // Bounds.
      ("GET /\(String(repeating: "a", count: 512))", "414"),
      ("GET / HTTP/1.1\r\nA: \(String(repeating: "a", count: 512))", "431"),
      ("GET / HTTP/1.1\r\n\(String(repeating: "A: 1\r\n", count: 9))", "431"),
    ])
  func refused(text: String, status: String) {
    for size in [1, Int.max] {
      #expect(Self.steps(of: text, inPiecesOf: size) == [status], "\(text.debugDescription) by \(size)")
    }
  }

  @Test("Nothing follows a refusal")
  func over() {
    let refused = "GET / HTTP/1.1\r\n\r\n"
    #expect(Self.steps(of: refused + "GET / HTTP/1.1\r\n\(Self.host)\r\n") == ["400"])
  }

  @Test("HTTP/1.0 needs no host, and its connections end")
  func old() throws {
    var parser = RequestParser(Self.limits)
    Array("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".utf8).withUnsafeBytes { parser.append($0) }
    guard case .head(let head) = parser.next() else { return try #require(Bool(false)) }
    #expect(head.host == nil && !head.keepsAlive)
  }
}
