// The words of the decision tables. What a cell does not say is as on a healthy iPhone with Touch ID, whose binding was
// completed on iOS 9 with domain state "A".

import TouchstonePolicy

extension DevicePosture {
  /// "9.3 face locked", "android-13 no-fingers": the system (iOS where it is a number alone; of version 14 where none is
  /// given), then what differs from a healthy phone.
  init(table text: String) {
    var words = text.words
    let system = words.removeFirst().split(separator: "-", maxSplits: 1)
    let isNumber = system[0].first!.isNumber
    self.init(
      platform: isNumber ? .iOS : Platform(table: String(system[0])),
      osVersion: OSVersion(String(system.last!)) ?? OSVersion(14),
      biometryType: .touchID, isBiometryAvailable: true, isBiometryEnrolled: true, isBiometryLockedOut: false,
      isPasscodeSet: true, domainState: [UInt8]("A".utf8))
    for word in words { apply(word) }
  }

  private mutating func apply(_ word: String) {
    switch word {
    case "face": biometryType = .faceID
    case "optic": biometryType = .opticID
    case "typeless": biometryType = .unspecified
    case "no-sensor": biometryType = .none
    case "sensor-off": isBiometryAvailable = false
    case "no-fingers": isBiometryEnrolled = false
    case "locked": isBiometryLockedOut = true
    case "no-passcode": isPasscodeSet = false
    case "no-state": domainState = []
    case let state where state.hasPrefix("state="): domainState = [UInt8](state.dropFirst(6).utf8)
    default: preconditionFailure("no such word of a posture: \(word)")
    }
  }
}

extension Platform {
  fileprivate init(table name: String) {
    let names: [String: Platform] = [
      "iOS": .iOS, "iPadOS": .iPadOS, "macOS": .macOS, "android": .android, "web": .web,
    ]
    self = names[name]!
  }
}

extension BindingStanding {
  /// "set presence base=B@10": key protections, then what differs. "none" is no binding at all; "absent" and "bearer"
  /// are evaluations that name none.
  init?(table text: String) {
    if text == "none" { return nil }
    if text == "absent" || text == "bearer" {
      self = text == "absent" ? .absent : .bearer
      return
    }
    self.init(
      isActive: true, keyProtections: [], holdsProfileTouchID: false,
      baseline: DomainStateBaseline(domainState: [UInt8]("A".utf8), osMajorVersion: 9))
    for word in text.words { apply(word) }
  }

  private mutating func apply(_ word: String) {
    switch word {
    case "set": keyProtections.insert(.biometryCurrentSet)
    case "any": keyProtections.insert(.biometryAny)
    case "presence": keyProtections.insert(.userPresence)
    case "passcode": keyProtections.insert(.devicePasscode)
    case "touch-id": holdsProfileTouchID = true
    case "keyless": keyProtections = []
    case "no-base": baseline = nil
    case "inactive": isActive = false
    case let base where base.hasPrefix("base="):
      let parts = base.dropFirst(5).split(separator: "@")
      baseline = DomainStateBaseline(domainState: [UInt8](parts[0].utf8), osMajorVersion: UInt32(parts[1])!)
    default: preconditionFailure("no such word of a binding: \(word)")
    }
  }
}

extension BiometryStanding {
  /// "3": three failures; "5!": five, and locked.
  init(table text: String) {
    self.init(consecutiveFailures: UInt32(text.filter(\.isNumber))!, isLockedOut: text.hasSuffix("!"))
  }
}

extension EvaluationStanding {
  /// "2": two failures; "3.": three, and finished; "3+1": one more by device owner, counted apart.
  init(table text: String) {
    let counts = text.split(separator: "+").map { UInt32($0.filter(\.isNumber))! }
    self.init(
      failures: counts[0], deviceOwnerFailures: counts.count > 1 ? counts[1] : 0, isFinished: text.hasSuffix("."))
  }
}

extension ProfileStanding {
  /// "passcode=4 gesture prefers-gesture": secrets that are set and on, with their standings, then what differs. "-" is
  /// a profile of which nothing is stored.
  init(table text: String) {
    self.init()
    for word in text.words where word != "-" { apply(word) }
  }

  private mutating func apply(_ word: String) {
    let parts = word.split(separator: "=")
    switch parts[0] {
    case "passcode":
      settings.isPasscodeEnabled = true
      passcode = SecretStanding(table: parts.count > 1 ? String(parts[1]) : "0")
    case "gesture":
      settings.isGestureEnabled = true
      gesture = SecretStanding(table: parts.count > 1 ? String(parts[1]) : "0")
    case "passcode-off": settings.isPasscodeEnabled = false
    case "gesture-off": settings.isGestureEnabled = false
    case "passcode-unset": passcode.isSet = false
    case "biometry-off": settings.isBiometryEnabled = false
    case "prefers-passcode": settings.preferred = .passcode
    case "prefers-gesture": settings.preferred = .gesture
    case "prefers-biometry": settings.preferred = .biometry
    default: preconditionFailure("no such word of a profile: \(word)")
    }
  }
}

