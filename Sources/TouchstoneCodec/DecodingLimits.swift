// How much a peer may ask a decoder to do.

/// Bounds on one message. protobuf-c has none of its own: unbounded, 4 MiB of unknown fields become 200 MiB of heap.
public struct DecodingLimits: Hashable, Sendable {
  /// On the wire.
  public var maximumBytes: Int
  /// Levels of messages in one another, the outermost included.
  public var maximumDepth: Int
  /// Fields in all, nested ones, unknown ones and the elements of packed fields included. Bounds the time.
  public var maximumFields: Int
  /// Fields that the schema does not know: what a newer peer may send. Part of `maximumFields`.
  public var maximumUnknownFields: Int
  /// What the message may take unpacked, before it becomes Swift values. Bounds the memory.
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

  /// For requests, from peers that are not trusted. The largest honest one, a passkey's assertion with a posture, has
  /// two dozen fields and some kilobytes; the schema's deepest request has four levels.
  public static let `default` = DecodingLimits(
    maximumBytes: 64 << 10, maximumDepth: 8, maximumFields: 512, maximumUnknownFields: 64,
    maximumUnpackedBytes: 256 << 10)

  /// For answers, from a service that the caller chose: a page of 1,000 events has about 30,000 fields.
  public static let answers = DecodingLimits(
    maximumBytes: 4 << 20, maximumDepth: 8, maximumFields: 200_000, maximumUnknownFields: 20_000,
    maximumUnpackedBytes: 32 << 20)
}
