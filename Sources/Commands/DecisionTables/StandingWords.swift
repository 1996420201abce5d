// The column "standing": the stored state before the attempt.

import TouchstonePolicy

/// A phrase as a change. Times count from the standing's time.
typealias StandingChange = @Sendable (inout Standing, DevicePosture) -> Void

enum StandingWords {
  /// The phrase that makes a row start from the previous one's state.
  static let goesOn = ["then"]

  static let vocabulary = [
    "then", "failures 4", "locked", "not locked", "no binding", "profile alone", "bearer", "bearer found", "active",
    "revoked",
    "keys biometry_current_set + device_passcode", "level tee", "level device_passcode tee", "app listed", "no keys",
    "profile_touch_id", "passkey", "passkey device_bound", "passkeys served", "app attest key",
    "other passkey", "other passkey device_bound", "never seen", "verdict unknown", "baseline A", "baseline A 9",
    "bound_on android",
    "no baseline", "new evaluation", "evaluation failures 2", "evaluation device_owner_failures 2", "finished",
    "biometry off", "biometry on", "prefers gesture", "prefers nothing", "account #2", "device #2", "evaluation #2",
    "passcode set", "no passcode", "passcode off", "passcode on", "passcode failures 5", "passcode locked 1m",
    "passcode not locked", "passcode disabled", "passcode in_flight 5", "passcode in_flight 5 3s", "passcode set_anew",
    "gesture set", "token consumed", "token revoked", "token forgotten",
  ]

  static func read(_ phrase: Phrase) throws(TableError) -> StandingChange {
    if let change = binding(phrase) { return change }
    if let change = TokenRow.read(phrase) { return change }
    if let change = try device(phrase) { return change }
    if let change = try evaluation(phrase) { return change }
    if let change = try credentials(phrase) { return change }
    if let change = try profile(phrase) { return change }
    if let change = try secret(phrase) { return change }
    throw phrase.unknown("standing", vocabulary: vocabulary)
  }

  private static func device(_ phrase: Phrase) throws(TableError) -> StandingChange? {
    switch phrase.words {
    case ["locked"]: return { standing, _ in standing.device.isLockedOut = true }
    case ["not", "locked"]: return { standing, _ in standing.device.isLockedOut = false }
    default: break
    }
    if let text = phrase.argument(after: "failures") {
      let failures = try phrase.number(text)
      return { standing, _ in standing.device.consecutiveFailures = failures }
    }
    if let text = phrase.argument(after: "device") {
      let number = try phrase.ordinal(text)
      return { standing, _ in standing.switchDevice(to: number) }
    }
    return nil
  }

  private static func evaluation(_ phrase: Phrase) throws(TableError) -> StandingChange? {
    switch phrase.words {
    case ["new", "evaluation"]: return { standing, _ in standing.evaluation = EvaluationStanding() }
    case ["finished"]: return { standing, _ in standing.evaluation.isFinished = true }
    default: break
    }
    if let text = phrase.argument(after: "evaluation", "failures") {
      let failures = try phrase.number(text)
      return { standing, _ in standing.evaluation.failures = failures }
    }
    if let text = phrase.argument(after: "evaluation", "device_owner_failures") {
      let failures = try phrase.number(text)
      return { standing, _ in standing.evaluation.deviceOwnerFailures = failures }
    }
    if let text = phrase.argument(after: "evaluation") {
      let number = try phrase.ordinal(text)
      return { standing, _ in standing.switchEvaluation(to: number) }
    }
    return nil
  }

  private static func binding(_ phrase: Phrase) -> StandingChange? {
    switch phrase.words {
    case ["no", "binding"]: { standing, _ in standing.account.binding = nil }
    case ["profile", "alone"]: { standing, _ in standing.account.binding = .absent }
    case ["bearer"]: { standing, _ in standing.account.binding = .bearer }
    case ["bearer", "found"]: { standing, _ in standing.account.binding?.isFoundByProfileTouchID = true }
    case ["active"]: { standing, _ in standing.account.binding?.state = .active }
    case ["revoked"]: { standing, _ in standing.account.binding?.state = .revoked }
    case ["unknown"]: { standing, _ in standing.account.binding?.state = .unknown }
    case ["no", "keys"]: { standing, _ in standing.account.binding?.keyProtections = [] }
    case ["profile_touch_id"]: { standing, _ in standing.account.binding?.holdsProfileTouchID = true }
    case ["app", "listed"]:
      { standing, _ in
        for protection in KeyProtection.allCases {
          standing.account.binding?.provenKeys.ofListedApps.insert(protection)
        }
      }
    case ["passkeys", "served"]: { standing, _ in standing.servesPasskeys = true }
    case ["passkey"]:
      { standing, _ in
        standing.servesPasskeys = true
        standing.account.binding?.holdsPasskey = true
        standing.account.binding?.keyProtections = []
        standing.account.binding?.baseline = nil
        standing.account.binding?.platformFamily = nil
      }
    case ["other", "passkey"]: { standing, _ in standing.addPasskey(isDeviceBound: false) }
    case ["other", "passkey", "device_bound"]: { standing, _ in standing.addPasskey(isDeviceBound: true) }
    case ["app", "attest", "key"]: { standing, _ in standing.account.holdsAppAttestKey = true }
    case ["never", "seen"]: { standing, _ in standing.report = .none }
    case ["verdict", "unknown"]: { standing, _ in standing.report = .withoutVerdict }
    case ["passkey", "device_bound"]: { standing, _ in standing.account.binding?.isPasskeyDeviceBound = true }
    case ["no", "baseline"]: { standing, _ in standing.account.binding?.baseline = nil }
    default: nil
    }
  }

