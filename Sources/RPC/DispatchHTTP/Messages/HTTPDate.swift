// Times as HTTP writes them (RFC 9110 §5.6.7).

internal import Glibc

enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// "Sun, 06 Nov 1994 08:49:37 GMT". `time`: Unix seconds, of the years 1970 to 9999; others are moved there.
  static func text(_ time: Int64) -> String {
    var seconds = time_t(min(max(time, 0), 253_402_300_799))
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let day = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    return "\(days[Int(parts.tm_wday)]), \(day) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
