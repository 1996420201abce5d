// What must hold on a device before a factor can be asked for (R1). An obstacle is the denial to answer with.

extension DevicePosture {
  /// The first obstacle to biometrics in R1's order; `nil` where there is none.
  func biometryObstacle(isLockedOut: Bool) -> Denial? {
    guard supports(biometryType == .faceID ? .faceID : .touchID) else { return .osTooOld }
    guard isPasscodeSet else { return .passcodeNotSet }
    guard isBiometryAvailable, biometryType != .none else { return .biometryNotAvailable }
    guard isBiometryEnrolled else { return .biometryNotEnrolled }
    guard !isLockedOut else { return .biometryLockout(on: self) }
    return nil
  }

  /// The first obstacle to device-owner authentication: it needs no sensor, and is how a lockout ends (R4).
  var deviceOwnerObstacle: Denial? {
    guard supports(.deviceOwnerAuthentication) else { return .osTooOld }
    guard isPasscodeSet else { return .passcodeNotSet }
    return nil
  }
}

extension Denial {
  static let osTooOld = Denial(code: .biometryNotAvailable, reason: .osTooOld)
  static let passcodeNotSet = Denial(code: .passcodeNotSet, reason: .passcodeNotSet)
  static let biometryNotAvailable = Denial(code: .biometryNotAvailable, reason: .biometryNotAvailable)
  static let biometryNotEnrolled = Denial(code: .biometryNotEnrolled, reason: .biometryNotEnrolled)
  static let domainStateRequired = Denial(code: .biometryNotAvailable, reason: .domainStateRequired)

  /// The device could, but the binding holds nothing that the policy takes. -6 sends an app written for LAContext to
  /// its other login.
  static let noUsableFactor = Denial(code: .biometryNotAvailable, reason: .noUsableFactor)

  /// Before iOS 9 there is no -8 (R3).
  static func biometryLockout(on posture: DevicePosture) -> Denial {
    Denial(
      code: posture.supports(.lockoutCode) ? .biometryLockout : .authenticationFailed, reason: .biometryLockout)
  }
}
