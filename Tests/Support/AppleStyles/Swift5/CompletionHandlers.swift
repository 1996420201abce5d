// Code as apps have written it since Swift 3: closures, NSError, codes compared as numbers. This target is compiled in
// Swift 5 mode with no flags, as theirs are. That it compiles without a warning is what it is for; the tests run it.

import LocalAuthentication

public class TouchIDManager {
  let context = LAContext()
  let policy = LAPolicy(rawValue: Int(kLAPolicyDeviceOwnerAuthenticationWithBiometrics))!
  var attempts = 0

  public init() {}

  /// Captures itself, a counter and a closure, none of which is Sendable.
  public func authenticate(completion: @escaping (String) -> Void) {
    context.localizedFallbackTitle = "Use password"
    if #available(iOS 10.0, macOS 10.12, *) { context.localizedCancelTitle = "Not now" }

    var authError: NSError?
    if context.canEvaluatePolicy(policy, error: &authError) {
      context.evaluatePolicy(policy, localizedReason: "Log in") { success, error in
        self.attempts += 1
        if success {
          completion("welcome")
        } else {
          completion(self.message(forCode: error!._code))
        }
      }
    } else {
      completion(message(forCode: authError!.code))
    }
  }

  func message(forCode code: Int) -> String {
    switch code {
    case LAError.authenticationFailed.rawValue: return "wrong"
    case LAError.userCancel.rawValue, LAError.Code.appCancel.rawValue, LAError.systemCancel.rawValue: return "canceled"
    case LAError.userFallback.rawValue: return "password"
    case LAError.passcodeNotSet.rawValue: return "no passcode"
    case Int(kLAErrorTouchIDNotEnrolled): return "no finger"
    default:
      if #available(iOS 11.0, *) {
        if code == LAError.biometryLockout.rawValue { return "locked" }
      } else if code == LAError.touchIDLockout.rawValue {
        return "locked"
      }
      return code == LAError.touchIDNotAvailable.rawValue ? "no sensor" : "other"
    }
  }
}

/// The context is local, and nobody holds on to it.
public func unlock(_ completion: @escaping (Bool, Error?) -> Void) {
  let context = LAContext()
  context.evaluatePolicy(LAPolicy.deviceOwnerAuthentication, localizedReason: "Unlock", reply: completion)
}

/// Locked out of biometrics: the passcode first, then again.
public func recover(_ context: LAContext, _ completion: @escaping (String) -> Void) {
  var error: NSError?
  guard !context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
    return completion("usable")
  }
  guard let error = error, error.domain == LAErrorDomain, error.code == LAError.biometryLockout.rawValue else {
    return completion("other")
  }
  context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Unlock Touch ID") { success, _ in
    if success, context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil) {
      completion("recovered")
    } else {
      completion("still locked")
    }
  }
}

public func describe(_ error: Error?) -> String {
  guard let error = error as? LAError else { return "none" }
  switch error.code {
  case .userCancel: return "user"
  case .systemCancel, .appCancel: return "system"
  case LAError.userFallback: return "fallback"
  case .touchIDLockout: return "locked"
  default: return "\(error.errorCode) \((error as NSError).code) \(error.localizedDescription.isEmpty)"
  }
}

public func name(of type: LABiometryType) -> String {
  switch type {
  case .none: return "none"
  case .touchID: return "Touch ID"
  case .faceID: return "Face ID"
  case .opticID: return "Optic ID"
  @unknown default: return "unknown"
  }
}

public func name(ofCode code: LAError.Code) -> String {
  switch code {
  case .authenticationFailed, .userCancel, .userFallback, .systemCancel, .passcodeNotSet, .appCancel, .invalidContext,
    .notInteractive, .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout:
    return "\(code.rawValue)"
  default: return "new"
  }
}

/// Results of the keychain beside codes of LocalAuthentication, both as numbers of one type.
public func isHarmless(_ status: OSStatus) -> Bool {
  switch status {
  case errSecUserCanceled, kLAErrorUserCancel, kLAErrorAppCancel, kLAErrorSystemCancel: return true
  default: return false
  }
}

/// Detects changed fingers by what was remembered.
public class FingerWatch {
  var known: Data?

  public init() {}

  public func hasChanged() -> Bool {
    let context = LAContext()
    guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil),
      let state = context.evaluatedPolicyDomainState
    else { return false }
    defer { known = state }
    return known != nil && known != state
  }
}

/// Every cast that is seen in the wild.
public func codes(of error: Error?) -> [Int] {
  var codes: [Int] = []
  if let error = error as NSError? { codes.append(error.code) }
  if let error = error as? LAError { codes.append(error.code.rawValue) }
  if let code = (error as NSError?)?.code { codes.append(code) }
  if let error = error { codes.append((error as NSError).code) }
  if let error = error, let code = LAError.Code(rawValue: error._code) { codes.append(code.rawValue) }
  if let error = error, error._domain == LAError.errorDomain {
    codes.append(LAError(_nsError: error as NSError).errorCode)
  }
  switch error {
  case let error as LAError: codes.append(error.errorCode)
  default: break
  }
  switch error {
  case LAError.userCancel?: codes.append(-2)
  case .some(LAError.biometryLockout): codes.append(-8)
  default: break
  }
  return codes
}
