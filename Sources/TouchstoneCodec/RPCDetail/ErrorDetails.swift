// error_details.proto: what a refused call says of itself.

extension RPCDetail {
  /// Why, for a program.
  public struct ErrorInfo: WireMessage {
    /// Upper snake case, stable, unique within the domain.
    public var reason: String
    /// Who says so: the service's name.
    public var domain: String
    public var metadata: [String: String]

    public init(reason: String = "", domain: String = "", metadata: [String: String] = [:]) {
      self.reason = reason
      self.domain = domain
      self.metadata = metadata
    }
  }

  /// When a retry may succeed.
  public struct RetryInfo: WireMessage {
    public var retryDelay: V1.Duration?

    public init(retryDelay: V1.Duration? = nil) {
      self.retryDelay = retryDelay
    }
  }

  /// Which limit was reached.
  public struct QuotaFailure: WireMessage {
    public struct Violation: WireMessage {
      /// Whose limit: "caller:<name>".
      public var subject: String
      public var description: String

      public init(subject: String = "", description: String = "") {
        self.subject = subject
        self.description = description
      }
    }

    public var violations: [Violation]

    public init(violations: [Violation] = []) {
      self.violations = violations
    }
  }

  /// What must change before the call can succeed.
  public struct PreconditionFailure: WireMessage {
    public struct Violation: WireMessage {
      /// Upper snake case.
      public var type: String
      public var subject: String
      public var description: String

      public init(type: String = "", subject: String = "", description: String = "") {
        self.type = type
        self.subject = subject
        self.description = description
      }
    }

    public var violations: [Violation]

    public init(violations: [Violation] = []) {
      self.violations = violations
    }
  }

  /// Which fields of the request are wrong.
  public struct BadRequest: WireMessage {
    public struct FieldViolation: WireMessage {
      /// The field's path: "posture.domain_state".
      public var field: String
      public var description: String

      public init(field: String = "", description: String = "") {
        self.field = field
        self.description = description
      }
    }

    public var fieldViolations: [FieldViolation]

    public init(fieldViolations: [FieldViolation] = []) {
      self.fieldViolations = fieldViolations
    }
  }

  /// The same for the person, in the language that the caller asked for.
  public struct LocalizedMessage: WireMessage {
    /// BCP 47.
    public var locale: String
    public var message: String

    public init(locale: String = "", message: String = "") {
      self.locale = locale
      self.message = message
    }
  }
}
