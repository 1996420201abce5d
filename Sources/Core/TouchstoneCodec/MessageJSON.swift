internal import CProtobufC
internal import Encodings

/// Writes a C struct as a JSON text of one line, by protobuf's own mapping (protobuf.dev/programming-guides/json):
/// fields by number, those with default values left out.
///
/// The generator admits no floating-point, fixed-width or zigzag fields. A google.protobuf.Any is written as the two
/// fields that it has.
struct MessageJSON {
  typealias Message = UnsafeMutablePointer<ProtobufCMessage>

  private(set) var text = ""

  mutating func write(_ message: Message) {
    if let special = Self.wellKnown(message) {
      text += JSONText.quoted(special)
    } else {
      writeObject(message)
    }
  }

  private mutating func writeObject(_ message: Message) {
    let descriptor = message.pointee.descriptor.pointee
    var isFirst = true
    text += "{"
    for index in 0..<Int(descriptor.n_fields) {
      let field = descriptor.fields[index]
      guard Self.isWritten(field, of: message) else { continue }
      if !isFirst { text += "," }
      isFirst = false
      text += JSONText.quoted(Self.lowerCamel(String(cString: field.name))) + ":"
      if field.label == PROTOBUF_C_LABEL_REPEATED {
        writeRepeated(field, of: message, entry: Self.isMap(field, in: descriptor))
      } else {
        write(field, at: UnsafeRawPointer(message) + Int(field.offset))
      }
    }
    text += "}"
  }

  /// - Parameter entry: whether the field is a map, whose elements are its entries.
  private mutating func writeRepeated(_ field: ProtobufCFieldDescriptor, of message: Message, entry isMap: Bool) {
    let count = Self.member(field.quantifier_offset, of: message, as: Int.self)
    guard let start = Self.member(field.offset, of: message, as: UnsafeRawPointer?.self) else { return }
    text += isMap ? "{" : "["
    for index in 0..<count {
      if index > 0 { text += "," }
      let place = start + index * Self.stride(of: field)
      if isMap {
        writeEntry(place.load(as: Message.self))
      } else {
        write(field, at: place)
      }
    }
    text += isMap ? "}" : "]"
  }

  /// An entry has its key as field 1 and its value as field 2. Keys are strings in every map of the API.
  private mutating func writeEntry(_ entry: Message) {
    let fields = entry.pointee.descriptor.pointee.fields!
    write(fields[0], at: UnsafeRawPointer(entry) + Int(fields[0].offset))
    text += ":"
    write(fields[1], at: UnsafeRawPointer(entry) + Int(fields[1].offset))
  }

  private mutating func write(_ field: ProtobufCFieldDescriptor, at place: UnsafeRawPointer) {
    switch field.type {
    case PROTOBUF_C_TYPE_INT32: text += "\(place.load(as: Int32.self))"
    case PROTOBUF_C_TYPE_UINT32: text += "\(place.load(as: UInt32.self))"
    // As strings, because JavaScript's numbers have 53 bits.
    case PROTOBUF_C_TYPE_INT64: text += "\"\(place.load(as: Int64.self))\""
    case PROTOBUF_C_TYPE_UINT64: text += "\"\(place.load(as: UInt64.self))\""
    case PROTOBUF_C_TYPE_BOOL: text += place.load(as: protobuf_c_boolean.self) != 0 ? "true" : "false"
    case PROTOBUF_C_TYPE_ENUM: writeEnum(place.load(as: Int32.self), field)
    case PROTOBUF_C_TYPE_STRING:
      text += JSONText.quoted(FieldReader.text(place.load(as: UnsafeMutablePointer<CChar>?.self)))
    case PROTOBUF_C_TYPE_BYTES:
      let data = place.load(as: ProtobufCBinaryData.self)
      text += "\"\(Base64.encode(UnsafeBufferPointer(start: data.data, count: data.len)))\""
    case PROTOBUF_C_TYPE_MESSAGE:
      if let message = place.load(as: Message?.self) { write(message) } else { text += "{}" }
    default: preconditionFailure("the generator refuses other types")
    }
  }

  /// A value of a newer peer has no name here, and is written as its number.
  private mutating func writeEnum(_ value: Int32, _ field: ProtobufCFieldDescriptor) {
    let descriptor = field.descriptor!.assumingMemoryBound(to: ProtobufCEnumDescriptor.self)
    if let known = protobuf_c_enum_descriptor_get_value(descriptor, value) {
      text += JSONText.quoted(String(cString: known.pointee.name))
    } else {
      text += "\(value)"
    }
  }
}

// MARK: Fields

