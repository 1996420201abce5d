// LAError, which on Linux, too, can be caught, cast from NSError and compared as on Apple's platforms.

public import Foundation

/// The domain of every error of this module.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let LAErrorDomain = "com.apple.LocalAuthentication"

/// Why an evaluation failed or is not possible.
public struct LAError: _BridgedStoredNSError {
  public let _nsError: NSError

  public init(_nsError error: NSError) {
    precondition(error.domain == LAErrorDomain, "not an error of LocalAuthentication: \(error.domain)")
    _nsError = error
  }

  /// Foundation's own initialiser traps on Linux for such errors.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(_nsError.code)
  }

  public static var _nsErrorDomain: String { LAErrorDomain }
  public static var errorDomain: String { LAErrorDomain }

  /// Number for number as in LAError.h.
  public enum Code: Int, _ErrorCodeProtocol, Sendable {
    public typealias _ErrorType = LAError

    case authenticationFailed = -1
    case userCancel = -2
    case userFallback = -3
    case systemCancel = -4
    case passcodeNotSet = -5
    case biometryNotAvailable = -6
    case biometryNotEnrolled = -7
    case biometryLockout = -8
    case appCancel = -9
    case invalidContext = -10
    case companionNotAvailable = -11
    case biometryNotPaired = -12
    case biometryDisconnected = -13
    case invalidDimensions = -14
    case notInteractive = -1004

    /// The names of iOS 8 to 10.
    public static var touchIDNotAvailable: Code { .biometryNotAvailable }
    public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
    public static var touchIDLockout: Code { .biometryLockout }
    /// The name before companions other than a watch.
    public static var watchNotAvailable: Code { .companionNotAvailable }
  }
}

/// The codes under the error's own name, for `catch LAError.userCancel`.
extension LAError {
  public static var authenticationFailed: Code { .authenticationFailed }
  public static var userCancel: Code { .userCancel }
  public static var userFallback: Code { .userFallback }
  public static var systemCancel: Code { .systemCancel }
  public static var passcodeNotSet: Code { .passcodeNotSet }
  public static var biometryNotAvailable: Code { .biometryNotAvailable }
  public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
  public static var biometryLockout: Code { .biometryLockout }
  public static var appCancel: Code { .appCancel }
  public static var invalidContext: Code { .invalidContext }
  public static var companionNotAvailable: Code { .companionNotAvailable }
  public static var biometryNotPaired: Code { .biometryNotPaired }
  public static var biometryDisconnected: Code { .biometryDisconnected }
  public static var invalidDimensions: Code { .invalidDimensions }
  public static var notInteractive: Code { .notInteractive }
  public static var touchIDNotAvailable: Code { .touchIDNotAvailable }
  public static var touchIDNotEnrolled: Code { .touchIDNotEnrolled }
  public static var touchIDLockout: Code { .touchIDLockout }
  public static var watchNotAvailable: Code { .watchNotAvailable }
}

/// Apple's runtime casts an `NSError` to the struct of its domain. On Linux the runtime does so only for bridged types:
/// without this, `error as? LAError` would always be `nil` for the errors of `canEvaluatePolicy`.
extension LAError: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError { _nsError }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
    result = LAError(_nsError: source)
  }

  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
    result = source.domain == LAErrorDomain ? LAError(_nsError: source) : nil
    return result != nil
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
    guard let source else { preconditionFailure("no error to bridge") }
    return LAError(_nsError: source)
  }
}
