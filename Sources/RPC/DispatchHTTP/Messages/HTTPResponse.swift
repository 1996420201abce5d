internal import Encodings

/// A status and its phrase.
package struct HTTPStatus: Hashable, Sendable {
  package var code: Int
  package var phrase: String

  package init(_ code: Int, _ phrase: String) {
    self.code = code
    self.phrase = phrase
  }

  package static let ok = HTTPStatus(200, "OK")
  package static let seeOther = HTTPStatus(303, "See Other")
  package static let notModified = HTTPStatus(304, "Not Modified")
  package static let badRequest = HTTPStatus(400, "Bad Request")
  package static let forbidden = HTTPStatus(403, "Forbidden")
  package static let notFound = HTTPStatus(404, "Not Found")
  package static let methodNotAllowed = HTTPStatus(405, "Method Not Allowed")
  package static let requestTimeout = HTTPStatus(408, "Request Timeout")
  package static let conflict = HTTPStatus(409, "Conflict")
  package static let lengthRequired = HTTPStatus(411, "Length Required")
  package static let contentTooLarge = HTTPStatus(413, "Content Too Large")
  package static let targetTooLong = HTTPStatus(414, "URI Too Long")
  package static let unsupportedMediaType = HTTPStatus(415, "Unsupported Media Type")
  package static let expectationFailed = HTTPStatus(417, "Expectation Failed")
  package static let tooManyRequests = HTTPStatus(429, "Too Many Requests")
  package static let fieldsTooLarge = HTTPStatus(431, "Request Header Fields Too Large")
  package static let serverError = HTTPStatus(500, "Internal Server Error")
  package static let notImplemented = HTTPStatus(501, "Not Implemented")
  package static let unavailable = HTTPStatus(503, "Service Unavailable")
  package static let versionNotSupported = HTTPStatus(505, "HTTP Version Not Supported")

  /// RFC 9110 §6.4.1. There are no others: 1xx is not a handler's.
  var hasBody: Bool { code != 204 && code != 304 }
}

package struct HTTPResponse: Sendable {
  package var status: HTTPStatus
  /// Without those that the server writes: Date, Content-Length and Connection.
  package var fields: [(name: StaticString, value: String)]
  package var body: [UInt8]

  package init(_ status: HTTPStatus = .ok, fields: [(name: StaticString, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// A line of text for people.
  package static func text(_ status: HTTPStatus, _ text: String? = nil) -> HTTPResponse {
    HTTPResponse(
      status, fields: [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")],
      body: Array("\(text ?? "\(status.code) \(status.phrase)")\n".utf8))
  }
}

/// Puts responses into bytes.
struct ResponseWriter {
  /// 100 (Continue), after which the client sends its body.
  static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// - Parameter isHead: the request's method was HEAD: what is said of the body is said, and the body left out.
  /// - Parameter closes: the connection ends after this response.
  static func bytes(of response: HTTPResponse, isHead: Bool, closes: Bool, at time: Int64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(512 + response.body.count)
    bytes += "HTTP/1.1 \(response.status.code) \(response.status.phrase)\r\n".utf8
    append("Date", CalendarTime.http(time), to: &bytes)
    for field in response.fields { append(field.name, field.value, to: &bytes) }
    if response.status.hasBody { append("Content-Length", String(response.body.count), to: &bytes) }
    if closes { append("Connection", "close", to: &bytes) }
    bytes += "\r\n".utf8
    if !isHead, response.status.hasBody { bytes += response.body }
    return bytes
  }

  /// Control characters in a value would begin another field, or another response.
  private static func append(_ name: StaticString, _ value: String, to bytes: inout [UInt8]) {
    name.withUTF8Buffer { bytes += $0 }
    bytes += ": ".utf8
    bytes += value.utf8.lazy.filter { $0 >= 0x20 && $0 != 0x7F }
    bytes += "\r\n".utf8
  }
}

/// Whether a client has the present representation already (RFC 9110 §13.1.2).
package enum EntityTag {
  /// Returns true if `If-None-Match` names the tag, or any tag. Tags compare weakly, and none of ours has a comma.
  ///
  /// - Parameter tag: with its quotation marks.
  package static func isKnown(_ tag: String, to head: HTTPRequestHead) -> Bool {
    head.fields.list("if-none-match").contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
  }
}
