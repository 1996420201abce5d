// How many wrong attempts the phone forgives, told as stories at the lock screen: what is presented, what comes of it.

import SimulatedPhone
import Testing

@Suite("Locks")
struct LockTests {
  enum Step: Sendable {
    case attempt(Phone.Presentation, Result<Phone.Factor, Phone.Failure>)
    case wait(Duration)

    static func right(_ presentation: Phone.Presentation) -> Step {
      .attempt(presentation, .success(presentation.factor))
    }

    static func wrong(_ presentation: Phone.Presentation, _ failure: Phone.Failure = .authenticationFailed) -> Step {
      .attempt(presentation, .failure(failure))
    }
  }

  struct Story: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let osVersion: Phone.OSVersion
    let steps: [Step]

    init(_ description: String, on osVersion: Phone.OSVersion = .init(16), _ steps: [Step]) {
      self.testDescription = description
      self.osVersion = osVersion
      self.steps = steps
    }
  }

  static func times(_ count: Int, _ step: Step) -> [Step] {
    Array(repeating: step, count: count)
  }

  static let biometry: [Story] = [
    Story("A right finger", [.right(.thumb)]),
    Story(
      "The fifth wrong finger locks; the right one no longer helps",
      times(4, .wrong(.stranger)) + [.wrong(.stranger, .biometryLockout), .wrong(.thumb, .biometryLockout)]),
    Story(
      "A right finger forgives the wrong ones before it",
      times(4, .wrong(.stranger)) + [.right(.thumb)] + times(4, .wrong(.stranger)) + [.right(.thumb)]),
    Story(
      "The passcode opens the lock and forgives",
      times(4, .wrong(.stranger)) + [.wrong(.stranger, .biometryLockout), .right(.rightPasscode), .right(.thumb)]
        + times(4, .wrong(.stranger)) + [.right(.thumb)]),
    Story(
      "A wrong passcode opens nothing",
      times(4, .wrong(.stranger)) + [
        .wrong(.stranger, .biometryLockout), .wrong(.wrongPasscode), .wrong(.thumb, .biometryLockout),
      ]),
    Story(
      "Time opens no biometric lock",
      times(4, .wrong(.stranger)) + [
        .wrong(.stranger, .biometryLockout), .wait(.seconds(86_400)), .wrong(.thumb, .biometryLockout),
      ]),
    Story(
      "Before iOS 9 there is no code for the lock", on: .init(8, 4),
      times(6, .wrong(.stranger)) + [.wrong(.thumb), .right(.rightPasscode), .right(.thumb)]),
    Story("A face is nothing to a finger sensor", [.wrong(.face("anna"), .biometryNotAvailable), .right(.thumb)]),
  ]

  static let passcode: [Story] = [
    Story("Four wrong ones are forgiven", times(4, .wrong(.wrongPasscode)) + [.right(.rightPasscode)]),
    Story(
      "The fifth lets the passcode rest for a minute",
      times(5, .wrong(.wrongPasscode)) + [
        .wrong(.rightPasscode), .wait(.seconds(59)), .wrong(.rightPasscode), .wait(.seconds(1)),
        .right(.rightPasscode),
      ]),
    Story(
      "The sixth for five, and what is tried meanwhile does not count",
      times(5, .wrong(.wrongPasscode)) + times(10, .wrong(.wrongPasscode)) + [
        .wait(.seconds(60)), .wrong(.wrongPasscode), .wait(.seconds(299)), .wrong(.rightPasscode), .wait(.seconds(1)),
        .right(.rightPasscode),
      ]),
    Story(
      "The right one forgives all",
      times(5, .wrong(.wrongPasscode)) + [.wait(.seconds(60)), .right(.rightPasscode)]
        + times(4, .wrong(.wrongPasscode)) + [.right(.rightPasscode)]),
    Story(
      "A right finger forgives no passcode",
      times(4, .wrong(.wrongPasscode)) + [.right(.thumb), .wrong(.wrongPasscode), .wrong(.rightPasscode)]),
  ]

  @Test(arguments: biometry + passcode)
  func story(_ story: Story) {
    let clock = ManualClock()
    let phone = Phone.owned(story.osVersion, clock: clock)
    for (index, step) in story.steps.enumerated() {
      switch step {
      case .wait(let duration): clock.advance(by: duration)
      case .attempt(let presentation, let expected):
        #expect(phone.unlock(presenting: presentation) == expected, "step \(index): \(presentation)")
      }
    }
  }

  @Test("Later rests are a quarter of an hour, then an hour", arguments: zip(5...12, [1, 5, 15, 15, 60, 60, 60, 60]))
  func rest(failures: Int, minutes: Int) {
    let clock = ManualClock()
    let phone = Phone.owned(clock: clock)
    for _ in 1...failures {
      // An hour is the longest rest, so that every one of these is looked at.
      clock.advance(by: .seconds(3600))
      _ = phone.unlock(presenting: .wrongPasscode)
    }
    clock.advance(by: .seconds(minutes * 60 - 1))
    #expect(phone.unlock(presenting: .rightPasscode) == .failure(.authenticationFailed))
    clock.advance(by: .seconds(1))
    #expect(phone.unlock(presenting: .rightPasscode) == .success(.passcode))
  }

  @Test("Wrong attempts are the phone's: its apps share them")
  func shared() throws {
    let phone = Phone.owned()
    let keys = try [Phone.shop, Phone.bank].map { try phone.makeKey(protection: .biometryAny, application: $0) }
    for attempt in 1...5 {
      let expected: Phone.Failure = attempt < 5 ? .authenticationFailed : .biometryLockout
      #expect(throws: Phone.SigningError.notAuthenticated(expected)) {
        try phone.sign([], with: keys[attempt % 2], presenting: .stranger)
      }
    }
    #expect(phone.obstacle(to: .deviceOwnerAuthenticationWithBiometrics) == .biometryLockout)
  }

  @Test("Of many simultaneous wrong fingers five are looked at")
  func parallel() async {
    let phone = Phone.owned()
    let results = await withTaskGroup(of: Result<Phone.Factor, Phone.Failure>.self) { group in
      for _ in 0..<100 { group.addTask { phone.unlock(presenting: .stranger) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.filter { $0 == .failure(.authenticationFailed) }.count == 4)
    #expect(results.filter { $0 == .failure(.biometryLockout) }.count == 96)
  }
}
