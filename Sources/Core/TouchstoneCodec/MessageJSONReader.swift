internal import CProtobufC
internal import Encodings

/// Reads JSON by protobuf's own mapping (protobuf.dev/programming-guides/json) into the bytes of a message, which the
/// coder then decodes as if the caller had sent them. `MessageJSON` writes what this reads.
///
/// Strict, as the mapping has it by default: a field that the message lacks is refused, and so is a name of an
/// enumeration that it lacks. A field stands once, under either of its names. The schema bounds how deep it reads,
/// because no message contains itself and nothing unknown is skipped.
struct MessageJSONReader {
  private typealias Message = UnsafePointer<ProtobufCMessageDescriptor>

  /// Scalars of an unknown name that an error shows.
  private static let shownNameScalars = 64

  private var json: JSONReader
  private let maximumFields: Int
  /// Members of objects and elements of lists that may still come.
  private var fieldsLeft: Int
  /// The way to the present value: names of the .proto file, places in lists as "[2]".
  private var path: [String] = []

  /// - Parameter layout: of the message that the JSON text stands for.
  static func bytes(
    of json: [UInt8], as layout: MessageLayout, limits: DecodingLimits
  ) throws(DecodingError) -> [UInt8] {
    var reader = MessageJSONReader(json: JSONReader(bytes: json), limits)
    reader.json.skipSpace()
    let bytes = try reader.message(layout.descriptor)
    reader.json.skipSpace()
    guard reader.json.isAtEnd else { throw reader.fault("has bytes after its end") }
    return bytes
  }

  private init(json: JSONReader, _ limits: DecodingLimits) {
    self.json = json
    maximumFields = limits.maximumFields
    fieldsLeft = maximumFields
  }

  private func fault(_ reason: String, _ code: DecodingError.Code = .malformed) -> DecodingError {
    let field = path.reduce("") { $0.isEmpty || $1.hasPrefix("[") ? $0 + $1 : "\($0).\($1)" }
    return DecodingError(code: code, field: field, reason: reason)
  }

  /// A part of the text, by the reader that knows JSON alone.
  private mutating func read<Part>(
    _ part: (inout JSONReader) throws(JSONError) -> Part
  ) throws(DecodingError) -> Part {
    do throws(JSONError) {
      return try part(&json)
    } catch {
      throw fault("is not JSON: \(error.description)")
    }
  }

  // MARK: Messages

  private mutating func message(_ descriptor: Message) throws(DecodingError) -> [UInt8] {
    let names = JSONNames.of(descriptor)
    switch names.message {
    case "google.protobuf.Timestamp": return try timestamp()
    case "google.protobuf.Duration": return try duration()
    default: break
    }
    guard json.take("{") else { throw fault("must be an object") }
    var bytes: [UInt8] = []
    // Bit n: field n was seen. generate_swift.py makes sure that a message has fewer than 64 fields.
    var seen: UInt64 = 0
    var oneOfs: Set<UInt32> = []
    var isFirst = true
    while try next(before: "}", &isFirst) {
      let name = try memberName()
      guard let index = names.index(of: name) else {
        path.append(String(name.unicodeScalars.prefix(Self.shownNameScalars)))
        throw fault("is no field of \(names.message)")
      }
      let field = descriptor.pointee.fields + index
      path.append(names.fields[index].name)
      guard seen & 1 << UInt64(index) == 0 else { throw fault("is given twice") }
      seen |= 1 << UInt64(index)
      // A field that is null is absent.
      if !json.take(word: "null") {
        let isOfOneOf = field.pointee.flags & PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue != 0
        guard !isOfOneOf || oneOfs.insert(field.pointee.quantifier_offset).inserted else {
          throw fault("is one of several fields of which a message has one alone")
        }
        try append(field, isMap: names.fields[index].isMap, to: &bytes)
      }
      path.removeLast()
    }
    return bytes
  }

  /// Whether an object or a list that has begun goes on.
  private mutating func next(before end: Unicode.Scalar, _ isFirst: inout Bool) throws(DecodingError) -> Bool {
    json.skipSpace()
    guard !json.take(end) else { return false }
    guard isFirst || json.take(",") else { throw fault("is not JSON: a comma or \"\(end)\" is missing") }
    isFirst = false
    fieldsLeft -= 1
    guard fieldsLeft >= 0 else { throw fault("has more than \(maximumFields) fields", .tooComplex) }
    json.skipSpace()
    return true
  }

  /// The name of an object's member, with the colon.
  private mutating func memberName() throws(DecodingError) -> String {
    let name = try text(otherwise: "is not JSON: a name is missing")
    json.skipSpace()
    guard json.take(":") else { throw fault("is not JSON: a colon is missing") }
    json.skipSpace()
    return name
  }

