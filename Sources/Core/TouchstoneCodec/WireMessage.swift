// The functions of every API message: reading from bytes and writing to them.

/// A protobuf message as a Swift value.
///
/// The requirements below `fullName` are for the coder. They are public because Swift has no narrower access for them,
/// but their types can be neither made nor opened outside this module, so only its own messages conform.
public protocol WireMessage: Hashable, Sendable {
  /// The protobuf name with its package: `touchstone.v1.Denial`.
  static var fullName: String { get }

  static var layout: MessageLayout { get }
  static func read(_ message: UnpackedMessage) -> Self
  consuming func write(_ writer: inout FieldWriter)
}

extension WireMessage {
  /// Decodes with a coder of its own: for cold paths. A loop keeps a ``MessageCoder``.
  public static func decoded(
    from bytes: [UInt8], limits: DecodingLimits = .default
  ) throws(DecodingError) -> Self {
    try MessageCoder(limits: limits).decode(Self.self, from: bytes)
  }

  /// Encodes with a coder of its own: for cold paths. A loop keeps a ``MessageCoder``.
  public func encoded() throws(EncodingError) -> [UInt8] {
    try MessageCoder().encode(self)
  }

  /// The message as JSON, in one line, by protobuf's mapping. A field with its default value is left out.
  public func json() throws(EncodingError) -> String {
    try MessageCoder().json(of: self)
  }
}

/// An enumeration as in proto3: open, so that a newer peer's values pass through.
public protocol OpenEnum: RawRepresentable, Hashable, Sendable where RawValue == Int32 {
  init(rawValue: Int32)
}

extension OpenEnum {
  /// Zero, the default of every enumeration.
  public static var unspecified: Self { Self(rawValue: 0) }
}
