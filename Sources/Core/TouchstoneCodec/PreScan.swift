internal import CProtobufC

/// A walk over a message's bytes along its descriptor, without recursion, before protobuf-c reads them: it checks what
/// protobuf-c does not.
///
/// After it, the message is within its limits and well-formed, and protobuf-c reads it as every other implementation
/// does. Stricter than the protobuf specification in three points, none of which an encoder of proto3 meets:
/// - A singular submessage given twice is refused: it would have to be merged, and protobuf-c 1.4 merges wrongly.
/// - A known field with another wire type than the schema's is refused, not kept as unknown.
/// - A group is refused, because protobuf-c 1.4 does not read messages with groups.
struct PreScan: ~Copyable {
  private typealias Field = UnsafePointer<ProtobufCFieldDescriptor>

  private var fieldsLeft: Int
  private var unknownFieldsLeft: Int
  private var position: UnsafePointer<UInt8>
  /// The field being read, if it is known; for the error.
  private var field: Field?
  /// Its number, if it is unknown; for the error.
  private var unknownNumber: UInt64?

  /// The message being read, and in `frames` the outer ones, outermost first.
  private var current: Frame
  private let frames: UnsafeMutablePointer<Frame>
  private var depth = 1
  private let maximumDepth: Int

  private struct Frame {
    let descriptor: UnsafePointer<ProtobufCMessageDescriptor>
    /// The field of the outer message that holds it.
    let field: Field?
    let end: UnsafePointer<UInt8>
    /// Bit n: the singular submessage of field n was seen. generate_swift.py makes sure that a message has fewer than
    /// 64 fields.
    var seen: UInt64 = 0
  }

  static func check(
    _ bytes: UnsafeRawBufferPointer, as descriptor: UnsafePointer<ProtobufCMessageDescriptor>, limits: DecodingLimits,
    scratch: Arena
  ) throws(DecodingError) {
    guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    guard let frames = scratch.allocate(Frame.self, count: limits.maximumDepth) else {
      throw DecodingError(code: .outOfBudget, field: "", reason: "needs more memory than its budget")
    }
    let outermost = Frame(descriptor: descriptor, field: nil, end: start + bytes.count)
    var scan = PreScan(at: start, outermost: outermost, frames: frames, limits: limits)
    do throws(Fault) {
      try scan.run()
    } catch {
      throw DecodingError(code: error.code, field: scan.path, reason: error.reason(limits))
    }
  }

  private init(
    at start: UnsafePointer<UInt8>, outermost: Frame, frames: UnsafeMutablePointer<Frame>, limits: DecodingLimits
  ) {
    self.fieldsLeft = limits.maximumFields
    self.unknownFieldsLeft = limits.maximumUnknownFields
    self.position = start
    self.current = outermost
    self.frames = frames
    self.maximumDepth = limits.maximumDepth
  }

  private mutating func run() throws(Fault) {
    while true {
      if position < current.end {
        try scanField()
      } else if depth > 1 {
        leaveMessage()
      } else {
        return
      }
    }
  }

  /// For the field being read: by its number if it is unknown.
  private var path: String {
    let path = (0..<(depth - 1)).map { frames[$0].field } + [current.field, field]
    let names = path.compactMap { $0.map { String(cString: $0.pointee.name) } }
    return (names + [unknownNumber.map(String.init)].compactMap(\.self)).joined(separator: ".")
  }
}

// MARK: Fields

// Inlined, because this runs for each field of an answer that takes only microseconds.
extension PreScan {
  private enum WireType: UInt64 {
    case varint = 0
    case fixed64 = 1
    case lengthDelimited = 2
    case fixed32 = 5
  }

  /// The start and the end of a group.
  private static let groupWireTypes: ClosedRange<UInt64> = 3...4

  @inline(__always)
  private mutating func scanField() throws(Fault) {
    field = nil
    unknownNumber = nil
    try spendField()
    let key = try varint()
    // Field numbers have 29 bits.
    guard case 1..<(1 << 29) = key >> 3 else { throw .fieldNumber }
    let wireType = WireType(rawValue: key & 7)
    if let index = Self.index(of: UInt32(truncatingIfNeeded: key >> 3), in: current.descriptor.pointee) {
      field = current.descriptor.pointee.fields + index
      guard let wireType else { throw .wireType }
      try scan(current.descriptor.pointee.fields + index, index, wireType)
    } else {
      unknownNumber = key >> 3
      guard let wireType else { throw Self.groupWireTypes.contains(key & 7) ? .group : .wireType }
      try skipUnknown(wireType)
    }
  }

  @inline(__always)
  private mutating func scan(_ field: Field, _ index: Int, _ wireType: WireType) throws(Fault) {
    switch field.pointee.type {
    case PROTOBUF_C_TYPE_STRING:
      guard wireType == .lengthDelimited else { throw .wireType }
      try scanText()
    case PROTOBUF_C_TYPE_BYTES:
      guard wireType == .lengthDelimited else { throw .wireType }
      position += try length()
    case PROTOBUF_C_TYPE_MESSAGE:
      guard wireType == .lengthDelimited else { throw .wireType }
      try enterMessage(field, index)
    case PROTOBUF_C_TYPE_BOOL, PROTOBUF_C_TYPE_ENUM, PROTOBUF_C_TYPE_INT32, PROTOBUF_C_TYPE_INT64,
      PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_UINT64:
      if wireType == .lengthDelimited, Self.isRepeated(field) {
        try scanPacked()
      } else {
        guard wireType == .varint else { throw .wireType }
        _ = try varint()
      }
    default:
      // The schema has no fixed-width, zigzag or floating-point fields.
      throw .wireType
    }
  }

