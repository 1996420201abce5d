// The offer for a known binding, with nothing beside the call: no factor that is locked, off, or not set, and the right
// word on the fingers.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

struct UndisturbedOffer {
  let world: World
  let call: Call
  let before: StoredRecords
  let binding: BindingRecord
  let posture: V1.DevicePosture
  let policy: EvaluationPolicy

  /// `nil` where something else was under way, or the binding is unknown.
  init?(
    _ bindingID: String, of applicationID: String, policy name: String, _ posture: V1.DevicePosture?, _ call: Call,
    _ world: World
  ) {
    guard let before = call.before, !world.database.hasFailed(since: call.sentStep), let posture,
      let policy = world.policy(named: name, at: call),
      let binding = before.binding(bindingID), Identifier.areEqual(binding.applicationID, applicationID)
    else { return nil }
    self.world = world
    self.call = call
    self.before = before
    self.binding = binding
    self.posture = posture
    self.policy = policy
  }

  func check(_ factors: [V1.Factor], _ verdict: V1.DomainStateVerdict) {
    guard !binding.isRevoked else {
      return world.require(
        factors.isEmpty && verdict == .unspecified, "R37", "a revoked binding is offered \(factors), \(verdict)")
    }
    world.require(
      verdict.rawValue == Int32(self.verdict.rawValue), "R22", "verdict \(verdict.rawValue) instead of \(self.verdict)")
    let profile = before.profile(binding.applicationID, binding.profileID)
    for (factor, kind) in [(V1.Factor.passcode, Factor.passcode), (.gesture, .gesture)] where factors.contains(factor) {
      let isOn = profile.settings.isEnabled(kind) && profile.secret(kind)?.standing.isSet == true
      world.require(isOn, "R17", "a \(kind) is offered that is off or not set")
      world.require(!isLocked(profile.secret(kind)), "R13", "a locked \(kind) is offered")
    }
    checkKeys(factors)
    guard factors.contains(.biometry) else { return }
    let device = before.device(binding.deviceID).biometry
    world.require(!device.isLockedOut && !posture.biometryLockedOut, "R4", "locked biometrics are offered")
    world.require(profile.settings.isBiometryEnabled, "R17", "biometrics are offered that are off")
  }

  // R25, R27, R31
  private func checkKeys(_ factors: [V1.Factor]) {
    for factor in factors where binding.key(for: factor)?.kind == .rsa {
      world.require(world.plan.takesRSA(policy), "R31", "an RSA key is offered where the policy requires P-256")
    }
    guard policy.mustBeUnchanged(binding), verdict != .unchanged else { return }
    world.require(!factors.contains(.biometry), "R25", "fingers are offered that are not shown to be the same")
    guard factors.contains(.deviceOwner) else { return }
    world.require(
      binding.key(for: .deviceOwner)?.protection == .devicePasscode, "R27",
      "a key is offered that fingers unlock, and they are not shown to be the same")
  }

  private func isLocked(_ secret: SecretRecord?) -> Bool {
    // Whether it locks is open while attempts are in flight.
    guard let standing = secret?.standing, standing.inFlight == 0 else { return false }
    switch standing.lock {
    case .none: return false
    case .until(let end): return end > world.time.latest(since: call.sentStep)
    case .untilSetAnew: return true
    }
  }

  // R22
  private var verdict: DomainStateVerdict {
    if posture.biometryLockedOut, posture.domainState.isEmpty { return .unknownWhileLocked }
    guard let baseline = binding.baseline else { return .neverRecorded }
    if posture.domainState == baseline.domainState { return .unchanged }
    let major = UInt32(posture.osVersion.prefix { $0 != "." }) ?? 0
    return major > baseline.osMajorVersion && baseline.osMajorVersion > 0 ? .changedWithOS : .changed
  }
}
