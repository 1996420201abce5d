// The column "standing": the stored state before the attempt.

import TouchstonePolicy

typealias StandingChange = PhraseRow<Standing>.Change

enum StandingWords {
  /// The phrase that makes a row start from the previous one's state.
  static let goesOn = ["then"]

  static func read(_ phrase: Phrase) throws(TableError) -> StandingChange {
    if let change = try phrase.change(by: rows) { return change }
    throw phrase.unknown("standing", vocabulary: goesOn + rows.map(\.example))
  }

  private static let rows: [PhraseRow<Standing>] =
    device + evaluation("evaluation ") + others + binding + credentials + profile + given(.passcode) + given(.gesture)

  // MARK: Counts and locks, as "standing" and as expected columns have them

  static let device: [PhraseRow<Standing>] = [
    .init("failures {4}", .number) { $0.device.consecutiveFailures = $1 },
    .init("locked") { $0.device.isLockedOut = true },
  ]

  /// - Parameter prefix: "evaluation ", or empty in the column of that name.
  static func evaluation(_ prefix: String = "") -> [PhraseRow<Standing>] {
    [
      .init("\(prefix)failures {2}", .number) { $0.evaluation.failures = $1 },
      .init("\(prefix)device_owner_failures {2}", .number) { $0.evaluation.deviceOwnerFailures = $1 },
      .init("finished") { $0.evaluation.isFinished = true },
    ]
  }

  /// - Parameter prefix: "passcode " in the column "standing", where such a phrase implies that the secret is set and
  ///   switched on; empty in the column of that name.
  static func secret(_ factor: Factor, _ prefix: String = "") -> [PhraseRow<Standing>] {
    let implies = !prefix.isEmpty
    return [
      .init("\(prefix)failures {5}", .number) { $0[secret: factor, implied: implies].failures = $1 },
      .init("\(prefix)locked {1m}", .duration) { $0[secret: factor, implied: implies].lock = .until($0.now + $1) },
      .init("\(prefix)disabled") { $0[secret: factor, implied: implies].lock = .untilSetAnew },
      .init("\(prefix)in_flight {5}", .number) {
        $0[secret: factor, implied: implies].verify($1, until: $0.now + SecretRules.verificationTimeLimit)
      },
    ]
  }

  private static func given(_ factor: Factor) -> [PhraseRow<Standing>] {
    let name = factor.settingName
    return secret(factor, "\(name) ") + [
      .init("\(name) not locked") { $0[secret: factor, implied: true].lock = .none },
      .init("\(name) in_flight {5} {3s}", .number, .duration) {
        $0[secret: factor, implied: true].verify($1, until: $0.now + $2)
      },
      .init("\(name) set_anew") {
        let generation = $0[secret: factor, implied: true].generation + 1
        $0[secret: factor] = SecretStanding(isSet: true, generation: generation)
      },
      .init("\(name) set") { $0.set(factor, isOn: true) },
      .init("\(name) on") { $0.set(factor, isOn: true) },
      .init("\(name) off") { $0.set(factor, isOn: false) },
      .init("no \(name)") { $0[secret: factor] = SecretStanding() },
    ]
  }

  // MARK: The rest

  private static let others: [PhraseRow<Standing>] = [
    .init("not locked") { $0.device.isLockedOut = false },
    .init("new evaluation") { $0.evaluation = EvaluationStanding() },
    .init("account {#2}", .ordinal) { $0.switchAccount(to: $1) },
    .init("device {#2}", .ordinal) { $0.switchDevice(to: $1) },
    .init("evaluation {#2}", .ordinal) { $0.switchEvaluation(to: $1) },
    .init("never seen") { $0.report = .none },
    .init("verdict unknown") { $0.report = .withoutVerdict },
    .init("token consumed") { $0.token = .state(.consumed) },
    .init("token revoked") { $0.token = .state(.revoked) },
    .init("token forgotten") { $0.token = .forgotten },
  ]

