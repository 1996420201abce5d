import Testing
import TouchstonePolicy

@Suite struct TimeTests {
  @Test(
    "a protobuf Timestamp within its range, in microseconds",
    arguments: [
      (0, 0, 0), (1, 999, 1_000_000), (1, 1_000, 1_000_001), (-1, 999_999_999, -1),
      (253_402_300_799, 999_999_999, 253_402_300_799_999_999), (-62_135_596_800, 0, -62_135_596_800_000_000),
    ] as [(Int64, Int32, Int64)])
  func timestamp(seconds: Int64, nanoseconds: Int32, microseconds: Int64) {
    #expect(UnixTime(seconds: seconds, nanoseconds: nanoseconds)?.microseconds == microseconds)
  }

  @Test(
    "what is no Timestamp is refused, and never traps",
    arguments: [
      (253_402_300_800, 0), (-62_135_596_801, 0), (.max, 0), (.min, 0), (0, -1), (0, 1_000_000_000), (0, .max),
      (0, .min),
    ] as [(Int64, Int32)])
  func noTimestamp(seconds: Int64, nanoseconds: Int32) {
    #expect(UnixTime(seconds: seconds, nanoseconds: nanoseconds) == nil)
  }

  @Test(
    "a clock beyond a Timestamp's range is at its end, and a year more or less does not overflow",
    arguments: [
      (1_700_000_000, 999, 1_700_000_000_000_000), (-1, 999_999_999, -1),
      (.max, 999_999_999, 253_402_300_799_999_999), (.min, 0, -62_135_596_800_000_000),
      (-9_460_800_000_000, 0, -62_135_596_800_000_000), (9_460_800_000_000, 0, 253_402_300_799_000_000),
    ] as [(Int, Int, Int64)])
  func clock(seconds: Int, nanoseconds: Int, microseconds: Int64) {
    #expect(UnixTime(clockSeconds: seconds, nanoseconds: nanoseconds).microseconds == microseconds)
  }

  @Test("whole seconds are rounded down, before 1970, too")
  func wholeSeconds() {
    #expect(UnixTime(microseconds: 1_999_999).seconds == 1)
    #expect(UnixTime(microseconds: -1).seconds == -1)
    #expect(UnixTime(microseconds: -1_000_000).seconds == -1)
    #expect(UnixTime(microseconds: -1_000_001).seconds == -2)
  }
}
