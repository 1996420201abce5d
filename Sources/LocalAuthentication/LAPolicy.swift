// LocalAuthentication's constants, name for name and number for number (LAContext.h, LAPublicDefines.h).

public import Foundation

/// What has to be proven.
public enum LAPolicy: Int, Sendable {
  /// iOS 8.
  case deviceOwnerAuthenticationWithBiometrics = 1
  /// iOS 9: biometrics or passcode.
  case deviceOwnerAuthentication = 2
  /// iOS 18: a watch or a Mac nearby. The simulated phone has none.
  case deviceOwnerAuthenticationWithCompanion = 3
  /// iOS 18. As `deviceOwnerAuthenticationWithBiometrics`, the simulated phone having no companion.
  case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4
}

/// Which sensor the device has.
public enum LABiometryType: Int, Sendable {
  case none = 0
  case touchID = 1
  case faceID = 2
  case opticID = 4
}

/// Seconds: the longest that `touchIDAuthenticationAllowableReuseDuration` may ask for.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// What Foundation on Linux lacks. On Apple's platforms it is `AutoreleasingUnsafeMutablePointer<NSError?>?`; callers
/// pass `&error` or `nil` to either.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
