import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// A flood of guesses in one application causes no refusal of a passcode in another one, nor of a change by the
/// person's own login. Refused guesses were not counted (R10, R14), and no refusal tells whether a name is known (R37).
///
/// One thread does everything, and hashes when a test lets it.
struct SecretFairnessTests {
  private static let passcode = "2468"
  private static let people = (0..<20).map { "person-\($0)" }
  /// As many as one application of one caller may hold of so many.
  private static let placedGuesses = SecretSchedule.permits(.attempt) * 2 / 3
  private static let waitingGuesses = SecretSchedule.waiting(.attempt) * 2 / 3

  private let secrets: SteppedSecrets
  private let bench: InProcessService

  /// Everybody has a passcode, in both applications.
  init() throws {
    secrets = SteppedSecrets()
    bench = InProcessService(secrets: secrets)
    for application in ["bank", "game"] {
      for name in Self.people {
        let call = try set(Self.passcode, of: name, in: application)
        finish()
        #expect(try isAccepted(call))
      }
    }
  }

  // MARK: Calls

  private func set(
    _ passcode: String, by authority: SecretAuthority? = nil, of name: String, in application: String
  ) throws -> InProcessCall {
    let primary = V1.PrimaryAuthentication(
      method: "password", authenticatedAt: V1.Timestamp(bench.clock.now + .seconds(-1)))
    return try bench.begin(
      "/touchstone.v1.SecretService/SetSecret",
      V1.SetSecretRequest(
        applicationID: application, profileID: name, secret: .passcode(passcode), confirmation: .passcode(passcode),
        authority: authority ?? .primary(primary)))
  }

  /// By the old one, right unless given: an attempt at it like any other (R16).
  private func change(of name: String, in application: String, old: String = passcode) throws -> InProcessCall {
    try set("1357", by: .oldSecret(.passcode(old)), of: name, in: application)
  }

  private func guess(_ name: String, in application: String) throws -> InProcessCall {
    try change(of: name, in: application, old: "0000")
  }

  /// Guesses at invented names, until as many wait as may.
  @discardableResult
  private func flood(_ application: String = "game") throws -> [InProcessCall] {
    try (0..<400).map { try guess("ghost-\($0)", in: application) }
  }

  private func isAccepted(_ call: InProcessCall) throws -> Bool {
    try call.messages(V1.SetSecretResponse.self).first?.accepted ?? false
  }

  /// Hashes until there is nothing left to do, or `isDone`.
  @discardableResult
  private func finish(until isDone: () -> Bool = { false }) -> Int {
    var count = 0
    while !isDone(), secrets.step() {
      bench.settle()
      count += 1
    }
    return count
  }

  private func failures(of name: String, in application: String) -> UInt32 {
    bench.store.records.profile(application, name).standing.passcode.failures
  }

  /// The number of failures that count at the invented names.
  private func ghostFailures(in application: String) -> UInt32 {
    (0..<400).reduce(0) { sum, number in
      let ghost = ProfileRecord(applicationID: application, profileID: "ghost-\(number)")
      return sum + (bench.service.unknownNames.name(of: ghost).standing(of: .passcode)?.failures ?? 0)
    }
  }

  // MARK: Tests

  @Test func aFloodInOneApplicationRefusesNobodyInAnother() throws {
    let guesses = try flood()
    let refusals = guesses.compactMap(\.error)
    #expect(refusals.count == 400 - Self.placedGuesses - Self.waitingGuesses)
    #expect(refusals.allSatisfy { $0.code == .resourceExhausted })
    #expect(refusals.allSatisfy { $0.quotas.map(\.subject) == ["application:game"] })
    #expect(refusals.allSatisfy { $0.retryDelay == V1.Duration(seconds: 1, nanoseconds: 0) })
    let logins = try Self.people.map { try change(of: $0, in: "bank") }
    #expect(logins.allSatisfy { $0.error == nil })
    // Each of them waits for one guess at most.
    let hashes = finish { logins.allSatisfy { !$0.sent.isEmpty } }
    #expect(hashes <= 2 * Self.people.count + 1)
    #expect(try logins.allSatisfy(isAccepted))
    finish()
    // Every guess that was not refused was verified.
    #expect(guesses.count { !$0.sent.isEmpty } == Self.placedGuesses + Self.waitingGuesses)
    #expect(Int(ghostFailures(in: "game")) == Self.placedGuesses + Self.waitingGuesses)
  }

  @Test func aLoginWaitsForTheHashThatRunsAndForNoOther() throws {
    try flood()
    let login = try change(of: Self.people[0], in: "bank")
    #expect(finish { !login.sent.isEmpty } == 2)
  }

