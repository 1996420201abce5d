// Events of an account outside of evaluations: secrets and switches, bindings, the domain state.

import TouchstonePolicy

enum AccountAttempt: Sendable {
  /// "choose passcode 1234": whether it is an acceptable secret.
  case choose(Choice)
  /// "set passcode, old right", "erase gesture, primary 4m old": also a first secret.
  case change(Change)
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

  struct Change: Sendable {
    var factor = Factor.passcode
    var isErasure = false
    var authority = Authority.none
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

  struct Evidence: Sendable {
    var login = LoginAge(age: .zero)
    var isPrimary = false
    /// These two are about a token.
    var isForBinding = true
    var isByBiometrics = false
  }

  /// The account's names, another account's, and the device's: for values that must not be guessable (R30).
  static let profileID = "alice"
  static let otherProfileID = "bob"
  static let deviceID = "phone-7"

  static let forms = [
    AttemptForm(
      AccountAttempt?.none,
      [
        .init("choose passcode {1234}", .word) { $0 = .choose(.passcode($1)) },
        .init("choose gesture {0 1 2 5}", .numbers) { $0 = .choose(.gesture($1)) },
        .init("choose profile_touch_id {alice-0123456789}", .bytes) { $0 = .choose(.profileTouchID($1)) },
        .init("switch {gesture} on", .factor) { $0 = .turn($1, isOn: true) },
        .init("switch {gesture} off", .factor) { $0 = .turn($1, isOn: false) },
        .init("prefer nothing") { $0 = .prefer(nil) },
        .init("prefer {gesture}", .factor) { $0 = .prefer($1) },
      ]
    ) { $0.map { .account($0) } },
    AttemptForm(
      Change(),
      [
        .init("set {passcode}", .secret) { $0.factor = $1 },
        .init("erase {passcode}", .secret) { ($0.factor, $0.isErasure) = ($1, true) },
      ],
      details: [
        .init("old right") { $0.authority = .old(isRight: true) },
        .init("old wrong") { $0.authority = .old(isRight: false) },
        .init("primary {4m old}", .age) { $0.authority = .primary($1) },
      ], most: 1
    ) { .account(.change($0)) },
    AttemptForm(
      LoginAge(age: .zero), [.init("begin_binding") { _ in }], second: [.init("primary {4m old}", .age) { $0 = $1 }]
    ) { .account(.beginBinding($0)) },
    AttemptForm(
      Completion(), [.init("complete_binding") { _ in }],
      details: [
        .init("bindings {16}", .number) { $0.bindings = Int($1) },
        .init("device_of same") { $0.owner = profileID },
        .init("device_of other") { $0.owner = otherProfileID },
        .init("replace_existing") { $0.replacesExisting = true },
        .init("older_than_lock") { $0.isOlderThanLock = true },
        .init("by_profile_touch_id") { $0.isByProfileTouchID = true },
      ]
    ) { .account(.completeBinding($0)) },
    AttemptForm(
      Evidence(), [.init("accept_state") { _ in }],
      second: [
        .init("token {4m old}", .age) { $0.login = $1 },
        .init("primary {4m old}", .age) { ($0.login, $0.isPrimary) = ($1, true) },
      ],
      details: [
        .init("of_another") { $0.isForBinding = false },
        .init("by_biometry") { $0.isByBiometrics = true },
      ]
    ) { $0.isPrimary && ($0.isByBiometrics || !$0.isForBinding) ? nil : .account(.acceptState($0)) },
  ]
}

/// How long ago the login was; negative if the caller's clock runs ahead.
struct LoginAge: Sendable {
  let age: Duration
}

// MARK: Values

extension PhraseValue<[UInt32]> {
  fileprivate static var numbers: Self {
    Self { (phrase, place) throws(TableError) in
      var numbers: [UInt32] = []
      for word in phrase.words.dropFirst(place) { numbers.append(try phrase.number(word)) }
      return numbers
    }
  }
}

extension PhraseValue<[UInt8]> {
  /// A word's bytes, or those that it has in hexadecimal digits: "hex:000102".
  fileprivate static var bytes: Self {
    Self { (phrase, place) throws(TableError) in
      let text = phrase.words[place]
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
}

extension Phrase {
  func secretFactor(_ word: String) throws(TableError) -> Factor {
    let factor = try factor(word)
    guard factor == .passcode || factor == .gesture else { throw error("must be passcode or gesture") }
    return factor
  }
}
