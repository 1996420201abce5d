// The messages of touchstone.v1, and the two of google.protobuf that they use.
//
// Field comments are in the .proto files' words; Swift names are theirs in lower camel case.

/// Namespace of the touchstone.v1 messages.
public enum V1 {
  /// google.protobuf.Timestamp: since 1970 in UTC, leap seconds not counted.
  public struct Timestamp: WireMessage {
    public var seconds: Int64
    /// 0 to 999,999,999, forward in time also before 1970. The coder does not check.
    public var nanoseconds: Int32

    public init(seconds: Int64 = 0, nanoseconds: Int32 = 0) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }
  }

  /// google.protobuf.Duration.
  public struct Duration: WireMessage {
    public var seconds: Int64
    /// Of the same sign as `seconds`. The coder does not check.
    public var nanoseconds: Int32

    public init(seconds: Int64 = 0, nanoseconds: Int32 = 0) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }
  }
}
