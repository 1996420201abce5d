import StoreConformance
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R14: the steps of a check of a passcode, here of one by which it is removed. No service and no store are needed.
struct SecretFlowTests {
  private static let noon = UnixTime(seconds: 1_800_000_000)
  private let rules = SecretRules(ladder: PolicyBook([]).ladder(for: .passcode))
  private static let old = OfferedSecret(passcode: "2468")
  private static let change = SecretChangeTerms(
    profile: ProfileName(Sample.application, "alice"), kind: .passcode, newSecret: nil,
    authority: .oldSecret(old), caller: .local, enrolment: EnrolmentPolicy())

  /// - Parameter verifier: of the passcode that is set.
  private func subject(
    failures: UInt32 = 0, inFlight: UInt32 = 0, verifier: [UInt8] = [1]
  ) -> SharedRecord<Subject> {
    var profile = ProfileRecord(applicationID: Sample.application, profileID: "alice", version: 1)
    profile.setSecret(.passcode, verifier: verifier, at: Self.noon)
    if var secret = profile.passcode {
      for _ in 0..<(failures + inFlight) {
        guard case .verify(let reservation, let counted) = rules.admit(.passcode, secret.standing, at: Self.noon)
        else { break }
        secret.standing = counted
        if inFlight == 0 { secret.standing = SecretRules.settle(counted, reservation, isRight: false) }
      }
      profile.setSecret(secret, .passcode)
    }
    let records = AttemptRecords(
      binding: nil, device: DeviceRecord(deviceID: ""), profile: profile, evaluation: nil)
    return SharedRecord(Subject(ofProfile: records, UnknownNames(pepper: KeyRing.ephemeral().pepper)))
  }

  private enum Event {
    case read(SharedRecord<Subject>), locked(hasPermit: Bool = false), permitted, hashed(SecretVerdict), unlocked,
      conflicted, committed
  }

  private func steps(_ events: [Event]) -> [String] {
    var flow = SecretFlow(OldSecretCheck<V1.RemoveSecretResponse>(change: Self.change, secret: Self.old))
    let moment = Moment(now: Self.noon, policies: PolicyBook([]))
    return [flow.began().words]
      + events.map { event in
        switch event {
        case .read(let subject): flow.read(subject, at: moment).words
        case .locked(let hasPermit): flow.locked(hasPermit: hasPermit).words
        case .permitted: flow.permitted().words
        case .hashed(let verdict): flow.hashed(verdict).words
        case .unlocked: flow.unlocked().words
        case .conflicted: flow.conflicted().words
        case .committed: flow.committed().words
        }
      }
  }

  /// From the first read to the lock with the verdict.
  private var counted: [Event] {
    [.read(subject()), .locked(), .read(subject()), .permitted, .committed, .unlocked]
  }
  private let countedSteps = ["read", "lock", "read", "permit", "commit", "unlock", "hash"]

  @Test func aRightSecretIsCountedHashedAndSettled() {
    #expect(
      steps(counted + [.hashed(.right(verifier: nil)), .locked(), .read(subject()), .committed, .unlocked])
        == countedSteps + ["lock for verdict", "read", "commit secret.removed", "unlock with verdict"]
        + ["answer changed(byOld: Optional(TouchstonePolicy.Factor.passcode))"])
  }

  @Test func aWrongSecretIsRefusedInTheLock() {
    #expect(
      steps(counted + [.hashed(.wrong), .locked(), .read(subject()), .committed]).suffix(3)
        == ["read", "refuse secret.refused", "unlock with verdict"])
  }

  /// The lock and the permit are kept, and what was read is read anew.
  @Test func aConflictOfTheCountReadsAgain() {
    #expect(
      steps([.read(subject()), .locked(), .read(subject()), .permitted, .conflicted, .read(subject()), .committed])
        == ["read", "lock", "read", "permit", "commit", "read", "commit", "unlock"])
  }

  /// The verdict stays true: nothing is hashed again.
  @Test func aConflictOfTheVerdictSettlesAgain() {
    #expect(
      steps(counted + [.hashed(.wrong), .locked(), .read(subject()), .conflicted, .read(subject())]).suffix(4)
        == ["read", "refuse secret.refused", "read", "refuse secret.refused"])
  }

  @Test func aPermitThatIsWaitedForComesWithAnotherLock() {
    #expect(
      steps([.read(subject()), .locked(), .read(subject()), .locked(hasPermit: true), .read(subject())])
        == ["read", "lock", "read", "permit", "read", "commit"])
  }

  /// The attempt that was counted at the former secret is given back there, and the check begins again.
  @Test func anotherSecretMeanwhileBeginsAgain() {
    let other = subject(verifier: [2])
    #expect(
      steps(counted + [.hashed(.wrong), .locked(), .read(other), .read(other), .unlocked]).suffix(4)
        == ["read", "read", "unlock", "again"])
  }

  /// Five attempts have no verdict yet.
  @Test func aSpentBudgetWaitsAndALockRefusesWithoutAHash() {
    #expect(
      steps([.read(subject()), .locked(), .read(subject(inFlight: 5)), .locked(), .read(subject())])
        == ["read", "lock", "read", "wait", "read", "permit"])
    #expect(
      steps([.read(subject()), .locked(), .read(subject(failures: 5)), .unlocked])
        == ["read", "lock", "read", "unlock", "refuse secret.refused"])
  }
}
