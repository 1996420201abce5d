// The check of a passcode or a gesture: locked, counted, hashed, settled (R14). Pure.
//
//     lock: read, admit, permit, commit the failure → unlock → hash with the permit
//     → lock with the verdict: read, settle, commit → unlock → answer
//
// If no permit is free, the lock ends and the attempt waits for one, uncounted (`SecretSchedule`). With the permit it
// takes another lock, and reads and admits anew. A check that was admitted and has no verdict stays counted.

internal import TouchstonePolicy
internal import TouchstoneStore

/// What an attempt in an evaluation and a change by the old secret decide in their own way.
protocol SecretCheck: Sendable {
  associatedtype Answer: CallAnswer

  /// Passcode or gesture.
  var kind: Factor { get }
  var query: SubjectQuery { get }

  func target(of subject: Subject) -> SecretTarget
  func admit(_ subject: SharedRecord<Subject>, at moment: Moment) -> SecretDecision<Answer>
  func work(against target: SecretTarget) -> SecretWork
  func settle(
    _ verdict: SecretVerdict, _ reservation: SecretAdmission.Reservation, on subject: SharedRecord<Subject>,
    at moment: Moment
  ) -> SettledSecret<Answer>
}

/// Whether a secret may be verified now.
enum SecretDecision<Answer: CallAnswer>: Sendable {
  /// The failure is counted first.
  case count(CountedFailure)
  /// The budget is in flight.
  case wait
  case end(CallEnding<Answer>)
}

/// The secret that is verified.
struct SecretTarget: Sendable, Equatable {
  var name: SecretName
  /// `nil`: no attempt matches, and a dummy is verified in its place.
  var verifier: [UInt8]?
  /// False: the attempts count at the name (R37).
  var isCountedInProfile: Bool
}

struct CountedFailure: Sendable {
  var reservation: SecretAdmission.Reservation
  var count: NameCount
  var changes: [Change]
}

struct SettledSecret<Answer: CallAnswer>: Sendable {
  var ending: CallEnding<Answer>
  /// `nil`: the profile counts.
  var count: NameCount?
}

struct SecretFlow<Check: SecretCheck>: CallMachine {
  typealias Answer = Check.Answer
  typealias Step = CallStep<Check.Answer>

  private let check: Check
  private var phase = Phase.naming
  private var hasPermit = false
  /// What was counted, and against what it is verified.
  private var counted: (failure: CountedFailure, target: SecretTarget)?
  private var verdict: SecretVerdict?
  private var ending: CallEnding<Check.Answer>?
  private(set) var nameCount: NameCount?

  /// What is awaited.
  private enum Phase {
    /// The read for the secret's name alone: what is decided on is read in the lock.
    case naming
    case admitting(SecretName)
    /// The commit of the failure.
    case counting(SecretName)
    case hashing(SecretName)
    case settling
    /// The read and the commit of what is given back to a record that counted, because the check begins again.
    case returning
    case restarting
    /// The commit of the end: in the lock, or without it.
    case ending(isLocked: Bool)
  }

  init(_ check: Check) {
    self.check = check
  }

  mutating func began() -> Step {
    self = SecretFlow(check)
    return .read(check.query)
  }

