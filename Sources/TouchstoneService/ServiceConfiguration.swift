// What an installation may set. Everything has a safe default.

public import TouchstoneCrypto
public import TouchstonePolicy

public struct ServiceConfiguration: Sendable {
  /// The `iss` of every token.
  public var issuer = "touchstone"
  /// So that a token stays below what introspection reads.
  public static let maximumIssuerBytes = 256
  /// Of two with one name, the last counts.
  public var policies: [EvaluationPolicy] = EvaluationPolicy.builtIn
  public var enrolment = EnrolmentPolicy()
  /// What a guess at a passcode or gesture costs (R16).
  public var secretHashing = PasswordHasher.Parameters.standard

  public init() {}
}

/// The policies by name, and nothing else: a name that is not here is refused.
struct PolicyBook: Sendable {
  private let policies: [String: EvaluationPolicy]

  init(_ policies: [EvaluationPolicy]) {
    self.policies = Dictionary(policies.map { ($0.name, $0) }) { _, last in last }
  }

  subscript(name: String) -> EvaluationPolicy? {
    policies[name]
  }
}
