// Which headers make a gRPC call, and what is said to the others.

import Testing

@testable import DispatchRPC

@Suite struct RequestHeadTests {
  private static let good = [
    (":method", "POST"), (":scheme", "http"), (":path", "/test.Echo/Echo"), ("te", "trailers"),
    ("content-type", "application/grpc"),
  ]

  @Test(arguments: ["application/grpc", "application/grpc+proto", "application/grpc;charset=x"])
  func isACall(_ contentType: String) {
    let head = head(Self.good, changing: "content-type", to: contentType)
    #expect(head.refusal() == nil)
    #expect(head.route == 0)
  }

  @Test(
    arguments: [
      ("content-type", "application/grpc-web", .http(.unsupportedMediaType)),
      ("content-type", "application/json", .http(.unsupportedMediaType)),
      ("content-type", nil, .http(.unsupportedMediaType)),
      (":method", "GET", .http(.methodNotAllowed)),
      (":method", "PUT", .http(.methodNotAllowed)),
      ("te", nil, .status(.internalError, .noTrailers)),
      ("grpc-timeout", "soon", .status(.internalError, .malformedTimeout)),
      (":path", "/test.Echo/Nope", .status(.unimplemented, .unknownMethod)),
      (":path", "", .status(.unimplemented, .unknownMethod)),
      ("large", String(repeating: "x", count: 900), .status(.resourceExhausted, .headersTooLarge)),
    ] as [(String, String?, RequestHead.Refusal)])
  func isRefused(_ name: String, _ value: String?, refusal: RequestHead.Refusal) {
    #expect(head(Self.good, changing: name, to: value).refusal() == refusal)
  }

  @Test func keepsTheApplicationsMetadataOnly() {
    let own = [("user-agent", "x"), ("grpc-timeout", "1S"), ("authorization", "Bearer t"), ("trace-bin", "AQI")]
    let head = head(Self.good + own)
    #expect(head.timeout == 1_000_000_000)
    #expect(head.metadata.decoded().entries.map(\.name) == ["authorization", "trace-bin"])
    #expect(head.metadata.decoded().firstBinary("trace-bin") == [1, 2])
  }

  @Test(
    arguments: [
      ([], .identity, nil), (["identity"], .identity, nil), (["gzip"], .gzip, nil),
      (["deflate"], nil, .unknownEncoding), (["GZIP"], nil, .unknownEncoding), ([""], nil, .unknownEncoding),
      (["gzip,gzip"], nil, .unknownEncoding),
      (["gzip", "gzip"], .gzip, .status(.internalError, .severalEncodings)),
      (["snappy", "identity"], .identity, .status(.internalError, .severalEncodings)),
    ] as [([String], MessageEncoding?, RequestHead.Refusal?)])
  func readsTheEncoding(_ values: [String], encoding: MessageEncoding?, refusal: RequestHead.Refusal?) {
    let head = head(Self.good + values.map { ("grpc-encoding", $0) })
    #expect(head.encoding == encoding)
    #expect(head.refusal() == refusal)
    #expect(head.namesEncodings == !values.isEmpty)
  }

  @Test(arguments: [[], [""], ["identity"], ["gzip"], ["identity", "gzip"]])
  func notesThatTheClientNamesEncodings(_ values: [String]) {
    let head = head(Self.good + values.map { ("grpc-accept-encoding", $0) })
    #expect(head.namesEncodings == !values.isEmpty)
    #expect(head.metadata.byteCount == 0)
  }

  @Test func routesByTheWholePath() {
    var router = RPCRouter()
    let paths = (0..<200).map { "/a.very.long.package.Service\($0 / 20)/Method\($0 % 20)" }
    for path in paths { router.register(path) { _, _ in } }
    let table = RouteTable(router)
    for (index, path) in paths.enumerated() {
      #expect(Array(path.utf8).withUnsafeBytes { table.find($0) } == index)
      #expect(Array((path + "x").utf8).withUnsafeBytes { table.find($0) } == nil)
    }
  }

  private func head(
    _ fields: [(String, String)], changing name: String? = nil, to value: String? = nil
  ) -> RequestHead {
    var router = RPCRouter()
    router.register("/test.Echo/Echo") { _, _ in }
    let routes = RouteTable(router)
    var all = fields.filter { $0.0 != name }
    if let name, let value { all.append((name, value)) }
    var head = RequestHead()
    for (name, value) in all {
      Array(name.utf8).withUnsafeBytes { name in
        Array(value.utf8).withUnsafeBytes { head.add(name, $0, limit: 1_000) { routes.find($0) } }
      }
    }
    return head
  }
}

@Suite struct ResponseHeadTests {
  private let head = [(":status", "200"), ("content-type", "application/grpc")]

  @Test func headThenTrailers() throws {
    let response = response([head + [("a", "1")], [("grpc-status", "0"), ("b", "2")]])
    #expect(response.initialMetadata.decoded() == [("a", "1")])
    #expect(try response.outcome().get() == [("b", "2")])
  }

  @Test func trailersOnly() {
    let response = response([head + [("grpc-status", "5"), ("grpc-message", "not%20here"), ("b", "2")]])
    #expect(response.outcome() == .failure(RPCError(code: .notFound, message: "not here", metadata: [("b", "2")])))
  }

  @Test func informationalHeadersLeaveNoTrace() throws {
    let response = response([[(":status", "103"), ("link", "x")], head, [("grpc-status", "0")]])
    #expect(response.initialMetadata.decoded().isEmpty)
    #expect(try response.outcome().get().isEmpty)
  }

  @Test(
    arguments: [
      ([[(":status", "503")]], RPCCode.unavailable),
      ([[(":status", "404"), ("content-type", "text/html")]], .unimplemented),
      ([[(":status", "200"), ("content-type", "text/html")]], .unknown),
      ([[(":status", "200"), ("content-type", "application/grpc")], [("x", "y")]], .unknown),
      ([[(":status", "200"), ("content-type", "application/grpc")], [("grpc-status", "banana")]], .unknown),
      ([], .internalError),
    ] as [([[(String, String)]], RPCCode)])
  func withoutAProperStatus(_ blocks: [[(String, String)]], code: RPCCode) {
    guard case .failure(let error) = response(blocks).outcome() else {
      Issue.record("no response without grpc-status is a success")
      return
    }
    #expect(error.code == code)
  }

  private func response(_ blocks: [[(String, String)]]) -> ResponseHead {
    var response = ResponseHead()
    for block in blocks {
      response.blockBegins()
      for (name, value) in block {
        Array(name.utf8).withUnsafeBytes { name in
          Array(value.utf8).withUnsafeBytes { response.add(name, $0, limit: 1_000) }
        }
      }
    }
    return response
  }
}
