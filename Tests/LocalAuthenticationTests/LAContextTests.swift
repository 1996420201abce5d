// LAContext: what Apple documents of it, member by member.

import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("LAContext")
struct LAContextTests {
  private static let biometrics = LAPolicy.deviceOwnerAuthenticationWithBiometrics
  private static let owner = SimulatedPhone.Person.presenting(.finger("thumb"))

  private func context(on phone: SimulatedPhone) -> LAContext {
    LASimulation(phone: phone).run { LAContext() }
  }

  private func evaluate(_ context: LAContext, _ policy: LAPolicy = biometrics) async -> LAError.Code? {
    await withCheckedContinuation { continuation in
      context.evaluatePolicy(policy, localizedReason: "Log in") { success, error in
        #expect(success == (error == nil))
        continuation.resume(returning: (error as? LAError)?.code)
      }
    }
  }

  // MARK: Replies

  /// What `Thread.isMainThread` tells is not to be relied upon here: on Linux the main queue outlives the main thread.
  @Test("Replies arrive off the main queue, even while it waits for them") @MainActor
  func replyQueue() {
    for phone in [SimulatedPhone.withThumb(person: Self.owner), .init()] {
      let replied = DispatchSemaphore(value: 0)
      context(on: phone).evaluatePolicy(Self.biometrics, localizedReason: "Log in") { _, _ in
        dispatchPrecondition(condition: .notOnQueue(.main))
        replied.signal()
      }
      #expect(replied.wait(timeout: .now() + .seconds(10)) == .success)
    }
  }

