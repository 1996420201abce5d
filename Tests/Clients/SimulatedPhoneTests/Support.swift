// Shared parts of the phone's tests: a clock that stands still, and words for stories.

import SimulatedPhone
import Synchronization

/// A clock that is moved by hand.
final class ManualClock: Sendable {
  private let elapsed = Mutex(Duration.zero)

  var read: @Sendable () -> Duration {
    { self.elapsed.withLock { $0 } }
  }

  func advance(by duration: Duration) {
    elapsed.withLock { $0 += duration }
  }
}

typealias Phone = SimulatedPhone

extension SimulatedPhone {
  static let shop = "com.example.shop"
  static let bank = "com.example.bank"

  /// Someone's phone: passcode 2580, and a thumb.
  static func owned(
    _ osVersion: OSVersion = OSVersion(16), enrolled: Set<String> = ["thumb"], person: Person = .absent,
    seed: UInt64? = nil, clock: ManualClock = ManualClock()
  ) -> SimulatedPhone {
    SimulatedPhone(
      osVersion: osVersion, passcode: "2580", enrolled: enrolled, person: person, seed: seed, clock: clock.read)
  }

  /// Anna's phone, with Face ID.
  static func looking(person: Person = .absent) -> SimulatedPhone {
    SimulatedPhone(
      deviceModel: "iPhone15,2", biometryType: .faceID, passcode: "2580", enrolled: ["anna"], person: person)
  }
}

extension SimulatedPhone.Presentation {
  static let thumb = Self.finger("thumb")
  static let stranger = Self.finger("stranger's")
  static let rightPasscode = Self.passcode("2580")
  static let wrongPasscode = Self.passcode("0000")
}

extension SimulatedPhone.EvaluationRequest {
  static let biometrics = Self(
    .deviceOwnerAuthenticationWithBiometrics, application: SimulatedPhone.shop, localizedReason: "Log in")
  static let deviceOwner = Self(
    .deviceOwnerAuthentication, application: SimulatedPhone.shop, localizedReason: "Log in")
  static let devicePasscode = Self(.devicePasscode, application: SimulatedPhone.shop, localizedReason: "Log in")
}

extension SimulatedPhone {
  /// `evaluate` for callers that can wait.
  func evaluate(_ request: EvaluationRequest) async -> Result<Authentication, Failure> {
    await withCheckedContinuation { continuation in
      evaluate(request) { continuation.resume(returning: $0) }
    }
  }
}
