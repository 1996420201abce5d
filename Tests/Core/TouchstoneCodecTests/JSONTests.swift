import Testing

@testable import TouchstoneCodec

/// JSON's times and messages; `CrossCheckTests` compares whole messages with Python's.
@Suite("JSON")
struct JSONTests {
  @Test(
    "Times are those of the Gregorian calendar",
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (4_107_542_400, "2100-03-01T00:00:00Z"), (1_795_500_000, "2026-11-24T06:00:00Z"),
      (-62_135_596_800, "0001-01-01T00:00:00Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
    ] as [(Int64, String)])
  func times(seconds: Int64, expected: String) {
    #expect(V1.Timestamp(seconds: seconds).rfc3339() == expected)
  }

  @Test("A time beyond the calendar has no text")
  func beyond() {
    for seconds in [Int64.min, -62_135_596_801, 253_402_300_800, .max] {
      #expect(V1.Timestamp(seconds: seconds).rfc3339() == nil)
    }
    #expect(V1.Timestamp(seconds: 0, nanoseconds: -1).rfc3339() == nil)
    #expect(V1.Timestamp(seconds: 253_402_300_799).rfc3339(offsetMinutes: 60) == nil)
  }

  @Test("Local times have their offset, on the other side of midnight, too")
  func offsets() {
    let time = V1.Timestamp(seconds: 0, nanoseconds: 500_000_000)
    #expect(time.rfc3339(offsetMinutes: 330) == "1970-01-01T05:30:00.500+05:30")
    #expect(time.rfc3339(offsetMinutes: -210, hasFraction: false) == "1969-12-31T20:30:00-03:30")
    #expect(time.rfc3339(offsetMinutes: 0, hasFraction: false) == "1970-01-01T00:00:00+00:00")
  }

  @Test("A message is one line, by lowerCamelCase names, without its defaults")
  func message() throws {
    let details = ["b": "\"", "a": ""]
    let event = V1.Event(
      sequence: .max, time: V1.Timestamp(seconds: 1), kind: "a", details: details, hash: [255])
    #expect(
      try event.json()
        == #"{"sequence":"18446744073709551615","time":"1970-01-01T00:00:01Z","kind":"a","#
        + #""details":{"a":"","b":"\""},"hash":"/w=="}"#
    )
    #expect(try V1.Event().json() == "{}")
    #expect(try V1.Denial(laError: .biometryLockout).json() == #"{"laError":"LA_ERROR_BIOMETRY_LOCKOUT"}"#)
    #expect(try V1.Denial(laError: V1.LAError(rawValue: 77)).json() == #"{"laError":77}"#)
  }
}
