// Evaluations as dialogues: what a person does at the prompt, what the phone makes of it.

import SimulatedPhone
import Testing

@Suite("Evaluations")
struct EvaluationTests {
  private let phone = Phone.owned()

  /// A reaction as a table shows it.
  enum Shown: Sendable, Hashable {
    case sensor(fallback: Bool)
    case passcode
    case nothing
    case succeeded(Phone.Factor)
    case failed(Phone.Failure)

    init(_ reaction: Phone.Reaction) {
      switch reaction {
      case .nothing: self = .nothing
      case .prompting(let prompt): self = .init(prompt)
      case .ended(.success(let factor)): self = .succeeded(factor)
      case .ended(.failure(let failure)): self = .failed(failure)
      }
    }

    init(_ prompt: Phone.Prompt) {
      self = prompt.sheet == .passcode ? .passcode : .sensor(fallback: prompt.fallbackTitle != nil)
    }
  }

  struct Dialogue: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let request: Phone.EvaluationRequest
    let failuresBefore: Int
    let osVersion: Phone.OSVersion
    let exchanges: [(Phone.PersonAction, Shown)]

    init(
      _ description: String, _ request: Phone.EvaluationRequest, failuresBefore: Int = 0,
      on osVersion: Phone.OSVersion = .init(16), _ exchanges: [(Phone.PersonAction, Shown)]
    ) {
      self.testDescription = description
      self.request = request
      self.failuresBefore = failuresBefore
      self.osVersion = osVersion
      self.exchanges = exchanges
    }
  }

  private static let right = Phone.PersonAction.present(.thumb)
  private static let wrong = Phone.PersonAction.present(.stranger)
  private static let typesRight = Phone.PersonAction.present(.rightPasscode)
  private static let typesWrong = Phone.PersonAction.present(.wrongPasscode)

  private static var withoutFallback: Phone.EvaluationRequest {
    var request = Phone.EvaluationRequest.biometrics
    request.fallbackTitle = ""
    return request
  }

  static let biometrics: [Dialogue] = [
    Dialogue("The owner", .biometrics, [(right, .succeeded(.biometry))]),
    Dialogue(
      "Three wrong fingers end it", .biometrics,
      [(wrong, .sensor(fallback: true)), (wrong, .sensor(fallback: true)), (wrong, .failed(.authenticationFailed))]),
    Dialogue(
      "The next has two more, then the phone is locked", .biometrics, failuresBefore: 3,
      [(wrong, .sensor(fallback: true)), (wrong, .failed(.biometryLockout))]),
    Dialogue(
      "Locked before iOS 9: no code of its own", .biometrics, failuresBefore: 4, on: .init(8),
      [(wrong, .failed(.authenticationFailed))]),
    Dialogue(
      "Locked before iOS 9: the next one begins with the passcode", .biometrics, failuresBefore: 5, on: .init(8, 4),
      [(right, .nothing), (.tapFallback, .nothing), (typesWrong, .passcode), (typesRight, .succeeded(.passcode))]),
    Dialogue(
      "Locked before iOS 9: the passcode may be refused", .biometrics, failuresBefore: 5, on: .init(8),
      [(.tapCancel, .failed(.userCancel))]),
    Dialogue("Cancel", .biometrics, [(.tapCancel, .failed(.userCancel))]),
    Dialogue("Another app comes to the front", .biometrics, [(.leaveApp, .failed(.systemCancel))]),
    Dialogue("The home button", .biometrics, [(wrong, .sensor(fallback: true)), (.pressHome, .failed(.systemCancel))]),
    Dialogue("The screen is locked", .biometrics, [(.lockScreen, .failed(.systemCancel))]),
    Dialogue("A call", .biometrics, [(.takeCall, .failed(.systemCancel))]),
    Dialogue(
      "No fallback before the first failure", .biometrics,
      [(.tapFallback, .nothing), (wrong, .sensor(fallback: true)), (.tapFallback, .failed(.userFallback))]),
    Dialogue(
      "An empty title draws no fallback", withoutFallback,
      [(wrong, .sensor(fallback: false)), (.tapFallback, .nothing), (right, .succeeded(.biometry))]),
    Dialogue("The passcode is of no use", .biometrics, [(typesRight, .nothing), (right, .succeeded(.biometry))]),
  ]

  static let deviceOwner: [Dialogue] = [
    Dialogue("By finger", .deviceOwner, [(right, .succeeded(.biometry))]),
    Dialogue(
      "After three wrong fingers the passcode", .deviceOwner,
      [
        (wrong, .sensor(fallback: true)), (wrong, .sensor(fallback: true)), (wrong, .passcode), (right, .nothing),
        (.tapFallback, .nothing), (typesRight, .succeeded(.passcode)),
      ]),
    Dialogue(
      "The fallback leads to the passcode", .deviceOwner,
      [(wrong, .sensor(fallback: true)), (.tapFallback, .passcode), (typesRight, .succeeded(.passcode))]),
    Dialogue(
      "Where the finger locks the phone, the passcode is next", .deviceOwner, failuresBefore: 4,
      [(wrong, .passcode), (typesRight, .succeeded(.passcode))]),
    Dialogue(
      "Locked from the start: the passcode at once", .deviceOwner, failuresBefore: 5,
      [(right, .nothing), (typesRight, .succeeded(.passcode))]),
    Dialogue(
      "The fifth wrong passcode ends it", .deviceOwner, failuresBefore: 5,
      [
        (typesWrong, .passcode), (typesWrong, .passcode), (typesWrong, .passcode), (typesWrong, .passcode),
        (typesWrong, .failed(.authenticationFailed)),
      ]),
    Dialogue(
      "Cancel at the passcode", .deviceOwner, failuresBefore: 5, [(.tapCancel, .failed(.userCancel))]),
    Dialogue(
      "A call at the passcode", .deviceOwner, failuresBefore: 5, [(.takeCall, .failed(.systemCancel))]),
  ]

  static let devicePasscode: [Dialogue] = [
    Dialogue("Never asks the sensor", .devicePasscode, [(right, .nothing), (typesRight, .succeeded(.passcode))])
  ]

  @Test(arguments: biometrics + deviceOwner + devicePasscode)
  func dialogue(_ dialogue: Dialogue) async {
    let phone = Phone.owned(dialogue.osVersion)
    for _ in 0..<dialogue.failuresBefore { phone.unlock(presenting: .stranger) }
    await hold(dialogue, on: phone)
  }

  private static let face = Phone.PersonAction.present(.face("anna"))
  private static let sister = Phone.PersonAction.present(.face("anna's sister"))

  /// Apple: after two wrong faces the fallback is offered and Face ID stops; the fifth locks.
  static let faces: [Dialogue] = [
    Dialogue("A face", .biometrics, [(face, .succeeded(.biometry))]),
    Dialogue(
      "The second wrong face stops the sensor and shows the fallback", .biometrics,
      [
        (sister, .sensor(fallback: false)), (.tapFallback, .nothing), (sister, .sensor(fallback: true)),
        (face, .nothing), (.tapFallback, .failed(.userFallback)),
      ]),
    Dialogue(
      "Without a fallback only cancel is left", withoutFallback,
      [(sister, .sensor(fallback: false)), (sister, .sensor(fallback: false)), (.tapCancel, .failed(.userCancel))]),
    Dialogue(
      "The fifth wrong face locks", .biometrics, failuresBefore: 4, [(sister, .failed(.biometryLockout))]),
    Dialogue(
      "After two wrong faces the passcode", .deviceOwner,
      [(sister, .sensor(fallback: false)), (sister, .passcode), (typesRight, .succeeded(.passcode))]),
  ]

  @Test(arguments: faces)
  func face(_ dialogue: Dialogue) async {
    let phone = Phone.looking()
    for _ in 0..<dialogue.failuresBefore { phone.unlock(presenting: .face("anna's sister")) }
    await hold(dialogue, on: phone)
  }

  private func hold(_ dialogue: Dialogue, on phone: Phone) async {
    let result = await withCheckedContinuation { continuation in
      phone.evaluate(dialogue.request) { continuation.resume(returning: $0) }
      for (index, exchange) in dialogue.exchanges.enumerated() {
        #expect(Shown(phone.perform(exchange.0)) == exchange.1, "exchange \(index): \(exchange.0)")
      }
      // Whatever went wrong above, the reply comes and the test ends.
      phone.perform(.leaveApp)
    }
    switch result {
    case .success(let authentication): #expect(dialogue.exchanges.last?.1 == .succeeded(authentication.factor))
    case .failure(let failure): #expect(dialogue.exchanges.last?.1 == .failed(failure))
    }
    #expect(phone.prompt == nil)
  }

  @Test("A prompt shows the app's words, and a cancel title from iOS 10 on", arguments: [9, 10, 16])
  func words(major: Int) throws {
    let phone = Phone.owned(.init(major))
    var request = Phone.EvaluationRequest.biometrics
    request.fallbackTitle = "Use gesture"
    request.cancelTitle = "Not now"
    phone.evaluate(request) { _ in }
    let first = try #require(phone.prompt)
    #expect(first.localizedReason == "Log in")
    #expect(first.application == Phone.shop)
    #expect(first.sheet == .touchID)
    #expect(first.fallbackTitle == nil)
    #expect(first.cancelTitle == (major < 10 ? "Cancel" : "Not now"))
    phone.touch("stranger's")
    #expect(phone.prompt?.fallbackTitle == "Use gesture")
  }

  @Test("Who watches the screen sees each prompt as it comes and as it changes, and none that nobody could see")
  func watching() async {
    phone.evaluate(.biometrics) { _ in }
    var screen = phone.prompts.makeAsyncIterator()
    #expect(await screen.next()?.fallbackTitle == nil)
    phone.touch("stranger's")
    #expect(await screen.next()?.fallbackTitle == "Enter Password")
    // The same once more is another evaluation.
    phone.perform(.tapCancel)
    phone.evaluate(.biometrics) { _ in }
    #expect(await screen.next()?.fallbackTitle == nil)
    phone.evaluate(.biometrics) { _ in }
    #expect(await screen.next()?.sheet == .touchID)
    // Answered before it could be seen.
    phone.setPerson(.presenting(.thumb))
    phone.evaluate(.biometrics) { _ in }
    phone.setPerson(.absent)
    phone.evaluate(.devicePasscode) { _ in }
    #expect(await screen.next()?.sheet == .passcode)
  }

  @Test(
    "The system's own fallback titles",
    arguments: [
      (Phone.EvaluationRequest.biometrics, "Enter Password"), (.deviceOwner, "Enter Passcode"),
    ])
  func defaultTitle(request: Phone.EvaluationRequest, title: String) {
    phone.evaluate(request) { _ in }
    phone.touch("stranger's")
    #expect(phone.prompt?.fallbackTitle == title)
  }

  @Test("A stranger to Face ID gives up where the sensor does")
  func strangerAtFaceID() async {
    let phone = Phone.looking(person: .presenting(.face("anna's sister")))
    #expect(await phone.evaluate(.biometrics) == .failure(.userCancel))
    #expect(await phone.evaluate(.biometrics) == .failure(.userCancel))
    #expect(await phone.evaluate(.biometrics) == .failure(.biometryLockout))
  }

  @Test("An app without leave to use Face ID is told that there is none, and may still ask for the passcode")
  func withoutLeave() async {
    let phone = Phone.looking(person: .presenting(.face("anna"), passcode: "2580"))
    phone.setFaceID(isAllowed: false, for: Phone.shop)
    #expect(await phone.evaluate(.biometrics) == .failure(.biometryNotAvailable))
    #expect(await phone.evaluate(.deviceOwner).map(\.factor) == .success(.passcode))
    #expect(!phone.report(for: Phone.shop).isBiometryAvailable)
    #expect(phone.domainState(for: Phone.shop) == nil)
    #expect(phone.obstacle(to: .deviceOwnerAuthenticationWithBiometrics, for: Phone.bank) == nil)
    phone.setFaceID(isAllowed: true, for: Phone.shop)
    #expect(await phone.evaluate(.biometrics).map(\.factor) == .success(.biometry))
  }

  @Test("What held at the beginning may not hold now")
  func preconditionsAreCheckedAgain() async {
    let unenrolled = await withCheckedContinuation { continuation in
      phone.evaluate(.biometrics) { continuation.resume(returning: $0) }
      phone.remove("thumb")
    }
    #expect(unenrolled == .failure(.biometryNotEnrolled))
    phone.enroll("thumb")
    let broken = await withCheckedContinuation { continuation in
      phone.evaluate(.biometrics) { continuation.resume(returning: $0) }
      phone.setSensor(.broken)
    }
    #expect(broken == .failure(.biometryNotAvailable))
  }

  @Test("The screen has room for one prompt: a new one ends the one before, whichever app asked")
  func replacement() async {
    var bank = Phone.EvaluationRequest.biometrics
    bank.application = Phone.bank
    let replaced = await withCheckedContinuation { continuation in
      phone.evaluate(.deviceOwner) { continuation.resume(returning: $0) }
      phone.evaluate(bank) { _ in }
    }
    #expect(replaced == .failure(.systemCancel))
    #expect(phone.prompt?.application == Phone.bank)
  }

  @Test("What is decided without a prompt leaves the one on the screen alone")
  func noReplacement() async {
    phone.evaluate(.biometrics) { _ in }
    var silent = Phone.EvaluationRequest.biometrics
    silent.isInteractionForbidden = true
    #expect(await phone.evaluate(silent) == .failure(.notInteractive))
    #expect(phone.prompt != nil)
  }

  @Test("The app may take its request back, once")
  func cancel() async {
    let result = await withCheckedContinuation { continuation in
      guard let id = phone.evaluate(.biometrics, reply: { continuation.resume(returning: $0) }) else { return }
      phone.cancel(id)
      phone.cancel(id)
    }
    #expect(result == .failure(.appCancel))
    #expect(phone.prompt == nil)
  }

  @Test("Where interaction is forbidden only a recent unlock helps")
  func reuse() async {
    let clock = ManualClock()
    let phone = Phone.owned(clock: clock)
    var request = Phone.EvaluationRequest.biometrics
    request.isInteractionForbidden = true
    request.allowedReuse = .seconds(3600)
    #expect(await phone.evaluate(request) == .failure(.notInteractive))
    phone.unlock(presenting: .thumb)
    clock.advance(by: Phone.EvaluationRequest.maximumReuse)
    #expect(await phone.evaluate(request).map(\.factor) == .success(.biometry))
    clock.advance(by: .nanoseconds(1))
    #expect(await phone.evaluate(request) == .failure(.notInteractive))
  }

  @Test("Of many evaluations at once each is answered once, and one prompt at most is left")
  func parallel() async {
    let replies = await withTaskGroup(of: Result<Phone.Authentication, Phone.Failure>.self) { group in
      for _ in 0..<100 { group.addTask { await phone.evaluate(.biometrics) } }
      // The last one stands until a person responds; the test cannot tell which it is.
      for await reply in group.prefix(99) { #expect(reply == .failure(.systemCancel)) }
      phone.touch("thumb")
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(replies.map { $0.map(\.factor) } == [.success(.biometry)])
    #expect(phone.prompt == nil)
  }

  // MARK: Waiting

  @Test("Who waits is told what came of it, when it was decided without a prompt and when the app took it back")
  func waiting() {
    let phone = Phone.owned(person: .presenting(.thumb))
    #expect((try? phone.evaluateAndWait(.biometrics).get())?.factor == .biometry)
    phone.setPasscode(nil)
    #expect(phone.evaluateAndWait(.biometrics).map(\.factor) == .failure(.passcodeNotSet))
    let untouched = Phone.owned()
    let taken = untouched.evaluateAndWait(.biometrics) { if let id = $0 { untouched.cancel(id) } }
    #expect(taken.map(\.factor) == .failure(.appCancel))
  }
}