  private mutating func scanText() throws(Fault) {
    let count = try length()
    switch TextDefect(in: UnsafeRawBufferPointer(start: position, count: count)) {
    case nil: position += count
    case .nul: throw .nul
    case .invalidUTF8: throw .invalidUTF8
    }
  }

  private mutating func enterMessage(_ field: Field, _ index: Int) throws(Fault) {
    let count = try length()
    if !Self.isRepeated(field) {
      let bit: UInt64 = 1 << UInt64(index)
      if current.seen & bit != 0 { throw .givenTwice }
      current.seen |= bit
    }
    guard depth < maximumDepth else { throw .tooDeep }
    let descriptor = field.pointee.descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self)
    (frames + (depth - 1)).initialize(to: current)
    current = Frame(descriptor: descriptor, field: field, end: position + count)
    depth += 1
  }

  private mutating func leaveMessage() {
    depth -= 1
    current = frames[depth - 1]
  }

  private mutating func scanPacked() throws(Fault) {
    let count = try length()
    let end = position + count
    while position < end {
      try spendField()
      _ = try varint()
    }
    // The last one must not go beyond the end.
    if position > end { throw .truncated }
  }

  private mutating func skipUnknown(_ wireType: WireType) throws(Fault) {
    unknownFieldsLeft -= 1
    guard unknownFieldsLeft >= 0 else { throw .tooManyUnknownFields }
    switch wireType {
    case .varint: _ = try varint()
    case .lengthDelimited: position += try length()
    case .fixed64: try skip(8)
    case .fixed32: try skip(4)
    }
  }

  @inline(__always)
  private mutating func spendField() throws(Fault) {
    fieldsLeft -= 1
    guard fieldsLeft >= 0 else { throw .tooManyFields }
  }

  @inline(__always)
  private static func index(of number: UInt32, in descriptor: ProtobufCMessageDescriptor) -> Int? {
    guard let fields = descriptor.fields else { return nil }
    // Most messages number their fields from 1 without gaps.
    let guess = Int(number) - 1
    if guess < descriptor.n_fields, fields[guess].id == number { return guess }
    return (0..<Int(descriptor.n_fields)).first { fields[$0].id == number }
  }

  private static func isRepeated(_ field: Field) -> Bool {
    field.pointee.label == PROTOBUF_C_LABEL_REPEATED
  }
}

// MARK: Bytes

extension PreScan {
  @inline(__always)
  private mutating func varint() throws(Fault) -> UInt64 {
    guard position < current.end, position.pointee < 0x80 else { return try longVarint() }
    defer { position += 1 }
    return UInt64(position.pointee)
  }

  /// At most ten bytes and 64 bits.
  private mutating func longVarint() throws(Fault) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < current.end {
      let byte = position.pointee
      position += 1
      // The tenth byte has only its lowest bit left.
      guard shift < 63 || byte <= 1 else { throw .longVarint }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw .truncated
  }

  /// The length of the following bytes, which are all there.
  @inline(__always)
  private mutating func length() throws(Fault) -> Int {
    let length = try varint()
    guard length <= UInt64(current.end - position) else { throw .truncated }
    return Int(length)
  }

  private mutating func skip(_ count: Int) throws(Fault) {
    guard count <= current.end - position else { throw .truncated }
    position += count
  }
}

// MARK: Faults

extension PreScan {
  /// Trivial, so that throwing it costs the loop nothing; its text is made later.
  private enum Fault: Error {
    case truncated, longVarint, fieldNumber, wireType, group, givenTwice
    case nul, invalidUTF8
    case tooDeep, tooManyFields, tooManyUnknownFields

    var code: DecodingError.Code {
      switch self {
      case .truncated, .longVarint, .fieldNumber, .wireType, .group, .givenTwice: .malformed
      case .nul, .invalidUTF8: .invalidText
      case .tooDeep, .tooManyFields, .tooManyUnknownFields: .tooComplex
      }
    }

    func reason(_ limits: DecodingLimits) -> String {
      switch self {
      case .truncated: "is truncated"
      case .longVarint: "has a varint of more than 64 bits"
      case .fieldNumber: "has an invalid field number"
      case .wireType: "has the wrong wire type"
      case .group: "is a group, which is not read"
      case .givenTwice: "is given twice"
      case .nul: "must not contain NUL"
      case .invalidUTF8: "is not valid UTF-8"
      case .tooDeep: "is nested deeper than \(limits.maximumDepth) messages"
      case .tooManyFields: "has more than \(limits.maximumFields) fields"
      case .tooManyUnknownFields: "has more than \(limits.maximumUnknownFields) unknown fields"
      }
    }
  }
}
