// The app of Sample.swift on simulated phones.

import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("An app written for Apple's module")
struct SampleTests {
  private func start(_ phone: SimulatedPhone, knownDomainState: Data? = nil) async -> SignIn.Outcome {
    let signIn = LASimulation(phone: phone).run { SignIn(knownDomainState: knownDomainState) }
    return await withCheckedContinuation { continuation in
      signIn.start { continuation.resume(returning: $0) }
    }
  }

  @Test(
    "The person's ways",
    arguments: [
      (SimulatedPhone.Person.presenting(.finger("thumb")), SignIn.Outcome.signedIn),
      (.presenting(.finger("stranger's")), .usePassword),
      (.init(script: [.present(.finger("stranger's")), .tapFallback]), .usePassword),
      (.init(habitAtSensor: .tapCancel), .canceled),
      (.init(habitAtSensor: .leaveApp), .canceled),
    ])
  func outcomes(person: SimulatedPhone.Person, outcome: SignIn.Outcome) async {
    #expect(await start(.withThumb(person: person)) == outcome)
  }

  @Test("A locked phone asks for the password, a phone without fingers says why")
  func refusals() async {
    #expect(await start(.withThumb().locked()) == .usePassword)
    let phone = SimulatedPhone(passcode: "2580")
    #expect(await start(phone) == .unavailable("Nothing is enrolled for biometry."))
  }

  @Test("A new finger is noticed, one added and removed is not")
  func enrollment() async {
    let phone = SimulatedPhone.withThumb(person: .presenting(.finger("thumb")))
    let context = LASimulation(phone: phone).run { LAContext() }
    context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
    let known = context.evaluatedPolicyDomainState
    phone.enroll("index")
    #expect(await start(phone, knownDomainState: known) == .enrollmentChanged)
    phone.remove("index")
    #expect(await start(phone, knownDomainState: known) == .signedIn)
  }

  @Test("The button's title")
  func titles() {
    func title(_ phone: SimulatedPhone) -> String { LASimulation(phone: phone).run { SignIn().title } }
    #expect(title(.withThumb()) == "Sign in with Touch ID")
    #expect(title(.init(biometryType: .faceID, passcode: "2580", enrolled: ["anna"])) == "Sign in with Face ID")
    #expect(title(.withThumb().locked()) == "Touch ID is locked")
    #expect(title(.init(passcode: "2580")) == "Sign in with password")
  }

  @Test(
    "By async and throws",
    arguments: [
      (SimulatedPhone.Person.presenting(.finger("thumb")), SignIn.Outcome.signedIn),
      (.presenting(.finger("stranger's"), passcode: "2580"), .signedIn),
      (.presenting(.finger("stranger's"), passcode: "0000"), .usePassword),
      (.init(habitAtSensor: .tapCancel), .canceled),
    ])
  func asynchronous(person: SimulatedPhone.Person, outcome: SignIn.Outcome) async {
    await LASimulation(phone: .withThumb(person: person)).run {
      #expect(await SignIn.unlockNotes() == outcome)
    }
  }
}

extension SimulatedPhone {
  static func withThumb(_ osVersion: OSVersion = OSVersion(16), person: Person = .absent) -> SimulatedPhone {
    SimulatedPhone(osVersion: osVersion, passcode: "2580", enrolled: ["thumb"], person: person)
  }

  /// After five wrong fingers.
  func locked() -> SimulatedPhone {
    for _ in 0..<5 { unlock(presenting: .finger("stranger's")) }
    return self
  }
}
