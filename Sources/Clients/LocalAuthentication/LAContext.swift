// LAContext: Apple's class in front of a simulated phone.

// As on Apple's platforms: importing LocalAuthentication brings NSError and Data.
@_exported public import Foundation

/// One authentication of the person in front of the phone. The members are those of LAContext.h.
///
/// Like Apple's it is not `Sendable`; a lock protects all of its state, because replies come on other threads.
/// Unlike Apple's, `canEvaluatePolicy` may be called in a reply.
open class LAContext: NSObject {
  let session: ContextSession

  /// Belongs to `LASimulation.current`.
  public override init() {
    session = ContextSession(LASimulation.current)
  }

  // MARK: Policies

  /// Whether `policy` can be evaluated now. Afterwards `biometryType` is known and, for a biometric policy,
  /// `evaluatedPolicyDomainState`.
  @discardableResult
  open func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
    let obstacle = session.preflight(policy)
    error?.pointee = obstacle.map { $0 as NSError }
    return obstacle == nil
  }

  /// The context lives on until the reply.
  /// - Parameters:
  ///   - localizedReason: not empty; with an empty one the app is stopped, as on a phone.
  ///   - reply: called once, on a private queue.
  open func evaluatePolicy(
    _ policy: LAPolicy, localizedReason: String, reply: @escaping (Bool, (any Error)?) -> Void
  ) {
    precondition(!localizedReason.isEmpty, "evaluatePolicy needs a localizedReason that is not empty")
    let reply = Reply(context: self, body: reply)
    session.evaluate(policy, localizedReason: localizedReason) { reply.call($0) }
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

  // MARK: Access controls

  /// Proves the presence that `accessControl` requires; keys and items behind it then open with this context and
  /// without a prompt. Making a key or an item shows no prompt.
  /// - Parameters:
  ///   - localizedReason: not empty; with an empty one the app is stopped, as on a phone.
  ///   - reply: called once, on a private queue.
  open func evaluateAccessControl(
    _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
    reply: @escaping (Bool, (any Error)?) -> Void
  ) {
    precondition(!localizedReason.isEmpty, "evaluateAccessControl needs a localizedReason that is not empty")
    let reply = Reply(context: self, body: reply)
    session.evaluate(accessControl.simulated, for: operation, localizedReason: localizedReason) { reply.call($0) }
  }

  /// - Throws: `LAError`.
  @discardableResult
  open func evaluateAccessControl(
    _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String
  ) async throws -> Bool {
    try await withCheckedThrowingContinuation { continuation in
      evaluateAccessControl(accessControl, operation: operation, localizedReason: localizedReason) { success, error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: success) }
      }
    }
  }

  /// - Parameter credential: `nil` removes it.
  /// - Returns: `false` after `invalidate()`, and for a smart card, which no phone reads.
  @discardableResult
  open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
    type == .applicationPassword && session.setApplicationPassword(credential)
  }

  @discardableResult
  open func isCredentialSet(_ type: LACredentialType) -> Bool {
    type == .applicationPassword && session.applicationPassword != nil
  }

  // MARK: The end

  /// Ends an open evaluation with `appCancel`; from then on everything fails with `invalidContext`.
  open func invalidate() {
    session.invalidate()
  }

  // MARK: The prompt

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

  /// Shown if a key or a keychain item needs a prompt; policies get their own reason.
  open var localizedReason: String {
    get { session.settings.localizedReason }
    set { session.updateSettings { $0.localizedReason = newValue } }
  }

  /// Fail with `notInteractive` rather than prompt.
  open var interactionNotAllowed: Bool {
    get { session.settings.isInteractionForbidden }
    set { session.updateSettings { $0.isInteractionForbidden = newValue } }
  }

  /// Seconds since an unlock of the phone by biometrics within which no prompt is needed; 0: always prompt.
  open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
    get { session.settings.allowableReuseSeconds }
    set { session.updateSettings { $0.allowableReuseSeconds = newValue } }
  }

  /// Stored, without effect, as since iOS 9.
  open var maxBiometryFailures: NSNumber? {
    get { session.settings.maxBiometryFailures }
    set { session.updateSettings { $0.maxBiometryFailures = newValue } }
  }

  // MARK: The context's knowledge

  /// `none` until `canEvaluatePolicy` was called, and before iOS 11.
  open var biometryType: LABiometryType { session.biometryType }

  /// Opaque; changes with the enrolled fingers or faces. `nil` unless `canEvaluatePolicy` succeeded for a biometric
  /// policy, or an evaluation by biometrics did.
  open var evaluatedPolicyDomainState: Data? { session.domainState }

  /// The present state, without `canEvaluatePolicy`.
  open var domainState: LADomainState { session.currentDomainState }
}

/// An app's closure on its way to another thread.
// @unchecked: it is called once, and no other code holds it then. As on a phone, the app is responsible for its
// captures.
private struct Reply: @unchecked Sendable {
  /// Keeps the evaluation's context alive.
  let context: LAContext
  let body: (Bool, (any Error)?) -> Void

  func call(_ error: LAError?) {
    body(error == nil, error)
  }
}
