// LAContext: what Apple documents of it, member by member.

import LocalAuthentication
import SimulatedPhone
import TestSupport
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

  /// This test cannot rely on `Thread.isMainThread`: on Linux the main queue outlives the main thread.
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

  // MARK: A context's properties after an evaluation

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

  @Test("An app need not hold on to a context: its evaluation does, and only until the reply", .mustEnd)
  func lifetime() async throws {
    let phone = SimulatedPhone.withThumb()
    weak var context: LAContext?
    let code: LAError.Code? = await withCheckedContinuation { continuation in
      do {
        let local = self.context(on: phone)
        context = local
        local.evaluatePolicy(Self.biometrics, localizedReason: "Log in") { [weak local] _, error in
          #expect(local?.evaluatedPolicyDomainState != nil)
          continuation.resume(returning: (error as? LAError)?.code)
        }
      }
      #expect(context != nil)
      phone.touch("thumb")
    }
    #expect(code == nil)
    // The reply's closure is let go of after it was called, on a thread of the phone's.
    try await eventually { context == nil }
  }

  @Test("Whether it ends or is invalidated first, every evaluation is replied to once")
  func raceOfInvalidation() async {
    for _ in 0..<50 {
      let context = context(on: .withThumb(person: Self.owner))
      let code: LAError.Code? = await withCheckedContinuation { continuation in
        context.evaluatePolicy(Self.biometrics, localizedReason: "Log in") { _, error in
          continuation.resume(returning: (error as? LAError)?.code)
        }
        context.invalidate()
      }
      #expect([nil, .appCancel, .invalidContext].contains(code))
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

  // MARK: Credentials

  @Test("A credential is set until it is taken back or the context ends")
  func credentials() {
    let context = context(on: .withThumb())
    #expect(!context.isCredentialSet(.applicationPassword))
    #expect(context.setCredential(Data("secret".utf8), type: .applicationPassword))
    #expect(context.isCredentialSet(.applicationPassword))
    #expect(context.setCredential(nil, type: .applicationPassword))
    #expect(!context.isCredentialSet(.applicationPassword))
    #expect(!context.setCredential(Data("1234".utf8), type: .smartCardPIN))
    context.setCredential(Data("secret".utf8), type: .applicationPassword)
    context.invalidate()
    #expect(!context.isCredentialSet(.applicationPassword))
    #expect(!context.setCredential(Data("secret".utf8), type: .applicationPassword))
  }

  @Test("A new context is as Apple's is")
  func defaults() {
    let context = LAContext()
    #expect(context.localizedReason == "")
    #expect(context.localizedFallbackTitle == nil)
    #expect(context.localizedCancelTitle == nil)
    #expect(context.maxBiometryFailures == nil)
    #expect(context.touchIDAuthenticationAllowableReuseDuration == 0)
    #expect(!context.interactionNotAllowed)
    #expect(context.biometryType == .none)
    #expect(context.evaluatedPolicyDomainState == nil)
    // Kept as given; what counts is bounded where it is used.
    context.touchIDAuthenticationAllowableReuseDuration = 10_000
    #expect(context.touchIDAuthenticationAllowableReuseDuration == 10_000)
  }

  // MARK: Domain state of iOS 18

  @Test("domainState is as of now, whatever was asked before, and the bytes are evaluatedPolicyDomainState's")
  func domainStateOfToday() {
    let phone = SimulatedPhone.withThumb()
    let context = context(on: phone)
    let state = context.domainState
    #expect(context.biometryType == .none)
    #expect(state.biometry.biometryType == .touchID)
    context.canEvaluatePolicy(Self.biometrics, error: nil)
    #expect(state.biometry.stateHash == context.evaluatedPolicyDomainState)
    #expect(state.stateHash == state.biometry.stateHash)
    #expect(state.companion.availableCompanionTypes.isEmpty)
    #expect(state.companion.stateHash == nil && state.companion.stateHash(for: .watch) == nil)

    phone.enroll("index")
    #expect(context.domainState.biometry.stateHash != state.biometry.stateHash)
    _ = phone.locked()
    #expect(context.domainState.biometry.stateHash == nil)
  }

  @Test("One context may evaluate many times at once, and be asked and invalidated meanwhile")
  func manyThreads() async {
    let phone = SimulatedPhone.withThumb(person: Self.owner)
    // LAContext is not Sendable, as Apple's is not; that it is safe on many threads is what is tried here.
    struct Shared: @unchecked Sendable { let context: LAContext }
    let shared = Shared(context: context(on: phone))
    await withTaskGroup(of: LAError.Code?.self) { group in
      for number in 0..<100 {
        group.addTask {
          if number == 50 { shared.context.invalidate() }
          shared.context.localizedFallbackTitle = "\(number)"
          shared.context.canEvaluatePolicy(Self.biometrics, error: nil)
          _ = (shared.context.evaluatedPolicyDomainState, shared.context.biometryType, shared.context.domainState)
          return await self.evaluate(shared.context)
        }
      }
      for await code in group { #expect([nil, .appCancel, .systemCancel, .invalidContext].contains(code)) }
    }
    #expect(await evaluate(shared.context) == .invalidContext)
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
}
