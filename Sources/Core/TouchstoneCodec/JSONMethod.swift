/// A unary method for callers that send and receive JSON: between JSON and the bytes of its messages.
package struct JSONMethod: Sendable {
  /// "/package.Service/Method", as on the wire.
  package let path: String
  /// Strangers may call it.
  package let isOpen: Bool
  /// Returns the request's bytes. They are decoded next, like those of every other caller, within the same limits.
  package let request: @Sendable (_ json: [UInt8]) throws(DecodingError) -> [UInt8]
  /// Returns the answer's bytes as JSON, in one line. For bytes of our own.
  package let response: @Sendable (_ bytes: [UInt8]) throws(DecodingError) -> [UInt8]

  init<Request: WireMessage, Response: WireMessage>(_ method: WireMethod<Request, Response>) {
    path = method.path
    isOpen = method.descriptor.access == .open
    request = { (json) throws(DecodingError) in
      try MessageJSONReader.bytes(of: json, as: Request.layout, limits: .default)
    }
    response = { (bytes) throws(DecodingError) in
      let coder = MessageCoder(limits: .answers)
      let message = try coder.decode(Response.self, from: bytes)
      do throws(EncodingError) {
        return Array(try coder.json(of: message).utf8)
      } catch {
        throw DecodingError(code: .outOfBudget, field: error.field, reason: error.reason)
      }
    }
  }
}

extension WireMessage {
  /// Decodes JSON, as `json()` writes it or another implementation of protobuf's mapping does.
  package static func decoded(
    fromJSON json: [UInt8], limits: DecodingLimits = .default
  ) throws(DecodingError) -> Self {
    try decoded(from: try MessageJSONReader.bytes(of: json, as: layout, limits: limits), limits: limits)
  }
}

/// A detail of an error in the parts that Connect's JSON has of it.
package struct JSONDetail: Sendable {
  /// The full name of the message: "google.rpc.ErrorInfo".
  package var type: String
  package var bytes: [UInt8]
  /// For people who read the answer; `nil` for a message of an unknown type.
  package var json: String?

  /// Returns the details in `grpc-status-details-bin`; none if it is unreadable.
  package static func all(ofStatus bytes: [UInt8]) -> [JSONDetail] {
    guard let status = try? RPCDetail.PackedStatus.decoded(from: bytes) else { return [] }
    return status.details.map { packed in
      let name = packed.typeURL.split(separator: "/").last.map(String.init) ?? ""
      let type = MessageTypes.all.first { $0.fullName == name }
      return JSONDetail(type: name, bytes: packed.value, json: type.flatMap { json(of: packed.value, as: $0) })
    }
  }

  private static func json(of bytes: [UInt8], as type: (some WireMessage).Type) -> String? {
    try? type.decoded(from: bytes).json()
  }
}
