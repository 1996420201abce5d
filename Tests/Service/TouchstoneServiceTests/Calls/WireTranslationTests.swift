import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Every word of the rules has its word on the wire, and what is no word stays out.
struct WireTranslationTests {
  // MARK: Enumerations

  private static let factors: [(Factor, V1.Factor)] = [
    (.biometry, .biometry), (.deviceOwner, .deviceOwner), (.passcode, .passcode), (.gesture, .gesture),
    (.passkey, .passkey), (.primary, .primary),
  ]

  @Test func factorsBothWays() {
    #expect(Self.factors.map(\.0) == Factor.allCases)
    for (factor, wire) in Self.factors {
      #expect(V1.Factor(factor) == wire)
      #expect(Factor(wire) == factor)
    }
    for raw: Int32 in [0, 7, 257, -1, .min, .max] { #expect(Factor(V1.Factor(rawValue: raw)) == nil) }
  }

  @Test func keyProtectionsBothWays() {
    let protections: [(KeyProtection, V1.KeyProtection)] = [
      (.biometryCurrentSet, .biometryCurrentSet), (.biometryAny, .biometryAny), (.userPresence, .userPresence),
      (.devicePasscode, .devicePasscode),
    ]
    #expect(protections.map(\.0) == KeyProtection.allCases)
    for (protection, wire) in protections {
      #expect(KeyProtection(wire) == protection)
      let binding = V1.Binding(.sample(.hardwareKeys([.init(publicKey: [], protection: protection)])))
      #expect(binding.protections == [wire])
    }
    for raw: Int32 in [0, 5, 257, -1, .min, .max] { #expect(KeyProtection(V1.KeyProtection(rawValue: raw)) == nil) }
  }

  @Test func biometryTypesBothWays() throws {
    let types: [(BiometryType, V1.BiometryType)] = [
      (.unspecified, .unspecified), (.none, .none), (.touchID, .touchID), (.faceID, .faceID), (.opticID, .opticID),
      (.voice, .voice),
    ]
    #expect(types.map(\.0) == BiometryType.allCases)
    for (type, wire) in types {
      var validator = RequestValidator()
      #expect(validator.posture(.healthy.with { $0.biometryType = wire }).biometryType == type)
      try validator.finish()
      #expect(V1.Binding(.sample(biometryType: type)).biometryType == wire)
    }
  }

  @Test func platformsByName() {
    #expect(Platform.wireNames.map { Platform(wireName: $0) } == [.iOS, .iPadOS, .macOS, .visionOS, .android, .web])
    #expect(
      Platform.wireNames.map { Platform(wireName: $0.uppercased()) } == [
        .iOS, .iPadOS, .macOS, .visionOS, .android, .web,
      ])
    #expect(
      ["iOS", "iPadOS", "macOS", "visionOS", "Android", "Web"].map { Platform(wireName: $0) } == [
        .iOS, .iPadOS, .macOS, .visionOS, .android, .web,
      ])
    for name in ["", "ios ", "tvos", "ios\0", "\u{131}OS", "androids", String(repeating: "ios", count: 9)] {
      #expect(Platform(wireName: name) == nil)
    }
  }

  @Test func errorsAreApplesNumbers() {
    for code in LAErrorCode.allCases {
      #expect(V1.LAError(code).rawValue == code.rawValue)
      #expect(LAErrorCode(rawValue: V1.LAError(code).rawValue) == code)
    }
    #expect(V1.LAError(nil) == .unspecified)
    #expect(V1.LAError(.notInteractive) == .notInteractive)
  }

  @Test func outcomes() {
    let outcomes: [V1.Outcome] = [
      .succeeded, .tryAgain, .failed, .canceled, .fallback, .lockedOut, .factorRequired, .invalidContext,
    ]
    #expect(Outcome.allCases.map { V1.Outcome($0) } == outcomes)
  }

  @Test func domainStateVerdicts() {
    let verdicts: [V1.DomainStateVerdict] = [.neverRecorded, .unchanged, .unknownWhileLocked, .changed, .changedWithOS]
    #expect(DomainStateVerdict.allCases.map { V1.DomainStateVerdict($0) } == verdicts)
    #expect(V1.DomainStateVerdict(nil) == .unspecified)
  }

  // R19: over every outcome with every code.
  @Test func fivePlainResults() {
    let named: [LAErrorCode: V1.Result] = [
      .authenticationFailed: .failed, .userCancel: .cancel, .userFallback: .fallback,
    ]
    for outcome in Outcome.allCases {
      for code in LAErrorCode.allCases.map(Optional.some) + [nil] {
        let expected = outcome == .succeeded ? .success : code.flatMap { named[$0] } ?? .other
        #expect(V1.Result(outcome: outcome, code: code) == expected, "\(outcome) \(String(describing: code))")
      }
    }
  }

  // MARK: Time

