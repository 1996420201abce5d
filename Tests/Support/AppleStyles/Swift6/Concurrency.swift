// Code as apps write it in Swift 6 mode: async, typed errors, the main actor. Compiled with no flag but the mode.

import LocalAuthentication

public enum Outcome: Equatable, Sendable {
  case success
  case canceled
  case fallback
  case unavailable(LAError.Code)
  case failed
}

public struct Authenticator: Sendable {
  private let makeContext: @Sendable () -> LAContext

  public init(makeContext: @escaping @Sendable () -> LAContext = { LAContext() }) {
    self.makeContext = makeContext
  }

  public func logIn(_ policy: LAPolicy = .deviceOwnerAuthenticationWithBiometrics) async -> Outcome {
    let context = makeContext()
    do {
      try await context.evaluatePolicy(policy, localizedReason: "Log in")
      return .success
    } catch let error as LAError {
      switch error.code {
      case .userCancel, .systemCancel, .appCancel: return .canceled
      case .userFallback: return .fallback
      case .biometryLockout, .biometryNotEnrolled, .biometryNotAvailable, .passcodeNotSet:
        return .unavailable(error.code)
      default: return .failed
      }
    } catch {
      return .failed
    }
  }

  public func isSuccess() async -> Bool {
    (try? await makeContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Continue")) == true
  }
}

@MainActor
public final class LoginModel {
  public private(set) var isUnlocked = false
  public private(set) var errorCode: Int?
  private let context: LAContext

  public init(context: LAContext = LAContext()) {
    self.context = context
  }

  public var canUseBiometrics: Bool {
    var error: NSError?
    let can = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
    errorCode = error?.code
    return can
  }

  public func unlock() async {
    let context = LAContext()
    context.localizedFallbackTitle = ""
    do {
      isUnlocked = try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Unlock")
    } catch LAError.userCancel, LAError.systemCancel {
      errorCode = 0
    } catch {
      errorCode = (error as NSError).code
    }
  }

  /// Back to the main actor by a task.
  public func unlock(then completion: @escaping @MainActor (Bool) -> Void) {
    LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Unlock") { @Sendable success, error in
      let code = (error as? LAError)?.code
      Task { @MainActor in
        self.isUnlocked = success
        self.errorCode = code?.rawValue
        completion(success)
      }
    }
  }
}

/// The closure form wrapped by hand.
public func evaluate(_ context: sending LAContext, _ policy: LAPolicy) async throws -> Data? {
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Data?, any Error>) in
    context.evaluatePolicy(policy, localizedReason: "Log in") { success, error in
      if success {
        continuation.resume(returning: context.evaluatedPolicyDomainState)
      } else {
        continuation.resume(throwing: error ?? LAError(.authenticationFailed))
      }
    }
  }
}

/// One protocol for the app, fulfilled by Apple's class.
public protocol BiometricContext {
  func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool
  func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool
  func evaluatePolicy(
    _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void)
  var domainState: LADomainState { get }
}

extension LAContext: BiometricContext {}

public func stateHash(of context: some BiometricContext) -> Data? {
  if #available(iOS 18, macOS 15, *) { return context.domainState.biometry.stateHash }
  return nil
}

public actor Vault {
  private var context: LAContext?

  public init() {}

  public func open(_ access: sending SecAccessControl) async throws -> Bool {
    let context = LAContext()
    self.context = context
    return try await context.evaluateAccessControl(access, operation: .useItem, localizedReason: "Open the vault")
  }

  public func close() {
    context?.invalidate()
    context = nil
  }
}
