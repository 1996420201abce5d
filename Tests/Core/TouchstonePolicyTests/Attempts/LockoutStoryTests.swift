// The lockout as a person lives through it, with every standing carried from one step to the next.

import Testing
import TouchstonePolicy

/// One phone with two accounts on it: what the service would keep between calls, and nothing else.
private struct Phone {
  var posture = DevicePosture(words: "9.3")
  var device = BiometryStanding()
  /// Another profile, in another application (R8).
  let bindings = ["shop": BindingStanding(words: "set presence"), "bank": BindingStanding(words: "any passcode")]

  func preflight(_ policy: String, as account: String = "shop") -> Preflight {
    EvaluationPolicy(words: policy).preflight(
      posture: posture, binding: bindings[account]!, device: device, profile: .none, now: .noon)
  }

  mutating func submit(
    _ attempt: String, _ policy: String, as account: String = "shop", in evaluation: inout EvaluationStanding
  ) -> AttemptDecision {
    let facts = AdmissionFacts(
      posture: posture, binding: bindings[account]!, device: device, profile: .none,
      evaluation: evaluation, now: .noon)
    let decision = EvaluationPolicy(words: policy).decide(AttemptFacts(facts, attempt: Attempt(words: attempt)))
    device = decision.device ?? device
    evaluation = decision.evaluation ?? evaluation
    return decision
  }
}

@Suite struct LockoutStoryTests {
  @Test("R4, R7, R8, R12: three wrong, two more, locked, passcode, open again")
  func sevenSteps() {
    var phone = Phone()

    // 1. Three wrong fingers end the first evaluation with -1.
    var first = EvaluationStanding()
    #expect(phone.submit("bio wrong", "bio", in: &first).outcome == .tryAgain)
    #expect(phone.submit("bio wrong", "bio", in: &first).attemptsLeft == 3)
    let third = phone.submit("bio wrong", "bio", in: &first)
    #expect((third.outcome, third.laError, third.attemptsLeft) == (.failed, .authenticationFailed, 2))
    #expect(first.isFinished && !phone.device.isLockedOut)

    // 2. The other account on the phone has the rest: two more, and -8.
    #expect(phone.preflight("bio", as: "bank").biometryAttemptsLeft == 2)
    var second = EvaluationStanding()
    #expect(phone.submit("bio wrong", "bio", as: "bank", in: &second).attemptsLeft == 1)
    let fifth = phone.submit("report -1", "bio", as: "bank", in: &second)
    #expect((fifth.outcome, fifth.laError) == (.lockedOut, .biometryLockout))
    #expect(second.isFinished && phone.device.isLockedOut)

    // 3. Biometrics cannot be evaluated any more, for either account.
    for account in ["shop", "bank"] {
      #expect(phone.preflight("bio", as: account).denial == Denial(code: .biometryLockout, reason: .biometryLockout))
    }

    // 4. deviceOwnerAuthentication can, by the passcode.
    #expect(phone.preflight("apple").denial == nil)
    #expect(phone.preflight("apple").factors == [.deviceOwner])

    // 5. Not even the right finger unlocks; a wrong passcode costs an attempt of the evaluation alone.
    var third3 = EvaluationStanding()
    #expect(phone.submit("bio right", "apple", in: &third3).outcome == .factorRequired)
    #expect(phone.submit("owner wrong", "apple", in: &third3).outcome == .tryAgain)
    #expect(phone.device == BiometryStanding(consecutiveFailures: 5, isLockedOut: true))

    // 6. The right passcode succeeds, and clears lock and count.
    #expect(phone.submit("owner right", "apple", in: &third3).outcome == .succeeded)
    #expect(phone.device == BiometryStanding())

    // 7. Biometrics are open again, with the whole budget; the old evaluations are not.
    #expect(phone.preflight("bio").biometryAttemptsLeft == 5)
    var fourth = EvaluationStanding()
    #expect(phone.submit("bio right", "bio", in: &fourth).outcome == .succeeded)
    #expect(phone.submit("bio right", "bio", in: &first).outcome == .invalidContext)
  }

  @Test("R7: a success in between sets the count to zero, so that five failures need not lock")
  func successBetweenFailures() {
    var phone = Phone()
    for _ in 0..<10 {
      var evaluation = EvaluationStanding()
      _ = phone.submit("bio wrong", "bio", in: &evaluation)
      _ = phone.submit("bio wrong", "bio", in: &evaluation)
      #expect(phone.submit("bio right", "bio", in: &evaluation).outcome == .succeeded)
      #expect(phone.device == BiometryStanding())
    }
  }

  @Test("R10: nothing but failures counts, however often", arguments: ["-2", "-3", "-4", "-5", "-6", "-7", "-9", "?"])
  func uncounted(code: String) {
    var phone = Phone()
    var evaluation = EvaluationStanding()
    for _ in 0..<20 { _ = phone.submit("report \(code)", "login", in: &evaluation) }
    #expect(phone.device == BiometryStanding())
    #expect(evaluation == EvaluationStanding())
    #expect(phone.submit("bio right", "login", in: &evaluation).outcome == .succeeded)
  }

  @Test("R9, R18: locked in the middle, the evaluation goes on with device owner; fallback shows after a failure")
  func goesOnWithDeviceOwner() {
    var phone = Phone()
    phone.device = BiometryStanding(consecutiveFailures: 4)
    var evaluation = EvaluationStanding()
    #expect(!phone.submit("report -2", "login", in: &evaluation).isFallbackVisible)
    let locking = phone.submit("bio wrong", "login", in: &evaluation)
    #expect((locking.outcome, locking.nextFactors, locking.isFallbackVisible) == (.lockedOut, [.deviceOwner], true))
    #expect(phone.submit("owner right", "login", in: &evaluation).outcome == .succeeded)
    #expect(evaluation == EvaluationStanding(failures: 1, isFinished: true))
  }

  @Test("R5, R36: what changed since the evaluation began refuses the right finger, until it changes back")
  func changedMeanwhile() {
    var phone = Phone()
    var evaluation = EvaluationStanding()
    #expect(phone.preflight("bio").denial == nil)
    phone.posture = DevicePosture(words: "9.3 no-passcode")
    #expect(phone.submit("bio right", "bio", in: &evaluation).laError == .passcodeNotSet)
    phone.posture = DevicePosture(words: "9.3 state=B")
    #expect(phone.submit("bio right", "bio", in: &evaluation).outcome == .factorRequired)
    phone.posture = DevicePosture(words: "9.3")
    #expect(phone.submit("bio right", "bio", in: &evaluation).outcome == .succeeded)
  }
}
