// TokenService: what other services ask about a token.

internal import Encodings
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  func registerTokens(_ methods: inout MethodTable) {
    typealias Service = V1.TokenService
    register(Service.introspectToken, in: &methods, handler: introspectToken)
    register(Service.consumeToken, in: &methods, handler: consumeToken)
    register(Service.revokeToken, in: &methods, handler: revokeToken)
    register(Service.getSigningKeys, in: &methods, handler: getSigningKeys)
  }

  /// A token of ours is under 1 KiB with identifiers of 128 bytes; base64 and escapes may double them.
  static let tokenBytes = 1...4_096

  /// A genuine token of this application, with what the store knows of it.
  struct GenuineToken: Sendable {
    var claims: TokenClaims
    var key: ExpiringKey
    var record: TokenRecord?
    var holder: Holder

    /// The record that the token's validity depends on.
    enum Holder: Sendable {
      /// `nil`: there is none in this application.
      case binding(BindingRecord?)
      /// A token without a binding depends on its profile as it is now.
      case profile(ProfileRecord, ProfileState)
    }

    /// As the rules see it.
    var facts: TokenFacts {
      TokenFacts(
        servesOnce: claims.use.isSingle, isProvenBySecret: claims.methods.contains(AuthenticationMethod.pin),
        issuedAt: UnixTime(seconds: claims.issuedAt), expiresAt: UnixTime(seconds: claims.expiresAt),
        state: record?.state, transaction: record?.transaction ?? [], holder: holderFacts)
    }

    private var holderFacts: TokenFacts.Holder {
      switch holder {
      case .binding(let binding):
        return binding.map { .binding(isRevoked: $0.isRevoked) } ?? .erased
      case .profile(let profile, let state):
        let issued = claims.profileState ?? []
        guard profile.version != 0, state.hasProfile(of: issued) else { return .erased }
        return .profile(hasSameSecrets: state.hasSecrets(of: issued))
      }
    }

    /// Events name no erased profile, whose id would be in the log again.
    var isHolderErased: Bool { holderFacts == .erased }

    func isActive(at now: UnixTime) -> Bool { facts.isActive(at: now) }

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

    /// To serve as evidence, it must be as it was read (R32).
    var requirements: [Change] { [holderRequirement, .requireToken(key, version: record?.version ?? 0)] }

    /// To be used up, what it lives and dies with must be as it was read (R32).
    var holderRequirement: Change {
      switch holder {
      case .binding(let binding?): .require(binding)
      case .binding(nil): preconditionFailure("a token whose binding is gone is not used up")
      case .profile(let profile, _): .require(profile)
      }
    }

    /// An event that names a profile requires that the profile still exists.
    var nameRequirements: [Change] { isHolderErased ? [] : [holderRequirement] }
  }

  /// `nil`: not genuine, or another application's.
  func lookUp<Response>(
    _ token: String, of applicationID: String, for exchange: Exchange<Response>
  ) async throws(RequestError) -> GenuineToken? {
    guard let claims = keys.tokenVerifier.verify(token), Identifier.areEqual(claims.applicationID, applicationID),
      let tokenID = Base64URL.decode(claims.tokenID).flatMap({ UniqueID(bytes: $0) })
    else { return nil }
    let key = ExpiringKey(expiresAt: UnixTime(seconds: claims.expiresAt), id: tokenID)
    // It may have been used or revoked in what was lost when the store was restored from a backup.
    guard key.isIssued(in: store.lineage) else { return nil }
    let record = try await exchange.value { store.token(key, completion: $0) }
    let named = claims.bindingID.map(EvaluationSubject.binding) ?? .profile(claims.subject)
    let records: AttemptRecords = try await exchange.value {
      self.records(SubjectQuery(named: named, applicationID: applicationID), completion: $0)
    }
    let holder: GenuineToken.Holder =
      if claims.bindingID == nil {
        .profile(
          records.profile, ProfileState(of: records.profile, forToken: claims.tokenID, pepper: pepper))
      } else {
        .binding(records.binding)
      }
    return GenuineToken(claims: claims, key: key, record: record, holder: holder)
  }

  @Sendable private func getSigningKeys(
    _: V1.GetSigningKeysRequest, _: Exchange<V1.GetSigningKeysResponse>
  ) -> V1.GetSigningKeysResponse {
    V1.GetSigningKeysResponse(jwkSet: keys.jwkSet)
  }

  // MARK: IntrospectToken

  @Sendable private func introspectToken(
    _ request: V1.IntrospectTokenRequest, _ exchange: Exchange<V1.IntrospectTokenResponse>
  ) async throws(RequestError) -> V1.IntrospectTokenResponse {
    try RequestValidator(request.applicationID, token: request.token).finish()
    let token = try await lookUp(request.token, of: request.applicationID, for: exchange)
    guard let token, token.isActive(at: clock()) else {
      meters.introspections.count(.inactive)
      return V1.IntrospectTokenResponse()
    }
    meters.introspections.count(.active)
    return V1.IntrospectTokenResponse(active: true, claims: V1.TokenClaims(token))
  }

  // MARK: ConsumeToken

  @Sendable private func consumeToken(
    _ request: V1.ConsumeTokenRequest, _ exchange: Exchange<V1.ConsumeTokenResponse>
  ) async throws(RequestError) -> V1.ConsumeTokenResponse {
    var validator = RequestValidator(request.applicationID, token: request.token)
    let transaction = request.transaction.map { validator.transaction($0, "transaction") }
    try validator.finish()
    for _ in DecisionRound.all {
      if let response = try await consume(request, transaction, exchange) { return response }
    }
    throw .tooManyRounds
  }

  /// `nil`: a record changed since it was read.
  private func consume(
    _ request: V1.ConsumeTokenRequest, _ transaction: Transaction?, _ exchange: Exchange<V1.ConsumeTokenResponse>
  ) async throws(RequestError) -> V1.ConsumeTokenResponse? {
    let token = try await lookUp(request.token, of: request.applicationID, for: exchange)
    let now = clock()
    func event(_ kind: EventDraft.TokenKind, reason: TokenRefusal? = nil) -> EventDraft {
      .token(
        kind, token, applicationID: request.applicationID, reason: reason?.rawValue, caller: exchange.caller, time: now)
    }
    if let refusal = TokenRefusal(consuming: token?.facts, for: transaction, at: now) {
      let event = ThrottledEvent(
        event(.refused, reason: refusal), about: token?.claims.tokenID ?? "",
        isEarned: token?.facts.isEarned(at: now) == true, on: token?.nameRequirements ?? [])
      guard try await record(event, for: exchange) else { return nil }
      meters.consumptions.count(refusal)
      return V1.ConsumeTokenResponse(reason: refusal.rawValue)
    }
    guard let token, var record = token.record else {
      preconditionFailure("a token that may be consumed has a row")
    }
    record.state = .consumed
    let changes: [Change] = [.putToken(record), token.holderRequirement]
    guard try await commit(ChangeSet(changes: changes, events: [event(.consumed)]), for: exchange) else { return nil }
    meters.consumptions.count(nil)
    return V1.ConsumeTokenResponse(consumed: true, claims: V1.TokenClaims(token))
  }

  // MARK: RevokeToken

  /// Idempotent, and silent about tokens that are not genuine, as RFC 7009, section 2.2 has it.
  @Sendable private func revokeToken(
    _ request: V1.RevokeTokenRequest, _ exchange: Exchange<V1.RevokeTokenResponse>
  ) async throws(RequestError) -> V1.RevokeTokenResponse {
    try RequestValidator(request.applicationID, token: request.token).finish()
    for _ in DecisionRound.all where try await revoke(request, exchange) { return V1.RevokeTokenResponse() }
    throw .tooManyRounds
  }

  /// False: a record changed since it was read.
  private func revoke(
    _ request: V1.RevokeTokenRequest, _ exchange: Exchange<V1.RevokeTokenResponse>
  ) async throws(RequestError) -> Bool {
    let found = try await lookUp(request.token, of: request.applicationID, for: exchange)
    let now = clock()
    guard let token = found else {
      let event = EventDraft.token(
        .refused, nil, applicationID: request.applicationID, reason: TokenRefusal.invalid.rawValue,
        caller: exchange.caller, time: now)
      return try await record(ThrottledEvent(event), for: exchange)
    }
    // An expired one, too: the clock may be set back.
    guard token.facts.isRevocable else {
      try await confirm(for: exchange)
      return true
    }
    var record = token.record ?? TokenRecord(key: token.key, state: .revoked, transaction: [], version: 0)
    record.state = .revoked
    let event = EventDraft.token(
      .revoked, token, applicationID: request.applicationID, caller: exchange.caller, time: now)
    let changes = [.putToken(record)] + token.nameRequirements
    return try await commit(ChangeSet(changes: changes, events: [event]), for: exchange)
  }
}

extension RequestValidator {
  /// For a request about one token.
  fileprivate init(_ applicationID: String, token: String) {
    self.init()
    application(applicationID)
    text(token, "token", bytes: TouchstoneService.tokenBytes)
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
      singleUse: claims.use.isSingle,
      attestationLevel: claims.attestation.flatMap(ProofLevel.init(name:)).map(V1.AttestationLevel.init) ?? .unspecified
    )
  }
}

extension V1.Transaction {
  init(_ transaction: Transaction) {
    self.init(
      amount: transaction.amount, currency: transaction.currency, payee: transaction.payee,
      reference: transaction.reference)
  }
}

extension TokenFacts {
  /// It cost a success, and there is one consumption to tell of: see `EventThrottle.Key`.
  fileprivate func isEarned(at now: UnixTime) -> Bool { servesOnce && now < expiresAt }
}
