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
    "R1, R2, R24: which devices can be bound",
    arguments: cases(
      """
      # phone => answer
      9.3                 => yes
      8.0                 => yes
      8.0 no-state        => yes
      9.3 state=B         => yes
      10.1                => yes
      11.0 face           => yes
      android             => yes
      7.1                 => -6 OS_TOO_OLD
      10.3 face           => -6 OS_TOO_OLD
      7.1 no-passcode     => -6 OS_TOO_OLD
      9.3 no-passcode     => -5 PASSCODE_NOT_SET
      9.3 no-sensor       => -6 BIOMETRY_NOT_AVAILABLE
      9.3 sensor-off      => -6 BIOMETRY_NOT_AVAILABLE
      9.3 no-fingers      => -7 BIOMETRY_NOT_ENROLLED
      9.3 locked          => -8 BIOMETRY_LOCKOUT
      9.3 locked no-state => -8 BIOMETRY_LOCKOUT
      8.4 locked          => -1 BIOMETRY_LOCKOUT
      # A phone that has a domain state and gives none: changed fingers would never show.
      9.0 no-state        => -6 DOMAIN_STATE_REQUIRED
      26.0 face no-state  => -6 DOMAIN_STATE_REQUIRED
      iPadOS-13 no-state  => -6 DOMAIN_STATE_REQUIRED
      macOS no-state      => -6 DOMAIN_STATE_REQUIRED
      8.4 no-state        => yes
      android no-state    => yes
      web no-state        => yes
      """))
  func bindableDevices(_ row: Case) {
    let denial = policy.preflight(posture: DevicePosture(table: row.given[0]))
    #expect((denial.map { "\($0.code.rawValue) \($0.reason.rawValue)" } ?? "yes") == row.expected[0])
  }

  @Test(
    "R29: one profile for each device, sixteen devices for each profile",
    arguments: cases(
      """
      # for profile | the device's profile | active bindings | replace? => decision
      alice     | -           | 0  | no  => bind
      alice     | -           | 15 | no  => bind
      alice     | -           | 16 | no  => too many
      alice     | -           | 17 | yes => too many
      alice     | -           | 0  | yes => bind
      # Its own binding it replaces, asked or not, and at the limit, too.
      alice     | alice       | 1  | no  => replace
      alice     | alice       | 1  | yes => replace
      alice     | alice       | 16 | no  => replace
      # Another's only when asked.
      alice     | bob         | 0  | no  => other profile
      alice     | bob         | 16 | no  => other profile
      alice     | bob         | 0  | yes => replace
      alice     | bob         | 15 | yes => replace
      alice     | bob         | 16 | yes => too many
      # Identifiers are bytes: neither case nor composition is folded.
      alice     | Alice       | 0  | no  => other profile
      ren\u{E9} | rene\u{301} | 0  | no  => other profile
      """))
  func replacement(_ row: Case) {
    let facts = EnrolmentFacts(
      profileID: row.given[0], deviceProfileID: row.given[1] == "-" ? nil : row.given[1],
      activeBindingCount: Int(row.given[2])!, replaceExisting: row.given[3] == "yes")
    let decisions: [String: EnrolmentDecision] = [
      "bind": .bind(revokesExisting: false, endsLockout: false),
      "replace": .bind(revokesExisting: true, endsLockout: false),
      "other profile": .refuse(.deviceSpeaksForAnotherProfile), "too many": .refuse(.tooManyBindings),
    ]
    #expect(policy.decide(facts) == decisions[row.expected[0]])
  }

  @Test(
    "R12: a lock ends with what replaces the profile's own binding from before it, signed by the phone",
    arguments: cases(
      """
      # for profile | the device's profile | the lock began | signed? => ends
      alice | alice | after  | yes => ends
      alice | alice | after  | no  => stays
      # A binding that was made during the lock would let anybody end it who binds twice.
      alice | alice | before | yes => stays
      alice | alice | never  | yes => stays
      # Nor another's binding, nor none.
      alice | bob   | after  | yes => stays
      alice | -     | before | yes => stays
      Alice | alice | after  | yes => stays
      """))
  func lockout(_ row: Case) {
    let locks: [String: EnrolmentFacts.Lock] = [
      "after": .afterExistingBinding, "before": .beforeExistingBinding, "never": .none,
    ]
    let decision = policy.decide(
      EnrolmentFacts(
        profileID: row.given[0], deviceProfileID: row.given[1] == "-" ? nil : row.given[1], activeBindingCount: 1,
        replaceExisting: true, lock: locks[row.given[2]]!, isSignedByDevice: row.given[3] == "yes"))
    guard case .bind(_, let endsLockout) = decision else {
      Issue.record("refused: \(decision)")
      return
    }
    #expect(endsLockout == (row.expected[0] == "ends"))
  }

  @Test(
    "R12: who is told that one key is all they have",
    arguments: cases(
      """
      # bindings | profile => advised
      set              | -                     => yes
      any              | -                     => yes
      presence         | -                     => yes
      touch-id         | -                     => yes
      set presence     | -                     => no
      set passcode     | -                     => no
      passcode         | -                     => no
      set              | passcode              => no
      set              | gesture               => no
      touch-id         | passcode              => no
      # What is switched off helps nobody.
      set              | passcode passcode-off => yes
      set              | gesture gesture-off   => yes
      # Each phone for itself.
      set; set passcode          | -           => yes
      set presence; set passcode | -           => no
      -                | -                     => no
      """))
  func recoveryAdvisory(_ row: Case) {
    let bindings =
      row.given[0] == "-" ? [] : row.given[0].split(separator: ";").map { BindingStanding(table: String($0))! }
    let advisories = Advisory.ofRecovery(bindings: bindings, profile: ProfileStanding(table: row.given[1]))
    #expect(advisories.map(\.rawValue) == (row.expected[0] == "yes" ? ["NO_RECOVERY_FACTOR"] : []))
  }
}
