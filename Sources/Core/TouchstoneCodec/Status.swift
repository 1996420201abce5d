// google.rpc.Status: the content of `grpc-status-details-bin`.

extension RPCDetail {
  /// An error with its details unpacked.
  public struct Status: Hashable, Sendable {
    /// A gRPC status code, 0 to 16.
    public var code: Int32
    /// English, for developers.
    public var message: String
    public var details: [Detail]

    public init(code: Int32 = 0, message: String = "", details: [Detail] = []) {
      self.code = code
      self.message = message
      self.details = details
    }
  }

  /// One detail. On the wire each is in a google.protobuf.Any.
  public enum Detail: Hashable, Sendable {
    case errorInfo(ErrorInfo)
    case retryInfo(RetryInfo)
    case quotaFailure(QuotaFailure)
    case preconditionFailure(PreconditionFailure)
    case badRequest(BadRequest)
    case localizedMessage(LocalizedMessage)
    /// A detail of an unknown type, or one that is unreadable as its type.
    case other(AnyMessage)
  }
}

extension RPCDetail.Status {
  public func encoded() throws(EncodingError) -> [UInt8] {
    let coder = MessageCoder()
    var packed = RPCDetail.PackedStatus(code: code, message: message)
    for detail in details { packed.details.append(try detail.packed(by: coder)) }
    return try coder.encode(packed)
  }

  /// An unreadable detail does not hide the others: it becomes `other`.
  public static func decoded(from bytes: [UInt8]) throws(DecodingError) -> RPCDetail.Status {
    let packed = try RPCDetail.PackedStatus.decoded(from: bytes)
    return RPCDetail.Status(
      code: packed.code, message: packed.message, details: packed.details.map(RPCDetail.Detail.init))
  }
}

extension RPCDetail.Detail {
  fileprivate func packed(by coder: MessageCoder) throws(EncodingError) -> RPCDetail.AnyMessage {
    switch self {
    case .errorInfo(let message): try RPCDetail.AnyMessage(packing: message, by: coder)
    case .retryInfo(let message): try RPCDetail.AnyMessage(packing: message, by: coder)
    case .quotaFailure(let message): try RPCDetail.AnyMessage(packing: message, by: coder)
    case .preconditionFailure(let message): try RPCDetail.AnyMessage(packing: message, by: coder)
    case .badRequest(let message): try RPCDetail.AnyMessage(packing: message, by: coder)
    case .localizedMessage(let message): try RPCDetail.AnyMessage(packing: message, by: coder)
    case .other(let message): message
    }
  }

  fileprivate init(_ packed: RPCDetail.AnyMessage) {
    if let message = packed.unpacked(as: RPCDetail.ErrorInfo.self) {
      self = .errorInfo(message)
    } else if let message = packed.unpacked(as: RPCDetail.RetryInfo.self) {
      self = .retryInfo(message)
    } else if let message = packed.unpacked(as: RPCDetail.QuotaFailure.self) {
      self = .quotaFailure(message)
    } else if let message = packed.unpacked(as: RPCDetail.PreconditionFailure.self) {
      self = .preconditionFailure(message)
    } else if let message = packed.unpacked(as: RPCDetail.BadRequest.self) {
      self = .badRequest(message)
    } else if let message = packed.unpacked(as: RPCDetail.LocalizedMessage.self) {
      self = .localizedMessage(message)
    } else {
      self = .other(packed)
    }
  }
}

extension RPCDetail.AnyMessage {
  private static func typeURL<Message: WireMessage>(of type: Message.Type) -> String {
    "type.googleapis.com/\(type.fullName)"
  }

  fileprivate init(packing message: some WireMessage, by coder: MessageCoder) throws(EncodingError) {
    self.init(typeURL: Self.typeURL(of: type(of: message)), value: try coder.encode(message))
  }

  fileprivate func unpacked<Message: WireMessage>(as type: Message.Type) -> Message? {
    guard typeURL == Self.typeURL(of: type) else { return nil }
    return try? Message.decoded(from: value)
  }
}
