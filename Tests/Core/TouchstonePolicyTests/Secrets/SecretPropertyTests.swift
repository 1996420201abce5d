// R14 and R15 over random interleavings: admissions and verdicts of parallel attempts, processes that die, clocks that
// are set forward and back.

import TestSupport
import Testing
import TouchstonePolicy

@Suite struct SecretPropertyTests {
  @Test("R13, R14, R15: the budget is exact, and no lock is shortened", arguments: seeds(ofAll: 60))
  func randomWalk(seed: UInt64) {
    var walk = SecretWalk(seed: seed)
    for step in 1...1_000 {
      if let fault = walk.step() {
        Issue.record("seed \(seed), step \(step): \(fault)")
        return
      }
    }
    #expect(walk.verified > 0 && walk.refusals > 0)
  }

  @Test(
    "R14: however 200 wrong guesses come in, 5 are verified at one moment", arguments: seeds(ofAll: 40))
  func twoHundredWrong(seed: UInt64) {
    var crowd = Crowd(seed: seed, isRight: false)
    crowd.run(attempts: 200)
    #expect((crowd.verified, crowd.refused) == (5, 195))
    #expect(crowd.standing.failures == 5 && crowd.standing.inFlight == 0)
  }

  @Test("R14: however 50 right ones come in, all pass", arguments: seeds(ofAll: 40))
  func fiftyRight(seed: UInt64) {
    var crowd = Crowd(seed: seed, isRight: true)
    crowd.run(attempts: 50)
    #expect((crowd.verified, crowd.succeeded, crowd.refused) == (50, 50, 0))
    #expect(crowd.standing.failures == 0)
  }

  @Test(
    "R14: with one right among the wrong, every guess before it was paid for", arguments: seeds(ofAll: 40))
  func mixed(seed: UInt64) {
    var crowd = Crowd(seed: seed, isRight: nil)
    crowd.run(attempts: 300)
    // At most four wrong ones before each right one, and five at the end.
    #expect(crowd.verified - crowd.succeeded <= crowd.succeeded * 4 + 5)
    #expect(crowd.verified + crowd.refused == 300)
  }
}

/// Many attempts at one moment, each in an evaluation of its own; an attempt that must wait comes again.
private struct Crowd {
  private(set) var verified = 0
  private(set) var succeeded = 0
  private(set) var refused = 0
  private(set) var standing = SecretStanding(isSet: true)
  private var random: SeededGenerator
  private let isRight: Bool?
  private let policy = EvaluationPolicy(words: "login")
  private var inFlight: [(reservation: SecretAdmission.Reservation, isRight: Bool)] = []

  /// - Parameter isRight: `nil`: some are, some are not.
  init(seed: UInt64, isRight: Bool?) {
    random = SeededGenerator(seed: seed)
    self.isRight = isRight
  }

  mutating func run(attempts: Int) {
    var arriving = attempts
    while arriving > 0 || !inFlight.isEmpty {
      if arriving > 0 && (inFlight.isEmpty || Bool.random(using: &random)) {
        arriving -= arrive() ? 1 : 0
      } else {
        settleOne()
      }
    }
  }

  /// Whether it got its answer or its place.
  private mutating func arrive() -> Bool {
    switch policy.admitSecret(.passcode, AdmissionFacts(standing)) {
    case .verify(let reservation, let counted):
      standing = counted
      inFlight.append((reservation, isRight ?? (Int.random(in: 0..<8, using: &random) == 0)))
      verified += 1
      return true
    case .wait:
      settleOne()
      return false
    case .refuse:
      refused += 1
      return true
    }
  }

  private mutating func settleOne() {
    let one = inFlight.remove(at: Int.random(in: inFlight.indices, using: &random))
    let decision = policy.decide(
      AttemptFacts(
        AdmissionFacts(standing), attempt: .secret(.passcode, one.reservation, isRight: one.isRight)))
    standing = decision.secret ?? standing
    succeeded += decision.outcome == .succeeded ? 1 : 0
  }
}

extension AdmissionFacts {
  fileprivate init(_ passcode: SecretStanding) {
    self.init(
      posture: DevicePosture(words: "9.3"), binding: .absent, device: BiometryStanding(),
      profile: ProfileStanding(settings: UnlockSettings(isPasscodeEnabled: true), passcode: passcode),
      evaluation: EvaluationStanding(), now: .noon)
  }
}

/// One passcode, attacked and used at once. Keeps its own simple ledger beside the rules' standing.
private struct SecretWalk {
  private(set) var verified = 0
  private(set) var refusals = 0
  private var random: SeededGenerator
  private var standing = SecretStanding(isSet: true)
  private var now = UnixTime.noon
  private let rules = SecretRules(ladder: .standard)
  private var inFlight: [SecretAdmission.Reservation] = []

  /// Admissions since the last success, and when the next one may be.
  private var paid: UInt32 = 0
  private var lockedUntil: UnixTime?

  private static let locks: [UInt32: Int64] = [5: 60, 6: 300, 7: 900, 8: 900, 9: 3_600]
  private static let budget: UInt32 = 10

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
  }

  /// Returns the fault of the step, or `nil`.
  mutating func step() -> String? {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<9: return attempt()
    case 9..<14: return settle()
    // A process dies with what it had in flight.
    case 14: inFlight.removeAll { _ in Bool.random(using: &random) }
    case 15..<18: now = now + .milliseconds(Int64.random(in: 0...120_000, using: &random))
    case 18: now = now + .seconds(Int64.random(in: 0...4_000, using: &random))
    default: now = now + .seconds(-Int64.random(in: 0...4_000, using: &random))
    }
    return nil
  }

  private mutating func attempt() -> String? {
    let isLocked = paid >= Self.budget || lockedUntil.map { now < $0 } ?? false
    switch rules.admit(.passcode, standing, at: now) {
    case .verify(let reservation, let counted):
      if isLocked { return "verified while locked, after \(paid)" }
      verified += 1
      paid += 1
      standing = counted
      inFlight.append(reservation)
      if let lock = Self.locks[paid] { lockedUntil = now + .seconds(lock) }
    case .wait:
      if !isLocked { return "waits though open" }
      if standing.inFlight == 0 || now >= standing.inFlightUntil { return "waits for nothing" }
    case .refuse:
      if !isLocked { return "refused though open" }
      refusals += 1
      if paid >= Self.budget && Int.random(in: 0..<8, using: &random) == 0 { setAnew() }
    }
    return standing.failures == paid ? nil : "\(standing.failures) counted, \(paid) paid"
  }

  /// With primary authentication. Verdicts about the old one are not brought any more.
  private mutating func setAnew() {
    standing = ProfileStanding(passcode: standing).settingSecret(.passcode, at: now).passcode
    inFlight = []
    (paid, lockedUntil) = (0, nil)
  }

  private mutating func settle() -> String? {
    guard let index = inFlight.indices.randomElement(using: &random) else { return nil }
    // Rarely right: an attacker is at work.
    let isRight = Int.random(in: 0..<12, using: &random) == 0
    let before = standing
    standing = SecretRules.settle(standing, inFlight.remove(at: index), isRight: isRight)
    if isRight {
      (paid, lockedUntil) = (0, nil)
      let isClear = standing.failures == 0 && standing.lock == .none && standing.generation == before.generation + 1
      return isClear ? nil : "a success left \(standing)"
    }
    if standing.failures != before.failures || standing.lock != before.lock {
      return "a wrong verdict changed the count"
    }
    return nil
  }
}
