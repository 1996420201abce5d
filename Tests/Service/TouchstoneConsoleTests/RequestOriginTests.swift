// Which forms are taken for the console's own, which cookie is its session, and which requests a page makes by itself.

import DispatchRPC
import Testing

@testable import DispatchHTTP
@testable import TouchstoneConsole

@Suite("Origins of forms")
struct RequestOriginTests {
  private static func isOwn(
    _ fields: [(String, String)], host: String = "localhost:9090", isEncrypted: Bool = false, url: String? = nil
  ) -> Bool {
    var all = HTTPFields()
    for (name, value) in fields { all.append(name, value) }
    let head = HTTPRequestHead(method: "POST", path: "/console/action", fields: all, host: host)
    return RequestOrigin.isOwn(head, isEncrypted: isEncrypted, url: url.flatMap { ConsoleURL($0) })
  }

  @Test("Its own page's form is accepted, by the origin or by the browser's field for the site")
  func own() {
    #expect(Self.isOwn([("Origin", "http://localhost:9090")]))
    #expect(Self.isOwn([("Origin", "http://LOCALHOST:9090"), ("Sec-Fetch-Site", "same-origin")]))
    #expect(Self.isOwn([("Sec-Fetch-Site", "same-origin")]))
    #expect(Self.isOwn([("Origin", "https://localhost:9090")], isEncrypted: true))
    // A proxy on this machine ended TLS.
    #expect(Self.isOwn([("Origin", "https://localhost:9090")]))
  }

  @Test(
    "Others are not",
    arguments: [
      [], [("Origin", "null")], [("Origin", "http://evil:9090")], [("Origin", "http://localhost:9091")],
      [("Origin", "http://localhost:9090.evil")], [("Origin", "localhost:9090")], [("Origin", "ftp://localhost:9090")],
      [("Origin", "http://localhost:9090"), ("Origin", "http://localhost:9090")], [("Sec-Fetch-Site", "cross-site")],
      [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "none")],
      [("Origin", "http://localhost:9090"), ("Sec-Fetch-Site", "cross-site")],
      [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
    ] as [[(String, String)]])
  func others(fields: [(String, String)]) {
    #expect(!Self.isOwn(fields))
  }

  @Test("Without TLS only a name of this machine is its own: others may lead here, too")
  func rebinding() {
    for host in ["127.0.0.1:9090", "127.0.0.1", "[::1]:9090", "localhost"] {
      #expect(Self.isOwn([("Origin", "http://\(host)")], host: host))
    }
    for host in ["evil.example:9090", "localhost.evil", "127.0.0.1.evil:9090", ":9090"] {
      #expect(!Self.isOwn([("Origin", "http://\(host)"), ("Sec-Fetch-Site", "same-origin")], host: host))
      #expect(!Self.isOwn([("Sec-Fetch-Site", "same-origin")], host: host))
    }
    #expect(Self.isOwn([("Origin", "https://console.example")], host: "console.example"))
  }

  @Test(
    "A scheme's own port is the same written and left out",
    arguments: [
      ("https://console.example", "console.example:443", true),
      ("https://console.example:443", "console.example", true),
      ("https://CONSOLE.example", "console.EXAMPLE:443", true), ("http://localhost", "localhost:80", true),
      ("http://localhost:80", "localhost", true), ("https://console.example", "console.example:80", false),
      ("http://localhost", "localhost:443", false), ("https://console.example:8443", "console.example:443", false),
      ("https://evil.example", "console.example:443", false),
      ("https://console.example", "console.example.:443", false),
      ("https://console.example@evil.example", "console.example", false),
    ])
  func ports(origin: String, host: String, isOwn: Bool) {
    #expect(Self.isOwn([("Origin", origin)], host: host) == isOwn)
  }

  @Test("Behind a proxy that rewrites the host, the console's URL says which origin is its own")
  func rewritten() {
    let url = "https://ops.example/touchstone/console"
    let own = [("Origin", "https://ops.example"), ("Sec-Fetch-Site", "same-origin")]
    #expect(!Self.isOwn(own, host: "127.0.0.1:9090"))
    #expect(Self.isOwn(own, host: "127.0.0.1:9090", url: url))
    for origin in ["http://ops.example", "https://ops.example:8443", "https://evil.example", "https://ops.example/x"] {
      #expect(!Self.isOwn([("Origin", origin)], host: "127.0.0.1:9090", url: url), "\(origin)")
    }
    // Beside the proxy it is still reached by its address.
    #expect(Self.isOwn([("Origin", "http://localhost:9090")], url: url))
  }

