// What is remembered from one row of a story to the next.

import TouchstonePolicy

/// All that a service would keep between calls, as far as one case needs it.
struct Standing {
  /// A profile, and the binding that speaks for it on the device.
  struct Account {
    /// `nil`: none exists yet.
    var binding: BindingStanding?
    var profile = ProfileStanding.none
    /// Where attempts at an old secret are counted that is not set: by passcode or gesture.
    var standIns: [Factor: SecretStanding] = [:]

    /// What a table need not say: an active binding, with a key of the enrolled fingers, that was completed on this
    /// phone when its domain state was "A".
    init(on posture: DevicePosture) {
      binding = BindingStanding(
        isActive: true, keyProtections: [.biometryCurrentSet], holdsProfileTouchID: false,
        baseline: DomainStateBaseline(state: "A", on: posture), platformFamily: posture.platform.family)
    }
  }

  /// An attempt that was admitted and has no verdict yet.
  struct Admission {
    let factor: Factor
    let reservation: SecretAdmission.Reservation
  }

  /// When the standing was left; then, when the attempt comes.
  var now = UnixTime(seconds: 1_750_000_000)
  var account: Account
  var device = BiometryStanding()
  var evaluation = EvaluationStanding()
  /// By the number that the table gave them.
  var admissions: [UInt32: Admission] = [:]

  private var accounts = Others<Account>()
  private var devices = Others<BiometryStanding>()
  private var evaluations = Others<EvaluationStanding>()

  init(on posture: DevicePosture) {
    account = Account(on: posture)
  }

  mutating func switchAccount(to number: UInt32, on posture: DevicePosture) {
    account = accounts.swap(account, for: number) ?? Account(on: posture)
  }

  mutating func switchDevice(to number: UInt32) {
    device = devices.swap(device, for: number) ?? BiometryStanding()
  }

  mutating func switchEvaluation(to number: UInt32) {
    evaluation = evaluations.swap(evaluation, for: number) ?? EvaluationStanding()
  }

  /// Of passcode or gesture.
  subscript(secret factor: Factor) -> SecretStanding {
    get { account.profile.secret(for: factor) }
    set {
      if factor == .gesture { account.profile.gesture = newValue } else { account.profile.passcode = newValue }
    }
  }
}

/// The ones of a kind that are not spoken of just now. The first is number 1.
private struct Others<Value> {
  private var values: [UInt32: Value] = [:]
  private var current: UInt32 = 1

  /// Puts the current one away. `nil`: the other one is new.
  mutating func swap(_ value: Value, for number: UInt32) -> Value? {
    values[current] = value
    current = number
    return values[number]
  }
}

extension DomainStateBaseline {
  /// As a binding records it that is completed on this phone (R24).
  init?(state: String, on posture: DevicePosture) {
    var then = posture
    then.domainState = [UInt8](state.utf8)
    guard let baseline = Self.recorded(from: then) else { return nil }
    self = baseline
  }
}