  /// The flood is in the owner's own application.
  @Test func aFloodKeepsNobodyFromSettingTheirPasscodeAnew() throws {
    try flood()
    let changes = try Self.people.map { try set("1357", of: $0, in: "game") }
    #expect(changes.allSatisfy { $0.error == nil })
    // Each of them waits for one guess at most, and for those that had less than their share before.
    let hashes = finish { changes.allSatisfy { !$0.sent.isEmpty } }
    #expect(hashes <= 2 * changes.count + 1 + SecretSchedule.creditPerThread)
    #expect(try changes.allSatisfy(isAccepted))
  }

  // R10, R14
  @Test func whatIsRefusedWasNotCounted() throws {
    try flood()
    let refused = try guess(Self.people[0], in: "game")
    #expect(refused.error?.code == .resourceExhausted)
    #expect(failures(of: Self.people[0], in: "game") == 0)
    // Neither is what waits.
    #expect(Int(ghostFailures(in: "game")) == Self.placedGuesses)
  }

  // R37
  @Test func aRefusalDoesNotTellWhoIsKnown() throws {
    try flood()
    let known = try #require(try guess(Self.people[0], in: "game").error)
    let unknown = try #require(try guess("stranger", in: "game").error)
    #expect(known.code == .resourceExhausted)
    #expect(known.code == unknown.code && known.message == unknown.message)
    #expect(known.quotas == unknown.quotas)
  }

  // R37: a known name waits as long as an unknown one.
  @Test func aQueueDoesNotTellWhoIsKnown() throws {
    for _ in 0..<Self.placedGuesses { _ = try guess("first", in: "game") }
    let calls = try [Self.people[0], "stranger", Self.people[1], "another"].map { try guess($0, in: "game") }
    var order: [Int] = []
    finish {
      order += calls.indices.filter { !calls[$0].sent.isEmpty && !order.contains($0) }
      return order.count == calls.count
    }
    #expect(order == Array(calls.indices))
  }

  // R16: it was fresh when the call came, which then had to wait.
  @Test func aLoginMustBeFreshWhenTheSecretIsChanged() throws {
    let change = try set("1357", of: Self.people[0], in: "bank")
    bench.clock.advance(by: EnrolmentPolicy().primaryFreshness)
    finish()
    #expect(change.error?.reason == "PRIMARY_AUTHENTICATION_TOO_OLD")
    let old = try self.change(of: Self.people[0], in: "bank")
    finish()
    #expect(try isAccepted(old))
  }

  /// Guesses with a permit are verified, since they were counted.
  @Test func whoWaitsTooLongIsRefusedAndNotCounted() throws {
    let guesses = try flood()
    let refusals = guesses.count { $0.error != nil }
    for _ in 0..<SecretSchedule.longestWait { bench.timer.fire() }
    bench.settle()
    let expired = guesses.compactMap(\.error).filter { $0.quotas.map(\.subject) == ["server"] }
    #expect(expired.count == Self.waitingGuesses)
    #expect(expired.allSatisfy { $0.code == .resourceExhausted })
    #expect(guesses.count { $0.error != nil } == refusals + Self.waitingGuesses)
    #expect(Int(ghostFailures(in: "game")) == Self.placedGuesses)
    #expect(finish() == Self.placedGuesses)
    // Nothing waits, and nothing is due.
    #expect(!bench.timer.isSet)
  }

  /// Callers that hung up before their guesses were counted cost no hash.
  @Test func whoIsGoneWhenTheirTurnComesIsNotVerified() throws {
    let before = secrets.count
    let guesses = try flood()
    for call in guesses where call.error == nil { call.cancel() }
    finish()
    #expect(secrets.count - before == Self.placedGuesses)
    #expect(Int(ghostFailures(in: "game")) == Self.placedGuesses)
    // All is free again.
    #expect(try flood().count { $0.error == nil } == Self.placedGuesses + Self.waitingGuesses)
  }

  /// With a permit in hand, the secret may turn out to be locked or in flight: then the permit is given back.
  @Test func aPlaceThatIsNotNeededIsGivenBack() throws {
    let crowd = try (0..<100).map { _ in try guess(Self.people[0], in: "game") }
    finish()
    // Some wait for a verdict of the others, and retry now and then.
    for _ in 0..<SecretLocks.longestWait where crowd.contains(where: { $0.sent.isEmpty }) {
      bench.timer.fire()
      bench.settle()
      finish()
    }
    // R14: five were verified, the others refused for the lock.
    #expect(crowd.allSatisfy { !$0.sent.isEmpty })
    #expect(failures(of: Self.people[0], in: "game") == 5)
    let others = try Self.people.dropFirst().map { try change(of: $0, in: "game") }
    finish()
    #expect(try others.allSatisfy(isAccepted))
  }
}
