import Synchronization
import Testing
import TouchstonePolicy

@testable import TouchstoneService

/// The order of admissions and verdicts at one secret.
struct SecretLocksTests {
  private let bench = LockBench()
  private let passcode = SecretName(applicationID: "bank", profileID: "alice", kind: .passcode)

  // MARK: Names

  @Test func everySecretHasItsOwnName() {
    let names = [
      passcode, SecretName(applicationID: "bank", profileID: "alice", kind: .gesture),
      SecretName(applicationID: "bank", profileID: "Alice", kind: .passcode),
      SecretName(applicationID: "banka", profileID: "lice", kind: .passcode),
      SecretName(applicationID: "shop", profileID: "alice", kind: .passcode),
      SecretName(applicationID: "bank", profileID: "caf\u{e9}", kind: .passcode),
      SecretName(applicationID: "bank", profileID: "cafe\u{301}", kind: .passcode),
    ]
    #expect(Set(names).count == names.count)
  }

  @Test func aNameTellsItsApplication() {
    #expect(passcode.application == Array("bank".utf8))
    #expect(SecretName(applicationID: "", profileID: "bank", kind: .gesture).application == [])
    let long = String(repeating: "a", count: 300)
    #expect(SecretName(applicationID: long, profileID: "", kind: .passcode).application == Array(long.utf8))
  }

  // MARK: Locks

  @Test func theFirstTurnComesAtOnceAndTheOthersOneByOneInOrder() {
    for number in 1...3 { bench.enter(passcode, number) }
    #expect(bench.log == ["lock 1"])
    bench.end(1)
    #expect(bench.log == ["lock 1", "lock 2"])
    bench.end(2)
    bench.end(3)
    #expect(bench.log == ["lock 1", "lock 2", "lock 3"])
  }

  @Test func anotherSecretWaitsForNobody() {
    bench.enter(passcode, 1)
    bench.enter(SecretName(applicationID: "bank", profileID: "bob", kind: .passcode), 2)
    #expect(bench.log == ["lock 1", "lock 2"])
  }

  @Test func aTurnThatIsDroppedEnds() {
    bench.enter(passcode, 1)
    bench.enter(passcode, 2)
    bench.drop(1)
    #expect(bench.log == ["lock 1", "lock 2"])
    // And ending it twice ends nobody else's.
    let lock = bench.lock(2)
    bench.enter(passcode, 3)
    bench.enter(passcode, 4)
    lock?.end()
    lock?.end()
    #expect(bench.log == ["lock 1", "lock 2", "lock 3"])
  }

  @Test func aVerdictGoesBeforeAdmissions() {
    for number in 1...3 { bench.enter(passcode, number) }
    bench.enterWithVerdict(passcode, 4)
    bench.end(1)
    #expect(bench.log == ["lock 1", "lock 4"])
  }

  // MARK: Waiting for a verdict

  // R14
  @Test func whoWaitsAsksAgainAfterAVerdictInItsOldOrder() {
    for number in 1...3 { bench.enter(passcode, number) }
    bench.wait(1)
    bench.wait(2)
    bench.end(3)
    bench.enterWithVerdict(passcode, 4)
    #expect(bench.log == ["lock 1", "lock 2", "lock 3", "lock 4"])
    bench.endWithVerdict(4)
    bench.end(1)
    bench.end(2)
    #expect(bench.log.suffix(2) == ["lock 1", "lock 2"])
  }

  // R14: the verdict may have been written by another process.
  @Test func whoWaitsAsksAgainAtEachTick() {
    bench.enter(passcode, 1)
    bench.wait(1)
    bench.timer.fire()
    #expect(bench.log == ["lock 1", "lock 1"])
    bench.wait(1)
    bench.timer.fire()
    bench.end(1)
    bench.timer.fire()
    #expect(bench.log == ["lock 1", "lock 1", "lock 1"])
    #expect(!bench.timer.isSet)
  }

  @Test func nobodyWaitsForEver() {
    bench.enter(passcode, 1)
    for _ in 0..<SecretLocks.longestWait {
      bench.wait(1)
      bench.timer.fire()
    }
    #expect(bench.log.last == "expired 1")
    #expect(bench.log.count == SecretLocks.longestWait + 1)
    // A verdict in between does not make it start anew.
    bench.enter(passcode, 2)
    for _ in 0..<SecretLocks.longestWait {
      bench.wait(2)
      bench.enterWithVerdict(passcode, 3)
      bench.endWithVerdict(3)
      bench.wait(2)
      bench.timer.fire()
    }
    #expect(bench.log.last == "expired 2")
  }

