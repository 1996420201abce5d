import TestSupport
import Testing
import TouchstonePolicy

@testable import TouchstoneService

/// Which passcode or gesture is hashed next, and which is refused.
struct SecretScheduleTests {
  // MARK: Permits

  @Test func aRequestGetsAPlaceAndIsStartedWhenItIsReady() {
    var bench = ScheduleBench(threads: 1)
    let first = bench.enter("bank")
    #expect(bench.log == ["permitted 0"])
    bench.makeReady(first)
    #expect(bench.log.last == "started 0")
    bench.finish(first)
    #expect(bench.log.count == 2)
  }

  @Test func noMoreAreStartedThanThereAreThreads() {
    var bench = ScheduleBench(threads: 2)
    for _ in 0..<3 { bench.makeReady(bench.enter("bank")) }
    #expect(bench.log.filter { $0.hasPrefix("started") } == ["started 0", "started 1"])
    bench.finish(0)
    #expect(bench.log.last == "started 2")
  }

  /// A flood keeps neither its caller's other applications nor other callers waiting for a permit.
  @Test func aFloodLeavesPlacesToOthers() {
    var bench = ScheduleBench(threads: 1)
    for _ in 0..<20 { bench.enter("game") }
    #expect(bench.permitted.count == 8)
    bench.enter("bank")
    #expect(bench.log.last == "permitted 20")
    for number in 21...22 {
      bench.enter("bank", by: "mobile")
      #expect(bench.log.last == "permitted \(number)")
    }
  }

  /// Applications are names that a caller gives.
  @Test func aCallerWithManyApplicationsLeavesPlacesToOthers() {
    var bench = ScheduleBench(threads: 1)
    for number in 0..<500 { bench.enter("\(number)") }
    #expect(bench.permitted.count == 10)
    for _ in 0..<2 {
      let other = bench.enter("bank", by: "mobile")
      #expect(bench.permitted.contains(other))
    }
  }

  @Test func anApplicationOfManyCallersLeavesPlacesToOthers() {
    var bench = ScheduleBench(threads: 1)
    for number in 0..<50 { bench.enter("game", by: "\(number)") }
    #expect(bench.permitted.count == 10)
    for _ in 0..<2 {
      let other = bench.enter("bank", by: "mobile")
      #expect(bench.permitted.contains(other))
    }
  }

  @Test func aPlaceThatIsNotNeededGoesToTheNext() {
    var bench = ScheduleBench(threads: 1)
    for _ in 0..<9 { bench.enter("game") }
    #expect(bench.log.last == "waiting 8")
    bench.leave(0)
    #expect(bench.log.last == "granted 8")
  }

  // MARK: Turns

  /// Caller, then application, then secret.
  @Test func whatWaitsGetsPlacesInTurns() {
    var bench = ScheduleBench(threads: 1)
    // Twelve callers hold all permits.
    for number in 0..<12 { bench.enter("\(number)", by: "\(number)") }
    #expect(bench.permitted.count == 12)
    bench.enter("game", "alice")  // 12
    bench.enter("game", "alice")  // 13
    bench.enter("game", "bob")  // 14
    bench.enter("shop", "carol", by: "mobile")  // 15
    bench.enter("bank")  // 16
    for number in 0..<12 { bench.leave(number) }
    #expect(bench.granted == [12, 15, 16, 14, 13])
  }

  @Test func whatIsReadyIsHashedInTurnsOfApplications() {
    var bench = ScheduleBench(threads: 1)
    bench.useUpCredit(of: "game", "bank")
    let game = (0..<3).map { _ in bench.enter("game") }
    let bank = (0..<3).map { _ in bench.enter("bank") }
    for id in game + bank { bench.makeReady(id) }
    for id in [game[0], bank[0], game[1], bank[1], game[2], bank[2]] {
      #expect(bench.running == [id])
      bench.finish(id)
    }
  }

