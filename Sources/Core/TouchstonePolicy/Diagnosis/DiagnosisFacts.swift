/// The facts of a diagnosis. The records hold no domain state of the device, so the state now is partly unknown.
public struct DiagnosisFacts: Sendable {
  /// A device's report about itself.
  public enum Report: Sendable, Hashable {
    /// The present one, with its domain state.
    case present(DevicePosture)
    /// The last one, without its domain state, and the verdict that came with it; `nil`: none is stored.
    case last(DevicePosture, DomainStateVerdict?, at: UnixTime)
  }

  /// `nil`: the profile alone, on any device.
  public var binding: BindingStanding?
  /// The binding holds a key by which its app can vouch for attempts (R43).
  public var holdsAppAttestKey: Bool
  /// `nil`: the binding's device never reported, or any device of the profile alone.
  public var report: Report?
  public var device: BiometryStanding
  public var profile: ProfileStanding
  /// The profile's active passkeys. They serve a login that names the profile alone.
  public var passkeys: [BindingStanding]
  /// The strictest ladder of all policies. An operator's unlocking is judged by it.
  public var passcodeLadder: Ladder
  public var gestureLadder: Ladder
  public var now: UnixTime

  public init(
    binding: BindingStanding?, holdsAppAttestKey: Bool, report: Report?, device: BiometryStanding,
    profile: ProfileStanding, passkeys: [BindingStanding], passcodeLadder: Ladder, gestureLadder: Ladder,
    now: UnixTime
  ) {
    self.binding = binding
    self.holdsAppAttestKey = holdsAppAttestKey
    self.report = report
    self.device = device
    self.profile = profile
    self.passkeys = passkeys
    (self.passcodeLadder, self.gestureLadder) = (passcodeLadder, gestureLadder)
    self.now = now
  }

  /// Every state of the device that fits the records and can make a difference; the best one first.
  func possibleConditions(under policy: EvaluationPolicy) -> [Conditions] {
    if case .present(let posture)? = report { return [conditions(posture, binding ?? .absent, policy)] }
    guard let binding, !binding.holdsPasskey else {
      // The person may use any device.
      let devices: [DevicePosture] = [.sound(on: .iOS), .unusable(on: .iOS), .sound(on: .web)]
      return devices.map { conditions($0, binding ?? .absent, policy) }
    }
    guard case .last(let posture, let verdict, _)? = report else {
      let platform = binding.platformFamily?.platform ?? .iOS
      return [
        conditions(.sound(on: platform), binding, policy, .unchanged),
        conditions(.unusable(on: platform), binding, policy, .changed),
      ]
    }
    let verdicts = verdict.possible(hasBaseline: binding.baseline != nil)
    let all = verdicts.map { conditions(posture, binding, policy, $0) }
    guard verdicts == [.neverRecorded] else { return all }
    // The records do not show whether the device gave a domain state. Without a baseline, that can make a difference
    // (R27).
    return all
      + all.map { given in
        var silent = given
        silent.posture.domainState = []
        return silent
      }
  }

  private func conditions(
    _ posture: DevicePosture, _ binding: BindingStanding, _ policy: EvaluationPolicy,
    _ verdict: DomainStateVerdict? = nil
  ) -> Conditions {
    var posture = posture
    // The verdict is set below, so the rules read only whether the domain state is empty.
    if let verdict, verdict != .unknownWhileLocked { posture.domainState = [0] }
    var conditions = Conditions(
      policy: policy, posture: posture, binding: binding, device: device, profile: profile,
      evaluation: EvaluationStanding(), now: now)
    if let verdict { conditions.verdict = verdict }
    return conditions
  }
}

extension DomainStateVerdict? {
  /// The last verdict, or all that fit if there is none.
  fileprivate func possible(hasBaseline: Bool) -> [DomainStateVerdict] {
    if let self, hasBaseline == (self != .neverRecorded) || self == .unknownWhileLocked { return [self] }
    return hasBaseline ? [.unchanged, .changed] : [.neverRecorded]
  }
}

extension DevicePosture {
  /// A device without faults.
  fileprivate static func sound(on platform: Platform) -> DevicePosture {
    DevicePosture(
      platform: platform, osVersion: OSVersion(.max), biometryType: .touchID, isBiometryAvailable: true,
      isBiometryEnrolled: true, isBiometryLockedOut: false, isPasscodeSet: true, domainState: [0])
  }

  /// A device on which nothing serves.
  fileprivate static func unusable(on platform: Platform) -> DevicePosture {
    DevicePosture(
      platform: platform, osVersion: OSVersion(0), biometryType: .none, isBiometryAvailable: false,
      isBiometryEnrolled: false, isBiometryLockedOut: true, isPasscodeSet: false, domainState: [])
  }
}