  // MARK: Fields

  private mutating func append(
    _ field: UnsafePointer<ProtobufCFieldDescriptor>, isMap: Bool, to bytes: inout [UInt8]
  ) throws(DecodingError) {
    if isMap {
      try appendEntries(of: field, to: &bytes)
    } else if field.pointee.label == PROTOBUF_C_LABEL_REPEATED {
      guard json.take("[") else { throw fault("must be a list") }
      var (isFirst, place) = (true, 0)
      while try next(before: "]", &isFirst) {
        path.append("[\(place)]")
        try appendValue(field.pointee, to: &bytes)
        path.removeLast()
        place += 1
      }
    } else {
      try appendValue(field.pointee, to: &bytes)
    }
  }

  /// An entry is a message with the key as field 1 and the value as field 2. Keys are strings in every map of the API.
  private mutating func appendEntries(
    of field: UnsafePointer<ProtobufCFieldDescriptor>, to bytes: inout [UInt8]
  ) throws(DecodingError) {
    guard json.take("{") else { throw fault("must be an object") }
    let entry = Message(field.pointee.descriptor!.assumingMemoryBound(to: ProtobufCMessageDescriptor.self))
    var keys: Set<[UInt8]> = []
    var isFirst = true
    while try next(before: "}", &isFirst) {
      let key = Array(try memberName().utf8)
      path.append(String(String(decoding: key, as: UTF8.self).unicodeScalars.prefix(Self.shownNameScalars)))
      guard keys.insert(key).inserted else { throw fault("is given twice") }
      var content: [UInt8] = []
      content.appendField(1, key)
      try appendValue(entry.pointee.fields[1], to: &content)
      bytes.appendField(field.pointee.id, content)
      path.removeLast()
    }
  }

  private mutating func appendValue(
    _ field: ProtobufCFieldDescriptor, to bytes: inout [UInt8]
  ) throws(DecodingError) {
    switch field.type {
    case PROTOBUF_C_TYPE_STRING: bytes.appendField(field.id, Array(try text(otherwise: "must be a text").utf8))
    case PROTOBUF_C_TYPE_BYTES:
      guard let content = Base64.decode(ofEitherAlphabet: try text(otherwise: "must be a text in Base64")) else {
        throw fault("must be a text in Base64")
      }
      bytes.appendField(field.id, content)
    case PROTOBUF_C_TYPE_MESSAGE:
      let inner = Message(field.descriptor!.assumingMemoryBound(to: ProtobufCMessageDescriptor.self))
      bytes.appendField(field.id, try message(inner))
    case PROTOBUF_C_TYPE_BOOL: bytes.appendField(field.id, varint: try boolean() ? 1 : 0)
    case PROTOBUF_C_TYPE_ENUM: bytes.appendField(field.id, varint: UInt64(bitPattern: Int64(try enumValue(field))))
    case PROTOBUF_C_TYPE_INT32:
      bytes.appendField(field.id, varint: UInt64(bitPattern: Int64(try integer(Int32.self))))
    case PROTOBUF_C_TYPE_INT64: bytes.appendField(field.id, varint: UInt64(bitPattern: try integer(Int64.self)))
    case PROTOBUF_C_TYPE_UINT32: bytes.appendField(field.id, varint: UInt64(try integer(UInt32.self)))
    case PROTOBUF_C_TYPE_UINT64: bytes.appendField(field.id, varint: try integer(UInt64.self))
    default: preconditionFailure("the generator refuses other types")
    }
  }

  // MARK: Values

  private mutating func text(otherwise reason: String) throws(DecodingError) -> String {
    guard json.peek() == UInt8(ascii: "\"") else { throw fault(reason) }
    return try read { (json) throws(JSONError) in try json.string() }
  }

  private mutating func boolean() throws(DecodingError) -> Bool {
    if json.take(word: "true") { return true }
    guard json.take(word: "false") else { throw fault("must be true or false") }
    return false
  }

  /// A number may also stand for a value that has no name here, as a newer peer sends it.
  private mutating func enumValue(_ field: ProtobufCFieldDescriptor) throws(DecodingError) -> Int32 {
    guard json.peek() == UInt8(ascii: "\"") else { return try integer(Int32.self) }
    let name = try text(otherwise: "")
    let descriptor = field.descriptor!.assumingMemoryBound(to: ProtobufCEnumDescriptor.self)
    // A C string would end at NUL.
    guard !name.utf8.contains(0), let value = protobuf_c_enum_descriptor_get_value_by_name(descriptor, name) else {
      throw fault("must be a name or number of \(String(cString: descriptor.pointee.name))")
    }
    return value.pointee.value
  }

