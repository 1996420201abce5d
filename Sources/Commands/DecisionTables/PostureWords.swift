// The column "posture": the phone's report about itself.

import TouchstonePolicy

extension DevicePosture {
  /// The default of a table: a healthy iPhone.
  static let unsaid = DevicePosture(
    platform: .iOS, osVersion: OSVersion(17), biometryType: .touchID, isBiometryAvailable: true,
    isBiometryEnrolled: true, isBiometryLockedOut: false, isPasscodeSet: true, domainState: [UInt8]("A".utf8))

  static let vocabulary = [
    "iOS 9.3", "iPadOS 13", "macOS 12", "android 13", "web 17", "touch_id", "face_id", "optic_id", "voice",
    "no sensor", "unknown sensor", "sensor on", "sensor off", "enrolled", "not enrolled", "locked", "not locked",
    "passcode set", "no passcode", "state A", "no state",
  ]

  mutating func apply(_ phrase: Phrase) throws(TableError) {
    switch phrase.words {
    case ["touch_id"]: biometryType = .touchID
    case ["face_id"]: biometryType = .faceID
    case ["optic_id"]: biometryType = .opticID
    case ["voice"]: biometryType = .voice
    case ["no", "sensor"]: biometryType = .none
    case ["unknown", "sensor"]: biometryType = .unspecified
    case ["sensor", "on"]: isBiometryAvailable = true
    case ["sensor", "off"]: isBiometryAvailable = false
    case ["enrolled"]: isBiometryEnrolled = true
    case ["not", "enrolled"]: isBiometryEnrolled = false
    case ["locked"]: isBiometryLockedOut = true
    case ["not", "locked"]: isBiometryLockedOut = false
    case ["passcode", "set"]: isPasscodeSet = true
    case ["no", "passcode"]: isPasscodeSet = false
    case ["no", "state"]: domainState = []
    default:
      if let state = phrase.argument(after: "state") {
        domainState = [UInt8](state.utf8)
      } else {
        try applySystem(phrase)
      }
    }
  }

  /// "iOS 9.3": every phone reports its version (R2).
  private mutating func applySystem(_ phrase: Phrase) throws(TableError) {
    guard phrase.words.count <= 2, let named = Platform.words.first(where: { $0.0 == phrase.words[0] })?.1 else {
      throw phrase.unknown("posture", vocabulary: Self.vocabulary)
    }
    guard phrase.words.count == 2 else {
      throw phrase.error("a system has a version, such as \(phrase.words[0]) 17")
    }
    platform = named
    guard let version = OSVersion(phrase.words[1]) else {
      throw phrase.error("\(phrase.words[1].debugDescription) is no version such as 9.3")
    }
    osVersion = version
  }
}

extension Platform {
  static let words: [(String, Platform)] = [
    ("iOS", .iOS), ("iPadOS", .iPadOS), ("macOS", .macOS), ("visionOS", .visionOS), ("android", .android),
    ("web", .web),
  ]
}
