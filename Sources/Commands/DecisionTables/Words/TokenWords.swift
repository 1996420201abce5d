// The uses of a token by other services: IntrospectToken, ConsumeToken and RevokeToken, played against the rules.

import TouchstonePolicy

/// "consume_token 1m old, transaction other": a token that a success under the row's policy issued that long ago.
struct TokenAttempt: Sendable {
  enum Call: String, Sendable, CaseIterable {
    case introspect = "introspect_token"
    case consume = "consume_token"
    case revoke = "revoke_token"
  }

  private var call = Call.introspect
  private var age = LoginAge(age: .zero)
  private var isOfAnother = false
  private var isBySecret = false
  private var areSecretsChanged = false
  private var isErased = false
  private var transaction = Approval.same

  private enum Approval: Sendable {
    case same
    case other
    case none
  }

  static let form = AttemptForm(
    TokenAttempt(),
    Call.allCases.map { call in .init("\(call.rawValue) {1m old}", .age) { ($0.call, $0.age) = (call, $1) } },
    details: [
      .init("of_another") { $0.isOfAnother = true },
      .init("by_secret") { $0.isBySecret = true },
      .init("secrets_changed") { $0.areSecretsChanged = true },
      .init("erased") { $0.isErased = true },
      .init("transaction other") { $0.transaction = .other },
      .init("no transaction") { $0.transaction = .none },
    ]
  ) { .token($0) }
}

extension TokenAttempt {
  func play(_ row: DecisionRow, _ standing: inout Standing) -> Observation {
    let facts = facts(row, standing)
    switch call {
    case .introspect:
      return Observation(outcome: facts?.isActive(at: standing.now) == true ? OutcomeWord.active : OutcomeWord.inactive)
    case .consume:
      if let refusal = TokenRefusal(consuming: facts, for: shown(row.policy), at: standing.now) {
        return Observation(outcome: refusal.rawValue)
      }
      standing.token = .state(.consumed)
      return Observation(outcome: OutcomeWord.consumed)
    case .revoke:
      if facts?.isRevocable == true { standing.token = .state(.revoked) }
      return Observation(outcome: OutcomeWord.accepted)
    }
  }

  /// `nil`: no token of this application.
  private func facts(_ row: DecisionRow, _ standing: Standing) -> TokenFacts? {
    guard !isOfAnother, let lifetime = row.policy.tokenLifetime else { return nil }
    let issuedAt = age.time(at: standing.now)
    let servesOnce = row.policy.isTokenSingleUse
    return TokenFacts(
      servesOnce: servesOnce, isProvenBySecret: isBySecret, issuedAt: issuedAt, expiresAt: issuedAt + lifetime,
      state: standing.token.state(servesOnce: servesOnce),
      transaction: row.policy.requiresTransaction ? Self.approved.canonicalBytes : [], holder: holder(standing))
  }

  private func holder(_ standing: Standing) -> TokenFacts.Holder {
    if isErased { return .erased }
    guard let binding = standing.account.binding, binding.scope == .device else {
      return .profile(hasSameSecrets: !areSecretsChanged)
    }
    return .binding(isRevoked: !binding.isActive)
  }

  private func shown(_ policy: EvaluationPolicy) -> Transaction? {
    switch transaction {
    case .same: policy.requiresTransaction ? Self.approved : nil
    case .other: Transaction(amount: "12.5", currency: "CNY", payee: "Noodle House", reference: "order-1")
    case .none: nil
    }
  }

  private static let approved = Transaction(
    amount: "12.50", currency: "CNY", payee: "Noodle House", reference: "order-1")
}

/// The stored state of a row's token.
enum TokenRow: Sendable {
  /// As a success leaves it.
  case asIssued
  /// Swept.
  case forgotten
  case state(TokenState)

  func state(servesOnce: Bool) -> TokenState? {
    switch self {
    case .asIssued: servesOnce ? .issued : nil
    case .forgotten: nil
    case .state(let state): state
    }
  }
}
