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

  /// "9", "9.3" or "9.3.5"; `nil` for everything else, also signs and spaces.
  ///
  /// Reads byte by byte, because every preflight does it: with `split` and `UInt32(_:)` it took a fifth of the call.
  public init?(_ text: String) {
    self.init(0)
    var numbers = 0
    var hasDigit = false
    var number: UInt32 = 0
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let (product, hasOverflowed) = number.multipliedReportingOverflow(by: 10)
        let (sum, hasCarried) = product.addingReportingOverflow(UInt32(byte - UInt8(ascii: "0")))
        guard !hasOverflowed, !hasCarried else { return nil }
        number = sum
        hasDigit = true
      case UInt8(ascii: "."):
        guard hasDigit, numbers < 2 else { return nil }
        set(number, at: numbers)
        numbers += 1
        number = 0
        hasDigit = false
      default:
        return nil
      }
    }
    guard hasDigit else { return nil }
    set(number, at: numbers)
  }

  /// Up to three numbers at the beginning of a text: "16.4.1" of "16.4.1 (a)", "126.0.6478" of a browser's
  /// "126.0.6478.127", "12" of Android's "12L". `nil` if it begins with no number.
  public init?(leadingNumbersOf text: String) {
    self.init(0)
    var numbers = 0
    var number: UInt32?
    scan: for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let (product, hasOverflowed) = (number ?? 0).multipliedReportingOverflow(by: 10)
        let (sum, hasCarried) = product.addingReportingOverflow(UInt32(byte - UInt8(ascii: "0")))
        guard !hasOverflowed, !hasCarried else { return nil }
        number = sum
      case UInt8(ascii: "."):
        guard let complete = number, numbers < 2 else { break scan }
        set(complete, at: numbers)
        numbers += 1
        number = nil
      default:
        break scan
      }
    }
    guard number != nil || numbers > 0 else { return nil }
    if let number { set(number, at: numbers) }
  }

  private mutating func set(_ number: UInt32, at index: Int) {
    switch index {
    case 0: major = number
    case 1: minor = number
    default: patch = number
    }
  }

  /// "9.3", or "9.3.5": text that reads as this version.
  public var text: String {
    patch == 0 ? "\(major).\(minor)" : "\(major).\(minor).\(patch)"
  }

  public static func < (left: OSVersion, right: OSVersion) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }
}
