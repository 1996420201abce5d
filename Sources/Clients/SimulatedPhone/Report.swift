// Everything that a phone reports to an app about itself, for the app to send to its service.

extension SimulatedPhone {
  public enum BiometryType: Sendable, Hashable, CaseIterable {
    case none
    case touchID
    case faceID
  }

  public enum SensorCondition: Sendable, Hashable, CaseIterable {
    case working
    case switchedOff
    case broken
  }

  /// The facts that LocalAuthentication gives an app, and no more: a lock that the OS does not report is missing.
  public struct Report: Sendable, Hashable {
    /// Always "ios".
    public var platform: String
    /// "9.3.5".
    public var osVersion: String
    /// "iPhone10,4".
    public var deviceModel: String
    public var biometryType: BiometryType
    /// There is a sensor, it works and is switched on, and the OS can use it.
    public var isBiometryAvailable: Bool
    public var isBiometryEnrolled: Bool
    /// From iOS 9 on; `false` before.
    public var isBiometryLockedOut: Bool
    public var isPasscodeSet: Bool
    /// 32 bytes; empty if the phone gives none: locked out, nothing enrolled, or before iOS 9.
    public var domainState: [UInt8]
  }
}
