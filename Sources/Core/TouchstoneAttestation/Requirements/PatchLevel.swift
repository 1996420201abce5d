/// How recent Android's security patches are.
package struct PatchLevel: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// YYYYMMDD.
  private let number: Int

  /// As key descriptions have it: YYYYMM or YYYYMMDD. A month counts as its first day.
  init(attested number: Int) {
    self.number = number < 1_000_000 ? number * 100 + 1 : number
  }

  /// "2025-11-01"; `nil`: it is no date.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [4, 2, 2], text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || 48...57 ~= $0 })
    else {
      return nil
    }
    let numbers = parts.compactMap { Int($0) }
    guard numbers.count == 3, 1...12 ~= numbers[1], 1...31 ~= numbers[2] else { return nil }
    number = numbers[0] * 10_000 + numbers[1] * 100 + numbers[2]
  }

  package var description: String {
    func padded(_ part: Int) -> String { part < 10 ? "0\(part)" : "\(part)" }
    return "\(number / 10_000)-\(padded(number / 100 % 100))-\(padded(number % 100))"
  }

  package static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}
