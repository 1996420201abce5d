// Times as their reader wants them: by an offset from UTC, with how long ago they were. Pure.

internal import Encodings
internal import TouchstoneCodec
internal import TouchstoneService

/// An offset from UTC. It is no time zone with a name: its rules of summer time would need files that an image does not
/// have, so each page says which offset it uses.
struct TimeOffset: Sendable, Hashable {
  let minutes: Int64

  static let utc = TimeOffset(minutes: 0)

  /// All that clocks on Earth show, also in summer.
  static let all: [TimeOffset] = [
    -720, -660, -600, -570, -540, -480, -420, -360, -300, -240, -210, -180, -150, -120, -60, 0, 60, 120, 180, 210, 240,
    270, 300, 330, 345, 360, 390, 420, 480, 525, 540, 570, 600, 630, 660, 720, 765, 780, 825, 840,
  ].map { TimeOffset(minutes: $0) }

  /// "UTC", "UTC+02:00"
  var name: String {
    guard minutes != 0 else { return "UTC" }
    let (hours, rest) = minutes.magnitude.quotientAndRemainder(dividingBy: 60)
    let digits = [hours, rest].map { CalendarTime.digits(Int64($0), 2) }
    return "UTC\(minutes < 0 ? "−" : "+")\(digits.joined(separator: ":"))"
  }

  /// `nil` for a text that names none of them.
  static func named(_ text: String) -> TimeOffset? {
    Int64(text).flatMap { number in all.first { $0.minutes == number } }
  }
}

extension Reader {
  /// The point in time by the reader's offset, and its age.
  func time(_ unixSeconds: Int64) -> HTML {
    "\(point(unixSeconds)) <span class=\"age\">(\(age(of: unixSeconds)))</span>"
  }

  /// The point in time alone.
  func point(_ unixSeconds: Int64) -> HTML {
    let (day, clock) = CivilTime.texts(unixSeconds)
    // Times at the ends of the calendar have no room for an offset.
    let local = CivilTime.texts(unixSeconds.addingReportingOverflow(offset.minutes * 60).partialValue)
    return "<time datetime=\"\(day)T\(clock)Z\">\(local.day) \(local.clock)</time>"
  }

  /// The time as a sentence has it: in whole minutes.
  func minuteText(_ time: V1.Timestamp) -> String {
    time.minuteText(offsetMinutes: offset == .utc ? nil : offset.minutes)
  }

  /// "3 min ago", "in 55 s"
  private func age(of unixSeconds: Int64) -> String {
    let (difference, isTooLong) = now.subtractingReportingOverflow(unixSeconds)
    let seconds = isTooLong ? .max : difference.magnitude
    let units: [(size: UInt64, limit: UInt64, unit: Phrase)] = [
      (1, 120, .seconds), (60, 7_200, .minutes), (3_600, 172_800, .hours), (86_400, .max, .days),
    ]
    let fitting = units.first { seconds < $0.limit } ?? units[units.count - 1]
    let amount = self(fitting.unit, "\(seconds / fitting.size)")
    return self(difference >= 0 ? .ago : .ahead, amount)
  }
}
