// Whether the enrolled fingers and faces are still those of the binding: domain state and its baseline (R22–R24).

extension DomainStateVerdict {
  /// Compares what the device says now with the binding's baseline, in R22's order. Only the result counts, not the
  /// way to it (R23): ask anew each time, and never keep the answer.
  public static func compare(
    baseline: DomainStateBaseline?, posture: DevicePosture, device: BiometryStanding
  ) -> DomainStateVerdict {
    let isLockedOut = device.isLockedOut || posture.isBiometryLockedOut
    if isLockedOut && posture.domainState.isEmpty { return .unknownWhileLocked }
    guard let baseline else { return .neverRecorded }
    if posture.domainState == baseline.domainState { return .unchanged }
    return posture.hasNewerMajorVersion(than: baseline) ? .changedWithOS : .changed
  }

  /// Biometrics no longer stand for the person who was bound (R25).
  public var isChanged: Bool {
    switch self {
    case .changed, .changedWithOS: true
    case .neverRecorded, .unchanged, .unknownWhileLocked: false
    }
  }
}

extension DomainStateBaseline {
  /// What to record when a binding completes (R24); `nil` where the device gave no domain state.
  public static func recorded(from posture: DevicePosture) -> DomainStateBaseline? {
    guard !posture.domainState.isEmpty else { return nil }
    return DomainStateBaseline(
      domainState: posture.domainState, osMajorVersion: posture.osVersion?.major ?? unknownMajorVersion)
  }

  /// No system has it, so no upgrade from it is ever claimed.
  static let unknownMajorVersion: UInt32 = 0
}

extension DevicePosture {
  fileprivate func hasNewerMajorVersion(than baseline: DomainStateBaseline) -> Bool {
    guard let osVersion, baseline.osMajorVersion != DomainStateBaseline.unknownMajorVersion else { return false }
    return osVersion.major > baseline.osMajorVersion
  }
}
