import TouchstonePolicy

/// The state between the rows of a story: everything that a service would keep between calls, as far as one case needs
/// it.
struct Standing {
  /// A profile, and its binding on the device.
  struct Account {
    /// `nil`: none exists yet.
    var binding: BindingStanding?
    var profile = ProfileStanding.none
    /// The counts of attempts at an old secret that is not set: by passcode or gesture.
    var countsOfName: [Factor: SecretStanding] = [:]
    /// The binding's app can vouch for attempts (R43).
    var holdsAppAttestKey = false
    /// Passkeys beside the binding.
    var passkeys: [BindingStanding] = []

    /// The default of a table: an active binding with a key of the enrolled fingers, completed on this phone under the
    /// domain state "A".
    init(on posture: DevicePosture) {
      binding = BindingStanding(
        keyProtections: [.biometryCurrentSet], holdsProfileTouchID: false,
        baseline: DomainStateBaseline(state: "A", on: posture), platformFamily: posture.platform.family)
    }
  }

  /// An admitted attempt without a verdict.
  struct Admission {
    let factor: Factor
    let reservation: SecretAdmission.Reservation
  }

  /// The time of the previous state; then, the time of the attempt.
  var now = UnixTime(seconds: 1_750_000_000)
  /// The phone's report in the row.
  var posture: DevicePosture
  var account: Account
  var device = BiometryStanding()
  var evaluation = EvaluationStanding()
  var token = TokenRow.asIssued
  /// The application's configuration serves passkeys (R46).
  var servesPasskeys = false
  var report = LastReport.complete

  /// What is stored of the device's last report.
  enum LastReport {
    case complete
    case withoutVerdict
    case none
  }

  /// By the table's numbers.
  var admissions: [UInt32: Admission] = [:]

  private var accounts = Others<Account>()
  private var devices = Others<BiometryStanding>()
  private var evaluations = Others<EvaluationStanding>()

  init(on posture: DevicePosture) {
    self.posture = posture
    account = Account(on: posture)
  }

  mutating func switchAccount(to number: UInt32) {
    account = accounts.swap(account, for: number) ?? Account(on: posture)
  }

  mutating func switchDevice(to number: UInt32) {
    device = devices.swap(device, for: number) ?? BiometryStanding()
  }

  mutating func switchEvaluation(to number: UInt32) {
    evaluation = evaluations.swap(evaluation, for: number) ?? EvaluationStanding()
  }

  /// The standing of passcode or gesture.
  subscript(secret factor: Factor) -> SecretStanding {
    get { account.profile.secret(for: factor) }
    set {
      if factor == .gesture { account.profile.gesture = newValue } else { account.profile.passcode = newValue }
    }
  }
}

/// The others of a kind, besides the current one. The first is number 1.
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
  /// As a binding that is completed on this phone records it (R24).
  init?(state: String, on posture: DevicePosture) {
    var then = posture
    then.domainState = [UInt8](state.utf8)
    guard let baseline = Self.recorded(from: then) else { return nil }
    self = baseline
  }
}
