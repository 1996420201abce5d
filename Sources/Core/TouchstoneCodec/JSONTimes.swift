// Times as JSON has them.

internal import Encodings

extension V1.Timestamp {
  /// RFC 3339: "2026-01-31T12:00:00.500Z", "2026-01-31T13:00:00+01:00". `nil` if the time lies outside of the years 1
  /// to 9999.
  ///
  /// - Parameters: - offsetMinutes: of the local time from UTC; "Z" for `nil`. - hasFraction: if false, fractions of a
  ///   second are left out.
  package func rfc3339(offsetMinutes: Int64? = nil, hasFraction: Bool = true) -> String? {
    guard CalendarTime.fourDigits.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
    let shifted = seconds + (offsetMinutes ?? 0) * 60
    guard CalendarTime.fourDigits.contains(shifted) else { return nil }
    return CalendarTime(secondsSince1970: shifted).dateTime
      + (hasFraction ? fraction(nanoseconds) : "") + (offsetMinutes.map(Self.offsetText) ?? "Z")
  }

  private static func offsetText(_ minutes: Int64) -> String {
    let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
    return (minutes < 0 ? "-" : "+") + "\(CalendarTime.digits(hours, 2)):\(CalendarTime.digits(rest, 2))"
  }
}

extension V1.Duration {
  /// 10,000 years, as Duration's own comment has it.
  private static let representable: ClosedRange<Int64> = -315_576_000_000...315_576_000_000

  /// "60s", "1.500s". `nil` for a duration that protobuf does not admit.
  var json: String? {
    let isNegative = seconds < 0 || nanoseconds < 0
    guard Self.representable.contains(seconds), nanoseconds.magnitude < 1_000_000_000,
      !isNegative || (seconds <= 0 && nanoseconds <= 0)
    else { return nil }
    return (isNegative ? "-" : "") + "\(seconds.magnitude)\(fraction(Int32(clamping: nanoseconds.magnitude)))s"
  }
}

/// In three, six or nine digits; none if it is 0.
private func fraction(_ nanoseconds: Int32) -> String {
  if nanoseconds == 0 { return "" }
  if nanoseconds % 1_000_000 == 0 { return ".\(CalendarTime.digits(Int64(nanoseconds / 1_000_000), 3))" }
  if nanoseconds % 1_000 == 0 { return ".\(CalendarTime.digits(Int64(nanoseconds / 1_000), 6))" }
  return ".\(CalendarTime.digits(Int64(nanoseconds), 9))"
}
