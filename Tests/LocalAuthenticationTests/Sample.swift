// An app's sign-in, written as for a phone: LocalAuthentication is all it imports, and it knows of no simulation.

import LocalAuthentication

/// Asks for a finger, and lets the app fall back to its own password.
final class SignIn {
  enum Outcome: Equatable {
    case signedIn
    case usePassword
    case canceled
    case unavailable(String)
    case enrollmentChanged
  }

  private let context: LAContext
  private let knownDomainState: Data?

  init(context: LAContext = LAContext(), knownDomainState: Data? = nil) {
    self.context = context
    self.knownDomainState = knownDomainState
    context.localizedFallbackTitle = "Use Password"
    context.localizedCancelTitle = "Not Now"
  }

  var title: String {
    var error: NSError?
    guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
      return error?.code == LAError.biometryLockout.rawValue ? "Touch ID is locked" : "Sign in with password"
    }
    switch context.biometryType {
    case .touchID: return "Sign in with Touch ID"
    case .faceID: return "Sign in with Face ID"
    default: return "Sign in"
    }
  }

  func start(completion: @escaping @Sendable (Outcome) -> Void) {
    var error: NSError?
    guard context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) else {
      if let error = error as? LAError, error.code == .biometryLockout { return completion(.usePassword) }
      return completion(.unavailable(error?.localizedDescription ?? ""))
    }
    if let known = knownDomainState, known != context.evaluatedPolicyDomainState {
      return completion(.enrollmentChanged)
    }
    context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "Sign in") { success, error in
      guard !success else { return completion(.signedIn) }
      switch (error as? LAError)?.code {
      case .userFallback?, .authenticationFailed?, .biometryLockout?: completion(.usePassword)
      case .userCancel?, .systemCancel?, .appCancel?: completion(.canceled)
      default: completion(.unavailable(error?.localizedDescription ?? ""))
      }
    }
  }

  static func unlockNotes() async -> Outcome {
    do {
      try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Show your notes")
      return .signedIn
    } catch LAError.userCancel, LAError.systemCancel {
      return .canceled
    } catch {
      return (error as NSError).domain == LAErrorDomain ? .usePassword : .unavailable(error.localizedDescription)
    }
  }
}
