// Apps' code in its many styles, on simulated phones. That it compiles is half of the test.

import AppsInSwift5
import AppsInSwift6
import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("Apps' code, unchanged")
struct AppleStylesTests {
  private static let owner = SimulatedPhone.Person.presenting(.finger("thumb"), passcode: "2580")
  private static let stranger = SimulatedPhone.Person.presenting(.finger("stranger's"), passcode: "0000")

  /// Contexts made in here, by whatever code, are on this phone.
  private func on<Value>(_ phone: SimulatedPhone, _ body: () throws -> Value) rethrows -> Value {
    try LASimulation(phone: phone).run(body)
  }

  // MARK: Swift 5

  @Test(
    "Closures, and codes as numbers",
    arguments: [
      (SimulatedPhone.withThumb(person: owner), "welcome"),
      (.withThumb(person: stranger), "wrong"),
      (.withThumb(person: .init(habitAtSensor: .tapCancel)), "canceled"),
      (.withThumb(person: .init(script: [.present(.finger("stranger's")), .tapFallback])), "password"),
      (.withThumb().locked(), "locked"), (.init(), "no passcode"),
      (.init(passcode: "2580"), "no finger"), (.init(biometryType: .none, passcode: "2580"), "no sensor"),
    ])
  func closures(phone: SimulatedPhone, message: String) async {
    let manager = on(phone) { TouchIDManager() }
    let answer = await withCheckedContinuation { continuation in
      manager.authenticate { continuation.resume(returning: $0) }
    }
    #expect(answer == message)
  }

  @Test("A context that nobody holds")
  func localContext() async {
    let phone = SimulatedPhone.withThumb()
    let success = await withCheckedContinuation { continuation in
      on(phone) { unlock { success, _ in continuation.resume(returning: success) } }
      phone.touch("thumb")
    }
    #expect(success)
  }

  @Test("Recovery from lockout, with canEvaluatePolicy in the reply")
  func recovery() async {
    for (person, answer) in [(Self.owner, "recovered"), (Self.stranger, "still locked")] {
      let context = on(SimulatedPhone.withThumb(person: person).locked()) { LAContext() }
      let recovered = await withCheckedContinuation { continuation in
        recover(context) { continuation.resume(returning: $0) }
      }
      #expect(recovered == answer)
    }
  }

  @Test("Switches")
  func switches() {
    let errors: [((any Error)?, String)] = [
      (LAError(.userCancel), "user"), (LAError(.appCancel) as NSError, "system"), (LAError(.userFallback), "fallback"),
      (LAError(.biometryLockout), "locked"), (LAError(.notInteractive), "-1004 -1004 false"),
      (NSError(domain: LAErrorDomain, code: -8), "locked"), (CocoaError(.fileNoSuchFile), "none"), (nil, "none"),
    ]
    for (error, description) in errors { #expect(describe(error) == description) }
    #expect(
      [LABiometryType.none, .touchID, .faceID, .opticID].map(name(of:)) == ["none", "Touch ID", "Face ID", "Optic ID"])
    #expect(name(ofCode: .biometryLockout) == "-8" && name(ofCode: .companionNotAvailable) == "new")
    #expect(isHarmless(kLAErrorUserCancel) && isHarmless(errSecUserCanceled) && !isHarmless(kLAErrorUserFallback))
  }

