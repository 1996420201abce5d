// How much work a peer may cause in a decoder.

/// Bounds on one message. protobuf-c has none of its own: without bounds, 4 MiB of unknown fields take 200 MiB of heap.
public struct DecodingLimits: Hashable, Sendable {
  /// On the wire.
  public var maximumBytes: Int
  /// Levels of nested messages, including the outermost.
  public var maximumDepth: Int
  /// All fields, including nested ones, unknown ones and the elements of packed fields. Bounds the time.
  public var maximumFields: Int
  /// Fields that the schema does not have, as a newer peer may send. Part of `maximumFields`.
  public var maximumUnknownFields: Int
  /// The unpacked message's size, before it becomes Swift values. Bounds the memory.
  public var maximumUnpackedBytes: Int

  public init(
    maximumBytes: Int, maximumDepth: Int, maximumFields: Int, maximumUnknownFields: Int, maximumUnpackedBytes: Int
  ) {
    self.maximumBytes = maximumBytes
    self.maximumDepth = maximumDepth
    self.maximumFields = maximumFields
    self.maximumUnknownFields = maximumUnknownFields
    self.maximumUnpackedBytes = maximumUnpackedBytes
  }

  /// For requests from untrusted peers. The largest honest one, a passkey's assertion with a posture, has two dozen
  /// fields and some kilobytes; the schema's deepest request has four levels.
  public static let `default` = DecodingLimits(
    maximumBytes: 64 << 10, maximumDepth: 8, maximumFields: 512, maximumUnknownFields: 64,
    maximumUnpackedBytes: 256 << 10)

  /// For answers from a service that the caller chose: a page of 1,000 events has about 30,000 fields.
  public static let answers = DecodingLimits(
    maximumBytes: 4 << 20, maximumDepth: 8, maximumFields: 200_000, maximumUnknownFields: 20_000,
    maximumUnpackedBytes: 32 << 20)
}
