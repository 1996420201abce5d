// Checks that a definition makes a policy: every setting is within its bounds, no two contradict each other, and none
// is without effect.

extension PolicyDefinition {
  /// Longest name, as it appears in requests, tokens and logs: the longest of LAPolicy, with room.
  public static let maximumNameBytes = 64
  /// NIST SP 800-63B, 5.2.3: biometric authenticators allow no more than ten failures in a row.
  public static let lockoutBounds = 1...10
  /// An evaluation ends at the latest when its device locks.
  public static let attemptBounds = lockoutBounds
  /// From one second to an hour: an older login is no longer the same login.
  public static let lifetimeBounds: ClosedRange<Duration> = .seconds(1) ... .seconds(60 * 60)
  /// A shorter lock would not stop guessing; `Ladder` says why none is longer.
  public static let lockBounds: ClosedRange<Duration> = .seconds(1)...Ladder.longestLock
  /// The failures of a rung, as `Ladder` counts them.
  public static let rungBounds = 1...Int(Ladder.maximumFailures)
  /// Two digits: a build number here would refuse every phone.
  public static let osMajorBounds: ClosedRange<UInt32> = 1...99
  /// As for a request's own titles: what fits a phone's button.
  public static let maximumTitleBytes = 128

  /// The policy, with the defaults of settings that are not written; or all defects.
  public func policy() throws(PolicyDefects) -> EvaluationPolicy {
    var review = DefinitionReview(definition: self)
    review.judge()
    guard review.defects.isEmpty else { throw PolicyDefects(defects: review.defects) }
    do throws(UnreadableSetting) {
      return try build()
    } catch {
      throw PolicyDefects(defects: [])
    }
  }
}

/// Checks one definition, setting by setting. A value by itself is checked by its form.
struct DefinitionReview {
  let definition: PolicyDefinition
  private(set) var defects: [PolicyDefect] = []
  /// Defaults of settings that are not written.
  private let defaults = EvaluationPolicy(name: "", purpose: .login, factors: [], tokenLifetime: nil)

  init(definition: PolicyDefinition) {
    self.definition = definition
  }

  mutating func judge() {
    judgeName()
    for setting in PolicySetting.all { setting.judge(&self) }
  }

  // MARK: Name, purpose and factors

  private mutating func judgeName() {
    let name = definition.name
    if EvaluationPolicy.builtIn.contains(where: { Identifier.areEqual($0.name, name) }) {
      refuse([], "is the name of a built-in policy")
    }
    let maximum = PolicyDefinition.maximumNameBytes
    if !(1...maximum).contains(name.utf8.count) || !name.utf8.allSatisfy(Self.isNameByte) {
      refuse([], "must be 1 to \(maximum) ASCII letters, digits, \"_\", \"-\" or \".\"")
    }
  }

