import Testing
import TouchstonePolicy

@Suite struct EnrolmentTests {
  private let policy = EnrolmentPolicy()
  private static let now = UnixTime(seconds: 1_700_000_000)

  @Test(
    "R28: primary authentication is at most five minutes old, and not in the future",
    arguments: [
      (0, PrimaryVerdict.fresh), (-1, .fresh), (-299_999_999, .fresh), (-300_000_000, .fresh), (-300_000_001, .tooOld),
      (-86_400_000_000, .tooOld), (1, .fresh), (30_000_000, .fresh), (30_000_001, .inFuture),
      (3_600_000_000, .inFuture),
    ] as [(Int64, PrimaryVerdict)])
  func freshness(microseconds: Int64, verdict: PrimaryVerdict) {
    let time = UnixTime(microseconds: Self.now.microseconds + microseconds)
    #expect(policy.primaryVerdict(authenticatedAt: time, now: Self.now) == verdict)
  }

  @Test(
    "R28: who asks for a fresher login is given one; the clock may be as far ahead",
    arguments: [(-60, PrimaryVerdict.fresh), (-61, .tooOld), (30, .fresh), (31, .inFuture)] as [(Int64, PrimaryVerdict)]
  )
  func freshnessAskedFor(seconds: Int64, verdict: PrimaryVerdict) {
    let time = UnixTime(microseconds: Self.now.microseconds + seconds * 1_000_000)
    #expect(policy.primaryVerdict(authenticatedAt: time, now: Self.now, within: .seconds(60)) == verdict)
  }

  @Test("R28: no time that a caller can send overflows")
  func extremeTimes() {
    for time in [UnixTime(microseconds: .min), UnixTime(seconds: -62_135_596_800, nanoseconds: 0)!] {
      #expect(policy.primaryVerdict(authenticatedAt: time, now: Self.now) == .tooOld)
    }
    for time in [UnixTime(microseconds: .max), UnixTime(seconds: 253_402_300_799, nanoseconds: 999_999_999)!] {
      #expect(policy.primaryVerdict(authenticatedAt: time, now: Self.now) == .inFuture)
    }
  }

  @Test("R28, R29: the defaults")
  func defaults() {
    #expect(policy.primaryFreshness == .seconds(300))
    #expect(policy.ticketLifetime == .seconds(120))
    #expect(policy.maximumBindingsPerProfile == 16)
    #expect(policy.clockSkewTolerance == .seconds(30))
  }

  @Test(
    "R12, R29: identifiers are bytes: neither case nor composition is folded",
    arguments: [("alice", "Alice"), ("ren\u{E9}", "rene\u{301}")])
  func identifiers(profileID: String, deviceProfileID: String) {
    var facts = EnrolmentFacts(
      profileID: profileID, deviceProfileID: deviceProfileID, activeBindingCount: 0, replaceExisting: false,
      lock: .afterExistingBinding, isSignedByDevice: true)
    #expect(policy.decide(facts) == .refuse(.deviceSpeaksForAnotherProfile))
    facts.replaceExisting = true
    #expect(policy.decide(facts) == .bind(revokesExisting: true, endsLockout: false))
  }

  @Test(
    "R12: who is told that a changed finger or five failures would leave nothing but to bind anew",
    arguments: [
      // Bindings, and the profile.
      ("set", "-", true),
      ("any", "-", true),
      ("touch-id", "-", true),
      // A new finger may unlock a key of user presence.
      ("presence", "-", true),
      ("set presence", "-", true),
      ("any presence", "-", true),
      // Where no domain state shows it, nothing suspends that key. Five failures suspend the others.
      ("presence no-base", "-", false),
      ("set presence no-base", "-", false),
      ("presence no-base", "biometry-off", true),
      ("any no-base", "-", true),
      ("touch-id no-base", "-", true),
      // The device's passcode outlasts both.
      ("set passcode", "-", false),
      ("any passcode", "-", false),
      ("passcode", "-", false),
      ("passcode", "biometry-off", false),
      ("set", "passcode", false),
      ("set presence", "passcode", false),
      ("set", "gesture", false),
      ("touch-id", "passcode", false),
      // A secret that is switched off or disabled does not count; one that is locked for a time does.
      ("set", "passcode passcode-off", true),
      ("set", "gesture gesture-off", true),
      ("set", "passcode=10!", true),
      ("set presence", "gesture=10!", true),
      ("set", "passcode=10! gesture", false),
      ("set", "passcode=5!60", false),
      // Each phone for itself.
      ("set; set passcode", "-", true),
      ("set; passcode", "-", true),
      ("set; set", "-", true),
      ("set; set", "passcode", false),
      ("set passcode; any passcode", "-", false),
      ("", "-", false),
    ] as [(String, String, Bool)])
  func recoveryAdvisory(bindings: String, profile: String, isAdvised: Bool) {
    let advisories = Advisory.ofRecovery(
      bindings: bindings.split(separator: ";").map { BindingStanding(words: String($0)) },
      profile: ProfileStanding(words: profile))
    #expect(advisories.map(\.rawValue) == (isAdvised ? ["NO_RECOVERY_FACTOR"] : []))
  }
}
