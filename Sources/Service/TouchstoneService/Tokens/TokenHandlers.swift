// TokenService: what other services ask about a token.

internal import DispatchRPC
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
    register(Service.getSigningKeys, in: &methods) { [self] _, exchange throws(RequestError) in
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
      case .binding(let binding?): .requireBinding(id: binding.bindingID, version: binding.version)
      case .binding(nil): preconditionFailure("a token whose binding is gone is not used up")
      case .profile(let profile, _): .require(profile)
      }
    }

    /// An event that names a profile requires that the profile still exists.
    var nameRequirements: [Change] { isHolderErased ? [] : [holderRequirement] }
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
      completion: exchange.then { [store, pepper, vendor = vendor(of: applicationID)] record in
        let holder: AttemptSubject =
          if let bindingID = claims.bindingID {
            .binding(applicationID: applicationID, bindingID: bindingID)
          } else {
            .profile(applicationID: applicationID, profileID: claims.subject)
          }
        store.attemptRecords(
          for: holder, vendor: vendor, evaluation: nil,
          completion: exchange.then { records throws(RequestError) in
            func state() -> ProfileState {
              ProfileState(of: records.profile, forToken: claims.tokenID, pepper: pepper)
            }
            let holder: GenuineToken.Holder =
              claims.bindingID == nil ? .profile(records.profile, state()) : .binding(records.binding)
            try body(GenuineToken(claims: claims, key: key, record: record, holder: holder))
          })
      })
  }

  // MARK: IntrospectToken

  @Sendable private func introspectToken(
    _ request: V1.IntrospectTokenRequest, _ exchange: Exchange<V1.IntrospectTokenResponse>
  ) throws(RequestError) {
    try validate(applicationID: request.applicationID, token: request.token)
    try lookUp(request.token, of: request.applicationID, for: exchange) { [clock, meters] token in
      guard let token, token.isActive(at: clock()) else {
        meters.introspections.count(.inactive)
        return exchange.answer(V1.IntrospectTokenResponse())
      }
      meters.introspections.count(.active)
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
    exchange.deciding { [self] round throws(RequestError) in try consume(request, transaction, exchange, in: round) }
  }

  private func consume(
    _ request: V1.ConsumeTokenRequest, _ transaction: Transaction?, _ exchange: Exchange<V1.ConsumeTokenResponse>,
    in round: DecisionRound
  ) throws(RequestError) {
    try lookUp(request.token, of: request.applicationID, for: exchange) { [self] token in
      let now = clock()
      func event(_ kind: EventDraft.TokenKind, reason: TokenRefusal? = nil) -> EventDraft {
        .token(
          kind, token, applicationID: request.applicationID, reason: reason?.rawValue, caller: exchange.caller,
          time: now)
      }
      if let refusal = TokenRefusal(consuming: token?.facts, for: transaction, at: now) {
        let event = ThrottledEvent(
          event(.refused, reason: refusal), about: token?.claims.tokenID ?? "",
          isEarned: token?.facts.isEarned(at: now) == true,
          on: token?.nameRequirements ?? [])
        return record(event, in: round, for: exchange) { [meters] in
          meters.consumptions.count(refusal)
          exchange.answer(V1.ConsumeTokenResponse(reason: refusal.rawValue))
        }
      }
      guard let token, var record = token.record else {
        preconditionFailure("a token that may be consumed has a row")
      }
      record.state = .consumed
      let changes: [Change] = [.putToken(record), token.holderRequirement]
      commit(ChangeSet(changes: changes, events: [event(.consumed)]), in: round, for: exchange) { [meters] in
        meters.consumptions.count(nil)
        exchange.answer(V1.ConsumeTokenResponse(consumed: true, claims: V1.TokenClaims(token)))
      }
    }
  }

  // MARK: RevokeToken

  /// Idempotent, and silent about tokens that are not genuine, as RFC 7009, section 2.2 has it.
  @Sendable private func revokeToken(
    _ request: V1.RevokeTokenRequest, _ exchange: Exchange<V1.RevokeTokenResponse>
  ) throws(RequestError) {
    try validate(applicationID: request.applicationID, token: request.token)
    exchange.deciding { [self] round throws(RequestError) in try revoke(request, exchange, in: round) }
  }

  private func revoke(
    _ request: V1.RevokeTokenRequest, _ exchange: Exchange<V1.RevokeTokenResponse>, in round: DecisionRound
  ) throws(RequestError) {
    try lookUp(request.token, of: request.applicationID, for: exchange) { [self] token in
      let now = clock()
      guard let token else {
        let event = EventDraft.token(
          .refused, nil, applicationID: request.applicationID, reason: TokenRefusal.invalid.rawValue,
          caller: exchange.caller, time: now)
        return record(ThrottledEvent(event), for: exchange) { exchange.answer(V1.RevokeTokenResponse()) }
      }
      // An expired one, too: the clock may be set back.
      guard token.facts.isRevocable else {
        return confirm(for: exchange) { exchange.answer(V1.RevokeTokenResponse()) }
      }
      var record = token.record ?? TokenRecord(key: token.key, state: .revoked, transaction: [], version: 0)
      record.state = .revoked
      let event = EventDraft.token(
        .revoked, token, applicationID: request.applicationID, caller: exchange.caller, time: now)
      commit(
        ChangeSet(changes: [.putToken(record)] + token.nameRequirements, events: [event]), in: round, for: exchange
      ) { exchange.answer(V1.RevokeTokenResponse()) }
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
