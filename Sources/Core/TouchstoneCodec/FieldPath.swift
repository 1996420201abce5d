internal import CProtobufC

/// Finds the field of a string in a C struct. For errors, so it may take its time.
enum FieldPath {
  /// The path of the string field that holds `text` itself, like `filter.kinds[2]`; `nil` if none does.
  static func find(_ text: UnsafeMutablePointer<CChar>, in message: UnsafeMutablePointer<ProtobufCMessage>) -> String? {
    let descriptor = message.pointee.descriptor.pointee
    for index in 0..<Int(descriptor.n_fields) {
      let field = descriptor.fields[index]
      guard isPresent(field, in: message) else { continue }
      let name = String(cString: field.name)
      for (path, pointer) in pointers(of: field, in: message, name) {
        if field.type == PROTOBUF_C_TYPE_STRING, pointer == UnsafeMutableRawPointer(text) { return path }
        if field.type == PROTOBUF_C_TYPE_MESSAGE,
          let rest = find(text, in: pointer.assumingMemoryBound(to: ProtobufCMessage.self))
        {
          return "\(path).\(rest)"
        }
      }
    }
    return nil
  }

  /// Members of a oneof share their place: only the set one can be read.
  private static func isPresent(
    _ field: ProtobufCFieldDescriptor, in message: UnsafeMutablePointer<ProtobufCMessage>
  ) -> Bool {
    guard field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue != 0 else { return true }
    return member(field.quantifier_offset, of: message, as: UInt32.self) == field.id
  }

  /// The strings or messages that a field points to, each with its path.
  private static func pointers(
    of field: ProtobufCFieldDescriptor, in message: UnsafeMutablePointer<ProtobufCMessage>, _ name: String
  ) -> [(path: String, pointer: UnsafeMutableRawPointer)] {
    guard field.type == PROTOBUF_C_TYPE_STRING || field.type == PROTOBUF_C_TYPE_MESSAGE else { return [] }
    guard field.label == PROTOBUF_C_LABEL_REPEATED else {
      return member(field.offset, of: message, as: UnsafeMutableRawPointer?.self).map { [(name, $0)] } ?? []
    }
    let array = UnsafeBufferPointer(
      start: member(field.offset, of: message, as: UnsafePointer<UnsafeMutableRawPointer>?.self),
      count: member(field.quantifier_offset, of: message, as: Int.self))
    return array.enumerated().map { ("\(name)[\($0.offset)]", $0.element) }
  }

  private static func member<T>(
    _ offset: UInt32, of message: UnsafeMutablePointer<ProtobufCMessage>, as type: T.Type
  ) -> T {
    UnsafeRawPointer(message).load(fromByteOffset: Int(offset), as: type)
  }
}
