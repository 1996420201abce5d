// R17: how the switches are changed. Tests/DecisionTables has what they keep from being offered.

import Testing
import TouchstonePolicy

@Suite struct UnlockSettingsTests {
  @Test("R17: the preferred one has a switch, and is on")
  func violations() {
    func violation(_ preferred: Factor?) -> FieldViolation? {
      UnlockSettings(isPasscodeEnabled: true, preferred: preferred).violation()
    }
    #expect(violation(nil) == nil && violation(.biometry) == nil && violation(.passcode) == nil)
    #expect(violation(.gesture) == FieldViolation(field: "preferred", reason: "is switched off"))
    for factor in [Factor.deviceOwner, .passkey, .primary] {
      #expect(
        violation(factor) == FieldViolation(field: "preferred", reason: "is not a factor with a switch"))
    }
  }

  @Test("R17: switching the gesture off erases it; the passcode stays, and serves again when switched on")
  func switchingOff() {
    let profile = ProfileStanding(words: "passcode=2 gesture=3!60~1")
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
    let erased = ProfileStanding(words: "gesture=10!").changing(UnlockSettings(), at: .noon)
    #expect((erased.gesture.failures, erased.gesture.lock) == (10, .untilSetAnew))
    #expect(erased.settingSecret(.gesture, at: .noon).gesture.failures == 0)
  }
}
