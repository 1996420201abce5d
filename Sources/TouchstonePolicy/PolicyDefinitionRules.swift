// What makes a definition a policy: every setting within its bounds, no two that contradict each other, and none that
// nothing would ever come of.

extension PolicyDefinition {
  /// A word in requests, tokens and logs: as long as the longest of LAPolicy, with room.
  public static let maximumNameBytes = 64
  /// NIST SP 800-63B, 5.2.3: biometric authenticators allow no more than ten failures in a row.
  public static let lockoutBounds = 1...10
  /// An evaluation ends at the latest where its device locks.
  public static let attemptBounds = lockoutBounds
  /// The first second in which something can have happened, to an hour: what is older is no longer one login.
  public static let lifetimeBounds: ClosedRange<Duration> = .seconds(1) ... .seconds(60 * 60)
  /// A shorter one keeps nobody from guessing; `Ladder` says why none is longer.
  public static let lockBounds: ClosedRange<Duration> = .seconds(1)...Ladder.longestLock
  /// Of failures, as `Ladder` counts them.
  public static let rungBounds = 1...Int(Ladder.maximumFailures)
  /// Two digits: a build number here would refuse every phone.
  public static let osMajorBounds: ClosedRange<UInt32> = 1...99
  /// As for a request's own titles: what a phone's button holds.
  public static let maximumTitleBytes = 128

  /// The policy that is meant, with the defaults where nothing is written; or all that is wrong with it.
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

/// Judges one definition, setting by setting.
struct DefinitionReview {
  typealias Key = PolicyDefinition.Key

  let definition: PolicyDefinition
  private(set) var defects: [PolicyDefect] = []
  /// What holds where nothing is written.
  private let defaults = EvaluationPolicy(name: "", purpose: .login, factors: [], tokenLifetime: nil)

  init(definition: PolicyDefinition) {
    self.definition = definition
  }

  mutating func judge() {
    judgeName()
    judgePurpose()
    judgeFactors()
    judgeAttempts()
    judgeLadder()
    judgePrimaryFreshness()
    judgeDevice()
    judgeLifetimes()
    judgeFallback()
    judgeTitles()
  }

  // MARK: What it is

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

