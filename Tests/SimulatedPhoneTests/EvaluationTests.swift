// Evaluations as dialogues: what a person does at the prompt, what the phone makes of it.

import SimulatedPhone
import Testing

@Suite("Evaluations")
struct EvaluationTests {
  /// What shows of a reaction in a table.
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
    Dialogue("Cancel", .biometrics, [(.tapCancel, .failed(.userCancel))]),
    Dialogue("Another app comes to the front", .biometrics, [(.leaveApp, .failed(.systemCancel))]),
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
  ]

  @Test(arguments: biometrics + deviceOwner)
  func dialogue(_ dialogue: Dialogue) async {
    let phone = Phone.owned(dialogue.osVersion)
    for _ in 0..<dialogue.failuresBefore { phone.unlock(presenting: .stranger) }
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

  @Test("The system's own fallback title")
  func defaultTitle() {
    let phone = Phone.owned()
    phone.evaluate(.biometrics) { _ in }
    phone.touch("stranger's")
    #expect(phone.prompt?.fallbackTitle == "Enter Password")
  }

  @Test("Faces on a phone that looks")
  func face() async {
    let phone = Phone(
      deviceModel: "iPhone15,2", biometryType: .faceID, passcode: "2580", enrolled: ["anna"],
      person: .presenting(.face("anna")))
    #expect(await phone.evaluate(.biometrics).map(\.factor) == .success(.biometry))
    phone.setPerson(.presenting(.face("anna's sister")))
    #expect(await phone.evaluate(.biometrics).map(\.factor) == .failure(.authenticationFailed))
  }

  @Test("What held at the beginning may not hold now")
  func preconditionsAreCheckedAgain() async {
    let phone = Phone.owned()
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

  @Test("One prompt at a time: the second waits for the first, and learns what the first did to the phone")
  func queue() async {
    let phone = Phone.owned()
    for _ in 0..<4 { phone.unlock(presenting: .stranger) }
    var bank = Phone.EvaluationRequest.biometrics
    bank.application = Phone.bank
    async let second = withCheckedContinuation { continuation in
      phone.evaluate(.deviceOwner) { _ in }
      phone.evaluate(bank) { continuation.resume(returning: $0) }
      #expect(phone.prompt?.application == Phone.shop)
      phone.touch("stranger's")
      phone.perform(.tapCancel)
    }
    #expect(await second == .failure(.biometryLockout))
  }

  @Test("The app may take its request back, once")
  func cancel() async {
    let phone = Phone.owned()
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

  @Test("More prompts than the screen's queue holds are turned away")
  func bound() async {
    let phone = Phone.owned()
    for _ in 0..<64 { phone.evaluate(.biometrics) { _ in } }
    #expect(await phone.evaluate(.biometrics) == .failure(.systemCancel))
  }
}