  private static func credentials(_ phrase: Phrase) throws(TableError) -> StandingChange? {
    if phrase.words[0] == "keys" {
      var keys: KeyProtections = []
      for word in try phrase.list(from: 1) { keys.insert(try phrase.keyProtection(word)) }
      return { [keys] standing, _ in standing.account.binding?.keyProtections = keys }
    }
    if let word = phrase.argument(after: "level") {
      let level = try phrase.proofLevel(word)
      return { standing, _ in
        standing.account.binding?.provenKeys = ProvenKeys(all: level)
        standing.account.binding?.passkeyLevel = level
      }
    }
    if phrase.words.count == 3, phrase.words[0] == "level" {
      let (protection, level) = (try phrase.keyProtection(phrase.words[1]), try phrase.proofLevel(phrase.words[2]))
      return { standing, _ in standing.account.binding?.provenKeys[protection] = level }
    }
    if phrase.words == ["bound_on", "unknown"] {
      return { standing, _ in standing.account.binding?.platformFamily = nil }
    }
    if let name = phrase.argument(after: "bound_on"), let platform = Platform.words.first(where: { $0.0 == name })?.1 {
      return { standing, _ in standing.account.binding?.platformFamily = platform.family }
    }
    if let state = phrase.argument(after: "baseline") {
      return { standing, posture in
        standing.account.binding?.baseline = DomainStateBaseline(state: state, on: posture)
      }
    }
    guard phrase.words.count == 3, phrase.words[0] == "baseline" else { return nil }
    let baseline = DomainStateBaseline(
      domainState: [UInt8](phrase.words[1].utf8), osMajorVersion: try phrase.number(phrase.words[2]))
    return { standing, _ in standing.account.binding?.baseline = baseline }
  }

  private static func profile(_ phrase: Phrase) throws(TableError) -> StandingChange? {
    switch phrase.words {
    case ["biometry", "on"]: return { standing, _ in standing.account.profile.settings.isBiometryEnabled = true }
    case ["biometry", "off"]: return { standing, _ in standing.account.profile.settings.isBiometryEnabled = false }
    case ["prefers", "nothing"]: return { standing, _ in standing.account.profile.settings.preferred = nil }
    default: break
    }
    if let text = phrase.argument(after: "prefers") {
      let factor = try phrase.factor(text)
      return { standing, _ in standing.account.profile.settings.preferred = factor }
    }
    if let text = phrase.argument(after: "account") {
      let number = try phrase.ordinal(text)
      return { standing, posture in standing.switchAccount(to: number, on: posture) }
    }
    return nil
  }
}

// MARK: Passcode and gesture

extension StandingWords {
  /// A phrase about a secret implies that it is set and switched on: "passcode failures 5".
  private static func secret(_ phrase: Phrase) throws(TableError) -> StandingChange? {
    if phrase.words.count == 2, phrase.words[0] == "no", let factor = secretFactor(phrase.words[1]) {
      return { standing, _ in standing[secret: factor] = SecretStanding() }
    }
    guard phrase.words.count > 1, let factor = secretFactor(phrase.words[0]) else { return nil }
    if phrase.words.count == 2, let isOn = ["set": true, "on": true, "off": false][phrase.words[1]] {
      return { standing, _ in standing.set(factor, isOn: isOn) }
    }
    guard let change = try secretChange(phrase) else { return nil }
    return { standing, _ in
      if !standing[secret: factor].isSet { standing.set(factor, isOn: true) }
      change(&standing[secret: factor], standing.now)
    }
  }

  private static func secretChange(
    _ phrase: Phrase
  ) throws(TableError) -> (@Sendable (inout SecretStanding, UnixTime) -> Void)? {
    switch phrase.words.dropFirst() {
    case ["not", "locked"]: return { secret, _ in secret.lock = .none }
    case ["disabled"]: return { secret, _ in secret.lock = .untilSetAnew }
    case ["set_anew"]:
      return { secret, _ in secret = SecretStanding(isSet: true, generation: secret.generation + 1) }
    default: break
    }
    guard phrase.words.count > 2 else { return nil }
    let argument = phrase.words[2]
    switch (phrase.words[1], phrase.words.count) {
    case ("failures", 3):
      let failures = try phrase.number(argument)
      return { secret, _ in secret.failures = failures }
    case ("locked", 3):
      let duration = try phrase.duration(argument)
      return { secret, now in secret.lock = .until(now + duration) }
    case ("in_flight", 3...4):
      let inFlight = try phrase.number(argument)
      let limit = phrase.words.count == 4 ? try phrase.duration(phrase.words[3]) : SecretRules.verificationTimeLimit
      return { secret, now in
        secret.inFlight = inFlight
        secret.inFlightUntil = now + limit
      }
    default: return nil
    }
  }

  private static func secretFactor(_ word: String) -> Factor? {
    switch word {
    case Factor.passcode.settingName: .passcode
    case Factor.gesture.settingName: .gesture
    default: nil
    }
  }
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
