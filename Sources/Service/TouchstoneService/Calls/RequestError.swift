// Errors of calls. A policy's decisions are no errors: they are in the answer.

public import DispatchRPC
package import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// A refused call: a gRPC status with machine-readable details (google.rpc.Status in `grpc-status-details-bin`).
struct RequestError: Error {
  var code: RPCCode
  var message: String
  var violations: [FieldViolation] = []
  /// ErrorInfo's reason: upper snake case, stable.
  var reason: String?
  /// The metadata of ErrorInfo.
  var metadata: [String: String] = [:]
  /// The limit that was reached, if it applies to many calls together.
  var quota: Quota?
  /// The message for the person; `nil` if the error does not concern them (R20).
  var personText: PersonText?

  enum PersonText: Sendable {
    case refusal(CallRefusal)
    /// `biometry`: the device's sensor.
    case denial(Denial, biometry: BiometryType)
  }

  /// QuotaFailure: whose limit was reached, and which limit the operator could raise.
  struct Quota: Sendable {
    enum Subject: Sendable {
      /// All callers of an application together.
      case application(String)
      case caller(Caller)
      /// The peer's address, for methods that identify no caller.
      case peer
      /// One passcode or gesture, of a known or unknown profile.
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

  /// The reasons of errors. Denials have reasons of their own (`Denial.Reason`).
  enum Reason {
    static let primaryAuthenticationTooOld = "PRIMARY_AUTHENTICATION_TOO_OLD"
    static let ticketInvalid = "TICKET_INVALID"
    static let deviceBoundToAnotherProfile = "DEVICE_BOUND_TO_ANOTHER_PROFILE"
    static let tooManyBindings = "TOO_MANY_BINDINGS"
    /// Used in events. The caller's answer names the field.
    static let possessionNotProven = "POSSESSION_NOT_PROVEN"
    static let attestationRequired = "ATTESTATION_REQUIRED"
    static let passkeysNotServed = "PASSKEYS_NOT_SERVED"
    /// Used in events. The caller's answer names the field.
    static let passkeyInUse = "PASSKEY_IN_USE"
    static let attestationContradictsProtection = "ATTESTATION_CONTRADICTS_PROTECTION"
    static let trustDataTooOld = "TRUST_DATA_TOO_OLD"
    /// Used in events.
    static let appAttestKeyUnknown = "APP_ATTEST_KEY_UNKNOWN"
    static let appAssertionRequired = "APP_ASSERTION_REQUIRED"
    static let appAssertionNotAccepted = "APP_ASSERTION_NOT_ACCEPTED"
    static let evaluationUnknown = "EVALUATION_UNKNOWN"
    static let evaluationExpired = "EVALUATION_EXPIRED"
    static let policyChanged = "POLICY_CHANGED"
    static let settingsChanged = "SETTINGS_CHANGED"
    static let profileTouchIDGuessable = "PROFILE_TOUCH_ID_GUESSABLE"
    static let profileTouchIDInUse = "PROFILE_TOUCH_ID_IN_USE"
    static let notFound = "NOT_FOUND"
    static let bindingRevoked = "BINDING_REVOKED"
    static let tokenInvalid = "TOKEN_INVALID"
    static let tokenOfAnotherProfile = "TOKEN_OF_ANOTHER_PROFILE"
    static let tokenByBiometry = "TOKEN_BY_BIOMETRICS"
    static let tokenTooOld = "TOKEN_TOO_OLD"
    /// Used in denials, for the old secret, whose failure was counted.
    static let wrongSecret = "WRONG_SECRET"

    /// The reasons by which refused calls are counted. A reason that is not here counts by its call's status.
    static let counted = [
      primaryAuthenticationTooOld, ticketInvalid, deviceBoundToAnotherProfile, tooManyBindings, attestationRequired,
      passkeysNotServed, attestationContradictsProtection, trustDataTooOld, appAssertionRequired,
      appAssertionNotAccepted, evaluationUnknown, evaluationExpired, policyChanged, profileTouchIDGuessable,
      profileTouchIDInUse, notFound, bindingRevoked, tokenInvalid, tokenOfAnotherProfile, tokenByBiometry,
      tokenTooOld, settingsChanged,
    ]
  }

  static func invalidArgument(_ violations: [FieldViolation]) -> RequestError {
    // Without a field it is the whole message.
    let texts = violations.map { $0.field.isEmpty ? "the request \($0.reason)" : "\($0.field): \($0.reason)" }
    return RequestError(code: .invalidArgument, message: texts.joined(separator: "; "), violations: violations)
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

  /// The caller's own login is too old to prove the person.
  static var newLoginRequired: RequestError {
    failedPrecondition(
      Reason.primaryAuthenticationTooOld, "the person must log in again", .primaryAuthenticationTooOld)
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
  /// The error for a request that could not be decoded.
  init(_ error: DecodingError) {
    self = .invalidArgument(field: error.field, error.reason)
  }

  /// Ends a call whose caller no longer waits. It is no answer, and counts nowhere.
  static let callerIsGone = RequestError(code: .cancelled, message: "the caller is gone")

  static let tooManyRounds = RequestError(code: .aborted, message: "too many changes at once; try again")

  /// The store's message is for the log. A caller learns only whether to try again.
  init(_ error: StoreError) {
    switch error.code {
    case .conflict:
      self = .tooManyRounds
    case .unavailable:
      self.init(code: .unavailable, message: "the store is not available")
    case .inDoubt:
      self.init(code: .unavailable, message: "the outcome is not known; a retry is safe")
    case .corrupt:
      self.init(code: .dataLoss, message: "the store is damaged")
    }
  }

  static let errorDomain = "touchstone"
  /// A store that failed is seldom back sooner, and people do not wait much longer.
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

  /// The same call may succeed a moment later.
  private var isTransient: Bool {
    switch code {
    case .unavailable, .resourceExhausted, .aborted: true
    default: false
    }
  }
}

extension TouchstoneService {
  /// The error of a server without room for a call: the same as for other calls that cannot be served now.
  public static let overloadError = RequestError(
    code: .unavailable, message: "the server has too many calls; try again later"
  ).rpcError(in: .default)

  /// The error of a server that is about to stop, for calls over connections on which it cannot tell clients to leave.
  package static let drainingError = RequestError(
    code: .unavailable, message: "the server stops; call another one"
  ).rpcError(in: .default)

  /// The error of a request that could not be decoded before a handler had it.
  package static func error(of fault: DecodingError) -> RPCError { RequestError(fault).rpcError(in: .default) }
}

extension RequestError.PersonText {
  fileprivate func message(in language: Language) -> Message {
    switch self {
    case .refusal(let refusal): Message(refusal, in: language)
    case .denial(let denial, let biometry): Message(denial, biometry: biometry, in: language)
    }
  }
}
