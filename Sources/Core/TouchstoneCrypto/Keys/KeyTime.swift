// Points in time in the names of keys: to the second, in UTC, in the basic form of ISO 8601, which every file system
// accepts.

import Glibc

public enum KeyTime {
  private static let form = "%Y%m%dT%H%M%SZ"
  private static let byteCount = 16
  /// The years 1970 to 9999: four digits.
  private static let range: ClosedRange<Int64> = 0...253_402_300_799

  /// "20261121T213000Z"
  static func text(of time: Int64) -> String {
    var (seconds, parts) = (time_t(time), tm())
    gmtime_r(&seconds, &parts)
    var buffer = [CChar](repeating: 0, count: byteCount + 1)
    let count = strftime(&buffer, buffer.count, form, &parts)
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// `nil` for text that `text` does not write, such as the thirtieth of February.
  static func read(_ text: some StringProtocol) -> Int64? {
    let digits = text.utf8.map { Int32($0) - Int32(UInt8(ascii: "0")) }
    guard digits.count == byteCount else { return nil }
    func number(_ place: Range<Int>) -> Int32 { digits[place].reduce(0) { $0 * 10 + $1 } }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (number(0..<4) - 1900, number(4..<6) - 1, number(6..<8))
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(9..<11), number(11..<13), number(13..<15))
    let time = Int64(timegm(&parts))
    // Text with other characters, or that is no date, is not written like that.
    return range.contains(time) && Self.text(of: time) == text ? time : nil
  }

  // MARK: For people

  /// The separators between the numbers, and their places.
  private static let marks: [(Int, Character)] = [(4, "-"), (7, "-"), (13, ":"), (16, ":")]

  /// As in RFC 3339: "2026-11-21T21:30:00Z".
  public static func instant(_ time: Int64) -> String {
    var text = text(of: time)
    for (place, mark) in marks { text.insert(mark, at: text.index(text.startIndex, offsetBy: place)) }
    return text
  }

  /// `nil` for text that `instant` does not write.
  public static func read(instant: String) -> Int64? {
    read(instant.filter { $0 != "-" && $0 != ":" }).flatMap { Self.instant($0) == instant ? $0 : nil }
  }
}