extension MessageJSON {
  /// A field without presence is left out if it has its type's default value.
  private static func isWritten(_ field: ProtobufCFieldDescriptor, of message: Message) -> Bool {
    if field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue != 0 {
      return member(field.quantifier_offset, of: message, as: UInt32.self) == field.id
    }
    if field.label == PROTOBUF_C_LABEL_REPEATED {
      return member(field.quantifier_offset, of: message, as: Int.self) > 0
    }
    switch field.type {
    case PROTOBUF_C_TYPE_MESSAGE: return member(field.offset, of: message, as: UnsafeRawPointer?.self) != nil
    case PROTOBUF_C_TYPE_STRING:
      return member(field.offset, of: message, as: UnsafeMutablePointer<CChar>?.self).map { $0.pointee != 0 } ?? false
    case PROTOBUF_C_TYPE_BYTES: return member(field.offset, of: message, as: ProtobufCBinaryData.self).len > 0
    case PROTOBUF_C_TYPE_INT64, PROTOBUF_C_TYPE_UINT64: return member(field.offset, of: message, as: Int64.self) != 0
    default: return member(field.offset, of: message, as: Int32.self) != 0
    }
  }

  /// Whether a field is a map: protoc nests the type of its entries in the message, under the field's name.
  static func isMap(_ field: ProtobufCFieldDescriptor, in message: ProtobufCMessageDescriptor) -> Bool {
    guard field.type == PROTOBUF_C_TYPE_MESSAGE, let descriptor = field.descriptor else { return false }
    let entry = descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self).pointee
    let camel = lowerCamel(String(cString: field.name))
    return String(cString: entry.name)
      == "\(String(cString: message.name)).\(camel.prefix(1).uppercased())\(camel.dropFirst())Entry"
  }

  /// Timestamp and Duration, which JSON has as texts. `nil`: another message, or a time that JSON cannot hold.
  private static func wellKnown(_ message: Message) -> String? {
    let descriptor = message.pointee.descriptor.pointee
    let name = String(cString: descriptor.name)
    guard name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration" else { return nil }
    let seconds = member(descriptor.fields[0].offset, of: message, as: Int64.self)
    let nanoseconds = member(descriptor.fields[1].offset, of: message, as: Int32.self)
    return name == "google.protobuf.Timestamp"
      ? V1.Timestamp(seconds: seconds, nanoseconds: nanoseconds).rfc3339()
      : V1.Duration(seconds: seconds, nanoseconds: nanoseconds).json
  }

  private static func stride(of field: ProtobufCFieldDescriptor) -> Int {
    switch field.type {
    case PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_MESSAGE: MemoryLayout<UnsafeRawPointer>.stride
    case PROTOBUF_C_TYPE_BYTES: MemoryLayout<ProtobufCBinaryData>.stride
    case PROTOBUF_C_TYPE_INT64, PROTOBUF_C_TYPE_UINT64: MemoryLayout<Int64>.stride
    default: MemoryLayout<Int32>.stride
    }
  }

  private static func member<T>(_ offset: UInt32, of message: Message, as type: T.Type) -> T {
    UnsafeRawPointer(message).load(fromByteOffset: Int(offset), as: type)
  }

  static func lowerCamel(_ name: String) -> String {
    let words = name.split(separator: "_")
    return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }
}

extension V1.Timestamp {
  /// RFC 3339: "2026-01-31T12:00:00.500Z", "2026-01-31T13:00:00+01:00". `nil` if the time lies outside of the years 1
  /// to 9999.
  ///
  /// - Parameters:
  ///   - offsetMinutes: of the local time from UTC; "Z" for `nil`.
  ///   - hasFraction: if false, fractions of a second are left out.
  package func rfc3339(offsetMinutes: Int64? = nil, hasFraction: Bool = true) -> String? {
    guard CalendarTime.fourDigits.contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else { return nil }
    let shifted = seconds + (offsetMinutes ?? 0) * 60
    guard CalendarTime.fourDigits.contains(shifted) else { return nil }
    return CalendarTime(secondsSince1970: shifted).dateTime
      + (hasFraction ? fraction(nanoseconds) : "") + (offsetMinutes.map(Self.offsetText) ?? "Z")
  }

  private static func offsetText(_ minutes: Int64) -> String {
    let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
    return (minutes < 0 ? "-" : "+") + "\(CalendarTime.digits(hours, 2)):\(CalendarTime.digits(rest, 2))"
  }
}

extension V1.Duration {
  /// 10,000 years, as Duration's own comment has it.
  private static let representable: ClosedRange<Int64> = -315_576_000_000...315_576_000_000

  /// "60s", "1.500s". `nil` for a duration that protobuf does not admit.
  var json: String? {
    let isNegative = seconds < 0 || nanoseconds < 0
    guard Self.representable.contains(seconds), nanoseconds.magnitude < 1_000_000_000,
      !isNegative || (seconds <= 0 && nanoseconds <= 0)
    else { return nil }
    return (isNegative ? "-" : "") + "\(seconds.magnitude)\(fraction(Int32(clamping: nanoseconds.magnitude)))s"
  }
}

/// In three, six or nine digits; none if it is 0.
private func fraction(_ nanoseconds: Int32) -> String {
  if nanoseconds == 0 { return "" }
  if nanoseconds % 1_000_000 == 0 { return ".\(CalendarTime.digits(Int64(nanoseconds / 1_000_000), 3))" }
  if nanoseconds % 1_000 == 0 { return ".\(CalendarTime.digits(Int64(nanoseconds / 1_000), 6))" }
  return ".\(CalendarTime.digits(Int64(nanoseconds), 9))"
}
