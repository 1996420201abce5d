import Encodings
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The effect of a token, its lifetime, its audience, and the number of its uses.
struct TokenTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  // MARK: Login

  // R40
  @Test func aLoginsTokenIsActiveUntilItExpires() async throws {
    let token = try await service.logIn(service.bind())
    service.clock.advance(by: .seconds(300) - .microseconds(1))
    #expect(try await service.introspect(token).active)
    service.clock.advance(by: .microseconds(1))
    #expect(try await service.introspect(token) == V1.IntrospectTokenResponse())
  }

  // R32
  @Test func noTokenOutlivesItsBinding() async throws {
    let phone = try await service.bind()
    let (login, payment) = (try await service.logIn(phone), try await service.approve(.dinner, phone))
    try await service.revoke(phone)
    #expect(try await service.introspect(login) == V1.IntrospectTokenResponse())
    #expect(try await service.introspect(payment) == V1.IntrospectTokenResponse())
    #expect(try await service.consume(payment).reason == "REVOKED")
  }

  // R32: on the replica that did not revoke it, too, and where the device was bound again.
  @Test func revocationHoldsOnEveryReplica() async throws {
    let (store, keys) = (MemoryStore(), KeyRing.ephemeral())
    let first = try await TestService.start(store: store, keys: keys)
    let second = try await TestService.start(store: store, keys: keys)
    let phone = try await first.bind()
    let token = try await first.logIn(phone)
    #expect(try await second.introspect(token).active)
    _ = try await first.bind(phone)
    #expect(try await !second.introspect(token).active)
  }

  @Test func aRevokedTokenIsInactiveAndRevokingItAgainChangesNothing() async throws {
    let phone = try await service.bind()
    let (revoked, other) = (try await service.logIn(phone), try await service.logIn(phone))
    try await service.revoke(token: revoked)
    try await service.revoke(token: revoked)
    #expect(try await !service.introspect(revoked).active)
    #expect(try await service.introspect(other).active)
    #expect(service.events.filter { $0.kind == "token.revoked" }.count == 1)
  }

  // R39
  @Test func oneApplicationsTokenIsNothingToAnother() async throws {
    let phone = try await service.bind()
    let (login, payment) = (try await service.logIn(phone), try await service.approve(.dinner, phone))
    #expect(try await !service.introspect(login, applicationID: "com.example.shop").active)
    #expect(try await service.consume(payment, applicationID: "com.example.shop").reason == "INVALID")
    #expect(try await service.consume(payment).consumed)
  }

  // R40
  @Test func signingKeysRotateWithOverlap() async throws {
    let (store, old) = (MemoryStore(), KeyRing.ephemeral())
    let before = try await TestService.start(store: store, keys: old)
    let token = try await before.logIn(before.bind())
    func replica(active: SigningKey, others: [SigningKey]) async throws -> TestService {
      let keys = KeyRing(
        signing: SigningKeys(active: active, others: others), sealing: old.sealing, pepper: old.pepper)
      return try await TestService.start(store: store, keys: keys)
    }
    let new = SigningKey.random()
    #expect(try await replica(active: new, others: [old.signing.active(at: 0)]).introspect(token).active)
    #expect(try await !replica(active: new, others: []).introspect(token).active)
  }

  // R34, R40
  @Test func aRunningServiceTakesOtherKeysAndKeepsItsPepper() async throws {
    let (signing, sealing, pepper) = (SigningKey.random(), SealingKey.random(), Pepper.random())
    func ring(_ signing: [SigningKey], _ sealing: [SealingKey]) -> KeyRing {
      KeyRing(
        signing: SigningKeys(active: signing[0], others: Array(signing.dropFirst())),
        sealing: SealingKeys(active: sealing[0], others: Array(sealing.dropFirst())), pepper: pepper)
    }
    let service = try await TestService.start(keys: ring([signing], [sealing]))
    let phone = try await service.bind()
    let token = try await service.logIn(phone)
    let (first, second) = (try await service.begin(phone), try await service.begin(phone))

    let (newSigning, newSealing) = (SigningKey.random(), SealingKey.random())
    service.service.replaceKeys(ring([newSigning, signing], [newSealing, sealing]))
    #expect(try await service.introspect(token).active)
    #expect(try await service.submit(phone, first).outcome == .succeeded)
    let later = try await service.logIn(phone)

    service.service.replaceKeys(ring([newSigning], [newSealing]))
    #expect(try await !service.introspect(token).active)
    #expect(try await service.introspect(later).active)
    #expect(try await service.submit(phone, second).outcome == .invalidContext)
  }

  // R40
  @Test(arguments: ["", ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30."])
  func whatIsNoTokenIsInactive(_ text: String) async throws {
    guard !text.isEmpty else {
      return #expect(await refusal { try await service.introspect(text) }.fields == ["token"])
    }
    #expect(try await !service.introspect(text).active)
    #expect(try await service.consume(text).reason == "INVALID")
    try await service.revoke(token: text)
    #expect(service.events.map(\.kind) == ["token.refused", "token.refused"])
  }

  // R32
  @Test func aTokenRevokedAfterItsTimeStaysSoWhereTheClockIsSetBack() async throws {
    let token = try await service.logIn(service.bind())
    service.clock.advance(by: .seconds(300))
    try await service.revoke(token: token)
    service.clock.advance(by: .seconds(-60))
    #expect(try await !service.introspect(token).active)
  }

  // R40: it would be good until that time has come.
  @Test func aTokenOfAClockThatWasAheadIsNotActive() async throws {
    let phone = try await service.bind()
    let lead = Duration.seconds(100 * 86_400)
    service.clock.advance(by: lead)
    let (login, payment) = (try await service.logIn(phone), try await service.approve(.dinner, phone))
    #expect(try await service.introspect(login).active)
    service.clock.advance(by: .zero - lead)
    #expect(try await !service.introspect(login).active)
    #expect(try await service.consume(payment, .dinner).reason == "EXPIRED")
    service.clock.advance(by: lead - .seconds(120))
    #expect(try await service.introspect(login).active)
  }

  // MARK: Payment

  // R38, R39
  @Test func aPaymentIsConsumedOnce() async throws {
    let phone = try await service.bind()
    let token = try await service.approve(.dinner, phone)
    let claims = try #require(try await service.introspect(token).claims)
    #expect(claims.singleUse)
    #expect(claims.transaction == .dinner)
    #expect(claims.expiresAt == V1.Timestamp(service.clock.now + .seconds(120)))
    let first = try await service.consume(token)
    #expect(first.consumed)
    #expect(first.claims?.profileID == "alice")
    #expect(try await service.consume(token) == V1.ConsumeTokenResponse(reason: "ALREADY_CONSUMED"))
    #expect(try await !service.introspect(token).active)
  }

  // R39
  @Test(arguments: [MemoryStore.Delivery.immediate, .later])
  func ofParallelConsumptionsOneSucceeds(_ delivery: MemoryStore.Delivery) async throws {
    let service = try await TestService.start(store: MemoryStore(delivery: delivery), connections: 2)
    let token = try await service.approve(.dinner, service.bind())
    let answers = try await inParallel(24) { try await service.consume(token) }
    #expect(answers.filter(\.consumed).count == 1)
    #expect(answers.filter { $0.reason == "ALREADY_CONSUMED" }.count == 23)
    #expect(service.events.filter { $0.kind == "token.consumed" }.count == 1)
  }

  // R39: every byte of the transaction counts, and a wrong one does not use up the token.
  @Test func aPaymentIsConsumedForItsOwnTransactionAlone() async throws {
    let token = try await service.approve(.dinner, service.bind())
    let others: [V1.Transaction?] = [
      nil, .dinner.with { $0.amount = "12.5" }, .dinner.with { $0.currency = "USD" },
      .dinner.with { $0.payee = "noodle house" }, .dinner.with { $0.reference = "order-2" },
    ]
    for other in others {
      #expect(try await service.consume(token, other) == V1.ConsumeTokenResponse(reason: "TRANSACTION_MISMATCH"))
    }
    #expect(try await service.consume(token).consumed)
  }

  // R38
  @Test func aPaymentExpires() async throws {
    let phone = try await service.bind()
    let (early, late) = (try await service.approve(.dinner, phone), try await service.approve(.dinner, phone))
    service.clock.advance(by: .seconds(120) - .microseconds(1))
    #expect(try await service.consume(early).consumed)
    service.clock.advance(by: .microseconds(1))
    #expect(try await service.consume(late).reason == "EXPIRED")
    #expect(try await service.consume(early).reason == "EXPIRED")
  }

  @Test func aRevokedPaymentIsNotConsumed() async throws {
    let token = try await service.approve(.dinner, service.bind())
    try await service.revoke(token: token)
    #expect(try await service.consume(token).reason == "REVOKED")
    #expect(try await !service.introspect(token).active)
  }

  /// A caller that repeats the consumption learns of it.
  // R39
  @Test func aConsumedPaymentStaysSoIfItIsRevoked() async throws {
    let token = try await service.approve(.dinner, service.bind())
    #expect(try await service.consume(token).consumed)
    try await service.revoke(token: token)
    #expect(try await service.consume(token).reason == "ALREADY_CONSUMED")
    #expect(try await !service.introspect(token).active)
    #expect(!service.events.contains { $0.kind == "token.revoked" })
  }

  // R40: a row that a token of another use left serves no login token: they never have one until they are revoked.
  @Test(arguments: [TokenState.issued, .consumed])
  func aLoginsTokenWithARowOfAnotherUseIsInactive(_ state: TokenState) async throws {
    let token = try await service.logIn(service.bind())
    let claims = try #require(service.service.keys.tokenVerifier.verify(token))
    let id = try #require(Base64URL.decode(claims.tokenID).flatMap { UniqueID(bytes: $0) })
    let key = ExpiringKey(expiresAt: UnixTime(seconds: claims.expiresAt), id: id)
    try service.store.change(.putToken(TokenRecord(key: key, state: state, transaction: [], version: 0)))
    #expect(try await !service.introspect(token).active)
    #expect(try await service.consume(token, nil).reason == "INVALID")
  }

  // R40: its login tokens would be for the audience of another application's payments.
  @Test(arguments: ["shop/payment", "shop/once"])
  func noApplicationIsNamedLikeAnAudience(_ applicationID: String) async throws {
    let refused = await refusal { try await service.introspect("x", applicationID: applicationID) }
    #expect(refused.fields == ["application_id"])
  }

  // R39
  @Test func aLoginsTokenPaysNothing() async throws {
    let token = try await service.logIn(service.bind())
    #expect(try await service.consume(token).reason == "INVALID")
    #expect(try await service.consume(token, nil).reason == "INVALID")
    #expect(try await service.introspect(token).active)
  }

  // R33, R38
  @Test func aSignatureApprovesTheTransactionThatItCovers() async throws {
    let phone = try await service.bind()
    let dinner = try await service.begin(phone, policy: "payment", transaction: .dinner)
    let yacht = try await service.begin(phone, policy: "payment", transaction: .dinner.with { $0.amount = "9000000" })
    #expect(try await service.submit(phone, yacht, phone.proof(for: dinner)).outcome == .tryAgain)
    #expect(try await service.submit(phone, dinner).outcome == .succeeded)
  }

  // R38
  @Test func aTransactionGoesWithAPaymentAndWithNothingElse() async throws {
    let phone = try await service.bind()
    #expect(await refusal { try await service.begin(phone, policy: "payment") }.fields == ["transaction"])
    #expect(await refusal { try await service.begin(phone, transaction: .dinner) }.fields == ["transaction"])
  }

  // R32: setting a secret anew, or erasing it, ends the tokens that it proved, whatever else is set.
  // Also where the clock stands still, or is set back to when it was set.
  @Test(arguments: [true, false], [Duration.zero, .seconds(-3_600)])
  func aTokenByASecretEndsWithIt(_ isErased: Bool, _ step: Duration) async throws {
    _ = try await service.set(.gesture(0, 1, 2, 5))
    _ = try await service.set(.passcode("2468"))
    let token = try await service.attempt(.typed("2468")).token
    #expect(try await service.introspect(token).active)
    service.clock.advance(by: step)
    if isErased {
      _ = try await service.remove(.passcode)
    } else {
      _ = try await service.set(.passcode("1357"))
    }
    #expect(try await !service.introspect(token).active)
    let later = try await service.attempt(isErased ? .drawn(0, 1, 2, 5) : .typed("1357")).token
    #expect(try await service.introspect(later).active)
  }

  // R32: the id is another person's then, also where it was given away within the same microsecond.
  @Test func anErasedProfilesTokenIsNothingToWhoeverGetsTheIDNext() async throws {
    _ = try await service.set(.passcode("2468"))
    let token = try await service.attempt(.typed("2468")).token
    #expect(try await service.introspect(token).active)
    try await service.erase()
    _ = try await service.set(.passcode("9753"))
    #expect(try await !service.introspect(token).active)
    #expect(try await service.consume(token).reason == "INVALID")
    try await service.revoke(token: token)
    #expect(service.events.filter { $0.kind.hasPrefix("token.") }.allSatisfy { $0.profileID.isEmpty })

    // R26: and no evidence for their phone.
    let phone = try await service.bind()
    let acceptance = V1.AcceptDomainStateRequest(
      applicationID: TestService.applicationID, bindingID: phone.bindingID, domainState: [9], evidence: .token(token),
      osVersion: "17.0")
    let error = await refusal { () async throws -> V1.AcceptDomainStateResponse in
      try await service.call("BindingService/AcceptDomainState", acceptance)
    }
    #expect(error.reason == "TOKEN_INVALID")
  }

  // R32: what was set while the clock was ahead has its tokens once it is right again.
  @Test func aProfileMadeWhileTheClockWasAheadHasItsTokens() async throws {
    service.clock.advance(by: .seconds(30 * 86_400))
    _ = try await service.set(.passcode("2468"))
    service.clock.advance(by: .seconds(-30 * 86_400))
    #expect(try await service.introspect(try await service.attempt(.typed("2468")).token).active)
    _ = try await service.set(.passcode("9753"))
    #expect(try await service.introspect(try await service.attempt(.typed("9753")).token).active)
  }

  // R32, R37, R40: the token holds the record to which it is bound, in a form that identifies no person.
  @Test func aTokenWithoutABindingIsBoundToItsProfile() async throws {
    _ = try await service.set(.passcode("2468"))
    let verifier = service.service.keys.tokenVerifier
    let first = try #require(verifier.verify(try await service.attempt(.typed("2468")).token))
    let second = try #require(verifier.verify(try await service.attempt(.typed("2468")).token))
    #expect(first.profileState?.count == 32)
    #expect(first.profileState?.prefix(16) != second.profileState?.prefix(16))
    #expect(first.profileState?.suffix(16) != second.profileState?.suffix(16))
    let phone = try await service.bind(TestPhone(deviceID: "8f14e45f-ceea-467f-9575-5f9c27e8ab02", profileID: "bob"))
    #expect(try #require(verifier.verify(try await service.logIn(phone))).profileState == nil)

    var earlier = first
    earlier.profileState = nil
    #expect(try await !service.introspect(service.service.keys.tokenSigner.sign(earlier)).active)
  }

  // R41: read before the erasure, written after it.
  @Test(arguments: [true, false]) func anErasureDuringACallAboutATokenLeavesNoName(_ isRevoked: Bool) async throws {
    let token = try await service.logIn(service.bind())
    service.eraseBeforeNextCommit()
    if isRevoked {
      try await service.revoke(token: token)
    } else {
      #expect(try await service.consume(token).reason == "INVALID")
    }
    #expect(service.events.last?.kind == (isRevoked ? "token.revoked" : "token.refused"))
    #expect(service.events.allSatisfy { $0.profileID.isEmpty && $0.bindingID.isEmpty && $0.deviceID.isEmpty })
  }

  // R41: what was erased is named by no later event.
  @Test func anErasedProfilesTokenBringsNoNameBack() async throws {
    let phone = try await service.bind()
    let payment = try await service.approve(.dinner, phone)
    _ = try await service.set(.passcode("2468"))
    let login = try await service.attempt(.typed("2468")).token
    try await service.erase()
    #expect(try await service.consume(payment).reason == "REVOKED")
    #expect(try await service.consume(login).reason == "INVALID")
    try await service.revoke(token: payment)
    try await service.revoke(token: login)
    let kinds = service.events.suffix(4).map(\.kind)
    #expect(kinds == ["token.refused", "token.refused", "token.revoked", "token.revoked"])
    #expect(service.events.allSatisfy { $0.profileID.isEmpty && $0.bindingID.isEmpty })
  }

  @Test func allThatIsWrongWithARequestIsNamed() async throws {
    let wrong = V1.Transaction(amount: "x", currency: "EUR", payee: "shop", reference: "")
    let consumed = await refusal { try await service.consume("", wrong, applicationID: "") }
    #expect(consumed.fields == ["application_id", "token", "transaction.amount", "transaction.reference"])
    let revoked = await refusal { () async throws -> V1.RevokeBindingResponse in
      try await service.call(
        "BindingService/RevokeBinding", V1.RevokeBindingRequest(reason: String(repeating: "x", count: 300)))
    }
    #expect(revoked.fields == ["application_id", "binding_id", "reason"])
  }
}

extension V1.Transaction {
  fileprivate func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}
