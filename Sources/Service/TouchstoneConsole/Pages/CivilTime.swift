// Dates and times of day, in UTC.

internal import Glibc

enum CivilTime {
  /// "2026-11-24" and "09:05:07". Times before the year 1 or after 9999 are moved there.
  static func texts(_ unixSeconds: Int64) -> (day: String, clock: String) {
    var seconds = time_t(min(max(unixSeconds, -62_135_596_800), 253_402_300_799))
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let year = padded(parts.tm_year + 1900, 4)
    return (
      "\(year)-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))",
      "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
    )
  }

  private static func padded(_ number: Int32, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
