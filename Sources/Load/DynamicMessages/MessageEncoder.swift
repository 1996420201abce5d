// JSON to protobuf's bytes, as proto3's JSON mapping has it (protobuf.dev/programming-guides/json).

/// A JSON value that its message cannot carry.
package struct MessageError: Error, Hashable, CustomStringConvertible {
  /// "$.user.names[2]"
  package let path: String
  package let reason: String

  package var description: String { "\(path) \(reason)" }
}

extension DescriptorPool {
  /// Deterministic: fields by number, entries of maps by key.
  ///
  /// - Parameter type: "pkg.Message"
  package func encode(_ json: JSONValue, as type: String) throws(MessageError) -> [UInt8] {
    try MessageEncoder(pool: self).message(json, type, JSONPath())
  }
}

/// The path of a value in its text, for errors.
struct JSONPath {
  private var text = "$"
  fileprivate(set) var depth = 0

  func member(_ name: String) -> JSONPath { adding(".\(name)") }

  func element(_ index: Int) -> JSONPath { adding("[\(index)]") }

  func entry(_ key: String) -> JSONPath { adding("[\"\(key)\"]") }

  func error(_ reason: String) -> MessageError { MessageError(path: text, reason: reason) }

  private func adding(_ part: String) -> JSONPath {
    var path = self
    path.text += part
    path.depth += 1
    return path
  }
}

struct MessageEncoder {
  let pool: DescriptorPool

  /// Protobuf's own readers take no deeper messages.
  private static let maximumDepth = 100

  func message(_ json: JSONValue, _ type: String, _ path: JSONPath) throws(MessageError) -> [UInt8] {
    guard path.depth < Self.maximumDepth else { throw path.error("is nested too deeply") }
    if let bytes = try wellKnown(json, type, path) { return bytes }
    guard case .object(let members) = json else { throw path.error("is no object, which \(type) needs") }
    return try fields(members, type, path)
  }

  func fields(_ members: [String: JSONValue], _ type: String, _ path: JSONPath) throws(MessageError) -> [UInt8] {
    guard let descriptor = pool.message(type) else { throw path.error("has the type \(type), which no descriptor has") }
    let values = try assign(members, descriptor, path)
    var writer = WireWriter()
    for field in descriptor.fields {
      guard let (name, value) = values[field.number] else {
        if field.isRequired { throw path.error("has no \(field.jsonName), which \(type) requires") }
        continue
      }
      try encode(value, field, path.member(name), &writer)
    }
    return writer.bytes
  }

  /// By field, the name that the text uses for it, and the value. A member that is null is absent.
  private func assign(
    _ members: [String: JSONValue], _ descriptor: MessageDescriptor, _ path: JSONPath
  ) throws(MessageError) -> [Int: (String, JSONValue)] {
    var values: [Int: (String, JSONValue)] = [:]
    var oneofs: [Int: String] = [:]
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard
        let field = descriptor.fields.first(where: { $0.jsonName == name })
          ?? descriptor.fields.first(where: { $0.name == name })
      else { throw path.member(name).error("is no field of \(descriptor.name)") }
      if value == .null, !takesNull(field) { continue }
      guard values.updateValue((name, value), forKey: field.number) == nil else {
        throw path.member(name).error("is there twice")
      }
      if let oneof = field.oneof, let other = oneofs.updateValue(name, forKey: oneof) {
        throw path.member(name).error("excludes \(other): they are of one oneof")
      }
    }
    return values
  }

  private func takesNull(_ field: FieldDescriptor) -> Bool {
    !field.isRepeated && ["google.protobuf.Value", "google.protobuf.NullValue"].contains(field.typeName)
  }

  private func encode(
    _ value: JSONValue, _ field: FieldDescriptor, _ path: JSONPath, _ writer: inout WireWriter
  ) throws(MessageError) {
    if let entry = mapEntry(of: field) {
      try encodeMap(value, field, entry, path, &writer)
    } else if field.isRepeated {
      try encodeList(value, field, path, &writer)
    } else {
      let content = try single(value, field, path)
      if field.hasPresence || !content.isZero { writer.add(content, field.number) }
    }
  }

  private func encodeList(
    _ value: JSONValue, _ field: FieldDescriptor, _ path: JSONPath, _ writer: inout WireWriter
  ) throws(MessageError) {
    guard case .array(let elements) = value else { throw path.error("is no array") }
    var packed = WireWriter()
    for (index, element) in elements.enumerated() {
      let content = try single(element, field, path.element(index))
      if field.isPacked { packed.add(content) } else { writer.add(content, field.number) }
    }
    if !packed.bytes.isEmpty { writer.field(field.number, packed.bytes) }
  }

  private func encodeMap(
    _ value: JSONValue, _ field: FieldDescriptor, _ entry: MessageDescriptor, _ path: JSONPath,
    _ writer: inout WireWriter
  ) throws(MessageError) {
    guard case .object(let members) = value, entry.fields.count == 2 else { throw path.error("is no object") }
    var entries: [(key: ScalarContent, bytes: [UInt8])] = []
    for (key, value) in members {
      let path = path.entry(key)
      let keyContent = try mapKey(key, entry.fields[0], path)
      var content = WireWriter()
      content.add(keyContent, 1)
      content.add(try single(value, entry.fields[1], path), 2)
      entries.append((keyContent, content.bytes))
    }
    for entry in entries.sorted(by: { $0.key.precedes($1.key) }) { writer.field(field.number, entry.bytes) }
  }

  private func mapEntry(of field: FieldDescriptor) -> MessageDescriptor? {
    guard field.isRepeated, field.kind == .message, let entry = pool.message(field.typeName), entry.isMapEntry else {
      return nil
    }
    return entry
  }

  private func single(_ value: JSONValue, _ field: FieldDescriptor, _ path: JSONPath) throws(MessageError)
    -> ScalarContent
  {
    switch field.kind {
    case .message: .bytes(try message(value, field.typeName, path))
    case .enum: .varint(UInt64(bitPattern: Int64(try enumeration(value, field.typeName, path))))
    default: try scalar(value, field.kind, path)
    }
  }

  private func enumeration(_ value: JSONValue, _ type: String, _ path: JSONPath) throws(MessageError) -> Int32 {
    if value == .null, type == "google.protobuf.NullValue" { return 0 }
    if case .string(let name) = value {
      guard let number = pool.enumeration(type)?.numbers[name] else { throw path.error("is no value of \(type)") }
      return number
    }
    guard let number = value.integer(Int32.self) else { throw path.error("is no value of \(type)") }
    return number
  }
}
