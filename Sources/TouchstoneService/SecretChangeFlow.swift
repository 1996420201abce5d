// Setting, changing and removing a passcode or a gesture (R16): by the old one, which is an attempt at it (R14), or by
// the caller's own login.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// What SetSecret and RemoveSecret answer alike.
protocol SecretChangeResponse: WireMessage {
  init(accepted: Bool, denial: V1.Denial?, attemptsLeft: UInt32)
}

extension V1.SetSecretResponse: SecretChangeResponse {}
extension V1.RemoveSecretResponse: SecretChangeResponse {}

/// One change on its way. Every step runs on the call's shard; see SecretChecks.swift for what frees turn and place
/// where one fails.
struct SecretChangeFlow<Response: SecretChangeResponse>: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<Response>
  let profile: ProfileName
  /// Passcode or gesture.
  let kind: Factor
  /// `nil`: it is removed.
  let newSecret: SecretBytes?
  let authority: Authority

  enum Authority: Sendable {
    case oldSecret(SecretBytes)
    /// Fresh.
    case primary

    var auditName: String {
      switch self {
      case .oldSecret: "old_secret"
      case .primary: "primary"
      }
    }
  }

  private var checks: SecretChecks { service.secretChecks }
  private var rules: SecretRules { SecretRules(ladder: service.policies.ladder(for: kind)) }

  func start() throws(RequestError) {
    switch authority {
    case .oldSecret(let secret): tryOld(secret, round: 0)
    case .primary: try changeByPrimary()
    }
  }

  // MARK: By primary authentication

  /// In the secret's turn like a verdict: no flood of attempts keeps its owner from setting it anew.
  private func changeByPrimary() throws(RequestError) {
    let name = SecretName(applicationID: profile.applicationID, profileID: profile.profileID, kind: kind)
    try exchange.withPlace(forChangeOf: name, of: checks) { place in
      guard let newSecret else {
        // Removing hashes nothing, and keeps a place all the same: so there are no more such turns than places.
        return exchange.takeTurnWithVerdict(at: name, of: checks.gate) { turn in
          apply(nil, in: turn, keeping: place, round: 0)
        }
      }
      exchange.makeVerifier(of: newSecret, name, in: place, hasher: checks.hasher) { verifier in
        exchange.takeTurnWithVerdict(at: name, of: checks.gate) { turn in
          apply(verifier, in: turn, round: 0)
        }
      }
    }
  }

  private func apply(_ verifier: [UInt8]?, in turn: SecretTurn, keeping place: SecretPlace? = nil, round: Int) {
    service.profile(profile, for: exchange) { record in
      // Removing what is not there changes nothing.
      guard verifier != nil || record.secret(kind)?.standing.isSet == true else {
        return service.confirm(for: exchange) {
          exchange.answer(Response(accepted: true, denial: nil, attemptsLeft: 0))
        }
      }
      commitChange(
        of: record, verifier, in: turn, round: round,
        conflicted: { apply(verifier, in: turn, keeping: place, round: round + 1) })
    }
  }

  private func commitChange(
    of record: ProfileRecord, _ verifier: [UInt8]?, in turn: SecretTurn, round: Int,
    conflicted: @escaping @Sendable () throws(RequestError) -> Void
  ) {
    let now = service.clock()
    var changed = record
    if let verifier {
      changed.setSecret(kind, verifier: verifier, at: now)
    } else {
      changed.eraseSecret(kind, at: now)
    }
    let event = EventDraft.secret(
      verifier == nil ? .removed : .set, kind, profile, authority: authority.auditName, caller: exchange.caller,
      time: now)
    service.commit(
      ChangeSet(changes: [.putProfile(changed)], events: [event]), round: round, for: exchange,
      conflicted: conflicted,
      committed: {
        turn.endWithVerdict()
        exchange.answer(Response(accepted: true, denial: nil, attemptsLeft: 0))
      })
  }

  // MARK: By the old secret

  /// Where attempts at the old secret are counted. Where there is none, a stand-in counts them and is never right, so
  /// that they look the same (R37).
  private struct Holder: Sendable {
    var record: ProfileRecord
    var isStandIn: Bool

    func standing(_ kind: Factor) -> SecretStanding {
      record.secret(kind)?.standing ?? SecretStanding(isSet: isStandIn)
    }

    func verifier(_ kind: Factor) -> [UInt8]? {
      isStandIn ? nil : record.secret(kind)?.verifier
    }

    func name(_ kind: Factor) -> SecretName {
      SecretName(applicationID: record.applicationID, profileID: record.profileID, kind: kind)
    }
  }

  private struct Checked: Sendable {
    var holder: SecretName
    var verifier: [UInt8]?
    var reservation: SecretAdmission.Reservation
    var result: Result

    enum Result: Sendable {
      case wrong
      /// The new secret's; `nil`: it is removed.
      case right(verifier: [UInt8]?)
    }
  }

  private func readHolder(then body: @escaping @Sendable (Holder) throws(RequestError) -> Void) {
    service.profile(profile, for: exchange) { record throws(RequestError) in
      guard record.secret(kind)?.standing.isSet != true else {
        return try body(Holder(record: record, isStandIn: false))
      }
      var standIn = profile
      standIn.profileID = ProfileRecord.standInID(forProfile: profile.profileID)
      service.profile(standIn, for: exchange) { record throws(RequestError) in
        try body(Holder(record: record, isStandIn: true))
      }
    }
  }

  /// The first read is for the secret's name alone: what is decided on is read in a turn at it.
  private func tryOld(_ secret: SecretBytes, round: Int) {
    readHolder { holder throws(RequestError) in
      try exchange.takeTurn(at: holder.name(kind), of: checks.gate) { turn in
        admit(secret, holder.name(kind), in: turn, round: round)
      }
    }
  }

  private func tryAnew(_ secret: SecretBytes, after round: Int) throws(RequestError) {
    guard round + 1 < maximumDecisionRounds else { throw RequestError(.tooManyRounds) }
    tryOld(secret, round: round + 1)
  }

  /// - Parameter place: `nil`: one is asked for when the attempt may be verified.
  private func admit(
    _ secret: SecretBytes, _ name: SecretName, in turn: SecretTurn, _ place: SecretPlace? = nil, round: Int
  ) {
    readHolder { holder throws(RequestError) in
      guard holder.name(kind) == name else { return try tryAnew(secret, after: round) }
      let now = service.clock()
      switch rules.admit(kind, holder.standing(kind), at: now) {
      case .wait:
        turn.wait()
      case .refuse(let denial):
        turn.end()
        refuse(
          V1.Denial(denial, biometry: .unspecified, in: exchange.language), attemptsLeft: 0,
          [.require(holder.record)], at: now, round: round,
          conflicted: { () throws(RequestError) in try tryAnew(secret, after: round) })
      case .verify(let reservation, let counted):
        let kept = try exchange.place(place, forAttemptAt: name, in: turn, of: checks) { turn, place in
          admit(secret, name, in: turn, place, round: round)
        }
        guard let kept else { return }
        var record = holder.record
        record.settle(kind, counted, verifier: nil, at: now)
        service.commit(
          ChangeSet(changes: [.putProfile(record)]), round: round, for: exchange,
          conflicted: { admit(secret, name, in: turn, kept, round: round + 1) },
          committed: {
            turn.end()
            verify(secret, holder, reservation, in: kept, round: round)
          })
      }
    }
  }

  /// The new one's verifier is made in the same place: whoever was right must not wait for another.
  private func verify(
    _ secret: SecretBytes, _ holder: Holder, _ reservation: SecretAdmission.Reservation, in place: SecretPlace,
    round: Int
  ) {
    let (hasher, name, verifier) = (checks.hasher, holder.name(kind), holder.verifier(kind))
    exchange.work(in: place) { result in
      let checked = Checked(holder: name, verifier: verifier, reservation: reservation, result: result)
      exchange.takeTurnWithVerdict(at: name, of: checks.gate) { turn in
        settle(checked, secret, in: turn, round: round)
      }
    } _: { [newSecret] () throws(CryptoError) -> Checked.Result in
      let isRight = try hasher.isRight(secret, for: verifier ?? hasher.standInVerifier, context: name.bytes)
      guard isRight, verifier != nil else { return .wrong }
      guard let newSecret else { return .right(verifier: nil) }
      return .right(verifier: try hasher.verifier(of: newSecret, context: name.bytes))
    }
  }

  /// A verdict is about the secret that it was checked against: where another was set meanwhile, the attempt begins again.
  private func settle(_ checked: Checked, _ secret: SecretBytes, in turn: SecretTurn, round: Int) {
    readHolder { holder throws(RequestError) in
      guard holder.name(kind) == checked.holder, holder.verifier(kind) == checked.verifier else {
        turn.end()
        return try tryAnew(secret, after: round)
      }
      switch checked.result {
      case .right(let verifier):
        commitChange(
          of: holder.record, verifier, in: turn, round: round,
          conflicted: { settle(checked, secret, in: turn, round: round + 1) })
      case .wrong:
        settleWrong(checked, secret, holder, in: turn, round: round)
      }
    }
  }

  private func settleWrong(
    _ checked: Checked, _ secret: SecretBytes, _ holder: Holder, in turn: SecretTurn, round: Int
  ) {
    let now = service.clock()
    let settled = rules.settle(holder.standing(kind), checked.reservation, isRight: false)
    let attemptsLeft = rules.attemptsLeft(with: settled, at: now)
    var denial = V1.Denial.wrongSecret(kind, attemptsLeft: attemptsLeft, in: exchange.language)
    if case .refuse(let locked) = rules.admit(kind, settled, at: now) {
      denial = V1.Denial(locked, biometry: .unspecified, in: exchange.language)
    }
    var record = holder.record
    record.settle(kind, settled, verifier: nil, at: now)
    refuse(
      denial, attemptsLeft: attemptsLeft, [.putProfile(record)], at: now, round: round,
      conflicted: { settle(checked, secret, in: turn, round: round + 1) }, committed: { turn.endWithVerdict() })
  }

  /// - Parameters:
  ///   - changes: what the refusal rests on, or what it costs.
  ///   - committed: runs before the answer.
  private func refuse(
    _ denial: V1.Denial, attemptsLeft: UInt32, _ changes: [Change], at now: UnixTime, round: Int,
    conflicted: @escaping @Sendable () throws(RequestError) -> Void, committed: @escaping @Sendable () -> Void = {}
  ) {
    let event = EventDraft.secret(
      .refused, kind, profile, authority: authority.auditName, reason: denial.reason, caller: exchange.caller, time: now
    )
    service.commit(
      ChangeSet(changes: changes, events: [event]), round: round, for: exchange, conflicted: conflicted,
      committed: {
        committed()
        exchange.answer(Response(accepted: false, denial: denial, attemptsLeft: attemptsLeft))
      })
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
