/// A value that is one of a few words.
public protocol SettingWord: CaseIterable, Hashable, Sendable {
  var settingName: String { get }
}

extension SettingWord where Self: RawRepresentable<String> {
  public var settingName: String { rawValue }
}

extension EvaluationPolicy.Purpose: SettingWord {
  public var settingName: String {
    switch self {
    case .login: "login"
    case .payment: "payment"
    }
  }
}

extension Factor {
  public var settingName: String {
    switch self {
    case .biometry: "biometry"
    case .deviceOwner: "device_owner"
    case .passcode: "passcode"
    case .gesture: "gesture"
    case .passkey: "passkey"
    case .primary: "primary"
    }
  }
}

extension KeyProtection: SettingWord {
  public var settingName: String {
    switch self {
    case .biometryCurrentSet: "biometry_current_set"
    case .biometryAny: "biometry_any"
    case .userPresence: "user_presence"
    case .devicePasscode: "device_passcode"
    }
  }
}

extension ProofLevel: SettingWord {
  public var settingName: String { name }
}

extension Duration {
  private static let units: [(suffix: String, seconds: Int64)] = [("h", 3_600), ("m", 60), ("s", 1)]

  /// "30s", "5m", "1h": a whole number of one unit; `nil` for everything else.
  public init?(settingName: String) {
    let digits = settingName.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let suffix = settingName.utf8.dropFirst(digits.count)
    guard let number = Int64(Substring(digits)),
      let unit = Self.units.first(where: { suffix.elementsEqual($0.suffix.utf8) })
    else { return nil }
    let (seconds, hasOverflowed) = number.multipliedReportingOverflow(by: unit.seconds)
    guard !hasOverflowed, seconds <= Self.maximumReadableSeconds else { return nil }
    self = .seconds(seconds)
  }

  /// A century: far beyond every bound, and no sum of times overflows by it.
  private static let maximumReadableSeconds: Int64 = 36_525 * 86_400

  /// In the largest unit without a remainder: "90s", "5m". Fractions of a second are cut off.
  public var settingName: String {
    let seconds = components.seconds
    let unit = Self.units.first { seconds != 0 && seconds.isMultiple(of: $0.seconds) }
    guard let unit else { return "0s" }
    return "\(seconds / unit.seconds)\(unit.suffix)"
  }
}
