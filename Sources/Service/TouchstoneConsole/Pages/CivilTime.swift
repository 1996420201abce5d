// Dates and times of day, in UTC.

internal import TouchstoneCodec

enum CivilTime {
  /// The years 1 to 9999.
  private static let representable: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// "2026-11-24" and "09:05:07". Other times are moved to the first or the last one that has such a text.
  static func texts(_ unixSeconds: Int64) -> (day: String, clock: String) {
    let seconds = min(max(unixSeconds, representable.lowerBound), representable.upperBound)
    guard let text = V1.Timestamp(seconds: seconds).rfc3339() else { preconditionFailure("the time is representable") }
    return (String(text.prefix(10)), String(text.dropFirst(11).prefix(8)))
  }
}
