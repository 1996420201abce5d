// Phones that the tests share.

import SimulatedPhone

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
