/// Why an attempt did not succeed. Only the audit log has this: of these causes, the answers name a missing binding
/// alone (R37).
public enum AttemptCause: Sendable, Hashable {
  /// A denial's reason: the device, a lock, or no credential for the factor.
  case denial(Denial.Reason)
  case domainState(DomainStateVerdict)
  /// The factor's budget in this evaluation is spent.
  case attemptsSpent
  case signatureInvalid
  case profileTouchIDInvalid
  case passkeyRefused(PasskeyRefusal)
  case secretWrong
  case primaryAuthenticationTooOld
  /// The profile or the bearer is unknown, so every proof is wrong.
  case bindingNotActive
  /// The device reported it (R11).
  case reported
  case evaluationFinished

  /// Upper snake case. The names do not change.
  public var auditName: String {
    switch self {
    case .denial(let reason): reason.rawValue
    case .domainState(.neverRecorded): "DOMAIN_STATE_NEVER_RECORDED"
    case .domainState(.unchanged): "DOMAIN_STATE_UNCHANGED"
    case .domainState(.unknownWhileLocked): "DOMAIN_STATE_UNKNOWN_WHILE_LOCKED"
    case .domainState(.changed): "DOMAIN_STATE_CHANGED"
    case .domainState(.changedWithOS): "DOMAIN_STATE_CHANGED_WITH_OS"
    case .attemptsSpent: "ATTEMPTS_SPENT"
    case .signatureInvalid: "SIGNATURE_INVALID"
    case .profileTouchIDInvalid: "PROFILE_TOUCH_ID_INVALID"
    case .passkeyRefused(let refusal): refusal.auditName
    case .secretWrong: "WRONG_SECRET"
    case .primaryAuthenticationTooOld: "PRIMARY_AUTHENTICATION_TOO_OLD"
    case .bindingNotActive: "BINDING_NOT_ACTIVE"
    case .reported: "REPORTED"
    case .evaluationFinished: "EVALUATION_FINISHED"
    }
  }
}

/// The fault of a passkey's assertion (R46).
public enum PasskeyRefusal: Sendable, Hashable {
  /// No active passkey of this application has this credential id.
  case unknown
  /// The evaluation names another profile or binding.
  case ofAnotherSubject
  /// It is absent although it must identify the person, or belongs to another account.
  case userHandleDiffers
  /// A reason of docs/ATTESTATION.md.
  case proof(reason: String)

  var auditName: String {
    switch self {
    case .unknown: "PASSKEY_UNKNOWN"
    case .ofAnotherSubject: "PASSKEY_OF_ANOTHER"
    case .userHandleDiffers: "USER_HANDLE_DIFFERS"
    case .proof(let reason): reason
    }
  }
}

extension AttemptRules {
  /// Returns the cause that keeps a right proof from succeeding; `nil` if there is none.
  func cause(_ usability: Conditions.Usability) -> AttemptCause? {
    switch usability {
    case .usable: nil
    case .suspended: .domainState(before.verdict)
    case .spent: .attemptsSpent
    case .obstructed(let denial), .unproven(let denial), .outOfPlace(let denial): .denial(denial.reason)
    }
  }

  /// Why a proof is wrong.
  ///
  /// - Parameter credential: `nil`: a report.
  func causeOfFailure(of credential: DeviceCredential?) -> AttemptCause {
    guard let credential else { return .reported }
    guard binding.isActive else { return .bindingNotActive }
    switch credential {
    case .key: return .signatureInvalid
    case .profileTouchID: return .profileTouchIDInvalid
    }
  }
}
