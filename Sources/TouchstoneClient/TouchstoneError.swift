// Why a call failed. What the policy decided is never an error: it is in the answer.

public import DispatchRPC
public import TouchstoneCodec

/// A call that has no answer: refused by the service, or not brought to it.
public struct TouchstoneError: Error, Hashable, Sendable {
  public var code: RPCCode
  /// English, for developers.
  public var message: String
  /// What the service added (google.rpc.Status, from `grpc-status-details-bin`).
  public var details: [RPCDetail.Detail]

  public init(code: RPCCode, message: String, details: [RPCDetail.Detail] = []) {
    self.code = code
    self.message = message
    self.details = details
  }

  /// Which fields of the request are wrong; with INVALID_ARGUMENT.
  public var fieldViolations: [RPCDetail.BadRequest.FieldViolation] {
    details.flatMap { detail -> [RPCDetail.BadRequest.FieldViolation] in
      if case .badRequest(let request) = detail { request.fieldViolations } else { [] }
    }
  }

  /// When to try again; with UNAVAILABLE and RESOURCE_EXHAUSTED.
  public var retryAfter: Duration? {
    for case .retryInfo(let info) in details {
      if let delay = info.retryDelay { return .seconds(delay.seconds) + .nanoseconds(Int64(delay.nanoseconds)) }
    }
    return nil
  }

  /// What to show the person, where the refusal is about them, in the language asked for (google.rpc.LocalizedMessage).
  public var localizedMessage: String? {
    for case .localizedMessage(let message) in details { return message.message }
    return nil
  }

  /// The cause, for a program: upper snake case, stable (google.rpc.ErrorInfo).
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
    // Details that cannot be read are as good as none: the code and the message stand.
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
