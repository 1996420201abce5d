// LocalAuthentication's types of values, name for name and number for number (LAContext.h, LAPublicDefines.h).

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

  /// The names before companions other than a watch.
  public static var deviceOwnerAuthenticationWithWatch: LAPolicy { .deviceOwnerAuthenticationWithCompanion }
  public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
    .deviceOwnerAuthenticationWithBiometricsOrCompanion
  }
}

/// Which sensor the device has.
public enum LABiometryType: Int, Sendable {
  case none = 0
  case touchID = 1
  case faceID = 2
  case opticID = 4

  /// The name of iOS 11.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  public static var LABiometryNone: LABiometryType { .none }
}

/// Which devices nearby may speak for the person.
public enum LACompanionType: Int, Sendable {
  case watch = 1
  case mac = 2
  case vision = 4
}

/// What an app may give to a context so that the system need not ask for it.
public enum LACredentialType: Int, Sendable {
  case applicationPassword = 0
  /// macOS.
  case smartCardPIN = -3
}

/// What an access control is evaluated for.
public enum LAAccessControlOperation: Int, Sendable {
  case createItem = 0
  case useItem = 1
  case createKey = 2
  case useKeySign = 3
  case useKeyDecrypt = 4
  case useKeyKeyExchange = 5
}

/// Seconds: the longest that `touchIDAuthenticationAllowableReuseDuration` may ask for.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// What Foundation on Linux lacks. On Apple's platforms it is `AutoreleasingUnsafeMutablePointer<NSError?>?`; callers
/// pass `&error` or `nil` to either.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
