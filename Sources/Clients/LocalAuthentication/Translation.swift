// Translates between the phone's terms and Apple's.

internal import Foundation
internal import SimulatedPhone

extension LAPolicy {
  /// `nil`: needs a companion, and the simulated phone has none nearby.
  var simulated: SimulatedPhone.Policy? {
    switch self {
    case .deviceOwnerAuthentication: .deviceOwnerAuthentication
    case .deviceOwnerAuthenticationWithBiometrics, .deviceOwnerAuthenticationWithBiometricsOrCompanion:
      .deviceOwnerAuthenticationWithBiometrics
    case .deviceOwnerAuthenticationWithCompanion: nil
    }
  }
}

extension LABiometryType {
  /// Before iOS 11 apps cannot read it.
  init(of phone: SimulatedPhone) {
    switch phone.biometryType {
    case _ where phone.osVersion.major < 11: self = .none
    case .none: self = .none
    case .touchID: self = .touchID
    case .faceID: self = .faceID
    }
  }
}

extension LAError {
  init(_ failure: SimulatedPhone.Failure) {
    guard let code = Code(rawValue: failure.rawValue) else { preconditionFailure("LAError has no \(failure)") }
    self.init(describing: code)
  }

  /// With a text for a log, like the system's own errors; apps show their own texts.
  init(describing code: Code) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: code.text])
  }
}

extension LAError.Code {
  fileprivate var text: String {
    switch self {
    case .authenticationFailed: "The person could not be authenticated."
    case .userCancel: "Canceled by the person."
    case .userFallback: "The person chose the fallback."
    case .systemCancel: "Canceled by the system."
    case .passcodeNotSet: "No passcode is set."
    case .biometryNotAvailable: "Biometry is not available."
    case .biometryNotEnrolled: "Nothing is enrolled for biometry."
    case .biometryLockout: "Biometry is locked until the passcode was entered."
    case .appCancel: "Canceled by the app."
    case .invalidContext: "The context was invalidated."
    case .companionNotAvailable: "No companion is nearby."
    case .biometryNotPaired: "No biometric accessory is paired."
    case .biometryDisconnected: "The biometric accessory is not connected."
    case .invalidDimensions: "The dimensions of the embedded view are invalid."
    case .notInteractive: "A prompt was needed and not allowed."
    }
  }
}
