// Whether the enrolled fingers and faces are still those of the binding: domain state and its baseline (R22–R24).

extension DomainStateVerdict {
  /// Compares what the device says now with the binding's baseline, in R22's order. Only the result counts, not the
  /// way to it (R23): ask anew each time, and never keep the answer.
  ///
  /// A phone that the service alone counts as locked can give its domain state, and is not excused.
  public static func compare(baseline: DomainStateBaseline?, posture: DevicePosture) -> DomainStateVerdict {
    if posture.isBiometryLockedOut && posture.domainState.isEmpty { return .unknownWhileLocked }
    guard let baseline else { return .neverRecorded }
    if posture.domainState == baseline.domainState { return .unchanged }
    return posture.hasNewerMajorVersion(than: baseline) ? .changedWithOS : .changed
  }

  /// The rule by which biometrics do not serve where they have to be shown unchanged, and are not.
  var rule: StaticString {
    switch self {
    case .changed, .changedWithOS: "R25"
    case .neverRecorded, .unchanged, .unknownWhileLocked: "R27"
    }
  }
}

extension DomainStateBaseline {
  /// What to record when a binding completes (R24); `nil` where the device gave no domain state.
  public static func recorded(from posture: DevicePosture) -> DomainStateBaseline? {
    guard !posture.domainState.isEmpty else { return nil }
    return DomainStateBaseline(
      domainState: posture.domainState, osMajorVersion: posture.osVersion.major)
  }

  /// Of baselines that older versions recorded without one. No system has it, so no upgrade from it is ever claimed.
  static let unknownMajorVersion: UInt32 = 0
}

extension DevicePosture {
  fileprivate func hasNewerMajorVersion(than baseline: DomainStateBaseline) -> Bool {
    baseline.osMajorVersion != DomainStateBaseline.unknownMajorVersion && osVersion.major > baseline.osMajorVersion
  }
}
