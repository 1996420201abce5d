// Keys: who opens them, what destroys them.

import Crypto
import SimulatedPhone
import Testing

@Suite("Keys")
struct KeyTests {
  private let phone = Phone.owned()

  private static let message = Array("challenge".utf8)

  private func isValid(_ signature: [UInt8], of key: Phone.Key) throws -> Bool {
    try P256.Signing.PublicKey(x963Representation: key.publicKeyX963)
      .isValidSignature(.init(derRepresentation: signature), for: Self.message)
  }

  @Test(
    "Each protection opens to its factors",
    arguments: Phone.KeyProtection.allCases, [Phone.Presentation.thumb, .rightPasscode])
  func factors(protection: Phone.KeyProtection, presentation: Phone.Presentation) throws {
    let key = try phone.makeKey(protection: protection, application: Phone.shop)
    if protection.factors.contains(presentation.factor) {
      #expect(try isValid(phone.sign(Self.message, with: key, presenting: presentation), of: key))
    } else {
      #expect(throws: Phone.SigningError.notAuthenticated(.authenticationFailed)) {
        try phone.sign(Self.message, with: key, presenting: presentation)
      }
    }
  }

  @Test("Nobody else opens one", arguments: Phone.KeyProtection.allCases)
  func strangers(protection: Phone.KeyProtection) throws {
    let key = try phone.makeKey(protection: protection, application: Phone.shop)
    for presentation in [Phone.Presentation.stranger, .wrongPasscode] {
      #expect(throws: Phone.SigningError.notAuthenticated(.authenticationFailed)) {
        try phone.sign(Self.message, with: key, presenting: presentation)
      }
    }
  }

  @Test(
    "Any change of fingers destroys those of the current set for good, and no others",
    arguments: Phone.KeyProtection.allCases, [true, false])
  func currentSet(protection: Phone.KeyProtection, isAddition: Bool) throws {
    let phone = Phone.owned(enrolled: ["thumb", "index"])
    let key = try phone.makeKey(protection: protection, application: Phone.shop)
    // There and back: the domain state is as before, and yet the key is gone.
    if isAddition {
      phone.enroll("middle")
      phone.remove("middle")
    } else {
      phone.remove("index")
      phone.enroll("index")
    }
    let presentation: Phone.Presentation = protection.factors.contains(.biometry) ? .thumb : .rightPasscode
    if protection == .biometryCurrentSet {
      #expect(throws: Phone.SigningError.keyNotFound) {
        try phone.sign(Self.message, with: key, presenting: presentation)
      }
    } else {
      #expect(try isValid(phone.sign(Self.message, with: key, presenting: presentation), of: key))
    }
  }

  @Test("What changes no finger destroys no key")
  func unchangedSet() throws {
    let key = try phone.makeKey(protection: .biometryCurrentSet, application: Phone.shop)
    #expect(!phone.enroll("thumb"))
    #expect(!phone.remove("index"))
    phone.setPasscode("1379")
    phone.upgrade(to: .init(17))
    #expect(try isValid(phone.sign(Self.message, with: key, presenting: .thumb), of: key))
  }

  @Test("Without a passcode there are no keys", arguments: Phone.KeyProtection.allCases)
  func passcodeRemoved(protection: Phone.KeyProtection) throws {
    let key = try phone.makeKey(protection: protection, application: Phone.shop)
    phone.setPasscode(nil)
    #expect(throws: Phone.Failure.passcodeNotSet) {
      try phone.makeKey(protection: protection, application: Phone.shop)
    }
    phone.setPasscode("2580")
    #expect(throws: Phone.SigningError.keyNotFound) {
      try phone.sign(Self.message, with: key, presenting: .rightPasscode)
    }
  }

  @Test("A key of the current set needs a set")
  func nothingEnrolled() throws {
    let phone = Phone.owned(enrolled: [])
    #expect(throws: Phone.Failure.biometryNotEnrolled) {
      try phone.makeKey(protection: .biometryCurrentSet, application: Phone.shop)
    }
    let key = try phone.makeKey(protection: .biometryAny, application: Phone.shop)
    phone.enroll("thumb")
    #expect(try isValid(phone.sign(Self.message, with: key, presenting: .thumb), of: key))
  }

  @Test("A destroyed key asks nobody, so nothing is counted")
  func noPromptForNothing() throws {
    let key = try phone.makeKey(protection: .biometryAny, application: Phone.shop)
    phone.deleteKey(key)
    for _ in 0..<10 {
      #expect(throws: Phone.SigningError.keyNotFound) {
        try phone.sign(Self.message, with: key, presenting: .stranger)
      }
    }
    #expect(phone.obstacle(to: .deviceOwnerAuthenticationWithBiometrics) == nil)
  }

  @Test("A locked sensor opens nothing; the passcode opens it again")
  func lockout() throws {
    let biometric = try phone.makeKey(protection: .biometryCurrentSet, application: Phone.shop)
    let owner = try phone.makeKey(protection: .userPresence, application: Phone.shop)
    for _ in 0..<5 { phone.unlock(presenting: .stranger) }
    #expect(throws: Phone.SigningError.notAuthenticated(.biometryLockout)) {
      try phone.sign(Self.message, with: biometric, presenting: .thumb)
    }
    #expect(try isValid(phone.sign(Self.message, with: owner, presenting: .rightPasscode), of: owner))
    #expect(try isValid(phone.sign(Self.message, with: biometric, presenting: .thumb), of: biometric))
  }

  @Test("An evaluation opens keys of the same app on the same phone, by a factor that they take")
  func afterAuthentication() async throws {
    let phone = Phone.owned(person: .presenting(.thumb))
    let key = try phone.makeKey(protection: .biometryAny, application: Phone.shop)
    let authentication = try await phone.evaluate(.biometrics).get()
    #expect(try isValid(phone.sign(Self.message, with: key, after: [authentication]), of: key))

    let refusal = Phone.SigningError.notAuthenticated(.authenticationFailed)
    let foreign = try phone.makeKey(protection: .biometryAny, application: Phone.bank)
    #expect(throws: refusal) { try phone.sign(Self.message, with: foreign, after: [authentication]) }
    let byPasscode = try phone.makeKey(protection: .devicePasscode, application: Phone.shop)
    #expect(throws: refusal) { try phone.sign(Self.message, with: byPasscode, after: [authentication]) }
    let another = Phone.owned()
    let anothersKey = try another.makeKey(protection: .biometryAny, application: Phone.shop)
    #expect(throws: refusal) { try another.sign(Self.message, with: anothersKey, after: [authentication]) }
    #expect(throws: Phone.SigningError.keyNotFound) {
      try another.sign(Self.message, with: key, after: [authentication])
    }
  }

  // MARK: Combined conditions

  @Test("Where any condition is enough, each opens the key, and it outlives the current set by the others")
  func anyCondition() throws {
    let key = try phone.makeKey(
      accessControl: .init([.biometryCurrentSet, .devicePasscode]), application: Phone.shop)
    #expect(key.accessControl.factors == [.biometry, .passcode])
    for presentation in [Phone.Presentation.thumb, .rightPasscode] {
      #expect(try isValid(phone.sign(Self.message, with: key, presenting: presentation), of: key))
    }
    phone.enroll("index")
    #expect(throws: Phone.SigningError.notAuthenticated(.authenticationFailed)) {
      try phone.sign(Self.message, with: key, presenting: .thumb)
    }
    #expect(try isValid(phone.sign(Self.message, with: key, presenting: .rightPasscode), of: key))
  }

  @Test("Where all conditions are needed, one attempt is not enough, and one dead condition destroys the key")
  func allConditions() async throws {
    let phone = Phone.owned(person: .presenting(.thumb, passcode: "2580"))
    let control = Phone.AccessControl([.biometryCurrentSet, .devicePasscode], combination: .all)
    let key = try phone.makeKey(accessControl: control, application: Phone.shop)
    for presentation in [Phone.Presentation.thumb, .rightPasscode] {
      #expect(throws: Phone.SigningError.notAuthenticated(.authenticationFailed)) {
        try phone.sign(Self.message, with: key, presenting: presentation)
      }
    }
    #expect(phone.demand(of: key, after: []) == .deviceOwnerAuthenticationWithBiometrics)
    let finger = try await phone.evaluate(.biometrics).get()
    #expect(phone.demand(of: key, after: [finger]) == .devicePasscode)
    let passcode = try await phone.evaluate(.devicePasscode).get()
    #expect(phone.demand(of: key, after: [finger, passcode]) == nil)
    #expect(try isValid(phone.sign(Self.message, with: key, after: [passcode, finger]), of: key))

    phone.enroll("index")
    #expect(throws: Phone.SigningError.keyNotFound) {
      try phone.sign(Self.message, with: key, after: [finger, passcode])
    }
  }

  @Test("What leaves no choice is asked first: it may meet the rest")
  func order() throws {
    let control = Phone.AccessControl([.userPresence, .devicePasscode], combination: .all)
    let key = try phone.makeKey(accessControl: control, application: Phone.shop)
    #expect(phone.demand(of: key, after: []) == .devicePasscode)
    #expect(try isValid(phone.sign(Self.message, with: key, presenting: .rightPasscode), of: key))
  }

  @Test("A key without conditions opens to anybody, also without a passcode on the phone")
  func withoutConditions() throws {
    let phone = Phone()
    let key = try phone.makeKey(accessControl: .init(), application: Phone.shop)
    #expect(phone.demand(of: key, after: []) == nil)
    #expect(try isValid(phone.sign(Self.message, with: key, after: []), of: key))
  }

  @Test("One seed gives the same keys and states, another gives others")
  func seeds() throws {
    func make(_ seed: UInt64) throws -> [[UInt8]?] {
      let phone = Phone.owned(seed: seed)
      let key = try phone.makeKey(protection: .biometryAny, application: Phone.shop)
      return [key.publicKeyX963, phone.domainState(for: Phone.shop)]
    }
    #expect(try make(7) == make(7))
    #expect(try Set(make(7)).isDisjoint(with: make(8)))
  }
}
