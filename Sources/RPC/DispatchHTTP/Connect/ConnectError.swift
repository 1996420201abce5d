package import DispatchRPC
internal import Encodings

/// An error as Connect's unary calls answer it: a status of HTTP, and JSON that has the code of gRPC. Pure.
package struct ConnectError: Sendable {
  package struct Detail: Sendable {
    /// A message's full name.
    package var type: String
    package var value: [UInt8]
    /// The message as JSON, for people.
    package var debug: String?

    package init(type: String, value: [UInt8], debug: String?) {
      (self.type, self.value, self.debug) = (type, value, debug)
    }
  }

  package var code: RPCCode
  package var message: String
  package var details: [Detail]

  package init(code: RPCCode, message: String, details: [Detail] = []) {
    (self.code, self.message, self.details) = (code, message, details)
  }

  package var response: HTTPResponse {
    let (name, status) = Self.names[code] ?? Self.unknown
    var response = HTTPResponse(
      status, fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: body(name))
    // RFC 9110 §11.6.1.
    if code == .unauthenticated { response.fields.append(("WWW-Authenticate", "Bearer")) }
    return response
  }

  private func body(_ name: String) -> [UInt8] {
    var text = #"{"code":"\#(name)","message":\#(JSONText.quoted(message))"#
    if !details.isEmpty { text += #","details":[\#(details.map(\.json).joined(separator: ","))]"# }
    return Array((text + "}").utf8)
  }

  private static let unknown = ("unknown", HTTPStatus.serverError)

  /// connectrpc.com/docs/protocol, "Error codes".
  private static let names: [RPCCode: (String, HTTPStatus)] = [
    .cancelled: ("canceled", HTTPStatus(499, "Client Closed Request")),
    .unknown: unknown,
    .invalidArgument: ("invalid_argument", .badRequest),
    .deadlineExceeded: ("deadline_exceeded", HTTPStatus(504, "Gateway Timeout")),
    .notFound: ("not_found", .notFound),
    .alreadyExists: ("already_exists", .conflict),
    .permissionDenied: ("permission_denied", .forbidden),
    .resourceExhausted: ("resource_exhausted", .tooManyRequests),
    .failedPrecondition: ("failed_precondition", .badRequest),
    .aborted: ("aborted", .conflict),
    .outOfRange: ("out_of_range", .badRequest),
    .unimplemented: ("unimplemented", .notImplemented),
    .internalError: ("internal", .serverError),
    .unavailable: ("unavailable", .unavailable),
    .dataLoss: ("data_loss", .serverError),
    .unauthenticated: ("unauthenticated", HTTPStatus(401, "Unauthorized")),
  ]
}

extension ConnectError.Detail {
  /// Connect's base64 has no padding.
  fileprivate var json: String {
    let fixed = #"{"type":\#(JSONText.quoted(type)),"value":"\#(Base64.encode(value, isPadded: false))""#
    return fixed + (debug.map { #","debug":\#($0)"# } ?? "") + "}"
  }
}
