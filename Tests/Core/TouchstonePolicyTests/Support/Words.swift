// Facts in few words, for worlds and stories. Facts that a text leaves out are as on a healthy iPhone with Touch ID,
// whose binding was completed on iOS 9 with domain state "A".

import TouchstonePolicy

extension DevicePosture {
  /// "9.3 locked", "android-13 no-fingers": the system (iOS where it is a number alone; of version 14 where none is
  /// given), then what differs from a healthy phone.
  init(words text: String) {
    var words = text.words
    let system = words.removeFirst().split(separator: "-", maxSplits: 1)
    let isNumber = system[0].first!.isNumber
    self.init(
      platform: isNumber ? .iOS : Platform(words: String(system[0])),
      osVersion: OSVersion(String(system.last!)) ?? OSVersion(14),
      biometryType: .touchID, isBiometryAvailable: true, isBiometryEnrolled: true, isBiometryLockedOut: false,
      isPasscodeSet: true, domainState: [UInt8]("A".utf8))
    for word in words { apply(word) }
  }

  private mutating func apply(_ word: String) {
    switch word {
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
  fileprivate init(words name: String) {
    let names: [String: Platform] = [
      "iOS": .iOS, "iPadOS": .iPadOS, "macOS": .macOS, "android": .android, "web": .web,
    ]
    self = names[name]!
  }
}

extension BindingStanding {
  /// "set presence no-base": key protections, then what differs. "absent" and "bearer" are evaluations
  /// that name none.
  init(words text: String) {
    if text == "absent" || text == "bearer" {
      self = text == "absent" ? .absent : .bearer
      return
    }
    self.init(
      keyProtections: [], holdsProfileTouchID: false,
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
    case "revoked": state = .revoked
    case "unknown": state = .unknown
    default: preconditionFailure("no such word of a binding: \(word)")
    }
  }
}

extension BiometryStanding {
  /// "3": three failures; "5!": five, and locked.
  init(words text: String) {
    self.init(consecutiveFailures: UInt32(text.filter(\.isNumber))!, isLockedOut: text.hasSuffix("!"))
  }
}

extension EvaluationStanding {
  /// "2": two failures; "3.": three, and finished; "3+1": one more by device owner, counted apart.
  init(words text: String) {
    let counts = text.split(separator: "+").map { UInt32($0.filter(\.isNumber))! }
    self.init(
      failures: counts[0], deviceOwnerFailures: counts.count > 1 ? counts[1] : 0, isFinished: text.hasSuffix("."))
  }
}

extension ProfileStanding {
  /// "passcode=4 gesture prefers-gesture": secrets that are set and on, with their standings, then what differs. "-" is
  /// a profile of which nothing is stored.
  init(words text: String) {
    self.init()
    for word in text.words where word != "-" { apply(word) }
  }

  private mutating func apply(_ word: String) {
    let parts = word.split(separator: "=")
    switch parts[0] {
    case "passcode":
      settings.isPasscodeEnabled = true
      passcode = SecretStanding(words: parts.count > 1 ? String(parts[1]) : "0")
    case "gesture":
      settings.isGestureEnabled = true
      gesture = SecretStanding(words: parts.count > 1 ? String(parts[1]) : "0")
    case "passcode-off": settings.isPasscodeEnabled = false
    case "gesture-off": settings.isGestureEnabled = false
    case "biometry-off": settings.isBiometryEnabled = false
    case "prefers-passcode": settings.preferred = .passcode
    case "prefers-gesture": settings.preferred = .gesture
    default: preconditionFailure("no such word of a profile: \(word)")
    }
  }
}

extension SecretStanding {
  /// "4": four failures; "5!60": five, and locked for a minute from noon on; "10!": disabled; "5!60~1": one of them in
  /// flight since noon.
  init(words text: String) {
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
  init(words name: String) {
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
    case "secrets": self = login { $0.factors = [.passcode, .gesture] }
    case "all": self = login { $0.factors = Factor.allCases }
    case "set-only": self = login { $0.requiredKeyProtection = .biometryCurrentSet }
    case "strict": self = login { $0.failuresBeforeLockout = 3 }
    case "falling-after-two":
      self = login {
        $0.fallback = .automatic
        $0.attemptsPerEvaluation = 2
      }
    default: preconditionFailure("no such policy: \(name)")
    }
  }
}

extension String {
  fileprivate var words: [String] { split(separator: " ").map { String($0) } }
}
