// The versions of iOS that change what a phone can do.

extension SimulatedPhone {
  /// A version of iOS, compared by number: 9.10 is newer than 9.9.
  public struct OSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    public var major: Int
    public var minor: Int
    public var patch: Int

    public init(_ major: Int, _ minor: Int = 0, _ patch: Int = 0) {
      self.major = major
      self.minor = minor
      self.patch = patch
    }

    /// "9.3", or "9.3.5" if there is a patch.
    public var description: String {
      patch == 0 ? "\(major).\(minor)" : "\(major).\(minor).\(patch)"
    }

    public static func < (left: OSVersion, right: OSVersion) -> Bool {
      (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }
  }
}

extension SimulatedPhone.OSVersion {
  /// The first with LocalAuthentication.
  static let withTouchID = Self(8)
  /// The first with `deviceOwnerAuthentication`, domain state, `invalidate` and the lockout code.
  static let withDeviceOwner = Self(9)
  /// The first that shows a custom cancel title.
  static let withCancelTitle = Self(10)
  /// The first with Face ID and `biometryType`.
  static let withFaceID = Self(11)
}