  private static let times: [(Int64, V1.Timestamp)] = [
    (0, V1.Timestamp(seconds: 0, nanoseconds: 0)), (1, V1.Timestamp(seconds: 0, nanoseconds: 1_000)),
    (1_700_000_000_123_456, V1.Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_000)),
    (-1, V1.Timestamp(seconds: -1, nanoseconds: 999_999_000)),
    (-1_000_000, V1.Timestamp(seconds: -1, nanoseconds: 0)),
    (-62_135_596_800_000_000, V1.Timestamp(seconds: -62_135_596_800, nanoseconds: 0)),
    (253_402_300_799_999_999, V1.Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_000)),
  ]

  @Test(arguments: times)
  func timestampsBothWays(_ microseconds: Int64, _ timestamp: V1.Timestamp) {
    #expect(V1.Timestamp(UnixTime(microseconds: microseconds)) == timestamp)
    #expect(UnixTime(timestamp)?.microseconds == microseconds)
  }

  @Test(arguments: [
    V1.Timestamp(seconds: -62_135_596_801, nanoseconds: 999_999_999),
    V1.Timestamp(seconds: 253_402_300_800, nanoseconds: 0), V1.Timestamp(seconds: .min, nanoseconds: 0),
    V1.Timestamp(seconds: .max, nanoseconds: 999_999_999), V1.Timestamp(seconds: 0, nanoseconds: -1),
    V1.Timestamp(seconds: 0, nanoseconds: 1_000_000_000), V1.Timestamp(seconds: 0, nanoseconds: .min),
    V1.Timestamp(seconds: 0, nanoseconds: .max),
  ])
  func timestampsOutOfRange(_ timestamp: V1.Timestamp) {
    #expect(UnixTime(timestamp) == nil)
    var validator = RequestValidator()
    _ = validator.time(timestamp, "primary.authenticated_at")
    #expect(validator.violations.map(\.field) == ["primary.authenticated_at"])
  }

  @Test(arguments: [
    (Duration.seconds(60), V1.Duration(seconds: 60, nanoseconds: 0)),
    (.milliseconds(1_500), V1.Duration(seconds: 1, nanoseconds: 500_000_000)),
    (.nanoseconds(1), V1.Duration(seconds: 0, nanoseconds: 1)), (.zero, V1.Duration(seconds: 0, nanoseconds: 0)),
    // Both parts have one sign, as in google/protobuf/duration.proto.
    (.milliseconds(-1_500), V1.Duration(seconds: -1, nanoseconds: -500_000_000)),
  ])
  func durations(_ duration: Duration, _ wire: V1.Duration) {
    #expect(V1.Duration(duration) == wire)
  }

  // MARK: Records

  @Test func aBindingShowsNothingOfItsCredential() {
    let record = BindingRecord.sample(.profileTouchID(digest: [UInt8](repeating: 7, count: 32)))
    #expect(
      V1.Binding(record)
        == V1.Binding(
          bindingID: "b-1", applicationID: "com.example.bank", profileID: "alice", deviceID: "phone-1-5f9c27e8ab4d6b",
          deviceName: "Alice’s iPhone", credential: .profileTouchID, state: .active,
          createdAt: V1.Timestamp(seconds: 1_700_000_000, nanoseconds: 0), biometryType: .touchID,
          attestationLevel: .none))
    var used = record
    used.isRevoked = true
    used.baseline = DomainStateBaseline(domainState: [1], osMajorVersion: 17)
    used.lastUsedAt = UnixTime(seconds: 1)
    let wire = V1.Binding(used)
    #expect(wire.state == .revoked)
    #expect(wire.domainStateRecorded)
    #expect(wire.lastUsedAt == V1.Timestamp(seconds: 1, nanoseconds: 0))
  }

  @Test func anEventKeepsAllItsFields() {
    let draft = EventDraft(
      time: UnixTime(seconds: 1), kind: "token.refused", applicationID: "a", profileID: "p", deviceID: "d",
      bindingID: "b", caller: "c", details: [EventDetail(key: "reason", value: "EXPIRED")])
    #expect(
      V1.Event(EventRecord(sequence: 9, content: .whole(draft, salt: .random()), hash: [1, 2]))
        == V1.Event(
          sequence: 9, time: V1.Timestamp(seconds: 1, nanoseconds: 0), kind: "token.refused", applicationID: "a",
          profileID: "p", deviceID: "d", bindingID: "b", caller: "c", details: ["reason": "EXPIRED"], hash: [1, 2]))
  }

  // R20
  @Test func aDenialCarriesCodeReasonDelayAndMessage() {
    for reason in Denial.Reason.allCases {
      let denial = Denial(code: .biometryLockout, reason: reason, retryAfter: .seconds(60))
      let wire = V1.Denial(denial, biometry: .faceID, in: .simplifiedChinese)
      #expect(wire.laError == .biometryLockout)
      #expect(wire.reason == reason.rawValue)
      #expect(wire.retryAfter == V1.Duration(seconds: 60, nanoseconds: 0))
      let message = Message(denial, biometry: .faceID, in: .simplifiedChinese)
      #expect(wire.message == V1.LocalizedText(locale: "zh-Hans", text: message.text))
    }
  }

  // R18, R20
  @Test(arguments: [
    (Presentation.FallbackTitle.standard, Language.english, "Enter Password"),
    (.standard, .simplifiedChinese, "输入密码"), (.text("PIN"), .simplifiedChinese, "PIN"), (.hidden, .english, ""),
  ])
  func theFallbackTitleIsInThePersonsLanguage(
    _ title: Presentation.FallbackTitle, _ language: Language, _ expected: String
  ) {
    let presentation = V1.Presentation(
      Presentation(fallbackTitle: title, isFallbackVisible: true, cancelTitle: nil), localizedReason: "Log in",
      in: language)
    #expect(
      presentation
        == V1.Presentation(
          fallbackTitle: expected, fallbackVisible: true, cancelTitle: "", localizedReason: "Log in"))
  }
}

extension BindingRecord {
  fileprivate static func sample(
    _ credential: CredentialRecord = .hardwareKeys([]), biometryType: BiometryType = .touchID
  ) -> BindingRecord {
    BindingRecord(
      bindingID: "b-1", applicationID: "com.example.bank", profileID: "alice", deviceID: "phone-1-5f9c27e8ab4d6b",
      deviceName: "Alice’s iPhone", biometryType: biometryType, credential: credential, isRevoked: false,
      baseline: nil, platformFamily: .iOS, createdAt: UnixTime(seconds: 1_700_000_000), lastUsedAt: nil, version: 1)
  }
}
