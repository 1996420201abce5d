/// A point in time for the rules: microseconds since 1970-01-01T00:00:00Z, without leap seconds (POSIX).
///
/// The rules never read a clock; callers pass the time.
public struct UnixTime: Sendable, Hashable, Comparable {
  public var microseconds: Int64

  public init(microseconds: Int64) {
    self.microseconds = microseconds
  }

  public init(seconds: Int64) {
    self.microseconds = seconds * 1_000_000
  }

  /// A protobuf Timestamp; `nil` outside of its range (the years 1 to 9999, and nanoseconds below a second). No sum or
  /// difference within the range overflows. Rounds down to microseconds.
  public init?(seconds: Int64, nanoseconds: Int32) {
    guard Self.timestampSeconds.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
    self.init(microseconds: seconds * 1_000_000 + Int64(nanoseconds) / 1_000)
  }

  /// A machine's clock. Outside of a Timestamp's range it gives that range's end, so that no sum overflows.
  public init(clockSeconds seconds: Int, nanoseconds: Int) {
    let range = Self.timestampSeconds
    let held = min(max(Int64(seconds), range.lowerBound), range.upperBound)
    self.init(microseconds: held * 1_000_000 + Int64(nanoseconds) / 1_000)
  }

  /// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z, as in google/protobuf/timestamp.proto.
  private static let timestampSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// Whether a protobuf Timestamp can have it.
  public var isTimestamp: Bool { Self.timestampSeconds.contains(seconds) }

  /// Whole seconds, rounded down: the unit of JWT's NumericDate.
  public var seconds: Int64 {
    microseconds >= 0 ? microseconds / 1_000_000 : (microseconds - 999_999) / 1_000_000
  }

  public static func < (left: UnixTime, right: UnixTime) -> Bool {
    left.microseconds < right.microseconds
  }

  public static func + (time: UnixTime, duration: Duration) -> UnixTime {
    UnixTime(microseconds: time.microseconds + duration.wholeMicroseconds)
  }

  public static func - (later: UnixTime, earlier: UnixTime) -> Duration {
    .microseconds(later.microseconds - earlier.microseconds)
  }
}

extension Duration {
  /// Rounded toward zero.
  public var wholeMicroseconds: Int64 {
    // One division: `components` takes two, and multiplies.
    Int64(attoseconds / 1_000_000_000_000)
  }
}
