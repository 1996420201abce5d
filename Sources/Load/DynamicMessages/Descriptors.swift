// The contents of .proto files, read from their descriptors (google/protobuf/descriptor.proto).

/// A file, as reflection and `protoc --descriptor_set_out` deliver it.
package struct FileDescriptor: Sendable {
  package let name: String
  package let dependencies: [String]
  let package: String
  let messages: [MessageDescriptor]
  let enums: [EnumDescriptor]
  package let methods: [MethodDescriptor]

  package init(_ bytes: some Sequence<UInt8>) throws(WireError) {
    let fields = try WireField.all(Array(bytes)[...])
    let package = fields.text(2)
    let isProto2 = ["", "proto2"].contains(fields.text(12))
    name = fields.text(1)
    dependencies = fields.all(3).map(\.text)
    self.package = package
    var (messages, enums): ([MessageDescriptor], [EnumDescriptor]) = ([], [])
    for field in fields.all(4) {
      try MessageDescriptor.read(field.bytes, in: package, isProto2: isProto2, &messages, &enums)
    }
    for field in fields.all(5) { enums.append(try EnumDescriptor(field.bytes, in: package)) }
    (self.messages, self.enums) = (messages, enums)
    var methods: [MethodDescriptor] = []
    for field in fields.all(6) { methods += try MethodDescriptor.all(ofService: field.bytes, in: package) }
    self.methods = methods
  }

  /// The files of a FileDescriptorSet.
  package static func all(inSet bytes: [UInt8]) throws(WireError) -> [FileDescriptor] {
    var files: [FileDescriptor] = []
    for field in try WireField.all(bytes[...]).all(1) { files.append(try FileDescriptor(field.bytes)) }
    return files
  }
}

package struct MethodDescriptor: Hashable, Sendable {
  /// "pkg.Service"
  package let service: String
  package let name: String
  /// "pkg.Message"
  package let input: String
  package let isUnary: Bool

  fileprivate static func all(
    ofService bytes: ArraySlice<UInt8>, in package: String
  ) throws(WireError) -> [MethodDescriptor] {
    let service = try WireField.all(bytes)
    var methods: [MethodDescriptor] = []
    for method in service.all(2) {
      let fields = try WireField.all(method.bytes)
      methods.append(
        MethodDescriptor(
          service: package.qualifying(service.text(1)), name: fields.text(1), input: fields.typeName(2),
          isUnary: !fields.flag(5) && !fields.flag(6)))
    }
    return methods
  }
}

struct MessageDescriptor: Sendable {
  let name: String
  /// In the order of their numbers.
  let fields: [FieldDescriptor]
  let isMapEntry: Bool

  /// Reads a message with the types that are nested in it.
  fileprivate static func read(
    _ bytes: ArraySlice<UInt8>, in scope: String, isProto2: Bool, _ messages: inout [MessageDescriptor],
    _ enums: inout [EnumDescriptor]
  ) throws(WireError) {
    let all = try WireField.all(bytes)
    let name = scope.qualifying(all.text(1))
    var fields: [FieldDescriptor] = []
    for field in all.all(2) { fields.append(try FieldDescriptor(field.bytes, isProto2: isProto2)) }
    let options = try WireField.all(all.last(7)?.bytes ?? [])
    messages.append(
      MessageDescriptor(name: name, fields: fields.sorted { $0.number < $1.number }, isMapEntry: options.flag(7)))
    for nested in all.all(3) { try read(nested.bytes, in: name, isProto2: isProto2, &messages, &enums) }
    for nested in all.all(4) { enums.append(try EnumDescriptor(nested.bytes, in: name)) }
  }
}

struct FieldDescriptor: Sendable {
  /// As descriptor.proto numbers them.
  enum Kind: Int, Sendable {
    case double = 1
    case float, int64, uint64, int32, fixed64, fixed32, bool, string, group, message, bytes, uint32, `enum`
    case sfixed32, sfixed64, sint32, sint64
  }

  let name: String
  let jsonName: String
  let number: Int
  let kind: Kind
  /// The full name of the message or enum; empty for other types.
  let typeName: String
  let isRepeated: Bool
  let isRequired: Bool
  let isPacked: Bool
  /// A value that is zero is sent, too.
  let hasPresence: Bool
  /// Members of one oneof have the same number.
  let oneof: Int?

  fileprivate init(_ bytes: ArraySlice<UInt8>, isProto2: Bool) throws(WireError) {
    let fields = try WireField.all(bytes)
    guard let kind = Kind(rawValue: fields.integer(5)), (1..<1 << 29).contains(fields.integer(3)) else {
      throw WireError()
    }
    let options = try WireField.all(fields.last(8)?.bytes ?? [])
    let isOptional = fields.flag(17)
    name = fields.text(1)
    jsonName = fields.last(10)?.text ?? Self.lowerCamel(fields.text(1))
    number = fields.integer(3)
    self.kind = kind
    typeName = fields.typeName(6)
    isRepeated = fields.integer(4) == 3
    isRequired = fields.integer(4) == 2
    let isScalar = ![.string, .bytes, .message, .group].contains(kind)
    isPacked = isScalar && (options.last(2).map(\.isTrue) ?? !isProto2)
    // The single member of an `optional` field's own oneof excludes nothing.
    oneof = isOptional ? nil : fields.last(9)?.integer
    hasPresence = isProto2 || isOptional || fields.last(9) != nil || kind == .message
  }

  private static func lowerCamel(_ name: String) -> String {
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    return (words.first ?? "") + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}

struct EnumDescriptor: Sendable {
  let name: String
  let numbers: [String: Int32]

  fileprivate init(_ bytes: ArraySlice<UInt8>, in scope: String) throws(WireError) {
    let fields = try WireField.all(bytes)
    name = scope.qualifying(fields.text(1))
    var numbers: [String: Int32] = [:]
    for value in fields.all(2) {
      let parts = try WireField.all(value.bytes)
      numbers[parts.text(1)] = Int32(truncatingIfNeeded: parts.integer(2))
    }
    self.numbers = numbers
  }
}

extension String {
  /// A name in this package or message.
  fileprivate func qualifying(_ name: String) -> String { isEmpty ? name : "\(self).\(name)" }
}

extension [WireField] {
  func all(_ number: UInt64) -> [WireField] { filter { $0.number == number } }

  func last(_ number: UInt64) -> WireField? { last { $0.number == number } }

  fileprivate func text(_ number: UInt64) -> String { last(number)?.text ?? "" }

  fileprivate func integer(_ number: UInt64) -> Int { last(number)?.integer ?? 0 }

  fileprivate func flag(_ number: UInt64) -> Bool { last(number)?.isTrue ?? false }

  /// The type's full name, without the dot in front that marks a full one.
  fileprivate func typeName(_ number: UInt64) -> String {
    let name = text(number)
    return name.hasPrefix(".") ? String(name.dropFirst()) : name
  }
}
