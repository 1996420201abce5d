// What is wrong with a call, as opposed to what the policy decided: that stands in the answer.

public import DispatchRPC
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// A refused call: a gRPC status with machine-readable details (google.rpc.Status in `grpc-status-details-bin`).
struct RequestError: Error {
  var code: RPCCode
  var message: String
  var violations: [FieldViolation] = []
  /// ErrorInfo's reason: upper snake case, stable.
  var reason: String?
  /// ErrorInfo's, beside the reason.
  var metadata: [String: String] = [:]
  /// Which limit there is no room in, where it is one of many calls together.
  var quota: Quota?
  /// What the person is told; `nil` where it is nothing to them (R20).
  var personText: PersonText?

  enum PersonText: Sendable {
    case refusal(CallRefusal)
    /// `biometry`: what the device has.
    case denial(Denial, biometry: BiometryType)
  }

  /// QuotaFailure: whether somebody else may still do it, and what to ask the operator for.
  struct Quota: Sendable {
    enum Subject: Sendable {
      /// All its callers together.
      case application(String)
      case caller(Caller)
      /// The address that it came from; nobody asked who it is.
      case peer
      /// One passcode or gesture, known or not.
      case secret
      /// All callers together.
      case server

      fileprivate var text: String {
        switch self {
        case .application(let id): "application:\(id)"
        case .caller(let caller): "caller:\(caller.identity)"
        case .peer: "peer"
        case .secret: "secret"
        case .server: "server"
        }
      }
    }

    var subject: Subject
    /// "at most…"
    var limit: String
  }

  /// Beside these, the reasons of denials (`Denial.Reason`).
  enum Reason {
    static let primaryAuthenticationTooOld = "PRIMARY_AUTHENTICATION_TOO_OLD"
    static let ticketInvalid = "TICKET_INVALID"
    static let deviceBoundToAnotherProfile = "DEVICE_BOUND_TO_ANOTHER_PROFILE"
    static let tooManyBindings = "TOO_MANY_BINDINGS"
    /// In events; the caller is told by the field.
    static let possessionNotProven = "POSSESSION_NOT_PROVEN"
    static let evaluationUnknown = "EVALUATION_UNKNOWN"
    static let evaluationExpired = "EVALUATION_EXPIRED"
    static let policyChanged = "POLICY_CHANGED"
    static let profileTouchIDGuessable = "PROFILE_TOUCH_ID_GUESSABLE"
    static let profileTouchIDInUse = "PROFILE_TOUCH_ID_IN_USE"
    static let notFound = "NOT_FOUND"
    static let bindingRevoked = "BINDING_REVOKED"
    static let tokenInvalid = "TOKEN_INVALID"
    static let tokenOfAnotherProfile = "TOKEN_OF_ANOTHER_PROFILE"
    static let tokenByBiometrics = "TOKEN_BY_BIOMETRICS"
    static let tokenTooOld = "TOKEN_TOO_OLD"
    /// In denials: the old secret, which was counted.
    static let wrongSecret = "WRONG_SECRET"
  }

  static func invalidArgument(_ violations: [FieldViolation]) -> RequestError {
    let message = violations.map { "\($0.field): \($0.reason)" }.joined(separator: "; ")
    return RequestError(code: .invalidArgument, message: message, violations: violations)
  }

  static func invalidArgument(field: String, _ reason: String) -> RequestError {
    invalidArgument([FieldViolation(field: field, reason: reason)])
  }

  static func failedPrecondition(
    _ reason: String, _ message: String, _ refusal: CallRefusal? = nil
  ) -> RequestError {
    RequestError(
      code: .failedPrecondition, message: message, reason: reason, personText: refusal.map { .refusal($0) })
  }

  static func failedPrecondition(_ denial: Denial, _ message: String, biometry: BiometryType) -> RequestError {
    RequestError(
      code: .failedPrecondition, message: message, reason: denial.reason.rawValue,
      personText: .denial(denial, biometry: biometry))
  }

  static func notFound(_ message: String) -> RequestError {
    RequestError(code: .notFound, message: message)
  }
}

extension RequestError {
  /// A request that could not be decoded.
  init(_ error: DecodingError) {
    self = .invalidArgument(field: error.field, error.reason)
  }

  /// The store's message is for the log; a caller learns only whether to try again.
  init(_ error: StoreError) {
    switch error.code {
    case .conflict:
      self.init(code: .aborted, message: "too many changes at once; try again")
    case .unavailable:
      self.init(code: .unavailable, message: "the store is not available")
    case .inDoubt:
      self.init(code: .unavailable, message: "the outcome is not known; a retry is safe")
    case .corrupt:
      self.init(code: .dataLoss, message: "the store is damaged")
    }
  }

  static let errorDomain = "touchstone"
  /// What made the store unavailable is seldom over sooner, and people do not wait much longer.
  private static let retryDelay = Duration.seconds(1)

  func rpcError(in language: Language) -> RPCError {
    var details: [RPCDetail.Detail] = []
    if !violations.isEmpty {
      let fields = violations.map { RPCDetail.BadRequest.FieldViolation(field: $0.field, description: $0.reason) }
      details.append(.badRequest(RPCDetail.BadRequest(fieldViolations: fields)))
    }
    if let reason {
      details.append(.errorInfo(RPCDetail.ErrorInfo(reason: reason, domain: Self.errorDomain, metadata: metadata)))
    }
    if let quota {
      let violation = RPCDetail.QuotaFailure.Violation(subject: quota.subject.text, description: quota.limit)
      details.append(.quotaFailure(RPCDetail.QuotaFailure(violations: [violation])))
    }
    if code == .unavailable || code == .resourceExhausted {
      details.append(.retryInfo(RPCDetail.RetryInfo(retryDelay: V1.Duration(Self.retryDelay))))
    }
    if let message = (personText ?? (isTransient ? .refusal(.busy) : nil))?.message(in: language) {
      details.append(
        .localizedMessage(RPCDetail.LocalizedMessage(locale: message.language.tag, message: message.text)))
    }
    var error = RPCError(code: code, message: message)
    if !details.isEmpty {
      let status = RPCDetail.Status(code: Int32(code.rawValue), message: message, details: details)
      // A status that cannot be encoded (text with NUL in a field's name) goes without its details.
      if let bytes = try? status.encoded() { error.metadata.append("grpc-status-details-bin", binary: bytes) }
    }
    return error
  }

  /// A moment later the same call may well succeed.
  private var isTransient: Bool {
    switch code {
    case .unavailable, .resourceExhausted, .aborted: true
    default: false
    }
  }
}

extension TouchstoneService {
  /// For a server that has no room for a call: as any other call is told that cannot be served now.
  public static let overloadError = RequestError(
    code: .unavailable, message: "the server has too many calls; try again later"
  ).rpcError(in: .default)
}

extension RequestError.PersonText {
  fileprivate func message(in language: Language) -> Message {
    switch self {
    case .refusal(let refusal): Message(refusal, in: language)
    case .denial(let denial, let biometry): Message(denial, biometry: biometry, in: language)
    }
  }
}
