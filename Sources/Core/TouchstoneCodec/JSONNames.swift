internal import CProtobufC
internal import Synchronization

/// The names by which JSON has a message's fields. Made once for each type of message, at its first use, so that a
/// field costs its reader one look-up.
struct JSONNames: Sendable {
  struct Field: Sendable {
    /// As the .proto file has it.
    let name: String
    let isMap: Bool
  }

  /// The message's full name.
  let message: String
  /// In the descriptor's order.
  let fields: [Field]
  /// A field goes by its name in the .proto file, or by that name in lowerCamelCase. By bytes: Swift's texts are equal
  /// in other spellings, too.
  private let indices: [[UInt8]: Int]
  private let longest: Int

  /// By the descriptors' addresses, which are static. As many as the schema has types.
  private static let all = Mutex<[UInt: JSONNames]>([:])

  static func of(_ descriptor: UnsafePointer<ProtobufCMessageDescriptor>) -> JSONNames {
    let address = UInt(bitPattern: descriptor)
    if let known = all.withLock({ $0[address] }) { return known }
    let names = JSONNames(descriptor.pointee)
    all.withLock { $0[address] = names }
    return names
  }

  private init(_ descriptor: ProtobufCMessageDescriptor) {
    message = String(cString: descriptor.name)
    fields = (0..<Int(descriptor.n_fields)).map { index in
      let field = descriptor.fields[index]
      return Field(name: String(cString: field.name), isMap: MessageJSON.isMap(field, in: descriptor))
    }
    var indices: [[UInt8]: Int] = [:]
    for (index, field) in fields.enumerated() {
      for name in [field.name, MessageJSON.lowerCamel(field.name)] { indices[Array(name.utf8)] = index }
    }
    self.indices = indices
    longest = indices.keys.map(\.count).max() ?? 0
  }

  /// `nil`: the message has no such field.
  func index(of name: String) -> Int? {
    name.utf8.count <= longest ? indices[Array(name.utf8)] : nil
  }
}
