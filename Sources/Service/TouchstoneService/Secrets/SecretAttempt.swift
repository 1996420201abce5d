// An attempt with a passcode or a gesture, in an evaluation.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

struct SecretAttempt: SecretCheck {
  let flow: AttemptFlow
  let secret: OfferedSecret

  var service: TouchstoneService { flow.service }
  var exchange: Exchange<V1.SubmitAttemptResponse> { flow.exchange }
  var kind: Factor { secret.kind }

  func read(then body: @escaping @Sendable (Subject) throws(RequestError) -> Void) {
    flow.read(then: body)
  }

  func target(of subject: Subject) -> SecretTarget {
    SecretTarget(
      name: SecretName(applicationID: flow.applicationID, profileID: subject.profile.profileID, kind: kind),
      verifier: subject.verifier(of: kind), isCountedInProfile: subject.secretHolder(of: kind).isProfile)
  }

  func admit(_ subject: Subject, in turn: SecretTurn, _ round: DecisionRound) -> CountedFailure? {
    guard !flow.isOutdated else {
      flow.refuseContext()
      return nil
    }
    let now = service.clock()
    switch flow.policy.admitSecret(kind, subject.facts(posture: flow.posture, now: now)) {
    case .refuse(let decision):
      turn.end()
      flow.commit(DecidedAttempt(decision, of: subject, at: now), in: round)
      return nil
    case .wait:
      turn.wait()
      return nil
    case .verify(let reservation, let counted):
      let holder = subject.secretHolder(of: kind)
      return CountedFailure(
        reservation: reservation, standing: counted, holder: holder,
        changes: [holder.change(to: counted, of: kind, at: now)].compactMap { $0 }
          + flow.nameRequirements(of: subject, countingSecret: true))
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
    let now = service.clock()
    var facts = subject.facts(posture: flow.posture, now: now)
    // The verdict is settled all the same.
    if flow.isOutdated { facts.evaluation.isFinished = true }
    let part = exchange.begin(.decide)
    let decision = flow.policy.decide(
      AttemptFacts(facts, attempt: .secret(kind, checked.reservation, isRight: checked.verdict.isRight)))
    part?.end()
    var attempt = DecidedAttempt(decision, of: subject, at: now)
    attempt.rehashed = checked.verdict.rehashed
    attempt.isCounted = true
    flow.commit(attempt, in: round) { turn.endWithVerdict() }
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
