// Which forms are taken for the console's own.

import Testing

@testable import DispatchHTTP
@testable import TouchstoneConsole

@Suite("Origins of forms")
struct RequestOriginTests {
  private static func isOwn(
    _ fields: [(String, String)], host: String = "localhost:9090", isEncrypted: Bool = false
  ) -> Bool {
    var all = HTTPFields()
    for (name, value) in fields { all.append(name, value) }
    let head = HTTPRequestHead(method: "POST", path: "/console/action", fields: all, host: host)
    return RequestOrigin.isOwn(head, isEncrypted: isEncrypted)
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

  @Test("Over TLS a plaintext page's form is not its own; without a host nothing is")
  func schemes() {
    #expect(!Self.isOwn([("Origin", "http://localhost:9090")], isEncrypted: true))
    #expect(!Self.isOwn([("Origin", "http://")], host: ""))
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
