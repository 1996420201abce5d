// Events of an account outside of evaluations: secrets and switches, bindings, the domain state.

import TouchstonePolicy

enum AccountAttempt: Sendable {
  /// "choose passcode 1234": whether it is an acceptable secret.
  case choose(Choice)
  /// "set passcode, old right", "erase gesture, primary 4m old": also a first secret.
  case change(Factor, isErasure: Bool, Authority)
  /// "switch gesture off".
  case turn(Factor, isOn: Bool)
  /// "prefer gesture".
  case prefer(Factor?)
  /// "begin_binding, primary 4m old".
  case beginBinding(LoginAge)
  /// "complete_binding, bindings 16".
  case completeBinding(Completion)
  /// "accept_state, token 4m old".
  case acceptState(Evidence)

  enum Choice: Sendable {
    case passcode(String)
    case gesture([UInt32])
    case profileTouchID([UInt8])
  }

  enum Authority: Sendable {
    case none
    case old(isRight: Bool)
    case primary(LoginAge)
  }

  struct Completion: Sendable {
    var bindings = 0
    /// The profile of the device's binding until now.
    var owner: String?
    var replacesExisting = false
    /// The device's own binding is from before its lock (R12).
    var isOlderThanLock = false
    var isByProfileTouchID = false
  }

  enum Evidence: Sendable {
    case token(LoginAge, isForBinding: Bool, isByBiometrics: Bool)
    case primary(LoginAge)
  }

  /// The account's names, another account's, and the device's: for values that must not be guessable (R30).
  static let profileID = "alice"
  static let otherProfileID = "bob"
  static let deviceID = "phone-7"

  static let vocabulary = [
    "choose passcode 1234", "choose gesture 0 1 2 5", "choose profile_touch_id alice-0123456789",
    "choose profile_touch_id hex:000102030405060708090a0b0c0d0e0f", "set passcode", "set passcode, old right",
    "set gesture, old wrong", "set passcode, primary 4m old", "erase passcode, old right", "switch gesture off",
    "switch passcode on", "prefer gesture", "prefer nothing", "begin_binding, primary 4m old", "complete_binding",
    "complete_binding, bindings 16", "complete_binding, device_of same", "complete_binding, device_of other",
    "complete_binding, device_of other, replace_existing", "complete_binding, device_of same, older_than_lock",
    "complete_binding, by_profile_touch_id", "accept_state, token 4m old",
    "accept_state, token 4m old, of_another", "accept_state, token 4m old, by_biometry",
    "accept_state, primary 4m old",
  ]
}

/// How long ago the login was; negative if the caller's clock runs ahead.
struct LoginAge: Sendable {
  let age: Duration
}

// MARK: Reading

extension AccountAttempt {
  /// `nil` if the first phrase is none of these.
  init?(_ phrases: [Phrase]) throws(TableError) {
    let phrase = phrases[0]
    let details = phrases.dropFirst()
    switch phrase.words[0] {
    case "choose": self = .choose(try Choice(phrase, details))
    case "set", "erase":
      guard phrase.words.count == 2 else { throw phrase.unknown("attempt", vocabulary: Self.vocabulary) }
      let factor = try phrase.secretFactor(phrase.words[1])
      self = .change(factor, isErasure: phrase.words[0] == "erase", try Authority(details))
    case "switch", "prefer":
      try details.refuseAll()
      self = try Self.setting(phrase)
    case "begin_binding":
      guard let login = details.first else {
        throw phrase.error("the login is missing: \"begin_binding, primary 4m old\"")
      }
      try details.dropFirst().refuseAll()
      self = .beginBinding(try LoginAge(login, of: "primary"))
    case "complete_binding": self = .completeBinding(try Completion(details))
    case "accept_state":
      guard let evidence = details.first else {
        throw phrase.error("the evidence is missing: \"accept_state, token 4m old\"")
      }
      self = .acceptState(try Evidence(evidence, details.dropFirst()))
    default: return nil
    }
  }

  private static func setting(_ phrase: Phrase) throws(TableError) -> AccountAttempt {
    if phrase.words == ["prefer", "nothing"] { return .prefer(nil) }
    if let factor = phrase.argument(after: "prefer") { return .prefer(try phrase.factor(factor)) }
    guard phrase.words.count == 3, phrase.words[0] == "switch", ["on", "off"].contains(phrase.words[2]) else {
      throw phrase.unknown("attempt", vocabulary: vocabulary)
    }
    return .turn(try phrase.factor(phrase.words[1]), isOn: phrase.words[2] == "on")
  }
}

