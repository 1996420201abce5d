// Times of the Gregorian calendar in UTC, and the forms in which ISO 8601, RFC 3339 and HTTP write them.

package struct CalendarTime: Equatable, Sendable {
  package let year: Int64
  package let month: Int64
  package let day: Int64
  package let hour: Int64
  package let minute: Int64
  package let second: Int64
  /// 0: Sunday.
  package let weekday: Int64

  /// The years 1 to 9999, in which a year has at most four digits.
  package static let fourDigits: ClosedRange<Int64> = -62_135_596_800...last
  /// The years 1970 to 9999.
  private static let sinceEpoch: ClosedRange<Int64> = 0...last
  private static let last: Int64 = 253_402_300_799

  /// Counts years from March on, so that the leap day is a year's last, and in eras of 400 years.
  ///
  /// - Parameter seconds: since 1970; negative before.
  package init(secondsSince1970 seconds: Int64) {
    let (days, ofDay) = seconds.dividedDown(by: 86_400)
    (hour, minute, second) = (ofDay / 3_600, ofDay / 60 % 60, ofDay % 60)
    // 1970 began on a Thursday.
    weekday = (days + 4).dividedDown(by: 7).rest
    let (era, ofEra) = (days + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * ofYear + 2) / 153
    month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = ofYear - (153 * fromMarch + 2) / 5 + 1
  }

  /// The seconds since 1970 of numbers that need not be a date: a month's thirty-first day may be the next one's first.
  private static func seconds(year: Int64, month: Int64, day: Int64, ofDay: Int64) -> Int64 {
    let fromMarch = (month + 9) % 12
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
    let ofYear = (153 * fromMarch + 2) / 5 + day - 1
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719_468
    return days * 86_400 + ofDay
  }
}

// MARK: Forms

