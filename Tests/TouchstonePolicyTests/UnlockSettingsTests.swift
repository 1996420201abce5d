// R17: the switches, what they keep from being offered, and the order of the offers.

import Testing
import TouchstonePolicy

@Suite struct UnlockSettingsTests {
  @Test(
    "R17: what is on and set is offered, the preferred factor first, the caller's own login last",
    arguments: cases(
      """
      # phone | binding | profile | policy => answer | factors
      9.3 | set presence | -                                         | login   => yes | bio,owner
      9.3 | set presence | passcode                                  | login   => yes | bio,owner,passcode
      9.3 | set presence | passcode gesture                          | login   => yes | bio,owner,gesture,passcode
      9.3 | set presence | passcode gesture gesture-off              | login   => yes | bio,owner,passcode
      9.3 | set presence | passcode passcode-unset gesture           | login   => yes | bio,owner,gesture
      9.3 | set presence | passcode gesture prefers-passcode         | login   => yes | passcode,bio,owner,gesture
      9.3 | set presence | passcode gesture prefers-gesture          | login   => yes | gesture,bio,owner,passcode
      9.3 | set presence | passcode prefers-biometry                 | login   => yes | bio,owner,passcode
      9.3 | set presence | passcode prefers-biometry                 | secrets => yes | passcode
      # Preferred, but not usable.
      9.3 | set presence | passcode gesture=5!60 prefers-gesture     | login   => yes | bio,owner,passcode
      9.3 | set presence | passcode prefers-gesture                  | login   => yes | bio,owner,passcode
      9.3 no-fingers | set | passcode gesture prefers-biometry       | login   => yes | gesture,passcode
      # Biometry's switch is that of all that biometrics unlock.
      9.3 | set presence | passcode biometry-off                     | login   => yes | passcode
      9.3 | set passcode | passcode biometry-off                     | login   => yes | owner,passcode
      9.3 | touch-id     | passcode biometry-off                     | login   => yes | passcode
      9.3 | set presence | biometry-off                              | login   => -6 FACTOR_NOT_OFFERED | -
      9.3 | none         | biometry-off                              | bio     => -6 FACTOR_NOT_OFFERED | -
      9.3 | none         | biometry-off                              | owner   => yes | owner
      9.3 | set          | biometry-off                              | payment => -6 FACTOR_NOT_OFFERED | -
      # The device's own obstacles come first, and a lock before what is not there (R1).
      9.3 no-fingers | set | biometry-off                            | login   => -7 BIOMETRY_NOT_ENROLLED | -
      9.3 | keyless      | passcode=5!60                             | login   => -1 PASSCODE_LOCKED | -
      9.3 | keyless      | gesture=5!60 passcode=10!                 | login   => -1 GESTURE_LOCKED | -
      9.3 | set          | passcode=10!                              | secrets => -1 PASSCODE_DISABLED | -
      9.3 | set          | gesture=10!                               | secrets => -1 GESTURE_DISABLED | -
      9.3 | set          | -                                         | secrets => -6 FACTOR_NOT_OFFERED | -
      9.3 | set          | passcode=10! passcode-off                 | secrets => -6 FACTOR_NOT_OFFERED | -
      # A payment takes keys alone (R38).
      9.3 | set          | passcode gesture                          | secret-payment => yes | bio
      9.3 | absent       | passcode gesture                          | secret-payment => -6 NO_USABLE_FACTOR | -
      # The caller's own login is a reason to begin only where it is all there is.
      9.3 | set          | passcode                                  | primary-first => yes | bio,passcode,primary
      9.3 | keyless      | -                                         | primary-first => -6 NO_USABLE_FACTOR | -
      9.3 | absent       | -                                         | primary       => yes | primary
      9.3 state=B | set  | -                                         | primary-first => yes | primary
      9.3 state=B | set  | passcode gesture                          | login   => yes | gesture,passcode
      """))
  func offers(_ row: Case) {
    let preflight = EvaluationPolicy(table: row.given[3]).preflight(
      posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1]),
      device: BiometryStanding(), profile: ProfileStanding(table: row.given[2]), now: .noon)
    #expect((preflight.denial.map { "\($0.code.rawValue) \($0.reason.rawValue)" } ?? "yes") == row.expected[0])
    #expect(preflight.factors == Factor.list(table: row.expected[1]))
  }

  @Test("R13: a denial says when the first of the locked ones opens")
  func retryAfter() {
    func denial(_ profile: String, device: String = "0") -> Denial? {
      EvaluationPolicy(table: "login").preflight(
        posture: DevicePosture(table: "9.3"), binding: BindingStanding(table: "set"),
        device: BiometryStanding(table: device), profile: ProfileStanding(table: profile), now: .noon
      ).denial
    }
    #expect(denial("passcode=5!60") == nil)
    #expect(denial("passcode=5!60 gesture=6!300", device: "5!")?.retryAfter == .seconds(60))
    #expect(denial("passcode=6!300 gesture=5!60", device: "5!")?.retryAfter == .seconds(60))
    #expect(denial("passcode=5!60", device: "5!")?.reason == .biometryLockout)
    #expect(denial("passcode=10!", device: "5!") == Denial(code: .biometryLockout, reason: .biometryLockout))
  }

  @Test("R17, R10: a factor that biometrics unlock, switched off: right is not served, wrong counts as ever")
  func biometryOff() {
    func decide(_ attempt: String, binding: String) -> AttemptDecision {
      EvaluationPolicy(table: "login").decide(
        AttemptFacts(
          posture: DevicePosture(table: "9.3"), binding: BindingStanding(table: binding)!, device: BiometryStanding(),
          profile: ProfileStanding(table: "passcode biometry-off"), evaluation: EvaluationStanding(), now: .noon,
          attempt: Attempt(table: attempt)))
    }
    for (attempt, binding) in [("bio right", "set"), ("owner right", "presence"), ("touch-id right", "touch-id")] {
      let decision = decide(attempt, binding: binding)
      #expect((decision.outcome, decision.laError) == (.factorRequired, .biometryNotAvailable))
      #expect(decision.nextFactors == [.passcode] && decision.device == nil && decision.evaluation == nil)
    }
    #expect(decide("bio wrong", binding: "set").device?.consecutiveFailures == 1)
    #expect(decide("owner right", binding: "passcode").outcome == .succeeded)
  }

  // MARK: Changing them

  @Test("R17: the preferred one has a switch, and is on")
  func violations() {
    func violation(_ preferred: Factor?) -> FieldViolation? {
      UnlockSettings(isPasscodeEnabled: true, preferred: preferred).violation()
    }
    #expect(violation(nil) == nil && violation(.biometry) == nil && violation(.passcode) == nil)
    #expect(violation(.gesture) == FieldViolation(field: "preferred", reason: "is switched off"))
    for factor in [Factor.deviceOwner, .passkey, .primary] {
      #expect(
        violation(factor) == FieldViolation(field: "preferred", reason: "is none of those that have a switch"))
    }
  }

  @Test("R17: switching the gesture off erases it; the passcode stays, and serves again when switched on")
  func switchingOff() {
    let profile = ProfileStanding(table: "passcode=2 gesture=3!60~1")
    let off = profile.changing(UnlockSettings(), at: .noon)
    #expect(off.settings == UnlockSettings(updatedAt: .noon))
    #expect(!off.gesture.isSet && off.passcode == profile.passcode)
    #expect(off.gesture.generation == profile.gesture.generation + 1 && off.gesture.inFlight == 0)
    let on = off.changing(UnlockSettings(isGestureEnabled: true, isPasscodeEnabled: true), at: .noon + .seconds(1))
    #expect(!on.gesture.isSet && on.passcode == profile.passcode && on.settings.isGestureEnabled)
    #expect(on.settings.updatedAt == .noon + .seconds(1))
    // Left on, it is left alone.
    let kept = profile.changing(UnlockSettings(isBiometryEnabled: false, isGestureEnabled: true), at: .noon)
    #expect(kept.gesture == profile.gesture && !kept.settings.isBiometryEnabled)
  }

  @Test("R13, R17: erasing is no way round the failures or the lock; setting it anew ends both")
  func erasingKeepsTheCount() {
    let erased = ProfileStanding(table: "gesture=10!").changing(UnlockSettings(), at: .noon)
    #expect((erased.gesture.failures, erased.gesture.lock) == (10, .untilSetAnew))
    #expect(erased.settingSecret(.gesture, at: .noon).gesture.failures == 0)
  }
}