  /// It waits for the hash that runs, and for no other.
  @Test func whoHadLessThanTheirShareCatchesUp() {
    var bench = ScheduleBench(threads: 1)
    bench.useUpCredit(of: "game")
    let game = (0..<4).map { _ in bench.enter("game") }
    for id in game { bench.makeReady(id) }
    let bank = (0..<2).map { _ in bench.enter("bank") }
    for id in bank { bench.makeReady(id) }
    for id in [game[0]] + bank + game.dropFirst() {
      #expect(bench.running == [id])
      bench.finish(id)
    }
  }

  @Test func whatIsReadyIsHashedInTurnsOfCallers() {
    var bench = ScheduleBench(threads: 1)
    // Each of its requests is of another application.
    let web = (0..<3).map { bench.enter("game-\($0)", by: "web") }
    let mobile = (0..<3).map { _ in bench.enter("bank", by: "mobile") }
    for id in web + mobile { bench.makeReady(id) }
    for id in [web[0], mobile[0], web[1], mobile[1], web[2], mobile[2]] {
      #expect(bench.running == [id])
      bench.finish(id)
    }
  }

  @Test func oneHotSecretIsHashedInTurnsWithOthers() {
    var bench = ScheduleBench(threads: 1)
    let alice = (0..<5).map { _ in bench.enter("bank", "alice") }
    for id in alice { bench.makeReady(id) }
    bench.finish(alice[0])
    #expect(bench.running == [alice[1]])
    let bob = bench.enter("bank", "bob")
    bench.makeReady(bob)
    bench.finish(alice[1])
    #expect(bench.running == [bob])
  }

  /// R14: a counted guess is hashed soon, however many others come.
  @Test func whatWasOvertakenOftenGoesFirst() {
    var bench = ScheduleBench(threads: 1)
    let running = bench.enter("a")
    bench.makeReady(running)
    let old = (0..<3).map { _ in bench.enter("old") }
    for id in old { bench.makeReady(id) }
    var current = running
    // Two new applications for each hash.
    for number in 0..<2 * SecretSchedule.overtakesPerThread where !bench.isStarted(old[2]) {
      for new in ["x\(number)", "y\(number)"] {
        let id = bench.enter(new, by: new)
        if bench.permitted.contains(id) { bench.makeReady(id) }
      }
      bench.finish(current)
      current = bench.running.first ?? current
    }
    #expect(bench.isStarted(old[2]))
  }

  // MARK: Changes by primary authentication

  @Test func attemptsTakeNoPlacesFromChanges() {
    var bench = ScheduleBench(threads: 1)
    for _ in 0..<200 { bench.enter("game") }
    #expect(bench.log.last == "refused share(application)")
    let change = bench.enter("game", kind: .change)
    #expect(bench.permitted.contains(change))
    // Nor is it hashed behind them all.
    for id in bench.permitted where id != change { bench.makeReady(id) }
    bench.makeReady(change)
    bench.finish(bench.running[0])
    #expect(bench.isStarted(change))
  }

  @Test func changesOfOneSecretLeaveRoomForOthers() {
    var bench = ScheduleBench(threads: 1)
    for _ in 0..<SecretSchedule.requestsPerSecret { bench.enter("bank", "alice", kind: .change) }
    bench.enter("bank", "alice", kind: .change)
    #expect(bench.log.last == "refused secret")
    bench.enter("bank", "bob", kind: .change)
    #expect(bench.log.last?.hasPrefix("waiting") == true)
  }

  /// The same levels as for attempts.
  @Test func changesOfOneCallerLeavePlacesToOthers() {
    var bench = ScheduleBench(threads: 1)
    for number in 0..<500 { bench.enter("\(number)", kind: .change) }
    #expect(bench.log.last == "refused share(caller)")
    let other = bench.enter("bank", by: "mobile", kind: .change)
    #expect(bench.permitted.contains(other))
  }

  // MARK: Limits

  // R14
  @Test func attemptsAtOneSecretWaitForEachOther() {
    var bench = ScheduleBench(threads: 4)
    for _ in 0..<SecretSchedule.requestsPerSecret { bench.enter("bank", "alice") }
    bench.enter("bank", "alice")
    #expect(bench.log.last == "name has its share")
    bench.leave(0)
    bench.enter("bank", "alice")
    #expect(bench.log.last?.hasPrefix("permitted") == true)
  }