  @Test("Casts, of errors as they come out of a reply and as canEvaluatePolicy hands them out")
  func casts() async {
    let cancelled: (any Error)? = await withCheckedContinuation { continuation in
      on(.withThumb(person: .init(habitAtSensor: .tapCancel))) {
        unlock { _, error in continuation.resume(returning: error) }
      }
    }
    #expect(codes(of: cancelled) == Array(repeating: -2, count: 8))
    var locked: NSError?
    on(.withThumb().locked()) {
      _ = LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &locked)
    }
    #expect(codes(of: locked) == Array(repeating: -8, count: 8))
    #expect(codes(of: CocoaError(.fileNoSuchFile)).count == 3)
    #expect(codes(of: nil) == [])
  }

  @Test("A new finger is noticed, one added and removed is not")
  func fingerWatch() {
    let phone = SimulatedPhone.withThumb()
    on(phone) {
      let watch = FingerWatch()
      #expect(!watch.hasChanged())
      phone.enroll("index")
      #expect(watch.hasChanged())
      phone.remove("index")
      #expect(watch.hasChanged())
      phone.enroll("index")
      phone.remove("index")
      #expect(!watch.hasChanged())
    }
  }

  @Test("Apps' own test doubles: a protocol, a subclass by closure, a subclass by async")
  func doubles() async throws {
    let real: any Authenticating = on(.withThumb(person: Self.owner)) { LAContext() }
    #expect(try await real.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Log in"))

    let mock = MockContext()
    mock.refusal = LAError(.biometryNotEnrolled) as NSError
    mock.answer = (false, LAError(.userFallback))
    var error: NSError?
    #expect(!mock.canEvaluateBiometrics(error: &error))
    #expect(error?.code == -7)
    // The async form of Apple's class ends in the same method.
    await #expect(throws: LAError.self) {
      try await mock.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Log in")
    }
    #expect(mock.reasons == ["Log in"])

    let asynchronous = AsyncMockContext()
    asynchronous.error = LAError(.userCancel)
    let context: LAContext = asynchronous
    await #expect(throws: LAError.self) {
      try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Log in")
    }
  }

  @Test("A keychain store and a key of the Secure Enclave")
  func keychain() throws {
    let phone = SimulatedPhone.withThumb(person: Self.owner)
    try on(phone) {
      let store = KeychainStore(service: "login")
      try store.save("one", account: "alice")
      try store.save("two", account: "alice")
      #expect(try store.load(account: "alice", context: LAContext()) == "two")
      #expect(store.contains(account: "alice") && !store.contains(account: "bob"))
      let invalid = LAContext()
      invalid.invalidate()
      #expect(throws: KeychainFailure.status(errSecAuthFailed)) { try store.load(account: "alice", context: invalid) }
      #expect(store.remove(account: "alice") && !store.remove(account: "alice"))
      #expect(throws: KeychainFailure.status(errSecItemNotFound)) {
        try store.load(account: "alice", context: LAContext())
      }

      let message = Data("challenge".utf8)
      let key = try EnclaveKey(tag: "login")
      let found = try #require(EnclaveKey(existing: "login"))
      #expect(found.publicKey == key.publicKey)
      let publicKey = try #require(key.publicKey)
      #expect(SoftwareKey.isValid([UInt8](try found.sign(message)), of: [UInt8](message), by: [UInt8](publicKey)))
      phone.remove("thumb")
      #expect(EnclaveKey(existing: "login") == nil)
      #expect(throws: (any Error).self) { try found.sign(message) }
      #expect(throws: (any Error).self) { try EnclaveKey(tag: "login") }
    }
  }

  @Test("Code that imports Security alone")
  func securityModule() throws {
    try on(SimulatedPhone()) {
      let tokens = Tokens(service: "login")
      tokens["a"] = Data([1])
      tokens["a"] = Data([2])
      #expect(tokens["a"] == Data([2]) && tokens["b"] == nil)
      tokens["a"] = nil
      #expect(tokens["a"] == nil)

      let sealer = try #require(Sealer())
      #expect(try sealer.open(sealer.seal(Data("secret".utf8))) == Data("secret".utf8))
      #expect {
        try sealer.open(Data())
      } throws: { error in
        if case SealingError.failed("NSOSStatusErrorDomain", Int(errSecParam)) = error { true } else { false }
      }
    }
  }

  // MARK: Swift 6

  @Test(
    "Async, and errors by type",
    arguments: [
      (SimulatedPhone.withThumb(person: owner), Outcome.success), (.withThumb(person: stranger), .failed),
      (.withThumb(person: .init(habitAtSensor: .pressHome)), .canceled),
      (.withThumb(person: .init(script: [.present(.finger("stranger's")), .tapFallback])), .fallback),
      (.withThumb().locked(), .unavailable(.biometryLockout)), (.init(), .unavailable(.passcodeNotSet)),
    ])
  func asynchronous(phone: SimulatedPhone, outcome: Outcome) async {
    await LASimulation(phone: phone).run {
      #expect(await Authenticator().logIn() == outcome)
    }
  }

  @Test("Errors thrown away", arguments: [true, false])
  func optionalTry(isOwner: Bool) async {
    await LASimulation(phone: .withThumb(person: isOwner ? Self.owner : Self.stranger)).run {
      #expect(await Authenticator { LAContext() }.isSuccess() == isOwner)
    }
  }

  @Test("On the main actor") @MainActor
  func mainActor() async {
    await LASimulation(phone: .withThumb(person: Self.owner)).run {
      let model = LoginModel()
      #expect(model.canUseBiometrics)
      await model.unlock()
      #expect(model.isUnlocked && model.errorCode == nil)
      let isUnlocked = await withCheckedContinuation { continuation in
        model.unlock { continuation.resume(returning: $0) }
      }
      #expect(isUnlocked)
    }
    await LASimulation(phone: .withThumb(person: .init(script: [.present(.finger("x")), .pressHome]))).run {
      let model = LoginModel()
      await model.unlock()
      #expect(!model.isUnlocked && model.errorCode == 0)
    }
  }

  @Test("Continuations, generics, actors")
  func others() async throws {
    let phone = SimulatedPhone.withThumb(person: Self.owner)
    try await LASimulation(phone: phone).run {
      let state = try await evaluate(LAContext(), .deviceOwnerAuthenticationWithBiometrics)
      #expect(state != nil && state == stateHash(of: LAContext()))
      let vault = Vault()
      let access = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .biometryAny, nil)
      #expect(try await vault.open(#require(access)))
      await vault.close()
    }
  }
}
