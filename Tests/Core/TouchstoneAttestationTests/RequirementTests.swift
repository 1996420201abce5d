import TestSupport
import Testing

@testable import TouchstoneAttestation

/// An application's demands, and the sound proofs that it refuses.
struct RequirementTests {
  // MARK: Android

  /// A key of a phone that nothing is wrong with.
  struct Phone {
    var level = AttestationLevel.tee
    var bootState: UInt8? = 0
    var locked: UInt8 = 0xFF
    var patchLevel: Int? = 202_511
    var origin: Int? = 0
    var purposes = [2]
    var needsNoAuthentication = false
    var isForAllApplications = false
    var packages = ["org.example.shop"]
    var signers = [RequirementTests.signer]

    static func with(_ change: (inout Phone) -> Void) -> Phone {
      var phone = Phone()
      change(&phone)
      return phone
    }

    func attestation(_ encoding: ProofEncoding = .strict) throws -> AndroidAttestation {
      AndroidAttestation(
        level: level, description: try KeyDescription(description, encoding), subjectPublicKeyInfo: [],
        isRemotelyProvisioned: false, anchor: try TrustAnchors.builtIn().androidHardware[0])
    }

    var description: [UInt8] {
      let says = DER.enumerated(level > .selfAttested ? 1 : 0)
      return DER.sequence(
        DER.integer(300), says, DER.integer(300), says, DER.octets([7]), DER.octets([]), software, hardware)
    }

    private var software: [UInt8] {
      let names = packages.map { DER.sequence(DER.octets(Array($0.utf8)), DER.integer(1)) }
      let application = DER.sequence(DER.set(names), DER.set(signers.map(DER.octets)))
      return DER.sequence(DER.tagged(709, DER.octets(application)))
    }

    private var hardware: [UInt8] {
      var list = DER.tagged(1, DER.set(purposes.map(DER.integer)))
      if needsNoAuthentication { list += DER.tagged(503, DER.null) }
      if isForAllApplications { list += DER.tagged(600, DER.null) }
      if let origin { list += DER.tagged(702, DER.integer(origin)) }
      if let bootState {
        list += DER.tagged(
          704, DER.sequence(DER.octets([1]), DER.boolean(locked), DER.enumerated(bootState), DER.octets([2])))
      }
      if let patchLevel { list += DER.tagged(706, DER.integer(patchLevel)) }
      return DER.sequence(list)
    }
  }

  static let signer = [UInt8](repeating: 1, count: AndroidPackage.signerBytes)
  static let otherSigner = [UInt8](repeating: 2, count: AndroidPackage.signerBytes)
  private static let shop = AndroidPackage(name: "org.example.shop", signers: [signer])
  private static let all = AttestationRequirements(
    demand: .required, minimumLevel: .tee, packages: [shop], oldestPatchLevel: PatchLevel("2025-11-01"))

  @Test func aKeyThatMeetsEachDemandKeepsItsLevel() throws {
    #expect(try Self.all.level(of: Phone().attestation()) == .tee)
    #expect(try Self.all.level(of: Phone.with { $0.level = .strongbox }.attestation()) == .strongbox)
  }

  static let refusedPhones: [(Phone, ProofError.Reason)] = [
    (.with { $0.level = .selfAttested }, .levelTooLow),
    (.with { $0.bootState = 1 }, .bootNotVerified),
    (.with { $0.bootState = 2 }, .bootNotVerified),
    (.with { $0.bootState = 3 }, .bootNotVerified),
    (.with { $0.bootState = nil }, .bootNotVerified),
    (.with { $0.locked = 0 }, .bootloaderUnlocked),
    (.with { $0.patchLevel = 202_510 }, .patchLevelTooOld),
    (.with { $0.patchLevel = 20_251_031 }, .patchLevelTooOld),
    (.with { $0.patchLevel = 0 }, .patchLevelTooOld),
    (.with { $0.patchLevel = nil }, .patchLevelTooOld),
    (.with { $0.packages = ["org.example.shop2"] }, .packageDiffers),
    (.with { $0.packages = [] }, .packageDiffers),
    (.with { $0.signers = [otherSigner] }, .signerDiffers),
    (.with { $0.signers = [signer, otherSigner] }, .signerDiffers),
    (.with { $0.signers = [] }, .signerDiffers),
    (.with { $0.isForAllApplications = true }, .keyUnprotected),
    (.with { $0.origin = 2 }, .keyUnprotected),
    (.with { $0.origin = nil }, .keyUnprotected),
    (.with { $0.purposes = [3] }, .keyUnprotected),
    (.with { $0.needsNoAuthentication = true }, .keyUnprotected),
  ]

