// What protobuf-c does not check is checked here, on the bytes, before it sees them.

internal import CProtobufC

/// A walk over a message's bytes along its descriptor, without recursion.
///
/// After it, the message is within its limits and well-formed, and protobuf-c reads it as every other implementation
/// does. Stricter than the protobuf specification in two points, neither of which any encoder meets:
/// - A singular submessage given twice is refused: it would have to be merged, and protobuf-c 1.4 merges wrongly.
/// - A known field with another wire type than the schema's is refused, not kept as unknown.
struct PreScan: ~Copyable {
  /// Field numbers have 29 bits (protobuf, "Assigning Field Numbers").
  static let maximumFieldNumber: UInt64 = (1 << 29) - 1

  private let limits: DecodingLimits
  private var fieldsLeft: Int
  private var unknownFieldsLeft: Int
  private var position: UnsafePointer<UInt8>
  private let frames: UnsafeMutablePointer<Frame>
  private var depth = 1

  /// One message on the way from the outermost to the one being read.
  private struct Frame {
    let descriptor: UnsafePointer<ProtobufCMessageDescriptor>
    /// The field of the message around it that holds it.
    let field: UnsafePointer<ProtobufCFieldDescriptor>?
    let end: UnsafePointer<UInt8>
    /// Bit n: the singular submessage of field n was seen. The generated messages have far fewer than 64 fields.
    var seen: UInt64 = 0
  }

  static func check(
    _ bytes: UnsafeRawBufferPointer, as descriptor: UnsafePointer<ProtobufCMessageDescriptor>, limits: DecodingLimits,
    scratch: Arena
  ) throws(DecodingError) {
    guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    guard let frames = scratch.allocate(Frame.self, count: limits.maximumDepth) else {
      throw DecodingError(code: .outOfBudget, field: "", reason: "no room to read it")
    }
    frames.initialize(to: Frame(descriptor: descriptor, field: nil, end: start + bytes.count))
    var scan = PreScan(at: start, frames: frames, limits: limits)
    try scan.run()
  }

  private init(at start: UnsafePointer<UInt8>, frames: UnsafeMutablePointer<Frame>, limits: DecodingLimits) {
    self.limits = limits
    self.fieldsLeft = limits.maximumFields
    self.unknownFieldsLeft = limits.maximumUnknownFields
    self.position = start
    self.frames = frames
  }

  private mutating func run() throws(DecodingError) {
    while true {
      if position < end {
        try scanField()
      } else if depth > 1 {
        depth -= 1
      } else {
        return
      }
    }
  }

  /// Of the message being read.
  private var end: UnsafePointer<UInt8> { frames[depth - 1].end }
}

// MARK: Fields

extension PreScan {
  private enum WireType: UInt64 {
    case varint = 0
    case fixed64 = 1
    case lengthDelimited = 2
    case fixed32 = 5
  }

  private mutating func scanField() throws(DecodingError) {
    try spendField(nil)
    let key = try varint(nil)
    let number = key >> 3
    guard number > 0, number <= Self.maximumFieldNumber else {
      throw malformed(nil, "has a field of number \(number)")
    }
    guard let wireType = WireType(rawValue: key & 7) else {
      throw malformed(nil, "has a field of wire type \(key & 7)")
    }
    let descriptor = frames[depth - 1].descriptor
    if let index = Self.index(of: UInt32(truncatingIfNeeded: number), in: descriptor) {
      try scan(descriptor.pointee.fields + index, index, wireType)
    } else {
      try skipUnknown(wireType)
    }
  }

  private mutating func scan(
    _ field: UnsafePointer<ProtobufCFieldDescriptor>, _ index: Int, _ wireType: WireType
  ) throws(DecodingError) {
    switch (field.pointee.type, wireType) {
    case (PROTOBUF_C_TYPE_STRING, .lengthDelimited):
      try scanText(field)
    case (PROTOBUF_C_TYPE_BYTES, .lengthDelimited):
      position += try length(field)
    case (PROTOBUF_C_TYPE_MESSAGE, .lengthDelimited):
      try enterMessage(field, index)
    case (_, .varint) where Self.isVarint(field.pointee.type):
      _ = try varint(field)
    case (_, .lengthDelimited) where Self.isVarint(field.pointee.type) && Self.isRepeated(field):
      try scanPacked(field)
    default:
      throw malformed(field, "has wire type \(wireType.rawValue)")
    }
  }

  private mutating func scanText(_ field: UnsafePointer<ProtobufCFieldDescriptor>) throws(DecodingError) {
    let count = try length(field)
    defer { position += count }
    switch TextDefect(in: UnsafeRawBufferPointer(start: position, count: count)) {
    case nil: return
    case .nul: throw error(.invalidText, field, "must not contain NUL")
    case .invalidUTF8: throw error(.invalidText, field, "is not valid UTF-8")
    }
  }

