// The facts that an app can find out without a prompt: the order of refusals, and the report in one piece.

import SimulatedPhone
import Testing

@Suite("Preconditions and report")
struct ReportTests {
  struct Condition: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let biometrics: Phone.Failure?
    let deviceOwner: Phone.Failure?
    let phone: @Sendable () -> Phone

    init(
      _ description: String, biometrics: Phone.Failure?, deviceOwner: Phone.Failure?,
      _ phone: @escaping @Sendable () -> Phone
    ) {
      self.testDescription = description
      self.biometrics = biometrics
      self.deviceOwner = deviceOwner
      self.phone = phone
    }
  }

  /// Each is worse off than the one before it, so that the first refusal that holds is the answer.
  static let conditions: [Condition] = [
    Condition("All well", biometrics: nil, deviceOwner: nil) { .owned() },
    Condition("Locked out", biometrics: .biometryLockout, deviceOwner: nil) { locked(.owned()) },
    Condition("Nothing enrolled", biometrics: .biometryNotEnrolled, deviceOwner: nil) {
      let phone = locked(.owned())
      phone.remove("thumb")
      return phone
    },
    Condition("Sensor off", biometrics: .biometryNotAvailable, deviceOwner: nil) {
      let phone = Phone.owned(enrolled: [])
      phone.setSensor(.switchedOff)
      return phone
    },
    Condition("No sensor", biometrics: .biometryNotAvailable, deviceOwner: nil) {
      Phone(biometryType: .none, passcode: "2580")
    },
    Condition("No passcode", biometrics: .passcodeNotSet, deviceOwner: .passcodeNotSet) { Phone() },
    Condition("No sensor and no passcode", biometrics: .biometryNotAvailable, deviceOwner: .passcodeNotSet) {
      Phone(biometryType: .none)
    },
    Condition("iOS 8: locked, and not told", biometrics: nil, deviceOwner: .biometryNotAvailable) {
      locked(.owned(.init(8)))
    },
    Condition("iOS 7", biometrics: .biometryNotAvailable, deviceOwner: .biometryNotAvailable) {
      Phone(osVersion: .init(7, 1, 2))
    },
    Condition("Face ID before iOS 11", biometrics: .biometryNotAvailable, deviceOwner: nil) {
      Phone(biometryType: .faceID, osVersion: .init(10, 3), passcode: "2580", enrolled: ["anna"])
    },
  ]

  private static func locked(_ phone: Phone) -> Phone {
    for _ in 0..<5 { phone.unlock(presenting: .stranger) }
    return phone
  }

  @Test(arguments: conditions)
  func refusal(_ condition: Condition) async {
    let phone = condition.phone()
    #expect(phone.obstacle(to: .deviceOwnerAuthenticationWithBiometrics) == condition.biometrics)
    #expect(phone.obstacle(to: .deviceOwnerAuthentication) == condition.deviceOwner)
    if let failure = condition.biometrics { #expect(await phone.evaluate(.biometrics) == .failure(failure)) }
    if let failure = condition.deviceOwner { #expect(await phone.evaluate(.deviceOwner) == .failure(failure)) }
  }

  @Test("Asking changes nothing, also while a prompt is up")
  func asking() {
    let phone = Phone.owned()
    phone.evaluate(.biometrics) { _ in }
    let prompt = phone.prompt
    for _ in 0..<10 { #expect(phone.obstacle(to: .deviceOwnerAuthenticationWithBiometrics) == nil) }
    #expect(phone.prompt == prompt)
  }

  @Test("The report of a phone in order")
  func report() {
    let report = Phone.owned(.init(9, 3, 5)).report(for: Phone.shop)
    #expect(report.platform == "ios")
    #expect(report.osVersion == "9.3.5")
    #expect(report.deviceModel == "iPhone10,4")
    #expect(report.biometryType == .touchID)
    #expect(report.isBiometryAvailable && report.isBiometryEnrolled && report.isPasscodeSet)
    #expect(!report.isBiometryLockedOut)
    #expect(report.domainState.count == 32)
  }

  @Test("A report holds no more than the app's OS tells", arguments: [(8, false), (9, true), (16, true)])
  func lockedReport(major: Int, isTold: Bool) {
    let report = Self.locked(.owned(.init(major))).report(for: Phone.shop)
    #expect(report.isBiometryLockedOut == isTold)
    #expect(report.domainState.isEmpty)
  }

  @Test("A sensor keeps five fingers or two faces", arguments: [(Phone.BiometryType.touchID, 5), (.faceID, 2)])
  func capacity(type: Phone.BiometryType, room: Int) {
    let phone = Phone(biometryType: type, passcode: "2580")
    for number in 1...room { #expect(phone.enroll("number \(number)")) }
    #expect(!phone.enroll("one too many"))
    #expect(!phone.remove("one too many"))
    #expect(phone.enrolled.count == room)
  }

  @Test("Versions compare by number")
  func versions() {
    #expect(Phone.OSVersion(9, 10) > Phone.OSVersion(9, 9))
    #expect(Phone.OSVersion(9, 9, 9) < Phone.OSVersion(10))
    #expect(Phone.OSVersion(9).description == "9.0")
  }
}
