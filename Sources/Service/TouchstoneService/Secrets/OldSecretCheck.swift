// The old secret, by which a secret is changed or removed: an attempt at it (R14, R16).

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct OldSecretCheck<Response: SecretChangeResponse>: SecretCheck {
  let flow: SecretChangeFlow<Response>
  let secret: OfferedSecret

  var service: TouchstoneService { flow.service }
  var exchange: Exchange<Response> { flow.exchange }
  var kind: Factor { flow.kind }
  private var rules: SecretRules { SecretRules(ladder: service.policies.ladder(for: kind)) }

  struct Holder: Sendable {
    /// Whose secret it is or would be; of version 0 where nothing is known of it.
    let profile: ProfileRecord
    let count: SecretCount
    /// What counts the attempts.
    let holder: SecretHolder

    init(profile: ProfileRecord, as name: UnknownName, of kind: Factor) {
      self.profile = profile
      count = profile.secretCount(of: kind, as: name)
      holder = SecretHolder(profile, name, kind)
    }

    /// What counts at a name rests on the profile, too.
    func changes(to standing: SecretStanding, of kind: Factor, at now: UnixTime) -> [Change] {
      [holder.change(to: standing, of: kind, at: now) ?? .require(profile), .asMuchAsAnyCount]
    }

    func target(_ kind: Factor) -> SecretTarget {
      SecretTarget(
        name: SecretName(applicationID: profile.applicationID, profileID: profile.profileID, kind: kind),
        verifier: count.isSet ? profile.secret(kind)?.verifier : nil, isCountedInProfile: holder.isProfile)
    }
  }

  enum Verdict: Sendable {
    case wrong
    /// The new secret's; `nil`: it is removed.
    case right(verifier: [UInt8]?)
  }

  /// Looks the name up also where there is a secret: so that both take as long.
  func read(then body: @escaping @Sendable (Holder) throws(RequestError) -> Void) {
    service.profile(flow.profile, for: exchange) { record throws(RequestError) in
      try body(Holder(profile: record, as: service.unknownNames.name(of: record), of: kind))
    }
  }

  func target(of holder: Holder) -> SecretTarget { holder.target(kind) }

  func admit(_ holder: Holder, in turn: SecretTurn, _ round: DecisionRound) -> CountedFailure? {
    let now = service.clock()
    switch rules.admit(kind, holder.count.standing, at: now) {
    case .wait:
      turn.wait()
      return nil
    case .refuse(let denial):
      turn.end()
      refuse(V1.Denial(denial, biometry: .unspecified, in: exchange.language), by: holder, at: now, in: round)
      return nil
    case .verify(let reservation, let counted):
      return CountedFailure(
        reservation: reservation, standing: counted, holder: holder.holder,
        changes: holder.changes(to: counted, of: kind, at: now))
    }
  }

  /// The new one's verifier is made in the same place: a right secret must not wait for another one.
  func verify(against target: SecretTarget, with hasher: any SecretHasher) throws(CryptoError) -> Verdict {
    let context = target.name.bytes
    let match = try secret.match(target.verifier ?? hasher.standInVerifier, context: context, with: hasher)
    guard match != .wrong, target.verifier != nil else { return .wrong }
    guard let newSecret = flow.newSecret else { return .right(verifier: nil) }
    return .right(verifier: try hasher.verifier(of: newSecret, context: context))
  }

  func isRight(_ verdict: Verdict) -> Bool {
    if case .right = verdict { true } else { false }
  }

  func settle(_ checked: CheckedSecret<Verdict>, on holder: Holder, in turn: SecretTurn, _ round: DecisionRound) {
    switch checked.verdict {
    case .right(let verifier): flow.commitChange(of: holder.profile, verifier, in: turn, round)
    case .wrong: settleWrong(checked, holder, in: turn, round)
    }
  }

  private func settleWrong(
    _ checked: CheckedSecret<Verdict>, _ holder: Holder, in turn: SecretTurn, _ round: DecisionRound
  ) {
    let now = service.clock()
    let wrong = rules.settleWrongOld(kind, holder.count.standing, checked.reservation, at: now)
    let (settled, attemptsLeft) = (wrong.standing, wrong.attemptsLeft)
    let denial =
      wrong.lock.map { V1.Denial($0, biometry: .unspecified, in: exchange.language) }
      ?? .wrongSecret(kind, attemptsLeft: attemptsLeft, in: exchange.language)
    let refusal = refusal(
      denial, of: holder, isRequired: holder.profile.version > 0,
      on: holder.changes(to: settled, of: kind, at: now), at: now)
    service.record(refusal, in: round, for: exchange) { [service] in
      service.unknownNames.note(settled, of: kind, in: holder.holder, by: exchange.caller)
      service.meters.oldSecrets.count(.wrong, of: kind)
      if wrong.lock != nil {
        service.lockBegan(ServiceMeters.Lock(kind), in: flow.profile.applicationID, for: exchange)
      }
      turn.endWithVerdict()
      exchange.answer(Response(accepted: false, denial: denial, attemptsLeft: attemptsLeft))
    }
  }

  /// It was not verified.
  private func refuse(_ denial: V1.Denial, by holder: Holder, at now: UnixTime, in round: DecisionRound) {
    service.record(
      refusal(denial, of: holder, on: [.require(holder.profile)], at: now), in: round,
      for: exchange
    ) { exchange.answer(Response(accepted: false, denial: denial, attemptsLeft: 0)) }
  }

  private func refusal(
    _ denial: V1.Denial, of holder: Holder, isRequired: Bool = false, on changes: [Change], at now: UnixTime
  ) -> ThrottledEvent {
    let event = EventDraft.secret(
      .refused, kind, holder.profile.eventName, authority: flow.authority.auditName, reason: denial.reason,
      caller: exchange.caller, time: now)
    return ThrottledEvent(event, about: flow.profile.profileID, isRequired: isRequired, on: changes)
  }
}

extension V1.Denial {
  /// Counted, and the next may be right.
  fileprivate static func wrongSecret(_ kind: Factor, attemptsLeft: UInt32, in language: Language) -> V1.Denial {
    let decision = AttemptDecision(
      outcome: .tryAgain, laError: .authenticationFailed, attemptsLeft: attemptsLeft)
    return V1.Denial(
      laError: V1.LAError(.authenticationFailed), reason: RequestError.Reason.wrongSecret,
      message: Message(decision, by: kind, biometry: .unspecified, in: language).map(V1.LocalizedText.init))
  }
}