  // MARK: Read

  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    switch phase {
    case .naming:
      let name = check.target(of: subject.value).name
      phase = .admitting(name)
      return .lock(name)
    case .admitting(let name): return admit(subject, under: name, at: moment)
    case .settling: return settle(subject, at: moment)
    case .returning: return giveBack(subject.value, at: moment)
    case .counting, .hashing, .restarting, .ending: preconditionFailure("nothing is read then")
    }
  }

  private mutating func admit(_ subject: SharedRecord<Subject>, under name: SecretName, at moment: Moment) -> Step {
    let target = check.target(of: subject.value)
    guard target.name == name else { return restart() }
    switch check.admit(subject, at: moment) {
    case .wait:
      hasPermit = false
      return .wait
    case .end(let ending):
      (self.ending, nameCount) = (ending, nil)
      phase = .ending(isLocked: false)
      return .unlock(hasVerdict: false)
    case .count(let failure):
      counted = (failure, target)
      return hasPermit ? commitCount(name) : .permit(name)
    }
  }

  private mutating func commitCount(_ name: SecretName) -> Step {
    guard let counted else { preconditionFailure("a failure is counted after its admission") }
    phase = .counting(name)
    nameCount = counted.failure.count
    return .commit(.changes(ChangeSet(changes: counted.failure.changes)))
  }

  /// Settles a verdict, which is about the secret that it was checked against. If another secret was set meanwhile (or
  /// the same one hashed anew), the check begins again, and the attempt counts at the new one. The record that counted
  /// it first is settled too, so that the attempt does not stay in flight there.
  private mutating func settle(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step {
    guard let counted, let verdict else { preconditionFailure("a verdict is settled after its count") }
    guard check.target(of: subject.value) == counted.target else {
      phase = .returning
      let name = counted.target.name.profile
      return .read(SubjectQuery(named: .profile(name.profileID), applicationID: name.applicationID))
    }
    let settled = check.settle(verdict, counted.failure.reservation, on: subject, at: moment)
    (ending, nameCount) = (settled.ending, settled.count)
    phase = .ending(isLocked: true)
    return .commit(settled.ending.commitment)
  }

  private mutating func giveBack(_ subject: Subject, at moment: Moment) -> Step {
    guard let returned = returned(to: subject) else { return restart() }
    nameCount = returned
    let change = returned.holder.change(to: returned.standing, of: check.kind, at: moment.now)
    return .commit(.changes(ChangeSet(changes: [change ?? .require(subject.profile), .asMuchAsAnyCount])))
  }

  /// The count without this attempt; `nil`: it stays as it is.
  private func returned(to subject: Subject) -> NameCount? {
    guard let (failure, target) = counted, let verdict else { preconditionFailure("a count is given back") }
    let profile = subject.profile
    var isRight = false
    var count: NameCount
    if target.isCountedInProfile {
      guard profile.version > 0, let secret = profile.secret(check.kind) else { return nil }
      count = NameCount(standing: secret.standing, kind: check.kind, holder: .profile(profile))
      isRight = verdict.isRight && secret.verifier == target.verifier
    } else {
      guard let ofName = subject.nameCount(of: check.kind) else { return nil }
      count = ofName
    }
    let settled = SecretRules.settle(count.standing, failure.reservation, isRight: isRight)
    guard settled != count.standing else { return nil }
    count.standing = settled
    return count
  }

  // MARK: Lock, permit and hash

  mutating func locked(hasPermit: Bool) -> Step {
    if hasPermit { self.hasPermit = true }
    return .read(check.query)
  }

  mutating func permitted() -> Step {
    guard case .admitting(let name) = phase else { preconditionFailure("a permit is for an admission") }
    hasPermit = true
    return commitCount(name)
  }

  mutating func hashed(_ verdict: SecretVerdict) -> Step {
    guard case .hashing(let name) = phase else { preconditionFailure("a hash has a name") }
    self.verdict = verdict
    phase = .settling
    return .lockForVerdict(name)
  }

  mutating func unlocked() -> Step {
    switch phase {
    case .hashing:
      guard let counted else { preconditionFailure("a failure is counted before it is verified") }
      return .hash(check.work(against: counted.target))
    case .restarting: return .again
    case .ending(isLocked: true): return end.step
    case .ending(isLocked: false): return .commit(end.commitment)
    case .naming, .admitting, .counting, .settling, .returning: preconditionFailure("the lock is kept then")
    }
  }

  private mutating func restart() -> Step {
    phase = .restarting
    return .unlock(hasVerdict: false)
  }

  private var end: CallEnding<Check.Answer> {
    guard let ending else { preconditionFailure("an end is decided") }
    return ending
  }

  // MARK: Commits

  mutating func committed() -> Step {
    switch phase {
    case .counting(let name):
      phase = .hashing(name)
      return .unlock(hasVerdict: false)
    case .returning: return restart()
    case .ending(isLocked: true): return .unlock(hasVerdict: true)
    case .ending(isLocked: false): return end.step
    case .naming, .admitting, .hashing, .settling, .restarting: preconditionFailure("nothing is committed then")
    }
  }

  mutating func conflicted() -> Step {
    nameCount = nil
    switch phase {
    case .counting(let name): phase = .admitting(name)
    case .returning, .ending(isLocked: true): phase = .settling
    case .ending(isLocked: false): return began()
    case .naming, .admitting, .hashing, .settling, .restarting: preconditionFailure("nothing is committed then")
    }
    return .read(check.query)
  }
}
