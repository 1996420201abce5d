// The name of a file, which says which events it holds.

/// "events-000000000001-000000100000.jsonl": the order by name is the order by number.
struct ArchiveFileName: Hashable, Comparable {
  private static let prefix = "events-"
  private static let suffix = ".jsonl"
  /// More digits are as they are.
  private static let digitCount = 12

  let first: UInt64
  let last: UInt64

  init(first: UInt64, last: UInt64) {
    self.first = first
    self.last = last
  }

  /// Returns `nil` if it is not the name of an archive file.
  init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), text.hasSuffix(Self.suffix) else { return nil }
    let numbers = text.dropFirst(Self.prefix.count).dropLast(Self.suffix.count).split(separator: "-")
    guard numbers.count == 2, let first = UInt64(numbers[0]), let last = UInt64(numbers[1]), 0 < first, first <= last
    else { return nil }
    self.init(first: first, last: last)
    guard self.text == text else { return nil }
  }

  var text: String { "\(Self.prefix)\(Self.padded(first))-\(Self.padded(last))\(Self.suffix)" }

  private static func padded(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
  }

  static func < (left: ArchiveFileName, right: ArchiveFileName) -> Bool {
    (left.first, left.last) < (right.first, right.last)
  }
}