  // MARK: Bounds

  @Test func soManyAttemptsAtOneSecretAndNoMore() {
    for number in 0..<SecretLocks.attemptsPerSecret { #expect(bench.enter(passcode, number)) }
    #expect(!bench.enter(passcode, 1_000))
    #expect(bench.enter(SecretName(applicationID: "bank", profileID: "bob", kind: .passcode), 1_001))
    // Waiting is waiting, whatever for.
    bench.wait(0)
    #expect(!bench.enter(passcode, 1_002))
    bench.end(1)
    #expect(bench.enter(passcode, 1_003))
  }

  /// A share is always left for another application, and for another caller of the same.
  @Test func noApplicationAndNoCallerFillsTheGate() {
    var number = 0
    func count(_ application: String, _ caller: String) -> Int {
      var count = 0
      while bench.enter(
        SecretName(applicationID: application, profileID: "\(count)", kind: .passcode), number, by: caller)
      {
        number += 1
        count += 1
      }
      return count
    }
    #expect(count("game", "web") == SecretLocks.attempts * 2 / 3 + 1)
    #expect(bench.refusal == .share(.application))
    #expect(count("shop", "web") > SecretLocks.attempts / 100)
    #expect(count("game", "mobile") > SecretLocks.attempts / 100)
    #expect(count("bank", "mobile") > SecretLocks.attempts / 20)
    // A verdict is never refused.
    bench.enterWithVerdict(passcode, -1)
    #expect(bench.log.last == "lock -1")
  }

  @Test func soManyAttemptsInAllAndNoMore() {
    var count = 0
    // Each caller leaves room for another one, until there is none.
    while bench.refusal != .share(.server) {
      let name = "\(count)"
      while bench.enter(SecretName(applicationID: name, profileID: "\(count)", kind: .passcode), count, by: name) {
        count += 1
      }
    }
    #expect(count == SecretLocks.attempts)
    bench.enterWithVerdict(passcode, -2)
    #expect(bench.log.last == "lock -2")
    bench.end(-2)
    bench.end(1)
    #expect(bench.enter(passcode, -3))
  }
}

/// Runs work at once.
private final class InlineLoop: CallLoop {
  let index = 0
  let isCurrent = true
  func execute(_ work: @escaping @Sendable () -> Void) { work() }
}

/// Waiters by number, on one thread.
private final class LockBench: Sendable {
  let timer = ManualTimer()
  private let locks: SecretLocks
  private let entries = Mutex<[String]>([])
  private let held = Mutex<[Int: SecretLock]>([:])
  private let refusals = Mutex<SecretSchedule.Limit?>(nil)

  init() {
    locks = SecretLocks(timer: timer)
  }

  var log: [String] { entries.withLock { $0 } }

  @discardableResult
  func enter(_ name: SecretName, _ number: Int, by caller: String = "web") -> Bool {
    let limit = locks.enter(name, waiter(number, at: name, of: caller))
    refusals.withLock { $0 = limit }
    return limit == nil
  }

  /// The last one that entered was told; `nil`: it was let in.
  var refusal: SecretSchedule.Limit? { refusals.withLock { $0 } }

  func enterWithVerdict(_ name: SecretName, _ number: Int) {
    locks.enterAhead(name, waiter(number, at: name, of: "web"))
  }

  private func waiter(_ number: Int, at name: SecretName, of caller: String) -> SecretLocks.Waiter {
    SecretLocks.Waiter(
      tenant: FairShares.Tenant(caller: Array(caller.utf8), application: name.application),
      loop: InlineLoop(),
      step: { [self] lock in
        entries.withLock { $0.append("lock \(number)") }
        held.withLock { $0[number] = lock }
      },
      expired: { [self] in entries.withLock { $0.append("expired \(number)") } })
  }

  func lock(_ number: Int) -> SecretLock? { held.withLock { $0.removeValue(forKey: number) } }
  func drop(_ number: Int) { _ = lock(number) }
  func end(_ number: Int) { lock(number)?.end() }
  func endWithVerdict(_ number: Int) { lock(number)?.endWithVerdict() }
  func wait(_ number: Int) { lock(number)?.wait() }
}
