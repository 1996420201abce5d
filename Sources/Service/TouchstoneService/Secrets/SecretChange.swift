// Setting, changing and removing a passcode or a gesture (R16): by the old one, which is an attempt at it (R14), or by
// the caller's own login. Pure.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The response that SetSecret and RemoveSecret have in common.
protocol SecretChangeResponse: WireMessage {
  init(accepted: Bool, denial: V1.Denial?, attemptsLeft: UInt32)
}

extension V1.SetSecretResponse: SecretChangeResponse {}
extension V1.RemoveSecretResponse: SecretChangeResponse {}

/// The authority that the caller sends to show that the secret may be changed.
enum OfferedAuthority: Sendable {
  case oldSecret(OfferedSecret)
  case primary(authenticatedAt: UnixTime)

  var auditName: String {
    switch self {
    case .oldSecret: "old_secret"
    case .primary: "primary"
    }
  }
}

/// What is to be changed, and by which authority.
struct SecretChangeTerms: Sendable {
  let profile: ProfileName
  /// Passcode or gesture.
  let kind: Factor
  /// `nil`: it is removed.
  let newSecret: SecretBytes?
  let authority: OfferedAuthority
  let caller: Caller
  let enrolment: EnrolmentPolicy

  var name: SecretName {
    SecretName(applicationID: profile.applicationID, profileID: profile.profileID, kind: kind)
  }

  var query: SubjectQuery {
    SubjectQuery(named: .profile(profile.profileID), applicationID: profile.applicationID)
  }

  func decision(at now: UnixTime) -> SecretChange<OfferedSecret> {
    switch authority {
    case .oldSecret(let secret): .decide(.oldSecret(secret))
    case .primary(let authenticatedAt):
      .decide(.primary(enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: now)))
    }
  }

  /// - Parameter verifier: of the new secret; `nil`: it is removed.
  func changes(of record: ProfileRecord, to verifier: [UInt8]?, at moment: Moment) -> ChangeSet {
    var changed = record
    if let verifier {
      changed.setSecret(kind, verifier: verifier, at: moment.now)
    } else {
      changed.eraseSecret(kind, at: moment.now)
    }
    let event = EventDraft.secret(
      verifier == nil ? .removed : .set, kind, profile, authority: authority.auditName, caller: caller,
      time: moment.now)
    return ChangeSet(changes: [.putProfile(changed)], events: [event])
  }
}

extension TouchstoneService {
  func change<Response: SecretChangeResponse>(_ change: SecretChangeTerms, for exchange: Exchange<Response>) {
    switch change.decision(at: clock()) {
    case .verify(let secret):
      CallRunner.run(SecretFlow(OldSecretCheck<Response>(change: change, secret: secret)), for: exchange, by: self)
    case .allow, .refuse: CallRunner.run(PrimarySecretChange<Response>(change), for: exchange, by: self)
    }
  }
}

/// A change by the caller's own login. It locks the secret like a verdict: no flood of attempts keeps its owner from
/// setting it anew.
struct PrimarySecretChange<Response: SecretChangeResponse>: CallMachine {
  typealias Answer = SecretChangeAnswer<Response>
  typealias Step = CallStep<SecretChangeAnswer<Response>>

  var nameCount: NameCount? { nil }

  private let change: SecretChangeTerms
  private var verifier: [UInt8]?
  private var isLocked = false
  private var ending: CallEnding<SecretChangeAnswer<Response>>?

  init(_ change: SecretChangeTerms) {
    self.change = change
  }

  /// A login that is too old is refused without a permit.
  mutating func began() -> Step { .read(change.query) }

  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    let record = subject.value.profile
    guard case .allow = change.decision(at: moment.now) else { return end(refusal(of: record, at: moment)) }
    guard isLocked else { return .permitChange(change.name) }
    // Removing what is not there changes nothing.
    guard verifier != nil || record.secret(change.kind)?.standing.isSet == true else {
      return end(CallEnding(commitment: .nothing, result: .success(.changed(byOld: nil))))
    }
    let changes = change.changes(of: record, to: verifier, at: moment)
    return end(CallEnding(commitment: .changes(changes), result: .success(.changed(byOld: nil))))
  }

  /// Removing hashes nothing, and keeps a permit all the same: so there are no more such locks than permits.
  mutating func permitted() -> Step {
    guard let newSecret = change.newSecret else { return .lockForVerdict(change.name) }
    let secret = OfferedSecret(kind: change.kind, bytes: newSecret)
    return .hash(SecretWork(secret: secret, name: change.name, verifier: nil, purpose: .set))
  }

  mutating func hashed(_ verdict: SecretVerdict) -> Step {
    verifier = verdict.verifier
    return .lockForVerdict(change.name)
  }

  mutating func locked(hasPermit: Bool) -> Step {
    isLocked = true
    return .read(change.query)
  }

  mutating func conflicted() -> Step { .read(change.query) }

  mutating func committed() -> Step {
    guard isLocked else { return unlocked() }
    isLocked = false
    return .unlock(hasVerdict: true)
  }

  mutating func unlocked() -> Step {
    guard let ending else { preconditionFailure("a commit follows a decision") }
    return ending.step
  }

  private mutating func end(_ ending: CallEnding<SecretChangeAnswer<Response>>) -> Step {
    self.ending = ending
    return .commit(ending.commitment)
  }

  private func refusal(of record: ProfileRecord, at moment: Moment) -> CallEnding<SecretChangeAnswer<Response>> {
    let error = RequestError.newLoginRequired
    let event = EventDraft.secret(
      .refused, change.kind, record.eventName, authority: change.authority.auditName, reason: error.reason,
      caller: change.caller, time: moment.now)
    return CallEnding(
      commitment: .refusal(ThrottledEvent(event, about: change.profile.profileID, on: [.require(record)])),
      result: .failure(error))
  }
}

/// The answer to a change of a secret.
enum SecretChangeAnswer<Response: SecretChangeResponse>: CallAnswer {
  /// - Parameter byOld: the kind of the old secret that was right; `nil`: by the caller's own login.
  case changed(byOld: Factor?)
  /// It was not verified.
  case locked(Denial)
  case wrong(WrongOldSecret, Factor, applicationID: String)

  func send(by service: TouchstoneService, to exchange: Exchange<Response>) {
    switch self {
    case .changed(let kind):
      if let kind { service.meters.oldSecrets.count(OldSecret(factor: kind, isRight: true)) }
      exchange.answer(Response(accepted: true, denial: nil, attemptsLeft: 0))
    case .locked(let denial):
      let denial = V1.Denial(denial, biometry: .unspecified, in: exchange.language)
      exchange.answer(Response(accepted: false, denial: denial, attemptsLeft: 0))
    case .wrong(let wrong, let kind, let applicationID):
      service.meters.oldSecrets.count(OldSecret(factor: kind, isRight: false))
      if wrong.lock != nil { service.lockBegan(ServiceMeters.Lock(kind), in: applicationID, for: exchange) }
      let denial =
        wrong.lock.map { V1.Denial($0, biometry: .unspecified, in: exchange.language) }
        ?? .wrongSecret(kind, attemptsLeft: wrong.attemptsLeft, in: exchange.language)
      exchange.answer(Response(accepted: false, denial: denial, attemptsLeft: wrong.attemptsLeft))
    }
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
