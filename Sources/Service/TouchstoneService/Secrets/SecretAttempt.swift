// An attempt with a passcode or a gesture, in an evaluation. Pure: `SecretFlow` has the order of its steps.

internal import TouchstonePolicy
internal import TouchstoneStore

struct SecretAttempt: SecretCheck {
  let terms: AttemptTerms
  let secret: OfferedSecret

  var kind: Factor { secret.kind }
  var query: SubjectQuery { terms.query }

  func target(of subject: Subject) -> SecretTarget {
    SecretTarget(
      name: SecretName(applicationID: terms.applicationID, profileID: subject.profile.profileID, kind: kind),
      verifier: subject.verifier(of: kind), isCountedInProfile: subject.secretHolder(of: kind).isProfile)
  }

  func admit(_ subject: SharedRecord<Subject>, at moment: Moment) -> SecretDecision<AttemptAnswer> {
    guard !terms.isOutdated(at: moment) else { return .end(AttemptEnding(contextOf: terms, at: moment)) }
    let facts = subject.value.facts(posture: terms.posture, now: moment.now)
    switch terms.policy.admitSecret(kind, facts) {
    case .refuse(let decision):
      return .end(AttemptEnding(DecidedAttempt(decision, of: subject, by: terms, at: moment.now)))
    case .wait: return .wait
    case .verify(let reservation, let counted):
      let holder = subject.value.secretHolder(of: kind)
      return .count(
        CountedFailure(
          reservation: reservation, count: NameCount(standing: counted, kind: kind, holder: holder),
          changes: [holder.change(to: counted, of: kind, at: moment.now)].compactMap { $0 }
            + terms.nameRequirements(of: subject.value, countingSecret: true)))
    }
  }

  func work(against target: SecretTarget) -> SecretWork {
    SecretWork(secret: secret, name: target.name, verifier: target.verifier, purpose: .attempt)
  }

  /// The verdict is settled also if the evaluation is outdated.
  func settle(
    _ verdict: SecretVerdict, _ reservation: SecretAdmission.Reservation, on subject: SharedRecord<Subject>,
    at moment: Moment
  ) -> SettledSecret<AttemptAnswer> {
    var facts = subject.value.facts(posture: terms.posture, now: moment.now)
    if terms.isOutdated(at: moment) { facts.evaluation.isFinished = true }
    let decision = terms.policy.decide(
      AttemptFacts(facts, attempt: .secret(kind, reservation, isRight: verdict.isRight)))
    let attempt = DecidedAttempt(
      decision, of: subject, by: terms, at: moment.now, rehashed: verdict.verifier, isCounted: true)
    let count = decision.secret.map { standing in
      NameCount(standing: standing, kind: kind, holder: subject.value.secretHolder(of: kind))
    }
    return SettledSecret(ending: AttemptEnding(attempt), count: count)
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
