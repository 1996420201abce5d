public import DispatchRPC
public import TouchstoneCodec

/// A call without an answer: the service refused it, or the call did not reach it. A policy's decision is never an
/// error: the answer has it.
public struct TouchstoneError: Error, Hashable, Sendable {
  public var code: RPCCode
  /// English, for developers.
  public var message: String
  /// The service's details (google.rpc.Status, from `grpc-status-details-bin`).
  public var details: [RPCDetail.Detail]

  public init(code: RPCCode, message: String, details: [RPCDetail.Detail] = []) {
    self.code = code
    self.message = message
    self.details = details
  }

  /// The wrong fields of the request; with INVALID_ARGUMENT.
  public var fieldViolations: [RPCDetail.BadRequest.FieldViolation] {
    details.flatMap { detail -> [RPCDetail.BadRequest.FieldViolation] in
      if case .badRequest(let request) = detail { request.fieldViolations } else { [] }
    }
  }

  /// When to retry; with UNAVAILABLE and RESOURCE_EXHAUSTED.
  public var retryAfter: Duration? {
    for case .retryInfo(let info) in details {
      if let delay = info.retryDelay { return .seconds(delay.seconds) + .nanoseconds(Int64(delay.nanoseconds)) }
    }
    return nil
  }

  /// A text for the person, if the refusal concerns them, in the requested language (google.rpc.LocalizedMessage).
  public var localizedMessage: String? {
    for case .localizedMessage(let message) in details { return message.message }
    return nil
  }

  /// The cause, for a program: upper snake case, never changed (google.rpc.ErrorInfo).
  public var reason: String? {
    for case .errorInfo(let info) in details { return info.reason }
    return nil
  }
}

extension TouchstoneError: CustomStringConvertible {
  public var description: String {
    let fields = fieldViolations.map { "\($0.field): \($0.description)" }
    return (["\(code): \(message)"] + fields).joined(separator: "; ")
  }
}

extension TouchstoneError {
  init(_ error: RPCError) {
    self.init(code: error.code, message: error.message)
    // Unreadable details are treated as absent: code and message stay.
    if let bytes = error.metadata.firstBinary("grpc-status-details-bin"),
      let status = try? RPCDetail.Status.decoded(from: bytes)
    {
      details = status.details
    }
  }

  init(_ error: EncodingError) {
    let violation = RPCDetail.BadRequest.FieldViolation(field: error.field, description: error.reason)
    self.init(
      code: .invalidArgument, message: "the request cannot be encoded",
      details: [.badRequest(.init(fieldViolations: [violation]))])
  }

  init(_ error: DecodingError) {
    self.init(code: .internalError, message: "the answer cannot be read: \(error.field) \(error.reason)")
  }
}
