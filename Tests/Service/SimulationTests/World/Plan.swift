// The kind of world that a seed makes: calm or stormy, one replica or two, patient policies or strict ones.

import TouchstonePolicy

struct Plan {
  let mutation: Mutation?
  let steps: Int
  let replicaCount: Int
  let maximumCallsInFlight: Int
  let attackPercent: Int
  let hasCrashes: Bool
  let hasClockJumps: Bool
  let hasStaleReads: Bool
  /// Whether the proven application takes no key that no app vouches for.
  let requiresAttestation: Bool
  /// Whether strangers are compared before the storm, and honest people served after it.
  let hasMirror: Bool
  let hasAftermath: Bool
  /// The threads that verify secrets.
  let secretThreads: Int
  let enrolment: EnrolmentPolicy
  let policies: [EvaluationPolicy]
  /// The limit of the most patient policy that there ever is.
  let failuresBeforeLockout: UInt32 = 5

  init(by chance: Chance, mutation: Mutation?) {
    self.mutation = mutation
    steps = chance.within(200...500)
    replicaCount = chance.within(1...2)
    maximumCallsInFlight = chance.pick([1, 4, 12])
    attackPercent = chance.pick([10, 25, 50])
    hasCrashes = chance.happens(50)
    hasClockJumps = chance.happens(60)
    hasStaleReads = chance.happens(20)
    requiresAttestation = chance.happens(15)
    hasMirror = chance.happens(25)
    hasAftermath = chance.happens(40)
    secretThreads = chance.pick([1, 2, 16])
    var enrolment = EnrolmentPolicy()
    enrolment.maximumBindingsPerProfile = chance.pick([1, 2, 16])
    self.enrolment = enrolment
    policies = EvaluationPolicy.builtIn + [Self.everything, Self.once, Self.points]
  }

  /// Every factor there is.
  private static let everything = EvaluationPolicy(
    name: "everything", purpose: .login, factors: [.biometry, .deviceOwner, .gesture, .passcode, .passkey, .primary],
    tokenLifetime: .seconds(300))

  /// Whose tokens serve once, though nothing is paid.
  private static var once: EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "once", purpose: .login, factors: [.biometry, .passcode], tokenLifetime: .seconds(300))
    policy.isTokenSingleUse = true
    policy.requiredKeyProtection = .biometryCurrentSet
    return policy
  }

  /// Takes no RSA key (R31).
  private static var points: EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "points", purpose: .login, factors: [.biometry, .deviceOwner, .passcode], tokenLifetime: .seconds(300))
    policy.requiresP256Keys = true
    return policy
  }

  /// As it should be, whatever a mutated service has.
  func takesRSA(_ policy: EvaluationPolicy) -> Bool { policy.name != Self.points.name }

  // MARK: Configuration of a mutated service

  var servedPolicies: [EvaluationPolicy] { policies.map(served) }

  var servedEnrolment: EnrolmentPolicy {
    var served = enrolment
    if mutation == .bindingLimitIsLax { served.maximumBindingsPerProfile += 1 }
    return served
  }

  private func served(_ policy: EvaluationPolicy) -> EvaluationPolicy {
    var policy = policy
    if mutation == .ladderIsLax { policy.ladder = Self.laxLadder }
    if mutation == .lockoutIsLax { policy.failuresBeforeLockout = failuresBeforeLockout + 1 }
    if mutation == .anyKeyIsTaken { policy.requiresP256Keys = false }
    return policy
  }

  private static let laxLadder = Ladder(rungs: (5...14).map { Ladder.Rung(failures: $0, effect: .lock(.seconds(1))) })

  // MARK: Changes

  /// The policies that an operator may have put into the configuration meanwhile: those from before, or something
  /// stricter.
  func policies(by chance: Chance) -> [EvaluationPolicy] {
    var changed = servedPolicies
    guard chance.happens(50) else { return changed }
    let place = chance.below(policies.count)
    switch chance.below(4) {
    case 0: changed[place].attemptsPerEvaluation = 2
    case 1: changed[place].failuresBeforeLockout = 4
    case 2: changed[place].evaluationLifetime = .seconds(30)
    // No configuration may give a ladder to a policy that takes no secret.
    case _ where changed[place].factors.contains(.passcode): changed[place].ladder = Self.strictLadder
    default: break
    }
    return changed
  }

  private static let strictLadder = Ladder(rungs: [
    Ladder.Rung(failures: 3, effect: .lock(.seconds(600))), Ladder.Rung(failures: 5, effect: .disable),
  ])

  func faults(by chance: Chance) -> StoreFaults {
    StoreFaults(
      conflictPercent: chance.pick([0, 5, 30]), unavailablePercent: chance.pick([0, 2, 20]),
      inDoubtPercent: chance.pick([0, 2, 20]), stalePercent: hasStaleReads ? 10 : 0)
  }
}
