// Times of the Gregorian calendar, as files and HTTP write them. `JSONTests` have RFC 3339.

import Encodings
import Testing

@Suite struct CalendarTimeTests {
  @Test(
    arguments: [
      (0, "19700101T000000Z"), (951_782_400, "20000229T000000Z"), (1_795_296_600, "20261121T213000Z"),
      (253_402_300_799, "99991231T235959Z"),
    ] as [(Int64, String)])
  func `times are written to the second and read back`(time: Int64, text: String) {
    #expect(CalendarTime.basic(time) == text)
    #expect(CalendarTime.read(basic: text) == time)
  }

  @Test(arguments: [
    "", "20261121T213000", "20261121T213000z", "20261121 213000Z", "20260229T000000Z", "20261121T240000Z",
    "20261121T213060Z", "2026112xT213000Z", "19691231T235959Z", "0020261121T213000Z", "２０２６1121T2130Z",
  ])
  func `what is no such time is not read`(text: String) {
    #expect(CalendarTime.read(basic: text) == nil)
  }

  @Test(
    "Times of all years that HTTP can write",
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (1_709_164_799, "Wed, 28 Feb 2024 23:59:59 GMT"),
      (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
      (.min, "Thu, 01 Jan 1970 00:00:00 GMT"),
    ] as [(Int64, String)])
  func dates(time: Int64, text: String) {
    #expect(CalendarTime.http(time) == text)
  }

  @Test(
    arguments: [(0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z")] as [(Int64, String)])
  func `an instant is read as it is written`(time: Int64, text: String) {
    #expect(CalendarTime.instant(time) == text)
    #expect(CalendarTime.read(instant: text) == time)
    #expect(CalendarTime.read(instant: text.replacing("-", with: "")) == nil)
  }

  /// A stride of days that meets every day of a week and of a month, over eight centuries.
  @Test func `every day's text is read back`() {
    for day in stride(from: Int64(0), to: 292_194, by: 13) {
      let time = day * 86_400 + day % 86_400
      #expect(CalendarTime.read(basic: CalendarTime.basic(time)) == time)
      #expect(CalendarTime(secondsSince1970: time).weekday == (day + 4) % 7)
    }
  }
}

@Suite("Times of RFC 3339 as they are read")
struct CalendarTimeReadingTests {
  @Test(
    "With and without a fraction, in UTC or with an offset",
    arguments: [
      ("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59.999999999Z", -1, 999_999_999),
      ("2000-02-29T00:00:00.5Z", 951_782_400, 500_000_000), ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
      ("9999-12-31T23:59:59Z", 253_402_300_799, 0), ("1970-01-01T05:30:00+05:30", 0, 0),
      ("1969-12-31T20:30:00.000001-03:30", 0, 1_000), ("1970-01-01T00:00:00-00:00", 0, 0),
    ] as [(String, Int64, Int32)])
  func read(text: String, seconds: Int64, nanoseconds: Int32) throws {
    let time = try #require(CalendarTime.read(rfc3339: text))
    #expect(time.seconds == seconds && time.nanoseconds == nanoseconds)
  }

  @Test(
    "As people and browsers write it",
    arguments: [
      ("2026-02-28", 1_772_236_800, false), ("2026-02-28 12:30", 1_772_281_800, false),
      ("2026-02-28T12:30", 1_772_281_800, false), ("2026-02-28 12:30:05", 1_772_281_805, false),
      ("2026-02-28T12:30Z", 1_772_281_800, true), ("2026-02-28 12:30+01:00", 1_772_278_200, true),
      ("2026-02-28T12:30:05.5-00:30", 1_772_283_605, true),
    ] as [(String, Int64, Bool)])
  func typed(text: String, seconds: Int64, hasOffset: Bool) throws {
    let time = try #require(CalendarTime.read(typed: text))
    #expect(time.seconds == seconds && time.hasOffset == hasOffset)
  }

  @Test(
    "No calendar has it",
    arguments: [
      "", "2026-02-30", "2026-02-29 12:00", "2026-13-01", "2026-01-01 24:00", "2026-01-01 12:60", "2026-01-01T12",
      "2026-01-01_12:00", "01/02/2026", "2026-1-1", "12:00", "2026-01-01 12:00 ", "２０２６-01-01", "2026-01-01 12:00:0",
    ])
  func notTyped(text: String) {
    #expect(CalendarTime.read(typed: text) == nil)
  }

  @Test(
    "Everything else is refused",
    arguments: [
      "", "Z", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31T12:00:00z",
      "2026-1-31T12:00:00Z", "2026-02-29T12:00:00Z", "2026-13-01T12:00:00Z", "2026-00-01T12:00:00Z",
      "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z",
      "2026-01-31T12:00:60Z", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00,5Z", "2026-01-31T12:00:00.0000000001Z",
      "2026-01-31T12:00:00.5", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+01:60",
      "2026-01-31T12:00:00Z05:30", "2026-01-31T12:00:00+01:00Z", "+2026-01-31T12:00:00Z", "0000-12-31T00:00:00Z",
      "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "10000-01-01T00:00:00Z", "２０26-01-31T12:00:00Z",
      "2026-01-31T12:00:00.+5Z", "2026-01-31T12:00:00.-Z", "20a6-01-31T12:00:00Z", "-026-01-31T12:00:00Z",
    ])
  func refused(text: String) {
    #expect(CalendarTime.read(rfc3339: text) == nil)
  }
}
