// Where an issuer says that its documents are.

import Testing

@testable import TouchstoneServer

@Suite("Routes of HTTP")
struct HTTPRoutesTests {
  @Test(
    "The base of an issuer's documents",
    arguments: [
      ("touchstone", nil), ("https://a.example", "https://a.example"), ("https://a.example/", "https://a.example"),
      ("http://a.example:80/b", "http://a.example:80/b"), ("https://a.example?b", nil), ("https://a.example#b", nil),
      ("ftp://a.example", nil), ("HTTPS://a.example", nil),
    ] as [(String, String?)])
  func base(issuer: String, base: String?) {
    #expect(HTTPRoutes.base(ofIssuer: issuer) == base)
  }
}
