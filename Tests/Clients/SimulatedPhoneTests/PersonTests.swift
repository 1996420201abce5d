// The person: script first, habit after, and never what the prompt has no room for.

import SimulatedPhone
import Testing

@Suite("Person")
struct PersonTests {
  struct Character: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let person: Phone.Person
    let request: Phone.EvaluationRequest
    let result: Result<Phone.Factor, Phone.Failure>
  }

  static let characters = [
    Character(
      testDescription: "The owner", person: .presenting(.thumb), request: .biometrics, result: .success(.biometry)),
    Character(
      testDescription: "A stranger", person: .presenting(.stranger, passcode: "0000"), request: .deviceOwner,
      result: .failure(.authenticationFailed)),
    Character(
      testDescription: "The owner with wet fingers", person: .presenting(.stranger, passcode: "2580"),
      request: .deviceOwner, result: .success(.passcode)),
    Character(
      testDescription: "Second thoughts",
      person: .init(script: [.present(.stranger), .tapCancel], habitAtSensor: .present(.thumb)), request: .biometrics,
      result: .failure(.userCancel)),
    Character(
      testDescription: "Reaches for a button that is not there, then uses the finger",
      person: .init(script: [.tapFallback, .present(.thumb)]), request: .biometrics, result: .success(.biometry)),
    Character(
      testDescription: "Gives up on the sensor",
      person: .init(script: [.present(.stranger), .tapFallback, .present(.rightPasscode)]), request: .deviceOwner,
      result: .success(.passcode)),
  ]

  @Test(arguments: characters)
  func character(_ character: Character) async {
    let phone = Phone.owned(person: character.person)
    #expect(await phone.evaluate(character.request).map(\.factor) == character.result)
  }

  @Test("An impossible habit leaves the prompt standing until somebody else comes")
  func standing() async {
    let phone = Phone.owned(person: .init(habitAtSensor: .tapFallback))
    let result = await withCheckedContinuation { continuation in
      phone.evaluate(.biometrics) { continuation.resume(returning: $0.map(\.factor)) }
      #expect(phone.prompt != nil)
      phone.setPerson(.presenting(.thumb))
    }
    #expect(result == .success(.biometry))
  }
}
