// The column "posture": the phone's report about itself.

import TouchstonePolicy

extension DevicePosture {
  /// The default of a table: a healthy iPhone.
  static let unsaid = DevicePosture(
    platform: .iOS, osVersion: OSVersion(17), biometryType: .touchID, isBiometryAvailable: true,
    isBiometryEnrolled: true, isBiometryLockedOut: false, isPasscodeSet: true, domainState: [UInt8]("A".utf8))

  static let words: [PhraseRow<DevicePosture>] =
    Platform.words.map { name, platform in
      .init("\(name) {\(platform == .iOS ? "9.3" : "13")}", .version) {
        $0.platform = platform
        $0.osVersion = $1
      }
    } + [
      .init("touch_id") { $0.biometryType = .touchID },
      .init("face_id") { $0.biometryType = .faceID },
      .init("optic_id") { $0.biometryType = .opticID },
      .init("voice") { $0.biometryType = .voice },
      .init("no sensor") { $0.biometryType = .none },
      .init("unknown sensor") { $0.biometryType = .unspecified },
      .init("sensor on") { $0.isBiometryAvailable = true },
      .init("sensor off") { $0.isBiometryAvailable = false },
      .init("enrolled") { $0.isBiometryEnrolled = true },
      .init("not enrolled") { $0.isBiometryEnrolled = false },
      .init("locked") { $0.isBiometryLockedOut = true },
      .init("not locked") { $0.isBiometryLockedOut = false },
      .init("passcode set") { $0.isPasscodeSet = true },
      .init("no passcode") { $0.isPasscodeSet = false },
      .init("state {A}", .word) { $0.domainState = [UInt8]($1.utf8) },
      .init("no state") { $0.domainState = [] },
    ]
}

extension Platform {
  static let words: [(String, Platform)] = [
    ("iOS", .iOS), ("iPadOS", .iPadOS), ("macOS", .macOS), ("visionOS", .visionOS), ("android", .android),
    ("web", .web),
  ]
}

extension PhraseValue<Platform> {
  static var platform: Self {
    Self { (phrase, place) throws(TableError) in
      try phrase.value(phrase.words[place], of: "platform") { platform in
        Platform.words.first { $0.1 == platform }?.0 ?? ""
      }
    }
  }
}

extension PhraseValue<OSVersion> {
  static var version: Self {
    Self { (phrase, place) throws(TableError) in
      guard let version = OSVersion(phrase.words[place]) else {
        throw phrase.error("\(phrase.words[place].debugDescription) is no version such as 9.3")
      }
      return version
    }
  }
}
