internal import DispatchRPC
internal import Encodings

/// The fields of a unary call by Connect's protocol (connectrpc.com/docs/protocol): HTTP's POST with the message as its
/// body. Pure.
package struct ConnectCallHead: Sendable {
  /// The form of both messages. An error is JSON in any case.
  package enum MessageForm: String, Sendable, CaseIterable {
    case json
    case proto

    package var contentType: String { "application/\(rawValue)" }
  }

  package let form: MessageForm
  /// The request's message is compressed by gzip. Answers never are, as over gRPC.
  package let isCompressed: Bool
  /// How long the client waits.
  package let timeout: Duration?

  /// Why a request is no such call, as its answer.
  package struct Refusal: Error {
    package let response: HTTPResponse
  }

  /// Only exactly these types are accepted: no page of another site can send them without asking first (Fetch Standard,
  /// CORS-safelisted request-header).
  package init(_ head: HTTPRequestHead) throws(Refusal) {
    guard let form = MessageForm(head.fields.values(of: "content-type")) else {
      let types = MessageForm.allCases.map(\.contentType)
      var response = HTTPResponse.text(
        .unsupportedMediaType, "the message must be \(types.joined(separator: " or "))")
      response.fields.append(("Accept-Post", types.joined(separator: ", ")))
      throw Refusal(response: response)
    }
    self.form = form
    guard head.fields.values(of: "connect-protocol-version").allSatisfy({ $0 == "1" }) else {
      throw Refusal(.invalidArgument, "connect-protocol-version must be 1")
    }
    isCompressed = try Self.isCompressed(head.fields.values(of: "content-encoding"))
    timeout = try Self.timeout(head.fields.values(of: "connect-timeout-ms"))
  }

  private static func isCompressed(_ encodings: [String]) throws(Refusal) -> Bool {
    // Two are applied one after the other (RFC 9110 §8.4).
    switch encodings.map({ $0.asciiLowercased() }) {
    case [], ["identity"]: return false
    case ["gzip"]: return true
    default: throw Refusal(.unimplemented, "content-encoding must be identity or gzip")
    }
  }

  /// At most ten digits of milliseconds.
  private static func timeout(_ values: [String]) throws(Refusal) -> Duration? {
    guard let text = values.first else { return nil }
    guard values.count == 1, (1...10).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let milliseconds = Int64(text)
    else {
      throw Refusal(.invalidArgument, "connect-timeout-ms must be a whole number of at most ten digits")
    }
    guard milliseconds > 0 else {
      throw Refusal(.deadlineExceeded, "the deadline passed before the call arrived")
    }
    return .milliseconds(milliseconds)
  }
}

extension ConnectCallHead.Refusal {
  fileprivate init(_ code: RPCCode, _ message: String) {
    self.init(response: ConnectError(code: code, message: message).response)
  }
}

extension ConnectCallHead.MessageForm {
  /// `nil` for another type, and for another charset than UTF-8.
  fileprivate init?(_ contentTypes: [String]) {
    guard contentTypes.count == 1 else { return nil }
    // By bytes, as in `HTTPFields.list`.
    let parts = contentTypes[0].utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map {
      String(Substring($0)).trimmed().asciiLowercased()
    }
    guard let form = Self.allCases.first(where: { $0.contentType == parts.first }),
      parts.dropFirst().allSatisfy({ $0 == "charset=utf-8" || $0 == "charset=\"utf-8\"" })
    else { return nil }
    self = form
  }
}
