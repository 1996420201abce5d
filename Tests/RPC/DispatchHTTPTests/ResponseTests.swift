// How responses, times and tags are written and read.

import Testing

@testable import DispatchHTTP

@Suite("Responses")
struct ResponseTests {
  private static func text(_ response: HTTPResponse, isHead: Bool = false, closes: Bool = false) -> String {
    String(
      decoding: ResponseWriter.bytes(of: response, isHead: isHead, closes: closes, at: 784_111_777), as: UTF8.self)
  }

  private static let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

  @Test("A body is counted in bytes; HEAD counts it and leaves it out; 304 has none")
  func bodies() {
    let response = HTTPResponse(.ok, fields: [("ETag", "\"x\"")], body: Array("ä\n".utf8))
    let head = "HTTP/1.1 200 OK\r\n\(Self.date)ETag: \"x\"\r\nContent-Length: 3\r\n"
    #expect(Self.text(response) == "\(head)\r\nä\n")
    #expect(Self.text(response, isHead: true, closes: true) == "\(head)Connection: close\r\n\r\n")
    #expect(Self.text(HTTPResponse(.notModified, body: [1])) == "HTTP/1.1 304 Not Modified\r\n\(Self.date)\r\n")
  }

  @Test("A value begins no other field")
  func injection() {
    let response = HTTPResponse(.notFound, fields: [("Location", "/a\r\nSet-Cookie: b\u{0}\u{7F}")])
    #expect(
      Self.text(response)
        == "HTTP/1.1 404 Not Found\r\n\(Self.date)Location: /aSet-Cookie: b\r\nContent-Length: 0\r\n\r\n")
  }

  @Test(
    "A tag is known by itself, as a weak one, in a list, or as any",
    arguments: [
      ("\"a\"", true), ("W/\"a\"", true), ("\"b\", \"a\"", true), ("*", true), ("\"b\"", false), ("a", false),
      ("", false),
    ])
  func tags(field: String, isKnown: Bool) throws {
    var fields = HTTPFields()
    fields.append("If-None-Match", field)
    let head = HTTPRequestHead(method: "GET", path: "/", query: nil, fields: fields)
    #expect(EntityTag.isKnown("\"a\"", to: head) == isKnown)
    #expect(
      !EntityTag.isKnown("\"a\"", to: HTTPRequestHead(method: "GET", path: "/", query: nil, fields: HTTPFields())))
  }

  @Test("A path that is unknown, a method that is, and what is allowed then")
  func routes() {
    var router = HTTPRouter()
    router.get("/a") { _ in .text(.ok) }
    router.add("POST", "/a", maximumBodyBytes: 9) { _, exchange in exchange.answer(.text(.ok)) }
    func match(_ method: String, _ path: String) -> String {
      switch router.match(method: method, path: path) {
      case .route(let route): "route \(route.maximumBodyBytes)"
      case .notFound: "not found"
      case .notAllowed(let methods): methods.joined(separator: ", ")
      }
    }
    #expect(match("GET", "/a") == "route 0" && match("HEAD", "/a") == "route 0" && match("POST", "/a") == "route 9")
    #expect(match("DELETE", "/a") == "GET, HEAD, POST" && match("get", "/a") == "GET, HEAD, POST")
    #expect(
      match("GET", "/") == "not found" && match("GET", "/a/") == "not found" && match("GET", "/%61") == "not found")
    router.addFallback(under: "/a/") { _, exchange in exchange.answer(.text(.notFound)) }
    #expect(
      match("GET", "/a/b") == "route 0" && match("HEAD", "/a/") == "route 0" && match("POST", "/a/b") == "not found")
    #expect(match("GET", "/ab") == "not found" && match("POST", "/a") == "route 9")
  }
}
