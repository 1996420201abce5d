// Why bytes were refused, or a message could not become bytes.

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