  @Test(arguments: refusedPhones)
  func eachDemandRefusesByItsReason(phone: Phone, reason: ProofError.Reason) throws {
    let attestation = try phone.attestation()
    let error = #expect(throws: ProofError.self) { try Self.all.level(of: attestation) }
    #expect(error?.reason == reason)
    // Not looked at, and not believed.
    #expect(try AttestationRequirements(demand: .none).level(of: attestation) == .none)
  }

  @Test func whatIsNotDemandedDoesNotRefuse() throws {
    let phone = Phone.with { phone in
      phone.patchLevel = nil
      phone.packages = ["org.example.other"]
      phone.signers = []
    }
    #expect(try AttestationRequirements(demand: .required).level(of: phone.attestation()) == .tee)
  }

  /// Another package of the same signer, which shares the user id, does not spoil it.
  @Test func onePackageOfSeveralIsEnough() throws {
    let phone = Phone.with { $0.packages = ["org.example.helper", "org.example.shop"] }
    #expect(try Self.all.level(of: phone.attestation()) == .tee)
    // The right name with another one's signer.
    var requirements = Self.all
    requirements.packages.append(AndroidPackage(name: "org.example.bank", signers: [Self.otherSigner]))
    let mixed = try Phone.with { $0.signers = [Self.otherSigner] }.attestation()
    #expect(throws: ProofError.self) { try requirements.level(of: mixed) }
  }

  // MARK: Levels

