// LocalAuthentication's value types, with Apple's names and numbers (LAContext.h, LAPublicDefines.h).

public import Foundation

/// The required proof.
public enum LAPolicy: Int, Sendable {
  /// iOS 8.
  case deviceOwnerAuthenticationWithBiometrics = 1
  /// iOS 9: biometrics or passcode.
  case deviceOwnerAuthentication = 2
  /// iOS 18: a watch or a Mac nearby. The simulated phone has none.
  case deviceOwnerAuthenticationWithCompanion = 3
  /// iOS 18. As `deviceOwnerAuthenticationWithBiometrics`, because the simulated phone has no companion.
  case deviceOwnerAuthenticationWithBiometricsOrCompanion = 4

  /// The names before companions other than a watch.
  public static var deviceOwnerAuthenticationWithWatch: LAPolicy { .deviceOwnerAuthenticationWithCompanion }
  public static var deviceOwnerAuthenticationWithBiometricsOrWatch: LAPolicy {
    .deviceOwnerAuthenticationWithBiometricsOrCompanion
  }
}

/// The sensor of the device.
public enum LABiometryType: Int, Sendable {
  case none = 0
  case touchID = 1
  case faceID = 2
  case opticID = 4

  /// The name of iOS 11.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  public static var LABiometryNone: LABiometryType { .none }
}

/// The nearby devices that may prove presence for the person.
public enum LACompanionType: Int, Sendable {
  case watch = 1
  case mac = 2
  case vision = 4
}

/// A credential that an app may give to a context, so that the system shows no prompt for it.
public enum LACredentialType: Int, Sendable {
  case applicationPassword = 0
  /// macOS.
  case smartCardPIN = -3
}

/// The purpose for which an access control is evaluated.
public enum LAAccessControlOperation: Int, Sendable {
  case createItem = 0
  case useItem = 1
  case createKey = 2
  case useKeySign = 3
  case useKeyDecrypt = 4
  case useKeyKeyExchange = 5
}

/// Seconds: the upper bound of `touchIDAuthenticationAllowableReuseDuration`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let LATouchIDAuthenticationMaximumAllowableReuseDuration: TimeInterval = 300

/// A type that Foundation on Linux lacks. On Apple's platforms it is `AutoreleasingUnsafeMutablePointer<NSError?>?`;
/// callers pass `&error` or `nil` to either.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
