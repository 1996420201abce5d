// An attempt with a passcode or a gesture, in an evaluation.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct SecretAttempt: SecretCheck {
  let terms: AttemptTerms
  let secret: OfferedSecret
  let exchange: Exchange<V1.SubmitAttemptResponse>
  let service: TouchstoneService

  var kind: Factor { secret.kind }

  func read(then body: @escaping @Sendable (Subject) throws(RequestError) -> Void) {
    service.subject(terms.query, for: exchange, then: body)
  }

  func target(of subject: Subject) -> SecretTarget {
    SecretTarget(
      name: SecretName(applicationID: terms.applicationID, profileID: subject.profile.profileID, kind: kind),
      verifier: subject.verifier(of: kind), isCountedInProfile: subject.secretHolder(of: kind).isProfile)
  }

  func admit(_ subject: Subject, in turn: SecretTurn, _ round: DecisionRound) -> CountedFailure? {
    let moment = service.moment
    guard !terms.isOutdated(at: moment) else {
      end(AttemptEnding(contextOf: terms, at: moment))
      return nil
    }
    let now = moment.now
    switch terms.policy.admitSecret(kind, subject.facts(posture: terms.posture, now: now)) {
    case .refuse(let decision):
      turn.end()
      end(AttemptEnding(DecidedAttempt(decision, of: SharedRecord(subject), by: terms, at: now)), in: round)
      return nil
    case .wait:
      turn.wait()
      return nil
    case .verify(let reservation, let counted):
      let holder = subject.secretHolder(of: kind)
      return CountedFailure(
        reservation: reservation, standing: counted, holder: holder,
        changes: [holder.change(to: counted, of: kind, at: now)].compactMap { $0 }
          + terms.nameRequirements(of: subject, countingSecret: true))
    }
  }

  func verify(against target: SecretTarget, with hasher: any SecretHasher) throws(CryptoError) -> SecretVerdict {
    let context = target.name.bytes
    let match = try secret.match(target.verifier ?? hasher.standInVerifier, context: context, with: hasher)
    guard match != .wrong, let verifier = target.verifier else { return .wrong }
    let isOutdated = match == .asSent ? true : try hasher.needsRehash(verifier)
    return .right(rehashed: isOutdated ? try hasher.verifier(of: secret.bytes, context: context) : nil)
  }

  func isRight(_ verdict: SecretVerdict) -> Bool { verdict.isRight }

  func settle(
    _ checked: CheckedSecret<SecretVerdict>, on subject: Subject, in turn: SecretTurn, _ round: DecisionRound
  ) {
    let moment = service.moment
    var facts = subject.facts(posture: terms.posture, now: moment.now)
    // The verdict is settled all the same.
    if terms.isOutdated(at: moment) { facts.evaluation.isFinished = true }
    let part = exchange.begin(.decide)
    let decision = terms.policy.decide(
      AttemptFacts(facts, attempt: .secret(kind, checked.reservation, isRight: checked.verdict.isRight)))
    part?.end()
    let attempt = DecidedAttempt(
      decision, of: SharedRecord(subject), by: terms, at: moment.now, rehashed: checked.verdict.rehashed,
      isCounted: true)
    end(AttemptEnding(attempt), in: round) { turn.endWithVerdict() }
  }

  private func end(
    _ ending: AttemptEnding, in round: DecisionRound? = nil, committed: @escaping @Sendable () -> Void = {}
  ) {
    let answer: @Sendable () throws(RequestError) -> Void = { () throws(RequestError) in
      switch ending.step {
      case .answer(let answer): answer.send(by: service, to: exchange)
      case .refuse(let error): throw error
      default: preconditionFailure("an end answers or refuses")
      }
      committed()
    }
    switch ending.commitment {
    case .changes(let changeSet): service.commit(changeSet, in: round, for: exchange, committed: answer)
    case .refusal(let refusal): service.record(refusal, in: round, for: exchange, committed: answer)
    }
  }
}

extension ProfileRecord {
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
