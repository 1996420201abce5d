// The systems that the baselines of unknown bindings come from (R37). One that was never released would tell that nobody
// is there.

internal import TouchstonePolicy

/// Major versions in the order of their release.
///
/// Source: Apple's list of security releases (support.apple.com/100100). In 2025 both systems went on with 26. Append a new
/// major version in the first release of this service after Apple's, each autumn. Never insert, move or remove one: `major`
/// says why.
struct OSReleases {
  let majors: [UInt32]

  /// iOS and iPadOS, from the first that has a domain state on.
  static let iOS = OSReleases(majors: Array(9...18) + [26])
  /// Touch ID came with 10.12.2.
  static let macOS = OSReleases(majors: Array(10...15) + [26])

  /// The newest of those whose bit is set in `chance`, so half of all are of the newest, and half of the others of the one
  /// before it. A version that is appended moves half of all to it and leaves the others as they were: among known
  /// bindings some get a baseline of the new system, too, and none gets one of an older.
  func major(by chance: UInt32) -> UInt32 {
    let bit = majors.indices.last { chance >> UInt32($0) & 1 == 1 }
    return majors[bit ?? 0]
  }
}

extension PlatformFamily {
  /// `nil`: no binding of it has a baseline.
  var releases: OSReleases? {
    switch self {
    case .iOS: .iOS
    case .macOS, .visionOS: .macOS
    case .android, .web: nil
    }
  }
}
