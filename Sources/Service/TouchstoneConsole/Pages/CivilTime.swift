// Dates and times of day, in UTC.

internal import Encodings

enum CivilTime {
  /// "2026-11-24" and "09:05:07". Other times are moved to the first or the last one that has such a text.
  static func texts(_ unixSeconds: Int64) -> (day: String, clock: String) {
    let range = CalendarTime.fourDigits
    let text = CalendarTime(secondsSince1970: min(max(unixSeconds, range.lowerBound), range.upperBound)).dateTime
    return (String(text.prefix(10)), String(text.suffix(8)))
  }
}