  /// The first one of a crowd came in, and its verdict will let the next one in.
  @Test func whereOthersAtTheSameSecretWaitNobodyIsRefused() {
    var bench = ScheduleBench(threads: 1)
    bench.enter("bank", "alice")
    for _ in 0..<200 { bench.enter("bank") }
    #expect(bench.log.last == "refused share(application)")
    bench.enter("bank", "alice")
    #expect(bench.log.last == "name has its share")
  }

  @Test func aFloodLeavesRoomForOtherCallersAndOtherApplications() {
    var bench = ScheduleBench(threads: 1)
    for _ in 0..<200 { bench.enter("game", by: "web") }
    #expect(bench.log.last == "refused share(application)")
    func isLetIn(_ application: String, by caller: String) -> Bool {
      bench.enter(application, by: caller)
      return bench.log.last?.hasPrefix("refused") == false
    }
    #expect(isLetIn("bank", by: "web"))
    #expect(isLetIn("game", by: "mobile"))
    for _ in 0..<20 { #expect(isLetIn("bank", by: "mobile")) }
    for number in 0..<500 { bench.enter("\(number)", by: "web") }
    #expect(bench.log.last == "refused share(caller)")
    for _ in 0..<5 { #expect(isLetIn("bank", by: "kiosk")) }
  }

  // R37: the schedule has no input that tells whether a name is known. Here two runs differ in nothing but their names.
  @Test(arguments: UInt64(1)...5)
  func namesMakeNoDifference(seed: UInt64) {
    func log(_ rename: (Int) -> String) -> [String] {
      var random = SeededGenerator(seed: seed)
      var bench = ScheduleBench(threads: 1)
      for _ in 0..<500 {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bench.enter("bank", rename(Int.random(in: 0..<40, using: &random)))
        case 1: if let id = bench.permitted.randomElement(using: &random) { bench.makeReady(id) }
        default: if let id = bench.running.randomElement(using: &random) { bench.finish(id) }
        }
      }
      return bench.log
    }
    let known = log { "person-\($0)" }
    #expect(known == log { "ghost-\(1_000 - $0)" })
    #expect(known.contains { $0.hasPrefix("waiting") })
  }

  // MARK: Waiting

  @Test func nobodyWaitsForEver() {
    var bench = ScheduleBench(threads: 1)
    for _ in 0..<9 { bench.enter("game") }
    bench.tick()
    bench.enter("game")
    for _ in 1..<SecretSchedule.longestWait { bench.tick() }
    #expect(bench.log.last == "expired 8")
    #expect(bench.schedule.hasWaiting)
    bench.tick()
    #expect(bench.log.last == "expired 9")
    #expect(!bench.schedule.hasWaiting)
    // Their share is free again, and so is their permit in the queue.
    bench.leave(0)
    #expect(bench.log.last == "expired 9")
  }

  // MARK: Everything at random

  /// Whatever comes in whatever order: threads work while there is something to do, bounds hold, and everything ends.
  @Test(arguments: seeds(ofAll: 60))
  func keepsItsPromises(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let threads = Int.random(in: 1...4, using: &random)
    var bench = ScheduleBench(threads: threads)
    var startsWhenReady: [Int: Int] = [:]
    let applications = Int.random(in: 1...5, using: &random)
    for _ in 0..<3_000 {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<45:
        // The first one floods.
        let application = Bool.random(using: &random) ? 0 : Int.random(in: 0..<applications, using: &random)
        bench.enter(
          "\(application)", Bool.random(using: &random) ? "alice" : nil,
          by: "\(Int.random(in: 0..<3, using: &random))",
          kind: Int.random(in: 0..<5, using: &random) == 0 ? .change : .attempt)
      case 45..<70:
        if let id = bench.permitted.randomElement(using: &random) {
          startsWhenReady[id] = bench.startCount
          bench.makeReady(id)
        }
      case 70..<75:
        if let id = bench.permitted.randomElement(using: &random) { bench.leave(id) }
      case 75..<98:
        if let id = bench.running.randomElement(using: &random) { bench.finish(id) }
      default:
        if bench.schedule.hasWaiting { bench.tick() }
      }
      // An expectation for each would cost more than the schedule.
      if let fault = bench.fault(threads: threads, startsWhenReady) { return #expect(Bool(false), "\(fault)") }
    }
    for _ in 0...SecretSchedule.longestWait { bench.tick() }
    while let id = bench.permitted.first ?? bench.running.first {
      if bench.running.contains(id) { bench.finish(id) } else { bench.makeReady(id) }
    }
    #expect(bench.isEmpty)
    // Nothing that was held is lost: all is as at the beginning.
    var fresh = ScheduleBench(threads: threads)
    for number in 0..<600 {
      bench.enter("\(number % 3)")
      fresh.enter("\(number % 3)")
    }
    #expect(bench.permitted.count == fresh.permitted.count)
    #expect(bench.waiting(.attempt) == fresh.waiting(.attempt))
  }

  // MARK: Promises

  /// Under 400 guesses a second of one application, or of one caller, another one's are refused at most 1 in 100 and
  /// take at most twice as long as alone.
  @Test(arguments: Flood.all, seeds(ofAll: 2))
  func aFloodHardlySlowsOthers(flood: Flood, seed: UInt64) {
    for threads in [1, 2] {
      var alone = FloodModel(flood, threads: threads, guesses: 0, seed: seed)
      alone.run()
      // As many as 400 are for one thread.
      var beside = FloodModel(flood, threads: threads, guesses: 400 * threads, seed: seed)
      beside.run()
      #expect(alone.outcome.refused == 0)
      #expect(beside.outcome.refused * 100 <= beside.outcome.times.count)
      #expect(beside.outcome.times.count + beside.outcome.refused == alone.outcome.times.count)
      #expect(beside.outcome.percentile(50) <= 2 * alone.outcome.percentile(50))
      #expect(beside.outcome.percentile(99) <= 2 * alone.outcome.percentile(99))
    }
  }
}

/// Whose guesses come, and whose people log in meanwhile.
struct Flood: Sendable, CustomTestStringConvertible {
  struct Source: Sendable {
    var caller: String
    var application: String
    /// `nil`: each request is at a secret of its own.
    var profile: String?