  private static let binding: [PhraseRow<Standing>] = [
    .init("no binding") { $0.account.binding = nil },
    .init("profile alone") { $0.account.binding = .absent },
    .init("bearer") { $0.account.binding = .bearer },
    .init("bearer found") { $0.account.binding?.isFoundByProfileTouchID = true },
    .init("active") { $0.account.binding?.state = .active },
    .init("revoked") { $0.account.binding?.state = .revoked },
    .init("unknown") { $0.account.binding?.state = .unknown },
    .init("profile_touch_id") { $0.account.binding?.holdsProfileTouchID = true },
    .init("bound_on unknown") { $0.account.binding?.platformFamily = nil },
    .init("bound_on {android}", .platform) { $0.account.binding?.platformFamily = $1.family },
    .init("no baseline") { $0.account.binding?.baseline = nil },
    .init("baseline {A}", .word) { $0.account.binding?.baseline = DomainStateBaseline(state: $1, on: $0.posture) },
    .init("baseline {A} {9}", .word, .number) {
      $0.account.binding?.baseline = DomainStateBaseline(domainState: [UInt8]($1.utf8), osMajorVersion: $2)
    },
  ]

  private static let credentials: [PhraseRow<Standing>] = [
    .init("no keys") { $0.account.binding?.keyProtections = [] },
    .init("keys {biometry_current_set + device_passcode}", .protections) {
      $0.account.binding?.keyProtections = $1
    },
    .init("rsa {biometry_any + user_presence}", .protections) { $0.account.binding?.rsaKeys = $1 },
    .init("level {tee}", .level) {
      $0.account.binding?.provenKeys = ProvenKeys(all: $1)
      $0.account.binding?.passkeyLevel = $1
    },
    .init("level {device_passcode} {tee}", .protection, .level) { $0.account.binding?.provenKeys[$1] = $2 },
    .init("app listed") {
      for protection in KeyProtection.allCases { $0.account.binding?.provenKeys.ofListedApps.insert(protection) }
    },
    .init("app attest key") { $0.account.holdsAppAttestKey = true },
    .init("passkeys served") { $0.servesPasskeys = true },
    .init("passkey") {
      $0.servesPasskeys = true
      $0.account.binding?.holdsPasskey = true
      $0.account.binding?.keyProtections = []
      $0.account.binding?.baseline = nil
      $0.account.binding?.platformFamily = nil
    },
    .init("passkey device_bound") { $0.account.binding?.isPasskeyDeviceBound = true },
    .init("other passkey") { $0.addPasskey(isDeviceBound: false) },
    .init("other passkey device_bound") { $0.addPasskey(isDeviceBound: true) },
  ]

  private static let profile: [PhraseRow<Standing>] = [
    .init("biometry on") { $0.account.profile.settings.isBiometryEnabled = true },
    .init("biometry off") { $0.account.profile.settings.isBiometryEnabled = false },
    .init("prefers nothing") { $0.account.profile.settings.preferred = nil },
    .init("prefers {gesture}", .factor) { $0.account.profile.settings.preferred = $1 },
  ]
}

extension Standing {
  fileprivate mutating func addPasskey(isDeviceBound: Bool) {
    servesPasskeys = true
    var passkey = BindingStanding(
      keyProtections: [], holdsProfileTouchID: false, baseline: nil, platformFamily: nil)
    passkey.holdsPasskey = true
    passkey.isPasskeyDeviceBound = isDeviceBound
    account.passkeys.append(passkey)
  }

  fileprivate mutating func set(_ factor: Factor, isOn: Bool) {
    self[secret: factor].isSet = true
    account.profile.settings.turn(factor, on: isOn)
  }

  /// - Parameter isImplied: sets the secret first, and switches it on.
  fileprivate subscript(secret factor: Factor, implied isImplied: Bool) -> SecretStanding {
    mutating get {
      if isImplied, !self[secret: factor].isSet { set(factor, isOn: true) }
      return self[secret: factor]
    }
    set { self[secret: factor] = newValue }
  }
}

extension SecretStanding {
  fileprivate mutating func verify(_ attempts: UInt32, until end: UnixTime) {
    (inFlight, inFlightUntil) = (attempts, end)
  }
}

extension Phrase {
  /// "#2": one of several.
  func ordinal(_ text: String) throws(TableError) -> UInt32 {
    guard text.first == "#", let number = UInt32(text.dropFirst()), (1...Self.maximumOrdinal).contains(number) else {
      throw error("\(text.debugDescription) is not one of #1 to #\(Self.maximumOrdinal)")
    }
    return number
  }

  /// Parallel accounts, devices, evaluations and admissions of one story.
  static let maximumOrdinal: UInt32 = 1_000
}
