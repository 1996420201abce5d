// TokenService: what other services ask about a token.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  private static let tokenService = "/touchstone.v1.TokenService"

  func registerTokens(_ methods: inout MethodTable) {
    let service = Self.tokenService
    register("\(service)/IntrospectToken", in: &methods, handler: introspectToken)
    register("\(service)/ConsumeToken", in: &methods, handler: consumeToken)
    register("\(service)/RevokeToken", in: &methods, handler: revokeToken)
    register("\(service)/GetSigningKeys", in: &methods) {
      [signingKeys] (_: V1.GetSigningKeysRequest, exchange: Exchange<V1.GetSigningKeysResponse>) throws(RequestError) in
      exchange.answer(V1.GetSigningKeysResponse(jwkSet: signingKeys.jwkSet))
    }
  }

  /// A token of ours is under 1 KiB with identifiers of 128 bytes; base64 and escapes may double them.
  private static let tokenBytes = 1...4_096

  private func validate(applicationID: String, token: String) throws(RequestError) {
    var validator = RequestValidator()
    validator.identifier(applicationID, "application_id")
    validator.text(token, "token", bytes: Self.tokenBytes)
    try validator.finish()
  }

  /// A genuine token of this application, with what the store knows of it.
  fileprivate struct GenuineToken: Sendable {
    var claims: TokenClaims
    var key: ExpiringKey
    var record: TokenRecord?
    /// `nil`: there is none in this application.
    var binding: BindingRecord?

    /// It is there and was not revoked (R32).
    var isBindingActive: Bool { binding?.isRevoked == false }

    /// A payment's; a login's serves until it expires.
    var isSingleUse: Bool { claims.transactionDigest != nil }

    /// Neither consumed nor revoked. A single-use token's row was written when it was issued: without it, it was used
    /// and forgotten.
    var isUnused: Bool { record.map { $0.state == .issued } ?? !isSingleUse }
  }

  /// `nil`: not genuine, or another application's.
  private func lookUp<Response>(
    _ token: String, of applicationID: String, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (GenuineToken?) throws(RequestError) -> Void
  ) throws(RequestError) {
    guard let claims = tokenVerifier.verify(token), Identifier.areEqual(claims.audience, applicationID),
      let tokenID = Base64URL.decode(claims.tokenID).flatMap({ UniqueID(bytes: $0) })
    else { return try body(nil) }
    let key = ExpiringKey(expiresAt: UnixTime(seconds: claims.expiresAt), id: tokenID)
    store.token(
      key,
      completion: exchange.then { [self] record in
        subject(bindingID: claims.bindingID, applicationID: applicationID, evaluation: nil, for: exchange) {
          subject throws(RequestError) in
          try body(GenuineToken(claims: claims, key: key, record: record, binding: subject.binding))
        }
      })
  }

  // MARK: IntrospectToken

  @Sendable private func introspectToken(
    _ request: V1.IntrospectTokenRequest, _ exchange: Exchange<V1.IntrospectTokenResponse>
  ) throws(RequestError) {
    try validate(applicationID: request.applicationID, token: request.token)
    try lookUp(request.token, of: request.applicationID, for: exchange) { [clock] token in
      guard let token, token.isUnused, token.isBindingActive, clock() < token.key.expiresAt else {
        return exchange.answer(V1.IntrospectTokenResponse())
      }
      exchange.answer(V1.IntrospectTokenResponse(active: true, claims: V1.TokenClaims(token)))
    }
  }

  // MARK: ConsumeToken

  @Sendable private func consumeToken(
    _ request: V1.ConsumeTokenRequest, _ exchange: Exchange<V1.ConsumeTokenResponse>
  ) throws(RequestError) {
    try validate(applicationID: request.applicationID, token: request.token)
    var validator = RequestValidator()
    let transaction = request.transaction.map { validator.transaction($0, "transaction") }
    try validator.finish()
    try consume(request, transaction, exchange, round: 0)
  }

  private func consume(
    _ request: V1.ConsumeTokenRequest, _ transaction: Transaction?, _ exchange: Exchange<V1.ConsumeTokenResponse>,
    round: Int
  ) throws(RequestError) {
    try lookUp(request.token, of: request.applicationID, for: exchange) { [self] token in
      let now = clock()
      func event(_ kind: EventDraft.TokenKind, reason: ConsumptionRefusal? = nil) -> EventDraft {
        .token(
          kind, applicationID: request.applicationID, profileID: token?.claims.subject ?? "",
          bindingID: token?.claims.bindingID ?? "", tokenID: token?.claims.tokenID ?? "", reason: reason?.rawValue,
          caller: exchange.caller, time: now)
      }
      if let refusal = ConsumptionRefusal(token, transaction, at: now) {
        return record(event(.refused, reason: refusal), for: exchange) {
          exchange.answer(V1.ConsumeTokenResponse(reason: refusal.rawValue))
        }
      }
      guard let token, var record = token.record, let binding = token.binding else {
        preconditionFailure("a token that may be consumed has a row and a binding")
      }
      record.state = .consumed
      // The binding must not be revoked meanwhile (R32).
      let changes: [Change] = [
        .putToken(record), .requireBinding(id: binding.bindingID, version: binding.version),
      ]
      commit(
        ChangeSet(changes: changes, events: [event(.consumed)]), round: round, for: exchange,
        conflicted: { [self] () throws(RequestError) in
          try consume(request, transaction, exchange, round: round + 1)
        },
        committed: {
          exchange.answer(V1.ConsumeTokenResponse(consumed: true, claims: V1.TokenClaims(token)))
        })
    }
  }

  /// Why a token was not consumed: tokens.proto's words.
  private enum ConsumptionRefusal: String {
    case invalid = "INVALID"
    case expired = "EXPIRED"
    case alreadyConsumed = "ALREADY_CONSUMED"
    case revoked = "REVOKED"
    case transactionMismatch = "TRANSACTION_MISMATCH"

    /// `nil`: it may be consumed. Only a payment's token can be (R39), and its row was written when it was issued.
    init?(_ token: GenuineToken?, _ transaction: Transaction?, at now: UnixTime) {
      guard let token, token.isSingleUse else {
        self = .invalid
        return
      }
      if now >= token.key.expiresAt {
        self = .expired
        return
      }
      guard let record = token.record else {
        self = .invalid
        return
      }
      switch record.state {
      case .consumed:
        self = .alreadyConsumed
      case .issued where token.isBindingActive:
        // The transaction is no secret, so an early exit tells nothing.
        guard transaction?.canonicalBytes != record.transaction else { return nil }
        self = .transactionMismatch
      case .issued, .revoked:
        self = .revoked
      }
    }
  }

  // MARK: RevokeToken

  /// Idempotent, and silent about tokens that are not genuine, as RFC 7009, section 2.2 has it.
  @Sendable private func revokeToken(
    _ request: V1.RevokeTokenRequest, _ exchange: Exchange<V1.RevokeTokenResponse>
  ) throws(RequestError) {
    try validate(applicationID: request.applicationID, token: request.token)
    try revoke(request, exchange, round: 0)
  }

  private func revoke(
    _ request: V1.RevokeTokenRequest, _ exchange: Exchange<V1.RevokeTokenResponse>, round: Int
  ) throws(RequestError) {
    try lookUp(request.token, of: request.applicationID, for: exchange) { [self] token in
      let now = clock()
      guard let token, token.record?.state != .revoked, now < token.key.expiresAt else {
        return exchange.answer(V1.RevokeTokenResponse())
      }
      var record = token.record ?? TokenRecord(key: token.key, state: .revoked, transaction: [], version: 0)
      record.state = .revoked
      let event = EventDraft.token(
        .revoked, applicationID: request.applicationID, profileID: token.claims.subject,
        bindingID: token.claims.bindingID, tokenID: token.claims.tokenID, caller: exchange.caller, time: now)
      commit(
        ChangeSet(changes: [.putToken(record)], events: [event]), round: round, for: exchange,
        conflicted: { [self] () throws(RequestError) in try revoke(request, exchange, round: round + 1) },
        committed: { exchange.answer(V1.RevokeTokenResponse()) })
    }
  }
}

extension V1.TokenClaims {
  fileprivate init(_ token: TouchstoneService.GenuineToken) {
    let claims = token.claims
    self.init(
      tokenID: claims.tokenID, applicationID: claims.audience, profileID: claims.subject, bindingID: claims.bindingID,
      policy: claims.policy, methods: claims.methods, issuedAt: V1.Timestamp(UnixTime(seconds: claims.issuedAt)),
      expiresAt: V1.Timestamp(UnixTime(seconds: claims.expiresAt)),
      transaction: token.record.flatMap { Transaction(canonicalBytes: $0.transaction) }.map(V1.Transaction.init),
      singleUse: token.isSingleUse)
  }
}

extension V1.Transaction {
  init(_ transaction: Transaction) {
    self.init(
      amount: transaction.amount, currency: transaction.currency, payee: transaction.payee,
      reference: transaction.reference)
  }
}