  /// A name that needs no quotes anywhere and has one spelling.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default:
      false
    }
  }

  mutating func judgePurpose() {
    if definition.purpose == .absent { refuse(.purpose, "is required: login or payment") }
  }

  mutating func judgeFactors() {
    if definition.factors == .absent { refuse(.factors, "is required: the accepted factors, best first") }
    guard case .value(let factors) = definition.factors else { return }
    if factors.isEmpty { refuse(.factors, "must name at least one factor") }
    var earlier: [Factor] = []
    for (index, written) in factors.enumerated() {
      guard case .value(let factor) = written else { continue }
      if let reason = refusal(of: factor, after: earlier) {
        refuse([.key(PolicySetting.factors.key), .index(index)], "\(factor.settingName) \(reason)")
      }
      earlier.append(factor)
    }
  }

  private func refusal(of factor: Factor, after earlier: [Factor]) -> String? {
    if earlier.contains(factor) { return "appears twice" }
    if isPayment == true && !factor.isProvenByKey {
      return "cannot pay: only a key signs the transaction (biometry, device_owner, passkey)"
    }
    if earlier.contains(.primary) { return "comes after primary, which is offered only if nothing else is left" }
    return nil
  }

  // MARK: Failures

  mutating func judgeAttempts() {
    guard
      let attempts = count(definition.attempts, within: PolicyDefinition.attemptBounds, defaults.attemptsPerEvaluation),
      let lockoutAfter = count(
        definition.lockoutAfter, within: PolicyDefinition.lockoutBounds, defaults.failuresBeforeLockout),
      attempts > lockoutAfter
    else { return }
    if definition.attempts == .absent {
      refuse(.lockoutAfter, "is \(lockoutAfter), less than the \(attempts) attempts of an evaluation")
    } else {
      refuse(.attempts, "is \(attempts), more than lockout_after (\(lockoutAfter)): the device locks first")
    }
  }

  /// Returns `nil` if it is out of bounds, or cannot be read.
  private func count(_ setting: Setting<Int>, within bounds: ClosedRange<Int>, _ inherited: UInt32) -> Int? {
    switch setting {
    case .absent: Int(inherited)
    case .value(let value) where bounds.contains(value): value
    case .value, .unreadable: nil
    }
  }

  // MARK: Devices

  mutating func judgeDomainState() {
    switch definition.domainState {
    case .value(.required):
      require([.biometry, .deviceOwner], for: PolicySetting.domainState.key, definition.domainState)
    case .value(.compared) where isPayment == true:
      refuse(.domainState, "must be required for payments")
    case .value(.compared), .absent, .unreadable:
      break
    }
  }

  mutating func judgeMinimumOS() {
    guard case .value(let version) = definition.minimumOS, PolicyDefinition.osMajorBounds.contains(version.major),
      let needed = neededOS
    else { return }
    if version <= needed {
      refuse(.minimumOS, "has no effect: what this policy asks for needs \(needed.text) anyway")
    }
  }

  /// The oldest system on which any factor could serve (R2, R27); `nil` if none needs one, or if it is unknown.
  private var neededOS: OSVersion? {
    if isPayment == true || definition.domainState == .value(.required) {
      return PlatformCapability.domainState.firstVersion
    }
    guard case .value(let factors) = definition.factors else { return nil }
    var oldest: OSVersion?
    for factor in factors {
      guard case .value(let factor) = factor, let needed = factor.firstOSVersion else { return nil }
      oldest = min(oldest ?? needed, needed)
    }
    return oldest
  }

  mutating func judgeKeyProtection() {
    guard case .value(let protection) = definition.keyProtection else { return }
    let factor = protection.factor.settingName
    if accepts([protection.factor]) == false {
      refuse(.keyProtection, "\(protection.settingName) protects keys of \(factor), which this policy does not accept")
    } else if protection == .userPresence {
      refuse(.keyProtection, "\(protection.settingName) has no effect: every key of \(factor) meets it")
    }
  }

  // MARK: The token

  mutating func judgeToken() {
    switch definition.token {
    case .absent, .unreadable:
      break
    case .value(.none):
      if isPayment == true { refuse(.token, "cannot be none for payments: the token is what pays") }
    case .value(.issued(let lifetime, let isSingleUse)):
      if case .value(let lifetime) = lifetime, !PolicyDefinition.lifetimeBounds.contains(lifetime) {
        refuse(token: .lifetime, Self.reason(PolicyDefinition.lifetimeBounds))
      }
      if isSingleUse == .value(false) && isPayment == true {
        refuse(token: .singleUse, "cannot be false for payments: a token pays once")
      }
    }
  }

  // MARK: The prompt

  mutating func judgeFallback() {
    guard definition.fallback == .value(.automatic), case .value(let factors) = definition.factors,
      let first = factors.first, first != .unreadable
    else { return }
    if first != .value(.biometry) {
      refuse(.fallback, "automatic falls back from biometry, which must then be the first factor")
    } else if factors.count == 1 {
      refuse(.fallback, "automatic has nothing to fall back to: biometry is the only factor")
    }
  }

  mutating func judgeFallbackTitle() {
    if definition.fallback == .value(.automatic), definition.fallbackTitle != .absent {
      refuse(.fallbackTitle, "is never shown if the fallback is automatic")
    }
  }

  mutating func judgeCancelTitle() {
    if definition.cancelTitle == .value("") {
      refuse(.cancelTitle, "must not be empty; leave it out for the system's own")
    }
  }

  // MARK: Known values

  /// `nil` if it is unknown.
  private var isPayment: Bool? {
    guard case .value(let purpose) = definition.purpose else { return nil }
    return purpose == .payment
  }

  /// Whether the policy accepts one of these factors; `nil` if that is unknown.
  private func accepts(_ wanted: [Factor]) -> Bool? {
    guard case .value(let factors) = definition.factors, !factors.isEmpty else { return nil }
    if factors.contains(where: { wanted.map(Setting.value).contains($0) }) { return true }
    return factors.contains(.unreadable) ? nil : false
  }

  // MARK: Defects

  /// Refuses a setting that concerns only factors that the policy does not accept.
  mutating func require<Value>(_ factors: [Factor], for key: String, _ setting: Setting<Value>) {
    guard setting != .absent, accepts(factors) == false else { return }
    let names = factors.map(\.settingName).joined(separator: " or ")
    refuse(key, "has no effect: it concerns \(names), which this policy does not accept")
  }

  static func reason(_ bounds: ClosedRange<Duration>) -> String {
    "must be \(bounds.lowerBound.settingName) to \(bounds.upperBound.settingName)"
  }

  mutating func refuse(_ path: [PolicyDefect.Step], _ reason: String) {
    defects.append(PolicyDefect(path: path, reason: reason))
  }

  mutating func refuse(_ key: String, _ reason: String) {
    refuse([.key(key)], reason)
  }

  mutating func refuse(_ setting: PolicySetting, _ reason: String) {
    refuse(setting.key, reason)
  }

  private mutating func refuse(token key: PolicyDefinition.TokenKey, _ reason: String) {
    refuse([.key(PolicySetting.token.key), .key(key.rawValue)], reason)
  }
}

extension Factor {
  /// The factors of a device; `nil`: any.
  fileprivate var firstOSVersion: OSVersion? {
    switch self {
    case .biometry: PlatformCapability.touchID.firstVersion
    case .deviceOwner: PlatformCapability.deviceOwnerAuthentication.firstVersion
    case .passcode, .gesture, .passkey, .primary: nil
    }
  }
}
