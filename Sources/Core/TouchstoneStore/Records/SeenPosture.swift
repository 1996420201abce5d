public import TouchstonePolicy

/// The posture last seen of a binding's device and its time, so that support can explain a refusal without the phone.
/// It never has the domain state, only how that compared with the baseline then.
public struct SeenPosture: Sendable, Hashable {
  /// Without domain state.
  public let posture: DevicePosture
  public let deviceModel: String
  public let seenAt: UnixTime
  /// True if it came with a successful proof by the binding's own key. If false, only the caller vouches for it.
  public let isProven: Bool
  /// For display alone: every decision compares again (R23). `nil`: not known.
  public var domainState: DomainStateVerdict?

  public init(
    _ posture: DevicePosture, deviceModel: String, seenAt: UnixTime, isProven: Bool,
    domainState: DomainStateVerdict? = nil
  ) {
    var posture = posture
    posture.domainState = []
    self.posture = posture
    self.deviceModel = deviceModel
    self.seenAt = seenAt
    self.isProven = isProven
    self.domainState = domainState
  }

  /// How old the stored time may become: a phone that logs in every minute writes no row for it.
  static let timePrecision: Duration = .seconds(60 * 60)

  /// Whether to write it. A report without a verdict does not replace an equal one that has one. An unproven posture
  /// does not replace an equal proven one. Nor does an unproven posture of another platform family, which the binding
  /// refuses.
  public func isNews(after known: SeenPosture?) -> Bool {
    if let known, known.isProven, !isProven, known.posture.platform.family != posture.platform.family { return false }
    guard let known, known.posture == posture,
      domainState == nil || known.domainState == domainState,
      Identifier.areEqual(known.deviceModel, deviceModel)
    else { return true }
    if known.isProven != isProven { return isProven }
    return known.seenAt + Self.timePrecision <= seenAt
  }
}

/// In one column: a byte for the form, the fields in the order of `encoded`, and the model.
extension SeenPosture {
  private static let form: UInt8 = 1
  /// Everything except the model.
  private static let fixedByteCount = 24

  private enum Flag {
    static let proven: UInt8 = 1
    static let available: UInt8 = 2
    static let enrolled: UInt8 = 4
    static let lockedOut: UInt8 = 8
    static let passcodeSet: UInt8 = 16
    /// The verdict's raw value from this bit on; 0: none. Releases before wrote zeros there, and did not read them.
    static let verdictShift: UInt8 = 5
  }

  public var encoded: [UInt8] {
    var flags: UInt8 = 0
    if isProven { flags |= Flag.proven }
    if posture.isBiometryAvailable { flags |= Flag.available }
    if posture.isBiometryEnrolled { flags |= Flag.enrolled }
    if posture.isBiometryLockedOut { flags |= Flag.lockedOut }
    if posture.isPasscodeSet { flags |= Flag.passcodeSet }
    flags |= (domainState?.rawValue ?? 0) << Flag.verdictShift
    let version = posture.osVersion
    var bytes = [Self.form, flags, posture.platform.rawValue, posture.biometryType.rawValue]
    for number in [version.major, version.minor, version.patch] { bytes.append(bigEndian: number) }
    bytes.append(bigEndian: seenAt.microseconds)
    return bytes + deviceModel.utf8
  }

  public init?(encoded bytes: [UInt8]) {
    guard bytes.count >= Self.fixedByteCount, bytes[0] == Self.form, let platform = Platform(rawValue: bytes[2]),
      let biometryType = BiometryType(rawValue: bytes[3])
    else { return nil }
    func has(_ flag: UInt8) -> Bool { bytes[1] & flag != 0 }
    func number(at index: Int, count: Int = 4) -> UInt64 {
      bytes[index..<index + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
    let seenAt = UnixTime(microseconds: Int64(bitPattern: number(at: 16, count: 8)))
    guard seenAt.isTimestamp else { return nil }
    let version = OSVersion(
      UInt32(truncatingIfNeeded: number(at: 4)), UInt32(truncatingIfNeeded: number(at: 8)),
      UInt32(truncatingIfNeeded: number(at: 12)))
    self.init(
      DevicePosture(
        platform: platform, osVersion: version, biometryType: biometryType,
        isBiometryAvailable: has(Flag.available), isBiometryEnrolled: has(Flag.enrolled),
        isBiometryLockedOut: has(Flag.lockedOut), isPasscodeSet: has(Flag.passcodeSet), domainState: []),
      deviceModel: String(decoding: bytes[Self.fixedByteCount...], as: UTF8.self),
      seenAt: seenAt, isProven: has(Flag.proven),
      domainState: DomainStateVerdict(rawValue: bytes[1] >> Flag.verdictShift))
  }
}