    init(_ caller: String, _ application: String, _ profile: String? = nil) {
      (self.caller, self.application, self.profile) = (caller, application, profile)
    }
  }

  var testDescription: String
  var people: Source
  var guesses: [Source]

  static let all = [
    Flood(
      testDescription: "one caller, two applications", people: Source("local", "bank"),
      guesses: [Source("local", "game")]),
    Flood(
      testDescription: "two callers, two applications", people: Source("bank", "bank"),
      guesses: [Source("game", "game")]),
    Flood(
      testDescription: "one caller with 500 applications", people: Source("bank", "bank"),
      guesses: (0..<500).map { Source("game", "game-\($0)") }),
    Flood(
      testDescription: "one application with 50 callers", people: Source("bank", "bank"),
      guesses: (0..<50).map { Source("game-\($0)", "game") }),
    Flood(
      testDescription: "one application with callers of which one serves both", people: Source("web", "bank"),
      guesses: ["web", "mobile", "kiosk"].map { Source($0, "game") }),
    Flood(
      testDescription: "the same application by another caller", people: Source("mobile", "bank"),
      guesses: [Source("web", "bank")]),
    Flood(
      testDescription: "one hot secret of the same application", people: Source("local", "bank"),
      guesses: [Source("local", "bank", "alice")]),
  ]
}

/// A schedule, and what became of each request. Requests are numbered as they come, refused ones too.
struct ScheduleBench {
  private(set) var schedule: SecretSchedule
  private(set) var log: [String] = []
  private(set) var permitted: [Int] = []
  private(set) var ready: [Int] = []
  private(set) var running: [Int] = []
  private(set) var granted: [Int] = []
  private(set) var startCount = 0
  private var waiting: [Int] = []
  private var kinds: [Int: SecretSchedule.Kind] = [:]
  private var numbers: [SecretSchedule.ID: Int] = [:]
  private var ids: [Int: SecretSchedule.ID] = [:]
  private var count = 0

