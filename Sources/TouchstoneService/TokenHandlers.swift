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
    registerForAll("\(service)/GetSigningKeys", in: &methods) {
      [self] (_: V1.GetSigningKeysRequest, exchange: Exchange<V1.GetSigningKeysResponse>) throws(RequestError) in
      exchange.answer(V1.GetSigningKeysResponse(jwkSet: keys.jwkSet))
    }
  }

  /// A token of ours is under 1 KiB with identifiers of 128 bytes; base64 and escapes may double them.
  static let tokenBytes = 1...4_096

  private func validate(applicationID: String, token: String) throws(RequestError) {
    var validator = RequestValidator()
    Self.validate(applicationID: applicationID, token: token, with: &validator)
    try validator.finish()
  }

  private static func validate(applicationID: String, token: String, with validator: inout RequestValidator) {
    validator.application(applicationID)
    validator.text(token, "token", bytes: tokenBytes)
  }

  /// A genuine token of this application, with what the store knows of it.
  struct GenuineToken: Sendable {
    var claims: TokenClaims
    var key: ExpiringKey
    var record: TokenRecord?
    var holder: Holder

    /// What the token lives and dies with.
    enum Holder: Sendable {
      /// `nil`: there is none in this application.
      case binding(BindingRecord?)
      /// Of a token without a binding.
      case profile(ProfileRecord)
    }

    /// The binding is there and was not revoked (R32).
    ///
    /// Without a binding: the profile is there and was by then, so that erasing it ends its tokens for good; and where a
    /// secret proved the person, none was set anew or erased since.
    var isHolderActive: Bool {
      switch holder {
      case .binding(let binding): binding?.isRevoked == false
      case .profile(let profile):
        profile.wasThere(at: claims.issuedAt) && (!isProvenBySecret || profile.hasSecretsAsOf(claims.issuedAt))
      }
    }

    /// Events name nobody who was erased: their names would be in the log again.
    var isHolderErased: Bool {
      switch holder {
      case .binding(let binding): binding == nil
      case .profile(let profile): !profile.wasThere(at: claims.issuedAt)
      }
    }

    func isActive(at now: UnixTime) -> Bool { isUnused && isHolderActive && now < key.expiresAt }

    /// They proved it, or could have: a key that user presence unlocks was unlocked by either.
    var isByBiometrics: Bool {
      let others = [
        AuthenticationMethod.pin, AuthenticationMethod.password, AuthenticationMethod.oneTimePassword,
        AuthenticationMethod.userPresence,
      ]
      let shown = claims.methods.filter { $0 != AuthenticationMethod.hardwareKey }
      guard !shown.isEmpty, shown.allSatisfy(others.contains) else { return true }
      return claims.methods.contains(AuthenticationMethod.hardwareKey) && !isByDevicePasscode
    }

    /// The binding's key for the device owner is one that its passcode alone unlocks.
    private var isByDevicePasscode: Bool {
      guard case .binding(let binding?) = holder, case .hardwareKeys(let keys) = binding.credential else {
        return false
      }
      return keys.contains { $0.protection == .devicePasscode }
    }

    private var isProvenBySecret: Bool { claims.methods.contains(AuthenticationMethod.pin) }

    /// Neither consumed nor revoked. The row of a token that serves once was written when it was issued: where it is gone,
    /// the token was used and forgotten. Others have a row once they are revoked.
    var isUnused: Bool { claims.use.isSingle ? record?.state == .issued : record == nil }

    /// To serve as evidence, it must be as it was read (R32).
    var requirements: [Change] { [holderRequirement, .requireToken(key, version: record?.version ?? 0)] }

    /// To be used up, what it lives and dies with must be as it was read (R32).
    var holderRequirement: Change {
      switch holder {
      case .binding(let binding?): .requireBinding(id: binding.bindingID, version: binding.version)
      case .binding(nil): preconditionFailure("a token whose binding is gone is not used up")
      case .profile(let profile): .require(profile)
      }
    }
  }

  /// `nil`: not genuine, or another application's.
  func lookUp<Response>(
    _ token: String, of applicationID: String, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (GenuineToken?) throws(RequestError) -> Void
  ) throws(RequestError) {
    guard let claims = keys.tokenVerifier.verify(token), Identifier.areEqual(claims.applicationID, applicationID),
      let tokenID = Base64URL.decode(claims.tokenID).flatMap({ UniqueID(bytes: $0) })
    else { return try body(nil) }
    let key = ExpiringKey(expiresAt: UnixTime(seconds: claims.expiresAt), id: tokenID)
    // It may have been used or revoked in what was lost when the store was restored from a backup.
    guard key.isIssued(in: store.lineage) else { return try body(nil) }
    store.token(
      key,
      completion: exchange.then { [store, vendor = vendor(of: applicationID)] record in
        let holder: AttemptSubject =
          if let bindingID = claims.bindingID {
            .binding(applicationID: applicationID, bindingID: bindingID)
          } else {
            .profile(applicationID: applicationID, profileID: claims.subject)
          }
        store.attemptRecords(
          for: holder, vendor: vendor, evaluation: nil,
          completion: exchange.then { records throws(RequestError) in
            let holder: GenuineToken.Holder =
              claims.bindingID == nil ? .profile(records.profile) : .binding(records.binding)
            try body(GenuineToken(claims: claims, key: key, record: record, holder: holder))
          })
      })
  }

  // MARK: IntrospectToken

  @Sendable private func introspectToken(
    _ request: V1.IntrospectTokenRequest, _ exchange: Exchange<V1.IntrospectTokenResponse>
  ) throws(RequestError) {
    try validate(applicationID: request.applicationID, token: request.token)
    try lookUp(request.token, of: request.applicationID, for: exchange) { [clock] token in
      guard let token, token.isActive(at: clock()) else {
        return exchange.answer(V1.IntrospectTokenResponse())
      }
      exchange.answer(V1.IntrospectTokenResponse(active: true, claims: V1.TokenClaims(token)))
    }
  }

  // MARK: ConsumeToken

  @Sendable private func consumeToken(
    _ request: V1.ConsumeTokenRequest, _ exchange: Exchange<V1.ConsumeTokenResponse>
  ) throws(RequestError) {
    var validator = RequestValidator()
    Self.validate(applicationID: request.applicationID, token: request.token, with: &validator)
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
          kind, token, applicationID: request.applicationID, reason: reason?.rawValue, caller: exchange.caller,
          time: now)
      }
      if let refusal = ConsumptionRefusal(token, transaction, at: now) {
        return record(event(.refused, reason: refusal), for: exchange) {
          exchange.answer(V1.ConsumeTokenResponse(reason: refusal.rawValue))
        }
      }
      guard let token, var record = token.record else {
        preconditionFailure("a token that may be consumed has a row")
      }
      record.state = .consumed
      let changes: [Change] = [.putToken(record), token.holderRequirement]
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

    /// `nil`: it may be consumed. Only a single-use token can be (R39), and its row was written when it was issued.
    init?(_ token: GenuineToken?, _ transaction: Transaction?, at now: UnixTime) {
      guard let token, token.claims.use.isSingle || token.record?.state == .revoked else {
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
      case .issued where token.isHolderActive:
        // The transaction is no secret, so an early exit tells nothing.
        guard transaction?.canonicalBytes ?? [] != record.transaction else { return nil }
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
      guard let token else {
        let event = EventDraft.token(
          .refused, nil, applicationID: request.applicationID, reason: ConsumptionRefusal.invalid.rawValue,
          caller: exchange.caller, time: now)
        return record(event, for: exchange) { exchange.answer(V1.RevokeTokenResponse()) }
      }
      // An expired one, too: the clock may be set back.
      guard token.record?.state != .revoked else {
        return confirm(for: exchange) { exchange.answer(V1.RevokeTokenResponse()) }
      }
      var record = token.record ?? TokenRecord(key: token.key, state: .revoked, transaction: [], version: 0)
      record.state = .revoked
      let event = EventDraft.token(
        .revoked, token, applicationID: request.applicationID, caller: exchange.caller, time: now)
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
      tokenID: claims.tokenID, applicationID: claims.applicationID, profileID: claims.subject,
      bindingID: claims.bindingID ?? "",
      policy: claims.policy, methods: claims.methods, issuedAt: V1.Timestamp(UnixTime(seconds: claims.issuedAt)),
      expiresAt: V1.Timestamp(UnixTime(seconds: claims.expiresAt)),
      transaction: token.record.flatMap { Transaction(canonicalBytes: $0.transaction) }.map(V1.Transaction.init),
      singleUse: claims.use.isSingle)
  }
}

extension V1.Transaction {
  init(_ transaction: Transaction) {
    self.init(
      amount: transaction.amount, currency: transaction.currency, payee: transaction.payee,
      reference: transaction.reference)
  }
}

extension ProfileRecord {
  /// - Parameter seconds: tokens say when they were issued in whole ones, so what changed within that second counts as
  ///   changed before.
  fileprivate func wasThere(at seconds: Int64) -> Bool {
    version > 0 && createdAt.seconds <= seconds
  }

  fileprivate func hasSecretsAsOf(_ seconds: Int64) -> Bool {
    let secrets = [passcode, gesture].compactMap(\.self)
    return secrets.contains { $0.standing.isSet } && secrets.allSatisfy { $0.setAt.seconds <= seconds }
  }
}