  /// What needs no quotes anywhere, and has one spelling only.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default:
      false
    }
  }

  private mutating func judgePurpose() {
    if definition.purpose == .absent { refuse(.purpose, "is required: login or payment") }
  }

  private mutating func judgeFactors() {
    if definition.factors == .absent { refuse(.factors, "is required: the accepted factors, best first") }
    guard case .value(let factors) = definition.factors else { return }
    if factors.isEmpty { refuse(.factors, "must name at least one factor") }
    var earlier: [Factor] = []
    for (index, written) in factors.enumerated() {
      guard case .value(let factor) = written else { continue }
      if let reason = refusal(of: factor, after: earlier) {
        refuse([.key(Key.factors.rawValue), .index(index)], "\(factor.settingName) \(reason)")
      }
      earlier.append(factor)
    }
  }

  private func refusal(of factor: Factor, after earlier: [Factor]) -> String? {
    if factor == .passkey { return "is not served by this version" }
    if earlier.contains(factor) { return "stands here twice" }
    if isPayment == true && !factor.isProvenByDeviceKey {
      return "cannot pay: only a device's key signs the transaction (biometry, device_owner)"
    }
    if earlier.contains(.primary) { return "stands after primary, which is only offered where nothing else is left" }
    return nil
  }

  // MARK: Failures

  private mutating func judgeAttempts() {
    let attempts = judge(.attempts, definition.attempts, within: PolicyDefinition.attemptBounds)
    let lockoutAfter = judge(.lockoutAfter, definition.lockoutAfter, within: PolicyDefinition.lockoutBounds)
    require([.biometry, .deviceOwner], for: .attempts, definition.attempts)
    require([.biometry, .deviceOwner], for: .lockoutAfter, definition.lockoutAfter)
    guard let attempts = attempts ?? inherited(definition.attempts, defaults.attemptsPerEvaluation),
      let lockoutAfter = lockoutAfter ?? inherited(definition.lockoutAfter, defaults.failuresBeforeLockout),
      attempts > lockoutAfter
    else { return }
    if definition.attempts == .absent {
      refuse(.lockoutAfter, "is \(lockoutAfter), less than the \(attempts) attempts of an evaluation")
    } else {
      refuse(.attempts, "is \(attempts), more than lockout_after (\(lockoutAfter)): the device locks first")
    }
  }

  private func inherited(_ setting: Setting<Int>, _ value: UInt32) -> Int? {
    setting == .absent ? Int(value) : nil
  }

  private mutating func judgePrimaryFreshness() {
    judge(.primaryFreshness, definition.primaryFreshness, within: PolicyDefinition.lifetimeBounds)
    require([.primary], for: .primaryFreshness, definition.primaryFreshness)
  }

  // MARK: Devices

  private mutating func judgeDevice() {
    judgeKeyProtection()
    switch definition.domainState {
    case .value(.required):
      require([.biometry, .deviceOwner], for: .domainState, definition.domainState)
    case .value(.compared) where isPayment == true:
      refuse(.domainState, "must be required where money moves")
    case .value(.compared), .absent, .unreadable:
      break
    }
    judgeMinimumOS()
  }

  private mutating func judgeMinimumOS() {
    guard case .value(let version) = definition.minimumOS else { return }
    let bounds = PolicyDefinition.osMajorBounds
    guard bounds.contains(version.major) else {
      return refuse(.minimumOS, "must be a version from \(bounds.lowerBound) to \(bounds.upperBound)")
    }
    if let needed = neededOS, version <= needed {
      refuse(.minimumOS, "has no effect: what this policy asks for needs \(needed.text) anyway")
    }
  }

  /// The oldest system on which any factor could serve (R2, R27); `nil` where none needs one, or it cannot be told.
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

  private mutating func judgeKeyProtection() {
    guard case .value(let protection) = definition.keyProtection else { return }
    let factor = protection.factor.settingName
    if accepts([protection.factor]) == false {
      refuse(.keyProtection, "\(protection.settingName) guards keys of \(factor), which this policy does not accept")
    } else if protection == .userPresence {
      refuse(.keyProtection, "\(protection.settingName) is what every key of \(factor) meets; leave it out")
    }
  }

  // MARK: Lifetimes

  private mutating func judgeLifetimes() {
    judge(.evaluationLifetime, definition.evaluationLifetime, within: PolicyDefinition.lifetimeBounds)
    switch definition.token {
    case .absent, .unreadable:
      break
    case .value(.none):
      if isPayment == true { refuse(.token, "cannot be none where money moves: the token is what pays") }
    case .value(.issued(let lifetime, let isSingleUse)):
      if case .value(let lifetime) = lifetime, !PolicyDefinition.lifetimeBounds.contains(lifetime) {
        refuse(token: .lifetime, Self.reason(PolicyDefinition.lifetimeBounds))
      }
      if isSingleUse == .value(false) && isPayment == true {
        refuse(token: .singleUse, "cannot be false where money moves: a token pays once")
      }
    }
  }

  // MARK: The prompt

  private mutating func judgeFallback() {
    guard case .value(let fallback) = definition.fallback else { return }
    require([.biometry, .deviceOwner], for: .fallback, definition.fallback)
    guard fallback == .automatic, case .value(let factors) = definition.factors, let first = factors.first,
      first != .unreadable
    else { return }
    if first != .value(.biometry) {
      refuse(.fallback, "automatic falls back from biometry, which must then be the first factor")
    } else if factors.count == 1 {
      refuse(.fallback, "automatic has nothing to fall back to: biometry is the only factor")
    }
  }

  private mutating func judgeTitles() {
    judgeTitle(.fallbackTitle, definition.fallbackTitle)
    judgeTitle(.cancelTitle, definition.cancelTitle)
    if definition.fallback == .value(.automatic), definition.fallbackTitle != .absent {
      refuse(.fallbackTitle, "is never shown where the fallback is automatic")
    }
    if definition.cancelTitle == .value("") {
      refuse(.cancelTitle, "must not be empty; leave it out for the system's own")
    }
  }

  private mutating func judgeTitle(_ key: Key, _ title: Setting<String>) {
    require([.biometry, .deviceOwner], for: key, title)
    guard case .value(let title) = title, !title.isEmpty else { return }
    if let reason = Identifier.violation(in: title, maximumBytes: PolicyDefinition.maximumTitleBytes) {
      refuse(key, reason)
    }
  }

  // MARK: What is known

  /// `nil` where it cannot be told.
  private var isPayment: Bool? {
    guard case .value(let purpose) = definition.purpose else { return nil }
    return purpose == .payment
  }

  /// Whether one of them is among the accepted ones; `nil` where it cannot be told.
  private func accepts(_ wanted: [Factor]) -> Bool? {
    guard case .value(let factors) = definition.factors, !factors.isEmpty else { return nil }
    if factors.contains(where: { wanted.map(Setting.value).contains($0) }) { return true }
    return factors.contains(.unreadable) ? nil : false
  }

  // MARK: What is wrong

  /// The value, where it is within the bounds.
  private mutating func judge(_ key: Key, _ setting: Setting<Int>, within bounds: ClosedRange<Int>) -> Int? {
    guard case .value(let value) = setting else { return nil }
    guard bounds.contains(value) else {
      refuse(key, "must be \(bounds.lowerBound) to \(bounds.upperBound)")
      return nil
    }
    return value
  }

  private mutating func judge(_ key: Key, _ setting: Setting<Duration>, within bounds: ClosedRange<Duration>) {
    if case .value(let value) = setting, !bounds.contains(value) { refuse(key, Self.reason(bounds)) }
  }

  /// A setting that concerns factors of which none is accepted would be written in vain.
  mutating func require<Value>(_ factors: [Factor], for key: Key, _ setting: Setting<Value>) {
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

  mutating func refuse(_ key: Key, _ reason: String) {
    refuse([.key(key.rawValue)], reason)
  }

  private mutating func refuse(token key: PolicyDefinition.TokenKey, _ reason: String) {
    refuse([.key(Key.token.rawValue), .key(key.rawValue)], reason)
  }
}

extension Factor {
  /// Of the device that is to prove it; `nil`: any will do.
  fileprivate var firstOSVersion: OSVersion? {
    switch self {
    case .biometry: PlatformCapability.touchID.firstVersion
    case .deviceOwner: PlatformCapability.deviceOwnerAuthentication.firstVersion
    case .passcode, .gesture, .passkey, .primary: nil
    }
  }
}