  @Test("canEvaluatePolicy and a second evaluation inside a reply do not deadlock")
  func reentrance() async {
    let context = context(on: .withThumb(person: Self.owner))
    let code: LAError.Code? = await withCheckedContinuation { continuation in
      context.evaluatePolicy(Self.biometrics, localizedReason: "Log in") { _, _ in
        #expect(context.canEvaluatePolicy(Self.biometrics, error: nil))
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Pay") { _, error in
          continuation.resume(returning: (error as? LAError)?.code)
        }
      }
    }
    #expect(code == nil)
  }

  @Test("An empty reason stops the app, as on a phone")
  func emptyReason() async {
    await #expect(processExitsWith: .failure) {
      LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "") { _, _ in }
    }
  }

  // MARK: canEvaluatePolicy

  @Test("The error is set where it cannot be evaluated, and cleared where it can")
  func preflight() {
    var error: NSError?
    #expect(!context(on: .withThumb().locked()).canEvaluatePolicy(Self.biometrics, error: &error))
    #expect(error?.domain == LAErrorDomain)
    #expect(error?.code == -8)
    #expect(context(on: .withThumb()).canEvaluatePolicy(Self.biometrics, error: &error))
    #expect(error == nil)
  }

  @Test("A phone on which nothing is set up, where no simulation was chosen")
  func noSimulation() {
    var error: NSError?
    #expect(!LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: &error))
    #expect((error as? LAError)?.code == .passcodeNotSet)
  }

  @Test(
    "Companions are never near",
    arguments: [
      (LAPolicy.deviceOwnerAuthenticationWithCompanion, LAError.Code?.some(.companionNotAvailable)),
      (.deviceOwnerAuthenticationWithBiometricsOrCompanion, nil),
    ])
  func companions(policy: LAPolicy, code: LAError.Code?) async {
    let context = context(on: .withThumb(person: Self.owner))
    #expect(context.canEvaluatePolicy(policy, error: nil) == (code == nil))
    #expect(await evaluate(context, policy) == code)
  }

  // MARK: What a context learns

  @Test(
    "The biometry type is known after canEvaluatePolicy, whatever it answered",
    arguments: [
      (10, LABiometryType.none), (11, .touchID), (16, .touchID),
    ])
  func biometryType(major: Int, type: LABiometryType) {
    let context = context(on: .withThumb(.init(major)).locked())
    #expect(context.biometryType == .none)
    context.canEvaluatePolicy(Self.biometrics, error: nil)
    #expect(context.biometryType == type)
  }

  @Test("The domain state is known after canEvaluatePolicy succeeded for biometrics, or an evaluation by them")
  func domainState() async {
    let phone = SimulatedPhone.withThumb(person: Self.owner)
    let asking = context(on: phone)
    #expect(asking.evaluatedPolicyDomainState == nil)
    #expect(asking.canEvaluatePolicy(Self.biometrics, error: nil))
    #expect(asking.evaluatedPolicyDomainState?.count == 32)

    let evaluating = context(on: phone)
    #expect(await evaluate(evaluating) == nil)
    #expect(evaluating.evaluatedPolicyDomainState == asking.evaluatedPolicyDomainState)

    asking.canEvaluatePolicy(Self.biometrics, error: nil)
    _ = phone.locked()
    #expect(!asking.canEvaluatePolicy(Self.biometrics, error: nil))
    #expect(asking.evaluatedPolicyDomainState == nil)
  }

  @Test("A passcode reveals no domain state")
  func domainStateByPasscode() async {
    let phone = SimulatedPhone.withThumb(person: .presenting(.finger("stranger's"), passcode: "2580"))
    let context = context(on: phone)
    #expect(await evaluate(context, .deviceOwnerAuthentication) == nil)
    #expect(context.evaluatedPolicyDomainState == nil)
  }

  @Test("A context that has succeeded prompts no more, a new one does")
  func reuseOfContext() async {
    let phone = SimulatedPhone.withThumb(person: Self.owner)
    let context = context(on: phone)
    #expect(await evaluate(context) == nil)
    phone.setPerson(.init(habitAtSensor: .tapCancel))
    #expect(await evaluate(context) == nil)
    #expect(await evaluate(self.context(on: phone)) == .userCancel)
  }

  @Test("A passcode opens no biometric policy later")
  func passcodeIsNoBiometry() async {
    let phone = SimulatedPhone.withThumb(person: .presenting(.finger("stranger's"), passcode: "2580"))
    let context = context(on: phone)
    #expect(await evaluate(context, .deviceOwnerAuthentication) == nil)
    #expect(await evaluate(context, .deviceOwnerAuthentication) == nil)
    #expect(await evaluate(context) == .authenticationFailed)
  }

  // MARK: The end of a context

  @Test("invalidate ends what is open with appCancel, and all later with invalidContext")
  func invalidation() async {
    let phone = SimulatedPhone.withThumb()
    let context = context(on: phone)
    let open: LAError.Code? = await withCheckedContinuation { continuation in
      context.evaluatePolicy(Self.biometrics, localizedReason: "Log in") { _, error in
        continuation.resume(returning: (error as? LAError)?.code)
      }
      #expect(phone.prompt != nil)
      context.invalidate()
    }
    #expect(open == .appCancel)
    #expect(phone.prompt == nil)

    var error: NSError?
    #expect(!context.canEvaluatePolicy(Self.biometrics, error: &error))
    #expect(error?.code == -10)
    #expect(await evaluate(context) == .invalidContext)
  }

  @Test("invalidate forgets a success")
  func invalidationAfterSuccess() async {
    let context = context(on: .withThumb(person: Self.owner))
    #expect(await evaluate(context) == nil)
    context.invalidate()
    #expect(await evaluate(context) == .invalidContext)
  }

  @Test("Letting go of a context takes its prompt away")
  func release() async {
    let phone = SimulatedPhone.withThumb()
    let code: LAError.Code? = await withCheckedContinuation { continuation in
      context(on: phone).evaluatePolicy(Self.biometrics, localizedReason: "Log in") { _, error in
        continuation.resume(returning: (error as? LAError)?.code)
      }
    }
    #expect(code == .appCancel)
    #expect(phone.prompt == nil)
  }

  @Test("Whether it ends or is invalidated first, every evaluation is replied to once")
  func raceOfInvalidation() async {
    for _ in 0..<50 {
      let context = context(on: .withThumb(person: Self.owner))
      async let code = evaluate(context)
      context.invalidate()
      #expect([nil, .appCancel, .invalidContext].contains(await code))
    }
  }

  // MARK: Settings

  @Test("Titles reach the prompt")
  func titles() throws {
    let phone = SimulatedPhone.withThumb()
    let context = context(on: phone)
    context.localizedFallbackTitle = "Use Gesture"
    context.localizedCancelTitle = "Later"
    context.evaluatePolicy(Self.biometrics, localizedReason: "Pay 12.50") { _, _ in }
    phone.touch("stranger's")
    let prompt = try #require(phone.prompt)
    #expect(prompt.localizedReason == "Pay 12.50")
    #expect(prompt.fallbackTitle == "Use Gesture")
    #expect(prompt.cancelTitle == "Later")
    #expect(context.localizedFallbackTitle == "Use Gesture")
  }

  @Test(
    "Without interaction only a recent unlock succeeds",
    arguments: [
      (0, false), (1, true), (TimeInterval.infinity, true), (-1, false), (TimeInterval.nan, false),
    ])
  func reuse(seconds: TimeInterval, isEnough: Bool) async {
    let phone = SimulatedPhone(passcode: "2580", enrolled: ["thumb"], clock: { .seconds(60) })
    phone.unlock(presenting: .finger("thumb"))
    let context = context(on: phone)
    context.interactionNotAllowed = true
    context.touchIDAuthenticationAllowableReuseDuration = seconds
    #expect(await evaluate(context) == (isEnough ? nil : .notInteractive))
  }

  @Test("A subclass may stand in for it, as apps' own tests do")
  func subclass() {
    final class Denied: LAContext, @unchecked Sendable {
      override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
        error?.pointee = LAError(.biometryNotEnrolled) as NSError
        return false
      }
    }
    #expect(SignIn(context: Denied()).title == "Sign in with password")
  }

  // MARK: Numbers

  @Test("The phone's failures and policies have Apple's numbers")
  func numbers() {
    for failure in SimulatedPhone.Failure.allCases { #expect(LAError.Code(rawValue: failure.rawValue) != nil) }
    for policy in SimulatedPhone.Policy.allCases { #expect(LAPolicy(rawValue: policy.rawValue) != nil) }
    #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
    #expect(SimulatedPhone.EvaluationRequest.maximumReuse == .seconds(300))
  }

  // MARK: Simulations

  @Test("Simulations nest, and child tasks inherit the innermost")
  func nesting() async {
    await LASimulation(phone: .init()).run {
      await LASimulation(phone: .withThumb(person: Self.owner)).run {
        async let code = evaluate(LAContext())
        #expect(await code == nil)
      }
      #expect(await evaluate(LAContext()) == .passcodeNotSet)
    }
  }

  @Test("What is installed for the process serves where no task is around")
  func installation() async {
    // In a process of its own: what it installs is for all of it.
    await #expect(processExitsWith: .success) {
      LASimulation.install(LASimulation(phone: .withThumb()))
      precondition(LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil))
    }
  }

  @Test("Two apps on one phone share its attempts and not its domain state")
  func twoApps() async {
    let phone = SimulatedPhone.withThumb(person: .presenting(.finger("stranger's")))
    let apps = ["com.example.shop", "com.example.bank"].map { application in
      LASimulation(phone: phone, application: application).run { LAContext() }
    }
    for app in apps { #expect(app.canEvaluatePolicy(Self.biometrics, error: nil)) }
    #expect(apps[0].evaluatedPolicyDomainState != apps[1].evaluatedPolicyDomainState)
    #expect(await evaluate(apps[0]) == .authenticationFailed)
    #expect(await evaluate(apps[1]) == .biometryLockout)
  }
}
