// Connect's unary calls: what their fields say, and how errors are answered.

import DispatchRPC
import Testing

@testable import DispatchHTTP

@Suite("A call by Connect's protocol")
struct ConnectCallHeadTests {
  private static func head(_ fields: [(String, String)]) -> HTTPRequestHead {
    var all = HTTPFields()
    for (name, value) in fields { all.append(name, value) }
    return HTTPRequestHead(method: "POST", path: "/a.B/C", fields: all)
  }

  private static func refusal(_ fields: [(String, String)]) -> HTTPResponse? {
    do {
      _ = try ConnectCallHead(head(fields))
      return nil
    } catch {
      return error.response
    }
  }

  private static let json = ("Content-Type", "application/json")

  @Test(
    "The message is JSON or protobuf, by exactly these types",
    arguments: [
      ("application/json", .json), ("Application/JSON", .json), ("application/json; charset=utf-8", .json),
      ("application/json;charset=\"UTF-8\"", .json), ("application/proto", .proto),
      ("application/json; charset=latin1", nil), ("application/jsonp", nil), ("application/json;", nil),
      ("application/json, text/plain", nil), ("text/plain", nil),
      ("application/x-www-form-urlencoded", nil), ("multipart/form-data", nil), ("", nil), ("application/grpc", nil),
      ("application/connect+json", nil), ("text/plain; application/json", nil),
      ("application/json; boundary=a", nil),
    ] as [(String, ConnectCallHead.MessageForm?)])
  func contentTypes(type: String, form: ConnectCallHead.MessageForm?) throws {
    let fields = [("Content-Type", type)]
    #expect((try? ConnectCallHead(Self.head(fields)))?.form == form)
    if form == nil {
      let refusal = try #require(Self.refusal(fields))
      #expect(refusal.status.code == 415)
      let accepted = refusal.fields.first { "\($0.name)" == "Accept-Post" }
      #expect(accepted?.value == "application/json, application/proto")
    }
  }

  @Test("A call without a type, or with two, is refused")
  func severalTypes() {
    #expect(Self.refusal([])?.status.code == 415)
    #expect(Self.refusal([Self.json, Self.json])?.status.code == 415)
  }

  @Test("The client's time is a whole number of milliseconds")
  func timeouts() throws {
    #expect(try ConnectCallHead(Self.head([Self.json])).timeout == nil)
    for (text, timeout) in [("1", 1), ("0500", 500), ("9999999999", 9_999_999_999)] as [(String, Int)] {
      let head = try ConnectCallHead(Self.head([Self.json, ("Connect-Timeout-Ms", text)]))
      #expect(head.timeout == .milliseconds(timeout))
    }
    for text in ["", "-1", "+1", "1.5", "1s", "10000000000", "９"] {
      let body = Self.refusal([Self.json, ("Connect-Timeout-Ms", text)])?.body ?? []
      #expect(String(decoding: body, as: UTF8.self).contains(#""code":"invalid_argument""#), "\(text)")
    }
    let twice = [Self.json, ("Connect-Timeout-Ms", "1"), ("Connect-Timeout-Ms", "2")]
    #expect(Self.refusal(twice)?.status.code == 400)
    #expect(Self.refusal([Self.json, ("Connect-Timeout-Ms", "0")])?.status.code == 504)
  }

  @Test("Another version and compression are refused")
  func versions() {
    #expect(Self.refusal([Self.json, ("Connect-Protocol-Version", "1")]) == nil)
    #expect(Self.refusal([Self.json, ("Connect-Protocol-Version", "2")])?.status.code == 400)
    #expect(Self.refusal([Self.json, ("Content-Encoding", "identity")]) == nil)
    for (encoding, isCompressed) in [("gzip", true), ("GZIP", true), ("identity", false)] {
      let head = try? ConnectCallHead(Self.head([Self.json, ("Content-Encoding", encoding)]))
      #expect(head?.isCompressed == isCompressed)
    }
    for encodings in [
      ["br"], ["gzip, gzip"], ["gzip", "gzip"], ["identity", "gzip"], ["identity", "identity"], ["deflate"], [""],
    ] {
      let fields = encodings.map { ("Content-Encoding", $0) }
      #expect(Self.refusal([Self.json] + fields)?.status.code == 501, "\(encodings)")
    }
  }
}

@Suite("An error by Connect's protocol")
struct ConnectErrorTests {
  @Test(
    "Each code has its name and its status",
    arguments: [
      (1, "canceled", 499), (2, "unknown", 500), (3, "invalid_argument", 400), (4, "deadline_exceeded", 504),
      (5, "not_found", 404), (6, "already_exists", 409), (7, "permission_denied", 403), (8, "resource_exhausted", 429),
      (9, "failed_precondition", 400), (10, "aborted", 409), (11, "out_of_range", 400), (12, "unimplemented", 501),
      (13, "internal", 500), (14, "unavailable", 503), (15, "data_loss", 500), (16, "unauthenticated", 401),
      (77, "unknown", 500),
    ] as [(UInt8, String, Int)])
  func codes(code: UInt8, name: String, status: Int) {
    let response = ConnectError(code: RPCCode(rawValue: code), message: "a \"b\"\n").response
    #expect(response.status.code == status)
    #expect(String(decoding: response.body, as: UTF8.self) == #"{"code":"\#(name)","message":"a \"b\"\n"}"#)
    #expect(response.fields.contains { "\($0.name)" == "WWW-Authenticate" } == (code == 16))
  }

  @Test("Details have a type, their bytes without padding, and JSON for people")
  func details() {
    let details = [
      ConnectError.Detail(type: "a.B", value: [1], debug: #"{"c":1}"#), .init(type: "d.E", value: [], debug: nil),
    ]
    let response = ConnectError(code: .aborted, message: "", details: details).response
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"code":"aborted","message":"","details":[{"type":"a.B","value":"AQ","debug":{"c":1}},"#
        + #"{"type":"d.E","value":""}]}"#)
  }
}
