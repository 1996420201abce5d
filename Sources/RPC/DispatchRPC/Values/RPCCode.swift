/// A gRPC status code (grpc/grpc doc/statuscodes.md).
public struct RPCCode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  /// Codes above 16 are kept as they came; gRPC tells readers to treat them as `unknown`.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  public static let ok = RPCCode(rawValue: 0)
  public static let cancelled = RPCCode(rawValue: 1)
  public static let unknown = RPCCode(rawValue: 2)
  public static let invalidArgument = RPCCode(rawValue: 3)
  public static let deadlineExceeded = RPCCode(rawValue: 4)
  public static let notFound = RPCCode(rawValue: 5)
  public static let alreadyExists = RPCCode(rawValue: 6)
  public static let permissionDenied = RPCCode(rawValue: 7)
  public static let resourceExhausted = RPCCode(rawValue: 8)
  public static let failedPrecondition = RPCCode(rawValue: 9)
  public static let aborted = RPCCode(rawValue: 10)
  public static let outOfRange = RPCCode(rawValue: 11)
  public static let unimplemented = RPCCode(rawValue: 12)
  public static let internalError = RPCCode(rawValue: 13)
  public static let unavailable = RPCCode(rawValue: 14)
  public static let dataLoss = RPCCode(rawValue: 15)
  public static let unauthenticated = RPCCode(rawValue: 16)
}

extension RPCCode: CustomStringConvertible {
  private static let names = [
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
  ]

  /// The name in the specification, such as `DEADLINE_EXCEEDED`.
  public var description: String {
    Self.names.indices.contains(Int(rawValue)) ? Self.names[Int(rawValue)] : "CODE_\(rawValue)"
  }
}

extension RPCCode {
  /// For an answer without `grpc-status`, from some proxy (grpc/grpc doc/http-grpc-status-mapping.md).
  init(httpStatus: Int) {
    switch httpStatus {
    case 400: self = .internalError
    case 401: self = .unauthenticated
    case 403: self = .permissionDenied
    case 404: self = .unimplemented
    case 429, 502, 503, 504: self = .unavailable
    default: self = .unknown
    }
  }

  /// For a stream that the peer reset (PROTOCOL-HTTP2.md, "Errors").
  init(resetWith code: HTTP2ErrorCode) {
    switch code {
    case .refusedStream: self = .unavailable
    case .cancel: self = .cancelled
    case .enhanceYourCalm: self = .resourceExhausted
    case .inadequateSecurity: self = .permissionDenied
    case .noError, .protocolError, .internalError, .flowControlError, .settingsTimeout, .frameSizeError,
      .compressionError, .connectError:
      self = .internalError
    default: self = .unknown
    }
  }

  /// The decimal number in `grpc-status`; anything else is `unknown`.
  init(headerValue: UnsafeRawBufferPointer) {
    guard (1...2).contains(headerValue.count), headerValue.allSatisfy({ (0x30...0x39).contains($0) }) else {
      self = .unknown
      return
    }
    self.init(rawValue: headerValue.reduce(0) { $0 * 10 + ($1 - 0x30) })
  }
}
