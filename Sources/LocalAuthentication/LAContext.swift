// LAContext: Apple's class in front of a simulated phone.

// As on Apple's platforms: who imports LocalAuthentication has NSError and Data.
@_exported public import Foundation

/// One authentication of the person in front of the phone. The members are those of LAContext.h.
///
/// Unlike Apple's, it may be used from any thread, and `canEvaluatePolicy` may be called in a reply.
// @unchecked: NSObject is not Sendable. All mutable state is ContextSession's, behind its mutex.
open class LAContext: NSObject, @unchecked Sendable {
  private let session: ContextSession

  /// Belongs to `LASimulation.current`.
  public override init() {
    session = ContextSession(LASimulation.current)
  }

  /// Evaluations still open end with `appCancel`.
  deinit {
    session.invalidate()
  }

  /// Whether `policy` can be evaluated now. Afterwards `biometryType` is known and, for a biometric policy,
  /// `evaluatedPolicyDomainState`.
  @discardableResult
  open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
    let obstacle = session.preflight(policy)
    error?.pointee = obstacle.map { $0 as NSError }
    return obstacle == nil
  }

  /// - Parameters:
  ///   - localizedReason: not empty; with an empty one the app is stopped, as on a phone.
  ///   - reply: called once, on a private queue.
  open func evaluatePolicy(
    _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    precondition(!localizedReason.isEmpty, "evaluatePolicy needs a localizedReason that is not empty")
    session.evaluate(policy, localizedReason: localizedReason) { error in reply(error == nil, error) }
  }

  /// - Throws: `LAError`.
  @discardableResult
  open func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
    try await withCheckedThrowingContinuation { continuation in
      evaluatePolicy(policy, localizedReason: localizedReason) { success, error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: success) }
      }
    }
  }

  /// Ends what is open with `appCancel`; from then on all fails with `invalidContext`.
  open func invalidate() {
    session.invalidate()
  }

  /// `nil`: the system's title; empty: no fallback button.
  open var localizedFallbackTitle: String? {
    get { session.settings.fallbackTitle }
    set { session.updateSettings { $0.fallbackTitle = newValue } }
  }

  /// `nil`: the system's title. Shown from iOS 10 on.
  open var localizedCancelTitle: String? {
    get { session.settings.cancelTitle }
    set { session.updateSettings { $0.cancelTitle = newValue } }
  }

  /// Seconds since an unlock of the phone by biometrics that make a prompt superfluous; 0: always prompt.
  open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
    get { session.settings.allowableReuseSeconds }
    set { session.updateSettings { $0.allowableReuseSeconds = newValue } }
  }

  /// Fail with `notInteractive` rather than prompt.
  open var interactionNotAllowed: Bool {
    get { session.settings.isInteractionForbidden }
    set { session.updateSettings { $0.isInteractionForbidden = newValue } }
  }

  /// `none` until `canEvaluatePolicy` was called, and before iOS 11.
  open var biometryType: LABiometryType { session.biometryType }

  /// Opaque; another one after fingers or faces were changed. `nil` unless `canEvaluatePolicy` succeeded for a biometric
  /// policy, or an evaluation by biometrics.
  open var evaluatedPolicyDomainState: Data? { session.domainState }
}