  @Test func aSoftwareKeyIsRefusedUnlessTheApplicationTakesThem() throws {
    let software = try Phone.with {
      $0.level = .selfAttested; $0.bootState = nil
    }.attestation()
    for demand in [AttestationRequirements.Demand.accepted, .required] {
      let error = #expect(throws: ProofError.self) { try AttestationRequirements(demand: demand).level(of: software) }
      #expect(error?.reason == .levelTooLow)
    }
    #expect(
      try AttestationRequirements(demand: .required, minimumLevel: .selfAttested).level(of: software) == .selfAttested)
  }

  @Test func aKeyWithoutAProofIsRefusedOnlyWhereOneIsRequired() throws {
    for demand in AttestationRequirements.Demand.allCases where demand != .required {
      #expect(try AttestationRequirements(demand: demand).levelOfBareKey() == .none)
    }
    let error = #expect(throws: ProofError.self) { try AttestationRequirements(demand: .required).levelOfBareKey() }
    #expect(error?.reason == .attestationRequired)
  }

  /// Its minimum is what an iPhone can reach.
  @Test(arguments: AttestationLevel.allCases) func anIPhoneReachesApp(minimum: AttestationLevel) throws {
    let attestation = AppAttestation(
      appID: "T.app", keyID: [], publicKey: [], environment: .production, receipt: [], appVersion: nil, category: nil)
    let requirements = AttestationRequirements(demand: .required, minimumLevel: minimum)
    #expect(try requirements.level(of: attestation) == .app)
  }

  @Test func assertionsAreOfTheAppsThatAreNamedNow() {
    let requirements = AttestationRequirements(appIDs: ["T.app"])
    #expect(throws: Never.self) { try requirements.checkAppAttestKey(of: "T.app", in: .production) }
    #expect(throws: ProofError(.applicationDiffers, "the assertion is of another app")) {
      try requirements.checkAppAttestKey(of: "T.other", in: .production)
    }
    #expect(throws: ProofError(.environmentDiffers, "the key was attested in another environment")) {
      try requirements.checkAppAttestKey(of: "T.app", in: .development)
    }
  }

  // MARK: Encoding

  @Test func aBooleanThatIsNotDERIsASetting() throws {
    let phone = Phone.with { $0.locked = 1 }
    #expect(throws: ProofError(.malformedKeyDescription, "a boolean that is neither 00 nor FF")) {
      try phone.attestation()
    }
    #expect(try phone.attestation(.tolerant).description.hardware.rootOfTrust?.isLocked == true)
    #expect(try Phone.with { $0.locked = 0 }.attestation(.tolerant).description.hardware.rootOfTrust?.isLocked == false)
  }

  // MARK: Passkeys

  private static let model = [UInt8](repeating: 5, count: PasskeyRequirements.aaguidBytes)

  private static func registration(
    _ level: AttestationLevel, anchor: String? = nil, isBackupEligible: Bool = false, android: AndroidAttestation? = nil
  ) -> PasskeyRegistration {
    PasskeyRegistration(
      level: level, format: "", anchor: anchor, android: android, credentialID: [], publicKey: [], algorithm: -7,
      p256Point: nil, aaguid: model, signCount: 0, isBackupEligible: isBackupEligible, isBackedUp: false)
  }

  private static func passkeys(
    _ demand: AttestationRequirements.Demand, minimum: AttestationLevel? = nil, deviceBound: Bool = false,
    models: Set<[UInt8]>? = nil
  ) -> AttestationRequirements {
    AttestationRequirements(
      demand: demand, minimumLevel: minimum,
      passkeys: PasskeyRequirements(
        rpID: "example.org", origins: ["https://example.org"], requiresDeviceBoundKeys: deviceBound, aaguids: models))
  }

  @Test func passkeysAreJudgedByTheirLevel() throws {
    let trusted = Self.registration(.tee, anchor: "CN=Root")
    // The highest level of an authenticator that is no Android phone.
    #expect(try Self.passkeys(.required, minimum: .strongbox).level(of: trusted) == .tee)
    #expect(try Self.passkeys(.accepted).level(of: Self.registration(.none)) == .none)
    #expect(try Self.passkeys(.accepted).level(of: Self.registration(.selfAttested)) == .selfAttested)
    #expect(try Self.passkeys(.none).level(of: trusted) == .none)
    expect(.attestationRequired) { try Self.passkeys(.required).level(of: Self.registration(.none)) }
    expect(.levelTooLow) { try Self.passkeys(.required).level(of: Self.registration(.selfAttested)) }
  }

  @Test func anAndroidPhonesPasskeyIsJudgedByThePhone() throws {
    let unlocked = try Phone.with { $0.locked = 0 }.attestation()
    expect(.bootloaderUnlocked) {
      try Self.passkeys(.accepted).level(of: Self.registration(.tee, anchor: "", android: unlocked))
    }
    let phone = try Phone().attestation()
    expect(.levelTooLow) {
      try Self.passkeys(.required, minimum: .strongbox).level(of: Self.registration(.tee, anchor: "", android: phone))
    }
    // Its app is the passkey provider.
    var requirements = Self.passkeys(.required)
    requirements.packages = [AndroidPackage(name: "org.example.bank", signers: [Self.signer])]
    #expect(try requirements.level(of: Self.registration(.tee, anchor: "", android: phone)) == .tee)
  }

  @Test func aKeyThatMayBeCopiedIsRefusedWhereItMustNotBe() throws {
    let copied = Self.registration(.none, isBackupEligible: true)
    expect(.keyNotDeviceBound) { try Self.passkeys(.accepted, deviceBound: true).level(of: copied) }
    expect(.keyNotDeviceBound) { try Self.passkeys(.none, deviceBound: true).level(of: copied) }
    #expect(try Self.passkeys(.accepted).level(of: copied) == .none)
    let login = PasskeyAssertion(signCount: 0, isUserVerified: true, isBackupEligible: true, isBackedUp: false)
    expect(.keyNotDeviceBound) {
      try Self.passkeys(.accepted, deviceBound: true).check(login)
      return .none
    }
    #expect(throws: Never.self) { try Self.passkeys(.accepted).check(login) }
  }

  @Test func aModelCountsIfACertificateVouchesForIt() throws {
    let trusted = Self.registration(.tee, anchor: "CN=Root")
    #expect(try Self.passkeys(.accepted, models: [Self.model]).level(of: trusted) == .tee)
    expect(.authenticatorNotAllowed) { try Self.passkeys(.accepted, models: [Self.signer]).level(of: trusted) }
    for level in [AttestationLevel.none, .selfAttested] {
      expect(.authenticatorNotAllowed) {
        try Self.passkeys(.accepted, models: [Self.model]).level(of: Self.registration(level))
      }
    }
  }

  @Test func passkeysNeedARelyingParty() throws {
    let error = #expect(throws: ProofError.self) { try AttestationRequirements().passkey(challenge: []) }
    #expect(error?.reason == .passkeysNotServed)
    #expect(try Self.passkeys(.accepted).passkey(challenge: []).readsStatement)
    #expect(try !Self.passkeys(.none).passkey(challenge: []).readsStatement)
  }

  private func expect(
    _ reason: ProofError.Reason, _ judge: () throws -> AttestationLevel, at location: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: ProofError.self, sourceLocation: location) { try judge() }
    #expect(error?.reason == reason, sourceLocation: location)
  }

  // MARK: Patch levels

  @Test(arguments: [
    ("2025-11-01", "2025-11-01"), ("2025-12-31", "2025-12-31"), ("2025-11", nil), ("2025-13-01", nil),
    ("2025-00-01", nil), ("2025-11-32", nil), ("2025-11-1", nil), ("20251101", nil), ("2025-11-01-", nil),
    ("+025-11-01", nil), ("２025-11-01", nil), ("", nil),
  ])
  func patchLevelsAreDates(text: String, printed: String?) {
    #expect(PatchLevel(text)?.description == printed)
  }

  /// A month may be any of its days, so it counts as the first.
  @Test func aMonthIsItsFirstDay() throws {
    let fifth = try #require(PatchLevel("2025-11-05"))
    #expect(PatchLevel(attested: 202_511) < fifth)
    #expect(PatchLevel(attested: 20_251_105) == fifth)
    #expect(PatchLevel(attested: 202_512) > fifth)
    #expect(PatchLevel(attested: Int.max) > fifth)
  }
}