  @Test(
    "The console's URL has a host, a path that ends with /console, and nothing that a browser changes",
    arguments: [
      ("https://ops.example/console", ""), ("https://ops.example:8443/a/b-c/console", "/a/b-c"),
      ("http://127.0.0.1:9090/console", ""), ("https://[::1]/x/console", "/x"), ("http://ops.example/console", nil),
      ("https://ops.example", nil), ("https://ops.example/console/", nil), ("https://ops.example/consoles", nil),
      ("https://ops.example//console", nil), ("https://ops.example/a/../console", nil), ("https:///console", nil),
      ("https://a@ops.example/console", nil), ("https://ops.example/a?b/console", nil), ("ops.example/console", nil),
      ("https://ops.example/ä/console", nil), ("https://ops.example/%41/console", nil), ("", nil),
      ("ftp://ops.example/console", nil), ("https://ops.example/a\"b/console", nil),
    ] as [(String, String?)])
  func urls(text: String, basePath: String?) {
    #expect(ConsoleURL(text)?.basePath == basePath)
    #expect((ConsoleURL.violation(in: text) == nil) == (basePath != nil))
  }

  @Test(
    "A link of another site is told from the operator's own navigation",
    arguments: [
      ([("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")], true),
      ([("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")], false),
      ([("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "navigate")], false),
      ([("Sec-Fetch-Site", "none")], false),
      ([], false),
    ] as [([(String, String)], Bool)])
  func links(fields: [(String, String)], isLink: Bool) throws {
    var all = HTTPFields()
    for (name, value) in fields { all.append(name, value) }
    #expect(RequestOrigin.isLinkOfOtherSite(try request("/console", fields: all).head) == isLink)
  }

  @Test("Over TLS a plaintext page's form is not its own; without a host nothing is")
  func schemes() {
    #expect(!Self.isOwn([("Origin", "http://localhost:9090")], isEncrypted: true))
    #expect(!Self.isOwn([("Origin", "http://")], host: ""))
  }

  @Test("A form shows by its origin that the browser speaks TLS, with a proxy on this machine, too")
  func tls() {
    func isBehindTLS(_ origin: String?, isEncrypted: Bool = false) -> Bool {
      var fields = HTTPFields()
      if let origin { fields.append("Origin", origin) }
      let head = HTTPRequestHead(method: "POST", path: "/console/sign-in", fields: fields, host: "console.example")
      return RequestOrigin.isBehindTLS(head, isEncrypted: isEncrypted)
    }
    #expect(isBehindTLS("https://console.example"))
    #expect(!isBehindTLS("http://localhost:9090"))
    #expect(!isBehindTLS(nil))
    #expect(isBehindTLS(nil, isEncrypted: true))
  }

  @Test(
    "A session's cookie that is bound to TLS counts, and one in plaintext beside it does not",
    arguments: [
      ("touchstone-console=a", false, "a", false), ("__Host-touchstone-console=b", false, "b", true),
      ("touchstone-console=a; __Host-touchstone-console=b", false, "b", true), ("touchstone-console=a", true, nil, nil),
      ("__Host-touchstone-console=b", true, "b", true), ("", false, nil, nil),
    ] as [(String, Bool, String?, Bool?)])
  func cookies(text: String, isEncrypted: Bool, id: String?, isSecure: Bool?) throws {
    var fields = HTTPFields()
    fields.append("Cookie", text)
    let cookie = ConsoleCookie.session(in: try request("/console", fields: fields, isEncrypted: isEncrypted))
    #expect(cookie?.id == id && cookie?.isSecure == isSecure)
  }

  @Test(
    "The page that follows events loads itself, and others are opened by the operator",
    arguments: [
      ("/console/events", "follow=yes", true), ("/console/events", "application=a&follow=yes", true),
      ("/console/events", nil, false), ("/console/events", "application=follow=yes", false),
      ("/console/profile", "follow=yes", false),
    ] as [(String, String?, Bool)])
  func following(path: String, query: String?, isByFollowingPage: Bool) throws {
    #expect(try request(path, query: query).isByFollowingPage == isByFollowingPage)
  }

  private func request(
    _ path: String, query: String? = nil, fields: HTTPFields = HTTPFields(), isEncrypted: Bool = false
  ) throws -> HTTPRequest {
    let head = HTTPRequestHead(method: "GET", path: path, query: query, fields: fields, host: "localhost")
    let client = try #require(try SocketAddress.resolve(host: "127.0.0.1", port: 1).first)
    return HTTPRequest(head: head, body: [], client: client, isEncrypted: isEncrypted)
  }

  @Test(
    "A page to return to is the console's",
    arguments: [
      ("/console", true), ("/console?a=b", true), ("/console/profile?a=%20", true), ("/consoles", false), ("/", false),
      ("//evil/console", false), ("https://evil/console", false), ("/console\\evil", false), ("/console/\r\nx", false),
      ("/console/ü", false), ("", false), ("/console?" + String(repeating: "a", count: 3_000), false),
    ])
  func pages(path: String, isPage: Bool) {
    #expect(ConsolePath.isPage(path) == isPage)
  }
}
