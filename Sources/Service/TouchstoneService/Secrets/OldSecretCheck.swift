// The old secret, by which a secret is changed or removed: an attempt at it (R14, R16). Pure: `SecretFlow` has the
// order of its steps.

internal import TouchstonePolicy
internal import TouchstoneStore

struct OldSecretCheck<Response: SecretChangeResponse>: SecretCheck {
  let change: SecretChangeTerms
  let secret: OfferedSecret

  var kind: Factor { change.kind }
  var query: SubjectQuery { change.query }

  func target(of subject: Subject) -> SecretTarget {
    SecretTarget(
      name: change.name, verifier: subject.secretCount(of: kind).isSet ? subject.profile.secret(kind)?.verifier : nil,
      isCountedInProfile: subject.secretHolder(of: kind).isProfile)
  }

  func admit(
    _ subject: SharedRecord<Subject>, at moment: Moment
  ) -> SecretDecision<SecretChangeAnswer<Response>> {
    switch rules(at: moment).admit(kind, subject.value.secretCount(of: kind).standing, at: moment.now) {
    case .wait: return .wait
    case .refuse(let denial):
      let refusal = refusal(
        denial.reason.rawValue, of: subject.value, on: [.require(subject.value.profile)], at: moment)
      return .end(CallEnding(commitment: .refusal(refusal), result: .success(.locked(denial))))
    case .verify(let reservation, let counted):
      let count = NameCount(standing: counted, kind: kind, holder: subject.value.secretHolder(of: kind))
      return .count(
        CountedFailure(
          reservation: reservation, count: count, changes: changes(to: count, of: subject.value, at: moment)))
    }
  }

  func work(against target: SecretTarget) -> SecretWork {
    SecretWork(
      secret: secret, name: target.name, verifier: target.verifier, purpose: .change(to: change.newSecret))
  }

  func settle(
    _ verdict: SecretVerdict, _ reservation: SecretAdmission.Reservation, on subject: SharedRecord<Subject>,
    at moment: Moment
  ) -> SettledSecret<SecretChangeAnswer<Response>> {
    guard !verdict.isRight else {
      let changes = change.changes(of: subject.value.profile, to: verdict.verifier, at: moment)
      return SettledSecret(
        ending: CallEnding(commitment: .changes(changes), result: .success(.changed(byOld: kind))), count: nil)
    }
    let wrong = rules(at: moment).settleWrongOld(
      kind, subject.value.secretCount(of: kind).standing, reservation, at: moment.now)
    let count = NameCount(standing: wrong.standing, kind: kind, holder: subject.value.secretHolder(of: kind))
    let refusal = refusal(
      wrong.lock?.reason.rawValue ?? RequestError.Reason.wrongSecret, of: subject.value,
      isRequired: subject.value.profile.version > 0, on: changes(to: count, of: subject.value, at: moment), at: moment)
    let answer = SecretChangeAnswer<Response>.wrong(wrong, kind, applicationID: change.profile.applicationID)
    return SettledSecret(
      ending: CallEnding(commitment: .refusal(refusal), result: .success(answer)), count: count)
  }

  private func rules(at moment: Moment) -> SecretRules {
    SecretRules(ladder: moment.policies.ladder(for: kind))
  }

  /// What counts at a name rests on the profile, too.
  private func changes(to count: NameCount, of subject: Subject, at moment: Moment) -> [Change] {
    [
      count.holder.change(to: count.standing, of: kind, at: moment.now) ?? .require(subject.profile),
      .asMuchAsAnyCount,
    ]
  }

  private func refusal(
    _ reason: String, of subject: Subject, isRequired: Bool = false, on changes: [Change], at moment: Moment
  ) -> ThrottledEvent {
    let event = EventDraft.secret(
      .refused, kind, subject.profile.eventName, authority: change.authority.auditName, reason: reason,
      caller: change.caller, time: moment.now)
    return ThrottledEvent(event, about: change.profile.profileID, isRequired: isRequired, on: changes)
  }
}
