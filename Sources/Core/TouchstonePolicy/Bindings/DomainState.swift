// Whether the enrolled fingers and faces are still those of the binding: domain state and its baseline (R22–R24).

extension DomainStateVerdict {
  /// Compares the device's present domain state with the binding's baseline, in R22's order. Only the result counts,
  /// not the history (R23): compare again each time. The stored verdict is for support alone.
  ///
  /// A phone that only the service counts as locked can give its domain state, and is not excused.
  public static func compare(baseline: DomainStateBaseline?, posture: DevicePosture) -> DomainStateVerdict {
    if posture.isBiometryLockedOut && posture.domainState.isEmpty { return .unknownWhileLocked }
    guard let baseline else { return .neverRecorded }
    if posture.domainState == baseline.domainState { return .unchanged }
    return posture.hasNewerMajorVersion(than: baseline) ? .changedWithOS : .changed
  }

  /// The rule that suspends biometrics if they must be shown unchanged and are not.
  var rule: StaticString {
    switch self {
    case .changed, .changedWithOS: "R25"
    case .neverRecorded, .unchanged, .unknownWhileLocked: "R27"
    }
  }
}

extension DomainStateBaseline {
  /// Returns the baseline to record when a binding completes (R24); `nil` if the device gave no domain state, or if its
  /// system has none, whatever the app sent.
  public static func recorded(from posture: DevicePosture) -> DomainStateBaseline? {
    guard posture.hasDomainState, !posture.domainState.isEmpty else { return nil }
    return DomainStateBaseline(
      domainState: posture.domainState, osMajorVersion: posture.osVersion.major)
  }

  /// No system has this version, so a device that stated it when it was bound cannot claim an upgrade from it.
  static let unknownMajorVersion: UInt32 = 0
}

extension DevicePosture {
  fileprivate func hasNewerMajorVersion(than baseline: DomainStateBaseline) -> Bool {
    baseline.osMajorVersion != DomainStateBaseline.unknownMajorVersion && osVersion.major > baseline.osMajorVersion
  }
}

// MARK: - A new baseline

/// Which evidence makes the device's present domain state the binding's baseline (R26). Biometrics are no evidence,
/// because they may be the added ones. Nor is a key that they unlock.
extension AttemptRules {
  /// Returns the baseline to record after a success by this factor; `nil` if nothing changes.
  func newBaseline(after factor: Factor) -> DomainStateBaseline? {
    guard before.scope == .device, isEvidence(factor) else { return nil }
    guard let given = DomainStateBaseline.recorded(from: before.posture) else { return nil }
    return given.domainState == binding.baseline?.domainState ? nil : given
  }

  private func isEvidence(_ factor: Factor) -> Bool {
    switch factor {
    case .biometry: false
    case .deviceOwner: binding.proof(of: .deviceOwner, by: .key, under: policy) == .unlockedByPasscode
    // An added finger may unlock it.
    case .passkey: false
    case .passcode, .gesture, .primary: true
    }
  }
}

/// The evidence for `AcceptDomainState`.
public enum DomainStateEvidence: Sendable, Hashable {
  /// A valid token of this service.
  ///
  /// - Parameters:
  ///   - isForBinding: its profile and its application are the binding's.
  ///   - isByBiometrics: biometrics proved it, or could have. It is evidence only if that is excluded.
  case token(issuedAt: UnixTime, isForBinding: Bool, isByBiometrics: Bool)
  case primary(PrimaryVerdict)
}

public enum DomainStateAcceptance: Sendable, Hashable {
  /// The baseline to record.
  case accept(DomainStateBaseline)
  case refuse(Refusal)

  public enum Refusal: Sendable, Hashable, CaseIterable {
    /// The device gave none, or its system has none: neither an empty nor an invented one is recorded (R24).
    case noDomainState
    case tokenOfAnother
    case tokenByBiometry
    case tokenTooOld
    case primaryTooOld
    case primaryInFuture
  }
}

extension EnrolmentPolicy {
  /// A token must be younger.
  public static let evidenceLifetime: Duration = .seconds(5 * 60)

  /// Whether the device's present domain state may become the binding's baseline on this evidence (R26).
  public func acceptDomainState(
    of posture: DevicePosture, on evidence: DomainStateEvidence, now: UnixTime
  ) -> DomainStateAcceptance {
    guard let baseline = DomainStateBaseline.recorded(from: posture) else { return .refuse(.noDomainState) }
    switch evidence {
    case .token(let issuedAt, let isForBinding, let isByBiometrics):
      guard isForBinding else { return .refuse(.tokenOfAnother) }
      guard !isByBiometrics else { return .refuse(.tokenByBiometry) }
      // Issued by a replica whose clock may run ahead of ours.
      guard issuedAt <= now + clockSkewTolerance, now < issuedAt + Self.evidenceLifetime else {
        return .refuse(.tokenTooOld)
      }
    case .primary(.fresh): break
    case .primary(.tooOld): return .refuse(.primaryTooOld)
    case .primary(.inFuture): return .refuse(.primaryInFuture)
    }
    return .accept(baseline)
  }
}