extension AccountAttempt.Choice {
  fileprivate init(_ phrase: Phrase, _ details: ArraySlice<Phrase>) throws(TableError) {
    try details.refuseAll()
    if phrase.words.starts(with: ["choose", "gesture"]) {
      var points: [UInt32] = []
      for word in phrase.words.dropFirst(2) { points.append(try phrase.number(word)) }
      self = .gesture(points)
    } else if let passcode = phrase.argument(after: "choose", "passcode") {
      self = .passcode(passcode)
    } else if let text = phrase.argument(after: "choose", "profile_touch_id") {
      self = .profileTouchID(try Self.bytes(text, phrase))
    } else {
      throw phrase.unknown("attempt", vocabulary: AccountAttempt.vocabulary)
    }
  }

  private static func bytes(_ text: String, _ phrase: Phrase) throws(TableError) -> [UInt8] {
    guard text.hasPrefix("hex:") else { return [UInt8](text.utf8) }
    let digits = [UInt8](text.utf8.dropFirst(4))
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 2) {
      let pair = String(decoding: digits[start..<min(start + 2, digits.count)], as: UTF8.self)
      guard pair.utf8.count == 2, pair.utf8.first != UInt8(ascii: "+"), let byte = UInt8(pair, radix: 16) else {
        throw phrase.error("after \"hex:\", each byte has two digits")
      }
      bytes.append(byte)
    }
    return bytes
  }
}

extension AccountAttempt.Authority {
  fileprivate init(_ details: ArraySlice<Phrase>) throws(TableError) {
    guard let phrase = details.first else {
      self = .none
      return
    }
    try details.dropFirst().refuseAll()
    switch phrase.words {
    case ["old", "right"]: self = .old(isRight: true)
    case ["old", "wrong"]: self = .old(isRight: false)
    default: self = .primary(try LoginAge(phrase, of: "primary"))
    }
  }
}

extension AccountAttempt.Completion {
  fileprivate init(_ details: ArraySlice<Phrase>) throws(TableError) {
    for phrase in details {
      if let number = phrase.argument(after: "bindings") {
        bindings = Int(try phrase.number(number))
      } else if phrase.words == ["device_of", "same"] {
        owner = AccountAttempt.profileID
      } else if phrase.words == ["device_of", "other"] {
        owner = AccountAttempt.otherProfileID
      } else if phrase.words == ["replace_existing"] {
        replacesExisting = true
      } else if phrase.words == ["older_than_lock"] {
        isOlderThanLock = true
      } else if phrase.words == ["by_profile_touch_id"] {
        isByProfileTouchID = true
      } else {
        throw phrase.unknown("attempt", vocabulary: AccountAttempt.vocabulary)
      }
    }
  }
}

extension AccountAttempt.Evidence {
  fileprivate init(_ phrase: Phrase, _ details: ArraySlice<Phrase>) throws(TableError) {
    guard phrase.words[0] == "token" else {
      try details.refuseAll()
      self = .primary(try LoginAge(phrase, of: "primary"))
      return
    }
    var isForBinding = true
    var isByBiometrics = false
    for detail in details {
      switch detail.words {
      case ["of_another"]: isForBinding = false
      case ["by_biometry"]: isByBiometrics = true
      default: throw detail.unknown("attempt", vocabulary: AccountAttempt.vocabulary)
      }
    }
    self = .token(
      try LoginAge(phrase, of: "token"), isForBinding: isForBinding, isByBiometrics: isByBiometrics)
  }
}

extension LoginAge {
  /// "primary 4m old", "primary 31s ahead".
  init(_ phrase: Phrase, of kind: String) throws(TableError) {
    guard phrase.words.count == 3, phrase.words[0] == kind, ["old", "ahead"].contains(phrase.words[2]) else {
      throw phrase.error("an age is required, as in \"\(kind) 4m old\" or \"\(kind) 31s ahead\"")
    }
    let duration = try phrase.duration(phrase.words[1])
    age = phrase.words[2] == "old" ? duration : .zero - duration
  }
}

extension ArraySlice<Phrase> {
  func refuseAll() throws(TableError) {
    if let first { throw first.error("that attempt has no further phrases") }
  }
}

extension Phrase {
  func secretFactor(_ word: String) throws(TableError) -> Factor {
    let factor = try factor(word)
    guard factor == .passcode || factor == .gesture else { throw error("must be passcode or gesture") }
    return factor
  }
}
