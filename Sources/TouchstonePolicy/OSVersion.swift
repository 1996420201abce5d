/// An operating system's version, compared by number: "9.10" is newer than "9.9" (R2).
public struct OSVersion: Sendable, Hashable, Comparable {
  public var major: UInt32
  public var minor: UInt32
  public var patch: UInt32

  public init(_ major: UInt32, _ minor: UInt32 = 0, _ patch: UInt32 = 0) {
    self.major = major
    self.minor = minor
    self.patch = patch
  }

  /// "9", "9.3" or "9.3.5"; `nil` for all else.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...3).contains(parts.count) else { return nil }
    var numbers: [UInt32] = []
    for part in parts {
      // `UInt32("+9")` is 9: digits alone are a version.
      guard part.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = UInt32(part)
      else { return nil }
      numbers.append(number)
    }
    self.init(numbers[0], numbers.count > 1 ? numbers[1] : 0, numbers.count > 2 ? numbers[2] : 0)
  }

  public static func < (left: OSVersion, right: OSVersion) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }
}
