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
