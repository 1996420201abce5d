/// Bounds on one message: how much work a peer may cause in a decoder. protobuf-c has none of its own: without bounds,
/// 4 MiB of unknown fields take 200 MiB of heap.
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

/// The bytes are not the expected message, or exceed their reader's limits.
public struct DecodingError: Error, Hashable, Sendable {
  public enum Code: Hashable, Sendable {
    /// Not protobuf, or not of this schema.
    case malformed
    /// A string field with a NUL or with invalid UTF-8.
    case invalidText
    /// Too deep, or too many fields.
    case tooComplex
    /// Too many bytes, on the wire or unpacked.
    case outOfBudget
  }

  public var code: Code
  /// The path of the wrong field, by protobuf names and without indices: `posture.domain_state`. Empty if the fault
  /// concerns the whole message or its field is unknown.
  public var field: String
  /// For developers, to follow the field's name: "is not valid UTF-8".
  public var reason: String

  public init(code: Code, field: String, reason: String) {
    self.code = code
    self.field = field
    self.reason = reason
  }
}

/// A message that the wire cannot hold.
public struct EncodingError: Error, Hashable, Sendable {
  public enum Code: Hashable, Sendable {
    /// A string with a NUL, at which protobuf-c would end it.
    case invalidText
    /// Beyond ``MessageCoder/maximumEncodedBytes``.
    case tooLarge
  }

  public var code: Code
  /// The path of the wrong field, by protobuf names: `filter.kinds[2]`. Empty if it is the whole message.
  public var field: String
  public var reason: String

  public init(code: Code, field: String, reason: String) {
    self.code = code
    self.field = field
    self.reason = reason
  }
}