  /// A number, or a text with one. 1.0 and 1e2 are whole numbers, too.
  private mutating func integer<Number: FixedWidthInteger>(_: Number.Type) throws(DecodingError) -> Number {
    let reason = "must be a whole number from \(Number.min) to \(Number.max)"
    var number: String?
    if json.peek() == UInt8(ascii: "\"") {
      var inner = JSONReader(bytes: Array(try text(otherwise: reason).utf8))
      number = try? inner.number()
      if !inner.isAtEnd { number = nil }
    } else {
      number = try? json.number()
    }
    guard let value = number.flatMap({ Number(jsonNumber: $0) }) else { throw fault(reason) }
    return value
  }

  private mutating func timestamp() throws(DecodingError) -> [UInt8] {
    let reason = "must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z"
    guard let time = CalendarTime.read(rfc3339: try text(otherwise: reason)) else { throw fault(reason) }
    return Self.secondsAndNanoseconds(time.seconds, time.nanoseconds)
  }

  private mutating func duration() throws(DecodingError) -> [UInt8] {
    let reason = "must be seconds with the letter s, such as 1.5s"
    guard let duration = V1.Duration(json: try text(otherwise: reason)) else { throw fault(reason) }
    return Self.secondsAndNanoseconds(duration.seconds, duration.nanoseconds)
  }

  /// The fields that Timestamp and Duration have.
  private static func secondsAndNanoseconds(_ seconds: Int64, _ nanoseconds: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendField(1, varint: UInt64(bitPattern: seconds))
    bytes.appendField(2, varint: UInt64(bitPattern: Int64(nanoseconds)))
    return bytes
  }
}

extension FixedWidthInteger {
  /// The longest is UInt64.max, before zeros behind it.
  private static var maximumDigits: Int { 20 }

  /// `nil` if the number is not whole, or out of range.
  ///
  /// - Parameter text: by JSON's grammar.
  fileprivate init?(jsonNumber text: String) {
    let parts = text.lowercased().split(separator: "e", maxSplits: 1)
    let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".", maxSplits: 1)
    let fraction = mantissa.count > 1 ? mantissa[1] : ""
    var digits = Array((mantissa[0] + fraction).utf8.drop { $0 == UInt8(ascii: "0") })
    guard !digits.isEmpty else {
      self = 0
      return
    }
    // An exponent of more digits than Int has belongs to no number in range.
    guard let exponent = parts.count > 1 ? Int(parts[1]) : 0,
      case (let shift, false) = exponent.subtractingReportingOverflow(fraction.utf8.count),
      shift <= Self.maximumDigits, shift >= -digits.count
    else { return nil }
    if shift < 0 {
      guard digits.suffix(-shift).allSatisfy({ $0 == UInt8(ascii: "0") }) else { return nil }
      digits.removeLast(-shift)
    } else {
      digits += repeatElement(UInt8(ascii: "0"), count: shift)
    }
    self.init((text.hasPrefix("-") ? "-" : "") + String(decoding: digits, as: UTF8.self))
  }
}

extension V1.Duration {
  /// "60s", "-1.500s". `nil` for other texts, and for a duration that protobuf does not admit.
  fileprivate init?(json text: String) {
    let isNegative = text.hasPrefix("-")
    let parts = text.utf8.dropFirst(isNegative ? 1 : 0).split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    var last = Array(parts[parts.count - 1])
    guard last.popLast() == UInt8(ascii: "s") else { return nil }
    let whole = parts.count > 1 ? Array(parts[0]) : last
    let fraction = parts.count > 1 ? last : [UInt8(ascii: "0")]
    guard whole.allSatisfy({ (0x30...0x39).contains($0) }), (1...9).contains(fraction.count),
      let seconds = Int64(String(decoding: whole, as: UTF8.self)),
      let nanoseconds = CalendarTime.nanoseconds(ofFraction: fraction[...])
    else { return nil }
    self.init(seconds: isNegative ? -seconds : seconds, nanoseconds: isNegative ? -nanoseconds : nanoseconds)
    let written: String? = json
    guard written != nil else { return nil }
  }
}

// MARK: - Bytes

/// Fields as protobuf's encoding has them (protobuf.dev/programming-guides/encoding).
extension [UInt8] {
  fileprivate mutating func appendField(_ number: UInt32, varint value: UInt64) {
    appendVarint(UInt64(number) << 3)
    appendVarint(value)
  }

  fileprivate mutating func appendField(_ number: UInt32, _ content: [UInt8]) {
    appendVarint(UInt64(number) << 3 | 2)
    appendVarint(UInt64(content.count))
    self += content
  }

  private mutating func appendVarint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}