extension SecretStanding {
  /// "4": four failures; "5!60": five, and locked for a minute from noon on; "10!": disabled; "5!60~1": one of them in
  /// flight since noon.
  init(table text: String) {
    let halves = text.split(separator: "~")
    let parts = halves[0].split(separator: "!", omittingEmptySubsequences: false)
    self.init(isSet: true, failures: UInt32(parts[0])!)
    if parts.count > 1 {
      lock = parts[1].isEmpty ? .untilSetAnew : .until(.noon + .seconds(Int64(parts[1])!))
    }
    if halves.count > 1 {
      inFlight = UInt32(halves[1])!
      inFlightUntil = .noon + SecretRules.verificationTimeLimit
    }
  }
}

extension UnixTime {
  /// 2023-11-14T12:00:00Z.
  static let noon = UnixTime(seconds: 1_699_963_200)
}

extension EvaluationPolicy {
  /// A built-in policy under a short name, or a variation on one.
  init(table name: String) {
    func builtIn(_ name: String) -> EvaluationPolicy { Self.builtIn.first { $0.name == name }! }
    func login(_ change: (inout EvaluationPolicy) -> Void) -> EvaluationPolicy {
      var policy = builtIn("login")
      change(&policy)
      return policy
    }
    switch name {
    case "bio": self = builtIn("deviceOwnerAuthenticationWithBiometrics")
    case "apple": self = builtIn("deviceOwnerAuthentication")
    case "login", "payment": self = builtIn(name)
    case "owner": self = login { $0.factors = [.deviceOwner] }
    case "owner-first": self = login { $0.factors = [.deviceOwner, .biometry] }
    case "secrets": self = login { $0.factors = [.passcode, .gesture] }
    case "all": self = login { $0.factors = Factor.allCases }
    case "set-only": self = login { $0.requiredKeyProtection = .biometryCurrentSet }
    case "any-bio": self = login { $0.requiredKeyProtection = .biometryAny }
    case "passcode-only": self = login { $0.requiredKeyProtection = .devicePasscode }
    case "any-owner": self = login { $0.requiredKeyProtection = .userPresence }
    case "stateful": self = login { $0.requiresDomainState = true }
    case "careless-payment": self = builtIn("payment").withoutDomainStateSetting
    case "strict": self = login { $0.failuresBeforeLockout = 3 }
    case "patient": self = login { $0.attemptsPerEvaluation = 10 }
    case "two-tries": self = login { $0.attemptsPerEvaluation = 2 }
    case "falling": self = login { $0.fallback = .automatic }
    case "falling-after-two":
      self = login {
        $0.fallback = .automatic
        $0.attemptsPerEvaluation = 2
      }
    case "primary": self = login { $0.factors = [.primary] }
    case "primary-first": self = login { $0.factors = [.primary, .biometry, .passcode] }
    case "short-ladder":
      self = login {
        $0.ladder = Ladder(rungs: [
          .init(failures: 2, effect: .lock(.seconds(30))), .init(failures: 4, effect: .disable),
        ])
      }
    case "secret-payment": self = builtIn("payment").accepting(Factor.allCases)
    default: preconditionFailure("no such policy: \(name)")
    }
  }

  private func accepting(_ factors: [Factor]) -> EvaluationPolicy {
    var policy = self
    policy.factors = factors
    return policy
  }

  private var withoutDomainStateSetting: EvaluationPolicy {
    var policy = self
    policy.requiresDomainState = false
    return policy
  }
}

extension Attempt {
  /// "bio right", "owner wrong", "touch-id right", "primary old", "report -3", "report ?".
  /// Passcode and gesture here are key proofs of what no key proves: the real ones have two phases.
  init(table text: String) {
    let words = text.words
    switch words[0] {
    case "report": self = .report(LAErrorCode(table: words[1]))
    case "touch-id": self = .profileTouchID(isValid: words[1] == "right")
    case "primary" where words[1] != "right":
      self = .primary(words[1] == "fresh" ? .fresh : words[1] == "old" ? .tooOld : .inFuture)
    default: self = .key(factor: Factor(table: words[0]), isValid: words[1] == "right")
    }
  }
}

extension Factor {
  static let tableNames: [(String, Factor)] = [
    ("bio", .biometry), ("owner", .deviceOwner), ("passcode", .passcode), ("gesture", .gesture), ("passkey", .passkey),
    ("primary", .primary),
  ]

  init(table name: String) {
    self = Self.tableNames.first { $0.0 == name }!.1
  }

  /// "bio,owner"; "-": none.
  static func list(table text: String) -> [Factor] {
    text == "-" ? [] : text.split(separator: ",").map { Factor(table: String($0)) }
  }
}

extension LAErrorCode {
  /// "-8"; "?" for none that is known.
  init?(table text: String) {
    if text == "?" { return nil }
    self.init(rawValue: Int32(text)!)!
  }
}

extension DomainStateVerdict {
  /// "." for none.
  init?(table name: String) {
    let names: [String: DomainStateVerdict] = [
      "never": .neverRecorded, "same": .unchanged, "unknown": .unknownWhileLocked, "changed": .changed,
      "changed-os": .changedWithOS,
    ]
    if name == "." { return nil }
    self = names[name]!
  }
}

extension Outcome {
  init(table name: String) {
    self = Outcome.allCases.first { "\($0)" == name }!
  }
}