  private mutating func enterMessage(
    _ field: UnsafePointer<ProtobufCFieldDescriptor>, _ index: Int
  ) throws(DecodingError) {
    let count = try length(field)
    if !Self.isRepeated(field) {
      let bit: UInt64 = 1 << UInt64(index)
      if frames[depth - 1].seen & bit != 0 { throw malformed(field, "is given twice") }
      frames[depth - 1].seen |= bit
    }
    guard depth < limits.maximumDepth else {
      throw error(.tooComplex, field, "is nested more than \(limits.maximumDepth) messages deep")
    }
    let descriptor = field.pointee.descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
    (frames + depth).initialize(to: Frame(descriptor: descriptor, field: field, end: position + count))
    depth += 1
  }

  private mutating func scanPacked(_ field: UnsafePointer<ProtobufCFieldDescriptor>) throws(DecodingError) {
    let count = try length(field)
    let packedEnd = position + count
    while position < packedEnd {
      try spendField(field)
      _ = try varint(field)
    }
    if position > packedEnd { throw malformed(field, "is truncated") }
  }

  private mutating func skipUnknown(_ wireType: WireType) throws(DecodingError) {
    unknownFieldsLeft -= 1
    guard unknownFieldsLeft >= 0 else {
      throw error(.tooComplex, nil, "has more than \(limits.maximumUnknownFields) unknown fields")
    }
    switch wireType {
    case .varint: _ = try varint(nil)
    case .lengthDelimited: position += try length(nil)
    case .fixed64: try skip(8)
    case .fixed32: try skip(4)
    }
  }

  private mutating func spendField(_ field: UnsafePointer<ProtobufCFieldDescriptor>?) throws(DecodingError) {
    fieldsLeft -= 1
    guard fieldsLeft >= 0 else {
      throw error(.tooComplex, field, "has more than \(limits.maximumFields) fields")
    }
  }

  private static func index(
    of number: UInt32, in descriptor: UnsafePointer<ProtobufCMessageDescriptor>
  ) -> Int? {
    let count = Int(descriptor.pointee.n_fields)
    guard let fields = descriptor.pointee.fields else { return nil }
    // Most messages number their fields from 1 without gaps.
    let guess = Int(number) - 1
    if guess < count, fields[guess].id == number { return guess }
    return (0..<count).first { fields[$0].id == number }
  }

  private static func isRepeated(_ field: UnsafePointer<ProtobufCFieldDescriptor>) -> Bool {
    field.pointee.label == PROTOBUF_C_LABEL_REPEATED
  }

  /// The schema has no fixed-width, zigzag or floating-point fields.
  private static func isVarint(_ type: ProtobufCType) -> Bool {
    switch type {
    case PROTOBUF_C_TYPE_BOOL, PROTOBUF_C_TYPE_ENUM, PROTOBUF_C_TYPE_INT32, PROTOBUF_C_TYPE_INT64,
      PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_UINT64:
      true
    default: false
    }
  }
}

// MARK: Bytes

extension PreScan {
  /// At most ten bytes and 64 bits.
  private mutating func varint(_ field: UnsafePointer<ProtobufCFieldDescriptor>?) throws(DecodingError) -> UInt64 {
    let end = end
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < end {
      let byte = position.pointee
      position += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 {
        // Of the tenth byte only the lowest bit is left.
        if shift == 63, byte > 1 { break }
        return value
      }
      shift += 7
      if shift > 63 { break }
    }
    throw malformed(field, "has a varint that is truncated or too long")
  }

  /// The length of what follows, which is there.
  private mutating func length(_ field: UnsafePointer<ProtobufCFieldDescriptor>?) throws(DecodingError) -> Int {
    let length = try varint(field)
    guard length <= UInt64(end - position) else { throw malformed(field, "is truncated") }
    return Int(length)
  }

  private mutating func skip(_ count: Int) throws(DecodingError) {
    guard count <= end - position else { throw malformed(nil, "is truncated") }
    position += count
  }
}

// MARK: Errors

extension PreScan {
  private func malformed(
    _ field: UnsafePointer<ProtobufCFieldDescriptor>?, _ reason: String
  ) -> DecodingError {
    error(.malformed, field, reason)
  }

  /// `field` is the one at fault in the message being read; `nil` blames that message.
  private func error(
    _ code: DecodingError.Code, _ field: UnsafePointer<ProtobufCFieldDescriptor>?, _ reason: String
  ) -> DecodingError {
    let path = (1..<depth).map { frames[$0].field } + [field]
    let names = path.compactMap { $0.map { String(cString: $0.pointee.name) } }
    return DecodingError(code: code, field: names.joined(separator: "."), reason: reason)
  }
}