extension CalendarTime {
  /// "2026-11-21T21:30:00", to which RFC 3339 adds a fraction and an offset.
  package var dateTime: String {
    "\(Self.digits(year, 4))-\(two(month))-\(two(day))T\(two(hour)):\(two(minute)):\(two(second))"
  }

  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7).
  ///
  /// - Parameter seconds: since 1970; outside of the years 1970 to 9999 the nearest second of them.
  package static func http(_ seconds: Int64) -> String {
    let time = CalendarTime(secondsSince1970: min(max(seconds, 0), last))
    return "\(days[Int(time.weekday)]), \(time.two(time.day)) \(months[Int(time.month) - 1]) \(time.year) "
      + "\(time.two(time.hour)):\(time.two(time.minute)):\(time.two(time.second)) GMT"
  }

  /// "20261121T213000Z": the basic form of ISO 8601, which every file system accepts.
  package static func basic(_ seconds: Int64) -> String {
    instant(seconds).filter { $0 != "-" && $0 != ":" }
  }

  /// As in RFC 3339: "2026-11-21T21:30:00Z".
  package static func instant(_ seconds: Int64) -> String {
    CalendarTime(secondsSince1970: seconds).dateTime + "Z"
  }

  /// `nil` for text that `basic` does not write for a time since 1970, such as the thirtieth of February.
  package static func read(basic text: some StringProtocol) -> Int64? {
    let digits = text.utf8.map { Int64($0) - 0x30 }
    guard digits.count == 16 else { return nil }
    func number(_ place: Range<Int>) -> Int64 { digits[place].reduce(0) { $0 * 10 + $1 } }
    let seconds = seconds(
      year: number(0..<4), month: number(4..<6), day: number(6..<8),
      ofDay: number(9..<11) * 3_600 + number(11..<13) * 60 + number(13..<15))
    // Text with other characters, or that is no date, is not written like that.
    return sinceEpoch.contains(seconds) && basic(seconds) == text ? seconds : nil
  }

  /// `nil` for text that `instant` does not write for a time since 1970.
  package static func read(instant text: String) -> Int64? {
    read(basic: text.filter { $0 != "-" && $0 != ":" }).flatMap { instant($0) == text ? $0 : nil }
  }

  /// Returns the seconds since 1970 and the nanoseconds of a time as RFC 3339 writes it, with "T" and "Z" as capitals:
  /// a fraction of up to nine digits, and "Z" or an offset. `nil` for other texts, for dates that no calendar has, for
  /// leap seconds, and for times outside of the years 1 to 9999 in UTC.
  package static func read(rfc3339 text: String) -> (seconds: Int64, nanoseconds: Int32)? {
    let utf8 = Array(text.utf8)
    guard let end = utf8.lastIndex(where: { "Z+-".utf8.contains($0) }), end >= 19 else { return nil }
    // Numbers at their places, with "-1" for what is no digit; the text is compared below.
    func number(_ place: Range<Int>) -> Int64 {
      place.upperBound <= utf8.count ? Int64(String(decoding: utf8[place], as: UTF8.self)) ?? -1 : -1
    }
    let ofDay = number(11..<13) * 3_600 + number(14..<16) * 60 + number(17..<19)
    let local = seconds(year: number(0..<4), month: number(5..<7), day: number(8..<10), ofDay: ofDay)
    // Other texts, and digits that are no date, are not written like that.
    guard fourDigits.contains(local), CalendarTime(secondsSince1970: local).dateTime.utf8.elementsEqual(utf8[..<19]),
      let offset = offset(utf8[end...]), fourDigits.contains(local - offset)
    else { return nil }
    guard end > 19 else { return (local - offset, 0) }
    let digits = utf8[20..<end]
    guard utf8[19] == UInt8(ascii: "."), (1...9).contains(digits.count),
      let nanoseconds = nanoseconds(ofFraction: digits)
    else { return nil }
    return (local - offset, nanoseconds)
  }

  /// Returns the seconds since 1970 of a time as people and browsers write it: "2026-11-21", "2026-11-21 21:30",
  /// "2026-11-21T21:30:05", each time of day also with "Z" or an offset. Without one, the seconds are those of UTC.
  package static func read(typed text: String) -> (seconds: Int64, hasOffset: Bool)? {
    var utf8 = Array(text.utf8)
    if utf8.count == 10 { utf8 += " 00:00".utf8 }
    guard utf8.count >= 16, utf8[10] == UInt8(ascii: " ") || utf8[10] == UInt8(ascii: "T") else { return nil }
    utf8[10] = UInt8(ascii: "T")
    if utf8.count == 16 || "Z+-".utf8.contains(utf8[16]) { utf8.insert(contentsOf: ":00".utf8, at: 16) }
    let hasOffset = utf8.count > 19
    let whole = String(decoding: utf8, as: UTF8.self) + (hasOffset ? "" : "Z")
    return read(rfc3339: whole).map { ($0.seconds, hasOffset) }
  }

  /// "Z", "+05:30" in seconds.
  private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
    let isUTC = text.first == UInt8(ascii: "Z")
    let digits = text.dropFirst().map { Int64($0) - 0x30 }
    if isUTC && digits.isEmpty { return 0 }
    guard !isUTC, digits.count == 5, digits[2] == Int64(UInt8(ascii: ":")) - 0x30,
      [digits[0], digits[1], digits[3], digits[4]].allSatisfy({ (0...9).contains($0) })
    else { return nil }
    let (hours, minutes) = (digits[0] * 10 + digits[1], digits[3] * 10 + digits[4])
    guard hours < 24, minutes < 60 else { return nil }
    return (hours * 60 + minutes) * (text.first == UInt8(ascii: "-") ? -60 : 60)
  }

  /// `nil` for what is no digit.
  ///
  /// - Parameter digits: at most nine.
  package static func nanoseconds(ofFraction digits: ArraySlice<UInt8>) -> Int32? {
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int32(String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: max(0, 9 - digits.count)))
  }

  /// With zeros before them.
  package static func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  private func two(_ number: Int64) -> String { Self.digits(number, 2) }
}

extension Int64 {
  /// Rounds down, so that the rest is not negative.
  package func dividedDown(by divisor: Int64) -> (quotient: Int64, rest: Int64) {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }
}
