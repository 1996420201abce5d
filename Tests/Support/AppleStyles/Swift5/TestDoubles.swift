// How apps put LAContext behind a protocol of theirs, or under a subclass, for their own tests.

import LocalAuthentication

public protocol Authenticating: AnyObject {
  var biometryType: LABiometryType { get }
  var localizedFallbackTitle: String? { get set }
  var localizedReason: String { get set }
  var interactionNotAllowed: Bool { get set }
  var touchIDAuthenticationAllowableReuseDuration: TimeInterval { get set }
  var evaluatedPolicyDomainState: Data? { get }

  func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool
  func evaluatePolicy(_ policy: LAPolicy, localizedReason: String, reply: @escaping (Bool, Error?) -> Void)
  func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool
  func setCredential(_ credential: Data?, type: LACredentialType) -> Bool
  func invalidate()
}

extension LAContext: Authenticating {}

public class MockContext: LAContext {
  public var refusal: NSError?
  public var answer: (Bool, Error?) = (true, nil)
  public var type = LABiometryType.none
  public private(set) var reasons: [String] = []

  public override var biometryType: LABiometryType { type }

  public override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool {
    if let refusal = refusal { error?.pointee = refusal }
    return refusal == nil
  }

  public override func evaluatePolicy(
    _ policy: LAPolicy, localizedReason: String, reply: @escaping (Bool, Error?) -> Void
  ) {
    reasons.append(localizedReason)
    reply(answer.0, answer.1)
  }
}

public class AsyncMockContext: LAContext {
  public var error: LAError?

  public override func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
    if let error = error { throw error }
    return true
  }
}

extension LAContext {
  /// Passes the pointer on.
  public func canEvaluateBiometrics(error: NSErrorPointer = nil) -> Bool {
    canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: error)
  }
}
