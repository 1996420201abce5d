// The conditions on a device before a prompt for a factor (R1). An obstacle is the denial to answer.

extension DevicePosture {
  /// The first obstacle to biometrics in R1's order; `nil` if there is none.
  func biometryObstacle(isLockedOut: Bool, _ trace: inout some RuleTracer) -> Denial? {
    let sensor = biometryType == .faceID ? PlatformCapability.faceID : .touchID
    guard trace.check("R2", supports(sensor), "needs \(sensor.neededText(on: platform)), runs \(systemText)") else {
      return .osTooOld
    }
    guard checkPasscodeIsSet(&trace) else { return .passcodeNotSet }
    let hasSensor = isBiometryAvailable && biometryType != .none
    guard trace.check("R1", hasSensor, "the sensor \(hasSensor ? "works" : "is missing, broken or off")") else {
      return .biometryNotAvailable
    }
    guard trace.check("R1", isBiometryEnrolled, "something is\(isBiometryEnrolled ? "" : " not") enrolled") else {
      return .biometryNotEnrolled
    }
    guard trace.check("R4", !isLockedOut, "biometrics are\(isLockedOut ? "" : " not") locked out") else {
      let lockout = Denial.biometryLockout(on: self)
      trace.record("R3", false, "a lockout has code \(lockout.code.rawValue) on \(systemText)")
      return lockout
    }
    return nil
  }

  /// The first obstacle to device-owner authentication, which needs no sensor and ends a lockout (R4).
  func deviceOwnerObstacle(_ trace: inout some RuleTracer) -> Denial? {
    let capability = PlatformCapability.deviceOwnerAuthentication
    guard trace.check("R2", supports(capability), "needs \(capability.neededText(on: platform)), runs \(systemText)")
    else {
      return .osTooOld
    }
    return checkPasscodeIsSet(&trace) ? nil : .passcodeNotSet
  }

  private func checkPasscodeIsSet(_ trace: inout some RuleTracer) -> Bool {
    trace.check("R1", isPasscodeSet, "the device has \(isPasscodeSet ? "a" : "no") passcode")
  }

  /// "iOS 9.3".
  var systemText: String {
    "\(platform) \(osVersion.text)"
  }
}

extension Denial {
  static let osTooOld = Denial(code: .biometryNotAvailable, reason: .osTooOld)
  static let passcodeNotSet = Denial(code: .passcodeNotSet, reason: .passcodeNotSet)
  static let biometryNotAvailable = Denial(code: .biometryNotAvailable, reason: .biometryNotAvailable)
  static let biometryNotEnrolled = Denial(code: .biometryNotEnrolled, reason: .biometryNotEnrolled)
  static let domainStateRequired = Denial(code: .biometryNotAvailable, reason: .domainStateRequired)
  static let platformNotServed = Denial(code: .biometryNotAvailable, reason: .platformNotServed)
  static let platformDiffers = Denial(code: .biometryNotAvailable, reason: .platformDiffers)
  static let bindingUnknown = Denial(code: .biometryNotAvailable, reason: .bindingUnknown)
  static let bindingRevoked = Denial(code: .biometryNotAvailable, reason: .bindingRevoked)

  /// The device could, but the binding holds no credential that the policy accepts. After -6 an app written for
  /// LAContext goes to its other login.
  static let noUsableFactor = Denial(code: .biometryNotAvailable, reason: .noUsableFactor)
  static let levelTooLow = Denial(code: .biometryNotAvailable, reason: .levelTooLow)
  static let appNotProven = Denial(code: .biometryNotAvailable, reason: .appNotProven)
  static let keyNotDeviceBound = Denial(code: .biometryNotAvailable, reason: .keyNotDeviceBound)

  /// Before iOS 9 there is no -8 (R3).
  static func biometryLockout(on posture: DevicePosture) -> Denial {
    Denial(
      code: posture.supports(.lockoutCode) ? .biometryLockout : .authenticationFailed, reason: .biometryLockout)
  }
}
