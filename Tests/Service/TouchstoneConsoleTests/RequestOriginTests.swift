// Which forms are taken for the console's own.

import Testing

@testable import DispatchHTTP
@testable import TouchstoneConsole

@Suite("Origins of forms")
struct RequestOriginTests {
  private static func isOwn(_ fields: [(String, String)], host: String = "h:9090", isEncrypted: Bool = false) -> Bool {
    var all = HTTPFields()
    for (name, value) in fields { all.append(name, value) }
    let head = HTTPRequestHead(method: "POST", path: "/console/action", fields: all, host: host)
    return RequestOrigin.isOwn(head, isEncrypted: isEncrypted)
  }

  @Test("Its own page's form is accepted, by the origin or by what the browser says of the site")
  func own() {
    #expect(Self.isOwn([("Origin", "http://h:9090")]))
    #expect(Self.isOwn([("Origin", "http://H:9090"), ("Sec-Fetch-Site", "same-origin")]))
    #expect(Self.isOwn([("Sec-Fetch-Site", "same-origin")]))
    #expect(Self.isOwn([("Origin", "https://h:9090")], isEncrypted: true))
    // A proxy on this machine ended TLS.
    #expect(Self.isOwn([("Origin", "https://h:9090")]))
  }

  @Test(
    "Others are not",
    arguments: [
      [], [("Origin", "null")], [("Origin", "http://evil:9090")], [("Origin", "http://h:9091")],
      [("Origin", "http://h:9090.evil")], [("Origin", "h:9090")], [("Origin", "ftp://h:9090")],
      [("Origin", "http://h:9090"), ("Origin", "http://h:9090")], [("Sec-Fetch-Site", "cross-site")],
      [("Sec-Fetch-Site", "same-site")], [("Sec-Fetch-Site", "none")],
      [("Origin", "http://h:9090"), ("Sec-Fetch-Site", "cross-site")],
      [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
    ] as [[(String, String)]])
  func others(fields: [(String, String)]) {
    #expect(!Self.isOwn(fields))
  }

  @Test("Over TLS a plaintext page's form is not its own; without a host nothing is")
  func schemes() {
    #expect(!Self.isOwn([("Origin", "http://h:9090")], isEncrypted: true))
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