  init(threads: Int) {
    schedule = SecretSchedule(threads: threads)
  }

  /// The first promise that is broken, or `nil`.
  ///
  /// - Parameter startsWhenReady: for each request, how many had been started when it became ready.
  func fault(threads: Int, _ startsWhenReady: [Int: Int]) -> String? {
    if running.count < min(threads, running.count + ready.count) { return "a thread is idle" }
    for kind in SecretSchedule.Kind.allCases {
      if held(kind) > threads * SecretSchedule.permits(kind) { return "\(held(kind)) permits for \(kind)" }
      if waiting(kind) > threads * SecretSchedule.waiting(kind) { return "\(waiting(kind)) wait for \(kind)" }
    }
    let permits = SecretSchedule.Kind.allCases.reduce(0) { $0 + SecretSchedule.permits($1) }
    let mostOvertakes = threads * (SecretSchedule.overtakesPerThread + permits)
    let overtaken = ready.first { startCount - (startsWhenReady[$0] ?? startCount) > mostOvertakes }
    return overtaken.map { "\($0) was overtaken more than \(mostOvertakes) times" }
  }

  var isEmpty: Bool { permitted.isEmpty && ready.isEmpty && running.isEmpty && waiting.isEmpty }
  func isStarted(_ number: Int) -> Bool { log.contains("started \(number)") }
  func held(_ kind: SecretSchedule.Kind) -> Int { (permitted + ready + running).count { kinds[$0] == kind } }
  func waiting(_ kind: SecretSchedule.Kind) -> Int { waiting.count { kinds[$0] == kind } }

  /// - Parameter profile: one of its own unless given.
  @discardableResult
  mutating func enter(
    _ application: String, _ profile: String? = nil, by caller: String = "web", kind: SecretSchedule.Kind = .attempt
  ) -> Int {
    let number = count
    count += 1
    let name = SecretName(applicationID: application, profileID: profile ?? "\(number)", kind: .passcode)
    let request = SecretSchedule.Request(
      kind: kind, tenant: FairShares.Tenant(caller: Array(caller.utf8), application: name.application), name: name)
    switch schedule.enter(request) {
    case .permitted(let id):
      note(number, id, kind, "permitted")
      permitted.append(number)
    case .waiting(let id):
      note(number, id, kind, "waiting")
      waiting.append(number)
    case .nameHasItsShare: log.append("name has its share")
    case .refused(.secret): log.append("refused secret")
    case .refused(.share(let limit)): log.append("refused share(\(limit))")
    }
    return number
  }

  private mutating func note(_ number: Int, _ id: SecretSchedule.ID, _ kind: SecretSchedule.Kind, _ entry: String) {
    (numbers[id], ids[number], kinds[number]) = (number, id, kind)
    log.append("\(entry) \(number)")
  }

  mutating func makeReady(_ number: Int) {
    permitted.removeAll { $0 == number }
    ready.append(number)
    perform(schedule.becameReady(ids[number]!))
  }

  mutating func finish(_ number: Int) {
    running.removeAll { $0 == number }
    perform(schedule.finished(ids[number]!))
  }

  mutating func leave(_ number: Int) {
    permitted.removeAll { $0 == number }
    perform(schedule.left(ids[number]!))
  }

  mutating func tick() { perform(schedule.ticked()) }

  /// They have had their share until now, and one another's time.
  mutating func useUpCredit(of applications: String...) {
    for _ in 0..<2 * SecretSchedule.creditPerThread {
      for application in applications {
        let number = enter(application)
        makeReady(number)
        finish(number)
      }
    }
  }

  private mutating func perform(_ actions: SecretSchedule.Actions) {
    for number in actions.granted.map({ numbers[$0]! }) {
      waiting.removeAll { $0 == number }
      permitted.append(number)
      granted.append(number)
      log.append("granted \(number)")
    }
    for number in actions.started.map({ numbers[$0]! }) {
      ready.removeAll { $0 == number }
      running.append(number)
      startCount += 1
      log.append("started \(number)")
    }
    for number in actions.expired.map({ numbers[$0]! }) {
      waiting.removeAll { $0 == number }
      log.append("expired \(number)")
    }
  }
}

/// Half a minute in model time: guesses flood in, at names that are invented, and people log in, ten a second for each
/// thread.
private struct FloodModel {
  struct Outcome {
    var refused = 0
    /// In milliseconds.
    var times: [Double] = []

