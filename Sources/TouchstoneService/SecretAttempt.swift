// An attempt with a passcode or a gesture: counted, then verified, then settled (R14).

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The two phases of one attempt. See SecretChecks.swift for what frees turn and place where one fails.
struct SecretAttempt: Sendable {
  let flow: AttemptFlow
  let secret: OfferedSecret

  private var kind: Factor { secret.kind }
  private var checks: SecretChecks { flow.service.secretChecks }

  /// What was verified, and to what end.
  private struct Checked: Sendable {
    var name: SecretName
    /// `nil`: a stand-in's.
    var verifier: [UInt8]?
    var reservation: SecretAdmission.Reservation
    var verdict: SecretVerdict
  }

  private func name(of subject: Subject) -> SecretName {
    SecretName(applicationID: flow.applicationID, profileID: subject.secretHolder.profileID, kind: kind)
  }

  // MARK: Phase one: count it

  /// The first read is for the secret's name alone: what is decided on is read in a turn at it.
  ///
  /// - Parameter round: of all its rounds; the secret may change under it more than once.
  func start(round: Int = 0) {
    flow.read { subject throws(RequestError) in
      let name = name(of: subject)
      try flow.exchange.takeTurn(at: name, of: checks.gate) { turn in admit(name, in: turn, round: round) }
    }
  }

  private func startAnew(after round: Int) throws(RequestError) {
    guard round + 1 < maximumDecisionRounds else { throw RequestError(.tooManyRounds) }
    start(round: round + 1)
  }

  /// - Parameter place: `nil`: one is asked for when the attempt may be verified.
  private func admit(_ name: SecretName, in turn: SecretTurn, _ place: SecretPlace? = nil, round: Int) {
    flow.read { subject throws(RequestError) in
      guard self.name(of: subject) == name else { return try startAnew(after: round) }
      guard !flow.isOutdated else { return flow.refuseContext() }
      let now = flow.service.clock()
      switch flow.policy.admitSecret(kind, subject.facts(posture: flow.posture, now: now)) {
      case .refuse(let decision):
        turn.end()
        flow.commit(
          subject, decision, at: now, round: round,
          conflicted: { () throws(RequestError) in try startAnew(after: round) })
      case .wait:
        turn.wait()
      case .verify(let reservation, let counted):
        let kept = try flow.exchange.place(place, forAttemptAt: name, in: turn, of: checks) { turn, place in
          admit(name, in: turn, place, round: round)
        }
        guard let kept else { return }
        var holder = subject.secretHolder
        holder.settle(kind, counted, verifier: nil, at: now)
        flow.service.commit(
          ChangeSet(changes: [.putProfile(holder)]), round: round, for: flow.exchange,
          conflicted: { admit(name, in: turn, kept, round: round + 1) },
          committed: {
            turn.end()
            verify(subject, name, reservation, in: kept, round: round)
          })
      }
    }
  }

  // MARK: Verify

  private func verify(
    _ subject: Subject, _ name: SecretName, _ reservation: SecretAdmission.Reservation, in place: SecretPlace,
    round: Int
  ) {
    let verifier = subject.verifier(of: kind)
    flow.exchange.check(secret.bytes, of: name, for: verifier, in: place, hasher: checks.hasher) { verdict in
      let checked = Checked(name: name, verifier: verifier, reservation: reservation, verdict: verdict)
      flow.exchange.takeTurnWithVerdict(at: name, of: checks.gate) { turn in
        settle(checked, in: turn, round: round)
      }
    }
  }

  // MARK: Phase two: settle it

  /// A verdict is about the secret that it was checked against. Where another one was set meanwhile (or the same one
  /// hashed anew), the attempt begins again, and counts there.
  private func settle(_ checked: Checked, in turn: SecretTurn, round: Int) {
    flow.read { subject throws(RequestError) in
      guard name(of: subject) == checked.name, subject.verifier(of: kind) == checked.verifier else {
        turn.end()
        return try startAnew(after: round)
      }
      let now = flow.service.clock()
      var facts = subject.facts(posture: flow.posture, now: now)
      // The verdict is settled all the same.
      if flow.isOutdated { facts.evaluation.isFinished = true }
      let decision = flow.policy.decide(
        AttemptFacts(facts, attempt: .secret(kind, checked.reservation, isRight: checked.verdict.isRight)))
      flow.commit(
        subject, decision, rehashed: checked.verdict.rehashed, at: now, round: round,
        conflicted: { settle(checked, in: turn, round: round + 1) },
        committed: { turn.endWithVerdict() })
    }
  }
}

extension ProfileRecord {
  /// A stand-in's record begins with its first attempt.
  ///
  /// - Parameter verifier: `nil`: as it was.
  mutating func settle(_ kind: Factor, _ standing: SecretStanding, verifier: [UInt8]?, at now: UnixTime) {
    var record = secret(kind) ?? SecretRecord(verifier: [], standing: standing, setAt: now)
    record.standing = standing
    if let verifier { record.verifier = verifier }
    setSecret(record, kind)
  }
}

extension SecretVerdict {
  fileprivate var rehashed: [UInt8]? {
    if case .right(let rehashed) = self { rehashed } else { nil }
  }
}

extension StoreError {
  static let tooManyRounds = StoreError(code: .conflict, message: "the secret changed too often")
}
