// One simulated world: services, their store, phones, people and an attacker, all by one seed.
//
// A world runs in steps. In each, chance picks what happens next: an event loop runs a round, the store answers, a
// timer fires, a person sends a request, a clock jumps, a process dies. The services are the real ones, with their
// policy and codec; everything around them is simulated, and holds the truth that the services must find out.

import DispatchRPC
import Logging
import SimulatedPhone
import StoreModel
import TestSupport
import TouchstoneAttestation
import TouchstoneCodec
import TouchstoneCrypto

@testable import TouchstoneService

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class World: @unchecked Sendable {
  let seed: UInt64
  let plan: Plan
  let trace: Trace
  let chance: Chance
  let time = SimulatedTime()
  let schedule = Schedule()
  let ledger = Ledger()
  private(set) lazy var database = Database(world: self)
  private(set) lazy var secretWatch = SecretWatch(world: self)
  private(set) var replicas: [Replica] = []
  private(set) var violation: Violation?
  /// The messages that were sent lately, for an attacker who listens on the line.
  var recentMessages: [(type: any Request.Type, bytes: [UInt8])] = []

  let serviceChance: Chance
  let answers = MessageCoder(limits: .answers)
  var callCount = 0
  private var refusalHours: UInt64 = 0
  private lazy var people = People(world: self)
  private lazy var attacker = Attacker(world: self, people: people)

  init(seed: UInt64, mutation: Mutation? = nil, isTracing: Bool = false) {
    self.seed = seed
    trace = Trace(isRecording: isTracing)
    chance = Chance(seed: seed)
    serviceChance = chance.fork()
    plan = Plan(by: chance, mutation: mutation)
  }

  // MARK: Running

  /// Until the plan is done or a rule did not hold. Once.
  func run() -> Violation? {
    replicas = (0..<plan.replicaCount).map { Replica(index: $0, world: self) }
    // The remaining work holds this world, and would keep it for ever.
    defer {
      for replica in replicas { replica.disband() }
      replicas = []
      schedule.removeAll()
    }
    if plan.hasMirror { Mirror(world: self, people: people).compare() }
    people.settleIn()
    for _ in 0..<plan.steps where violation == nil { step() }
    settle()
    if plan.hasAftermath { Aftermath(world: self, people: people).check() }
    database.checkLog()
    return violation
  }

  func report(_ rule: String, _ text: @autoclosure () -> String) {
    guard violation == nil else { return }
    let found = Violation(rule: rule, text: text(), step: time.step)
    violation = found
    trace.note("VIOLATION \(found)")
  }

  func require(_ condition: Bool, _ rule: String, _ text: @autoclosure () -> String) {
    if !condition { report(rule, text()) }
  }

  private func step() {
    switch chance.below(200) {
    case 0 where plan.hasClockJumps: jump()
    case 1..<4: disturb()
    case 4..<60 where callsInFlight < plan.maximumCallsInFlight: act()
    default: if isIdle { act() } else { proceed() }
    }
  }

  /// How long a step takes.
  private var pace: Duration { isClockStill ? .zero : .milliseconds(chance.below(20)) }
  var isClockStill = false

  private func act() {
    time.nextStep(passing: pace)
    if chance.happens(plan.attackPercent) { attacker.act() } else { people.act() }
  }

  private var callsInFlight: Int { replicas.reduce(0) { $0 + $1.life.calls.count { !$0.isCancelled } } }

  var isIdle: Bool {
    schedule.isEmpty && replicas.allSatisfy { $0.life.loops.allSatisfy { $0.waitingCount == 0 } }
  }

  /// One of the things that wait happens. Where nothing is due, time goes by until something is.
  private func proceed() {
    time.nextStep(passing: pace)
    let loops = replicas.flatMap { replica in replica.life.loops.filter { $0.waitingCount > 0 }.map { (replica, $0) }
    }
    let ready = schedule.readyCount(at: time.elapsed)
    guard loops.count + ready > 0 else {
      guard let due = schedule.earliest else { return }
      return time.nextStep(passing: due - time.elapsed)
    }
    let choice = chance.below(loops.count + ready)
    if choice < loops.count {
      let (replica, loop) = loops[choice]
      trace.note("\(time.step) replica \(replica.index).\(loop.index) runs a round")
      replica.runRound(of: loop)
    } else if let task = schedule.takeReady(choice - loops.count, at: time.elapsed) {
      trace.note("\(time.step) \(task.name)")
      task.run()
    }
  }

  /// Far above what the longest wait of a good service takes: a call that is not answered by then never is.
  private static let settlingSteps = 20_000

  func proceed(until isDone: () -> Bool) {
    var steps = 0
    while violation == nil, !isDone(), steps < Self.settlingSteps {
      proceed()
      steps += 1
    }
  }

  /// Everything that was begun ends, undisturbed.
  private func settle() {
    database.calm()
    proceed { isIdle }
    for call in replicas.flatMap(\.life.calls) where !call.isCancelled {
      report("answer", "call \(call.number) (\(call.method)) was never answered")
    }
  }

  // MARK: Spontaneous faults

  private static let jumps: [Duration] = [
    .seconds(1), .seconds(20), .seconds(61), .seconds(61), .seconds(121), .seconds(301), .seconds(901), .seconds(3_601),
    .seconds(90_000), .seconds(-1), .seconds(-20), .seconds(-61), .seconds(-301), .seconds(-3_601),
  ]

  private func jump() {
    disturbCalls()
    let jump = chance.pick(Self.jumps)
    time.nextStep(passing: .zero, jump: jump)
    trace.note("\(time.step) the clock is set by \(jump)")
  }

  private func disturb() {
    disturbCalls()
    time.nextStep(passing: .zero)
    let replica = chance.pick(replicas)
    switch chance.below(6) {
    case 0 where plan.hasCrashes:
      trace.note("\(time.step) replica \(replica.index) dies")
      database.lose(replica.life)
      replica.restart()
    case 1:
      database.faults = plan.faults(by: chance)
      trace.note("\(time.step) the store: \(database.faults)")
    case 2: database.calm()
    case 3 where plan.hasStaleReads: database.rememberPast()
    case 4:
      replica.replacePolicies(plan.policies(by: chance), at: time.step)
      trace.note("\(time.step) replica \(replica.index) has other policies")
    default:
      _ = database.change { $0.sweep(before: time.now) }
      trace.note("\(time.step) the store is swept")
    }
  }

  func disturbCalls() { for call in replicas.flatMap(\.life.calls) { call.disturb() } }

  // MARK: Services

  private static let issuer = "https://touchstone.example"
  /// One ring for all worlds, and the same in each process but for what signs: no signature is in a trace.
  private static let keys: KeyRing = {
    let chance = Chance(seed: 2)
    guard let pepper = try? Pepper(bytes: chance.bytes(Pepper.byteCount)),
      let sealing = try? SealingKey(bytes: chance.bytes(SealingKey.byteCount))
    else { preconditionFailure("random bytes make a key") }
    return KeyRing(signing: SigningKeys(active: .random()), sealing: SealingKeys(active: sealing), pepper: pepper)
  }()

  /// Whose hardware the services trust, and whose they do not.
  static let maker = AndroidMaker()
  static let forger = AndroidMaker()

  /// Apple's stand-in, which the services trust, and a forger's, which they do not.
  static let apple = AppAttestAuthority()
  static let appleForger = AppAttestAuthority()

  private static let appAttestRoots = (trusted: [root(of: apple)], untrusted: [root(of: appleForger)])

  private static func root(of authority: AppAttestAuthority) -> Certificate {
    guard let root = try? Certificate(der: authority.root) else { preconditionFailure("a root can be read") }
    return root
  }

  private static let roots = (trusted: roots(of: maker), untrusted: roots(of: forger))

  private static func roots(of maker: AndroidMaker) -> [Certificate] {
    guard let roots = try? Certificate.readPEM(String(decoding: maker.rootPEM, as: UTF8.self)) else {
      preconditionFailure("a root can be read")
    }
    return roots
  }

  /// What the services show of unknown names.
  static let unknownNames = UnknownNames(pepper: keys.pepper)

  /// As an authenticator keeps it.
  static func userHandle(of profileID: String, in applicationID: String) -> [UInt8] {
    keys.pepper.userHandle(of: profileID, in: applicationID)
  }

  /// As a binding keeps it.
  static func digest(ofProfileTouchID bytes: [UInt8]) -> [UInt8] { keys.pepper.digest(ofProfileTouchID: bytes) }

  func makeService(for life: Life, eventLoopCount: Int) -> TouchstoneService {
    var configuration = ServiceConfiguration()
    configuration.issuer = Self.issuer
    configuration.policies = plan.servedPolicies
    configuration.enrolment = plan.servedEnrolment
    configuration.attestationTrust.roots = Self.roots.trusted
    if plan.mutation == .anyMakerIsTrusted { configuration.attestationTrust.roots? += Self.roots.untrusted }
    configuration.attestationTrust.appAttestRoots = Self.appAttestRoots.trusted
    if plan.mutation == .anyAppAttestAuthorityIsTrusted {
      configuration.attestationTrust.appAttestRoots? += Self.appAttestRoots.untrusted
    }
    configuration.applications = [
      Names.provenApplication: AttestationRequirements(
        demand: plan.requiresAttestation && plan.mutation != .bareKeysAreTaken ? .required : .accepted,
        appIDs: [Names.appID],
        passkeys: PasskeyRequirements(rpID: People.page.rpID, origins: [People.page.origin]))
    ]
    configuration.applications[Names.provenApplication]?.allowsTextSignatures = true
    return TouchstoneService(
      configuration: configuration, store: ReplicaStore(world: self, life: life), keys: Self.keys,
      eventLoopCount: eventLoopCount,
      logger: Logger(label: "simulation") { [unowned self] _ in WatchedLog(world: self) },
      environment: environment(for: life))
  }

  private func environment(for life: Life) -> ServiceEnvironment {
    let start = time.now
    let chance = serviceChance
    var environment = ServiceEnvironment(
      verificationThreads: 1, secrets: SimulatedExecutor(world: self, life: life),
      timer: SimulatedTimer(world: self, life: life))
    environment.clock = { [unowned self] in plan.mutation == .clockStandsStill ? start : time.now }
    // Each refusal comes long after the one before: the laws require an event of each.
    environment.monotonicClock = { [unowned self] in
      refusalHours += 1
      return MonotonicTime(nanoseconds: refusalHours * 3_600_000_000_000)
    }
    environment.costlySignatures = SimulatedExecutor(world: self, life: life)
    environment.hasher = SimulatedHasher(world: self, life: life, strength: UInt8(chance.below(3)))
    environment.randomness = Randomness { [plan] count in
      plan.mutation == .randomnessRepeats ? (0..<count).map { UInt8($0) } : chance.bytes(count)
    }
    return environment
  }
}