    func percentile(_ percent: Int) -> Double { times.sorted()[(times.count - 1) * percent / 100] }
  }

  private enum Event {
    case arrival(isGuess: Bool)
    case committed(SecretSchedule.ID)
    case hashed(SecretSchedule.ID)
    case tick
  }

  private static let milliseconds = 30_000.0
  /// As measured: Argon2id of 19 MiB, and an fsync of a virtual disk.
  private static let hash = 25.0
  private static let commit = 5.0

  private var schedule: SecretSchedule
  private var random: SeededGenerator
  private var events: [(due: Double, event: Event)] = []
  private var now = 0.0
  private var isTicking = false
  private var count = 0
  private var arrivals: [SecretSchedule.ID: Double] = [:]
  private(set) var outcome = Outcome()
  private let flood: Flood
  private let logins: Double
  private let guesses: Double

  init(_ flood: Flood, threads: Int, guesses: Int, seed: UInt64) {
    self.flood = flood
    schedule = SecretSchedule(threads: threads)
    random = SeededGenerator(seed: seed)
    logins = 10.0 * Double(threads)
    self.guesses = Double(guesses)
  }

  mutating func run() {
    // Both are drawn before anything happens, so that the logins are the same beside a flood and alone.
    arrive(isGuess: false, rate: logins)
    if guesses > 0 { arrive(isGuess: true, rate: guesses) }
    events.sort { $0.due > $1.due }
    while let next = events.popLast() {
      now = next.due
      handle(next.event)
    }
  }

  private mutating func arrive(isGuess: Bool, rate: Double) {
    var time = 0.0
    while time < Self.milliseconds {
      // Not in step: people do not wait for each other.
      time += Double.random(in: 0..<2, using: &random) * 1_000 / rate
      events.append((time, .arrival(isGuess: isGuess)))
    }
  }

  private mutating func after(_ delay: Double, _ event: Event) {
    let due = now + delay
    let index = events.lastIndex { $0.due >= due }.map { $0 + 1 } ?? 0
    events.insert((due, event), at: index)
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .arrival(let isGuess): enter(isGuess)
    case .committed(let id): perform(schedule.becameReady(id))
    case .hashed(let id):
      perform(schedule.finished(id))
      guard let arrival = arrivals.removeValue(forKey: id) else { return }
      outcome.times.append(now + Self.commit - arrival)
    case .tick:
      isTicking = false
      perform(schedule.ticked())
      tickIfNeeded()
    }
  }

  private mutating func enter(_ isGuess: Bool) {
    count += 1
    let source = isGuess ? flood.guesses.randomElement(using: &random) ?? flood.people : flood.people
    let name = SecretName(
      applicationID: source.application, profileID: source.profile ?? "\(count)", kind: .passcode)
    let tenant = FairShares.Tenant(caller: Array(source.caller.utf8), application: name.application)
    switch schedule.enter(SecretSchedule.Request(kind: .attempt, tenant: tenant, name: name)) {
    case .permitted(let id):
      if !isGuess { arrivals[id] = now }
      after(Self.commit, .committed(id))
    case .waiting(let id):
      if !isGuess { arrivals[id] = now }
      tickIfNeeded()
    case .nameHasItsShare, .refused:
      if !isGuess { outcome.refused += 1 }
    }
  }

  private mutating func perform(_ actions: SecretSchedule.Actions) {
    for id in actions.granted { after(Self.commit, .committed(id)) }
    for id in actions.started { after(Self.hash, .hashed(id)) }
    for id in actions.expired where arrivals.removeValue(forKey: id) != nil { outcome.refused += 1 }
  }

  private mutating func tickIfNeeded() {
    guard !isTicking, schedule.hasWaiting else { return }
    isTicking = true
    after(500, .tick)
  }
}
