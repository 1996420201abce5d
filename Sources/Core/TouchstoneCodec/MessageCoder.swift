internal import CProtobufC

/// Decodes and encodes messages by protobuf-c, within bounds. It owns the memory for that and reuses it for the next
/// message: keep one for each event loop or thread.
public final class MessageCoder {
  /// gRPC's default limit.
  public static let maximumEncodedBytes = 4 << 20

  /// For the C structs of a message of `maximumEncodedBytes`: fields of a few bytes take eight times as many unpacked.
  private static let encodingBudget = 8 * maximumEncodedBytes

  private let limits: DecodingLimits
  private let arena = Arena()

  public init(limits: DecodingLimits = .default) {
    self.limits = limits
  }

  /// Reads the bytes only during the call.
  public func decode<Message: WireMessage>(
    _ type: Message.Type, from bytes: UnsafeRawBufferPointer
  ) throws(DecodingError) -> Message {
    guard bytes.count <= limits.maximumBytes else {
      throw DecodingError(
        code: .outOfBudget, field: "", reason: "message of \(bytes.count) bytes, at most \(limits.maximumBytes)")
    }
    arena.reset(budget: limits.maximumUnpackedBytes)
    let descriptor = Message.layout.descriptor
    try PreScan.check(bytes, as: descriptor, limits: limits, scratch: arena)
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    guard let message = protobuf_c_message_unpack(descriptor, arena.allocator, bytes.count, start) else {
      throw unpackingError()
    }
    return Message.read(UnpackedMessage(base: message))
  }

  public func decode<Message: WireMessage>(
    _ type: Message.Type, from bytes: [UInt8]
  ) throws(DecodingError) -> Message {
    try bytes.withUnsafeBufferPointer { (buffer) throws(DecodingError) -> Message in
      try decode(type, from: UnsafeRawBufferPointer(buffer))
    }
  }

  /// The same value always gives the same bytes: fields by number, map entries by key.
  public func encode<Message: WireMessage>(_ message: consuming Message) throws(EncodingError) -> [UInt8] {
    let packable = try cStruct(of: message)
    let size = protobuf_c_message_get_packed_size(packable)
    guard size <= Self.maximumEncodedBytes else { throw Self.tooLarge }
    // An array that is made without room would write its count into the instance that all empty arrays share.
    guard size > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = protobuf_c_message_pack(packable, buffer.baseAddress)
    }
  }

  /// The message as JSON, in one line. The same value always gives the same text.
  public func json<Message: WireMessage>(of message: consuming Message) throws(EncodingError) -> String {
    var json = MessageJSON()
    json.write(try cStruct(of: message))
    return json.text
  }

  /// The message in the arena, until the next use of it.
  private func cStruct<Message: WireMessage>(
    of message: consuming Message
  ) throws(EncodingError) -> UnsafeMutablePointer<ProtobufCMessage> {
    arena.reset(budget: Self.encodingBudget)
    var writer = FieldWriter(arena: arena)
    message.write(&writer)
    guard let packable = writer.message, !arena.isExhausted else { throw Self.tooLarge }
    if let text = writer.textWithNUL {
      throw EncodingError(
        code: .invalidText, field: FieldPath.find(text, in: packable) ?? "", reason: "must not contain NUL")
    }
    return packable
  }

  private func unpackingError() -> DecodingError {
    arena.isExhausted
      ? DecodingError(
        code: .outOfBudget, field: "", reason: "message takes over \(limits.maximumUnpackedBytes) bytes unpacked")
      : DecodingError(code: .malformed, field: "", reason: "message does not fit its schema")
  }

  private static var tooLarge: EncodingError {
    EncodingError(code: .tooLarge, field: "", reason: "message of over \(maximumEncodedBytes) bytes")
  }
}
