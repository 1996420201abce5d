// The messages of grpc.reflection.v1.ServerReflection; those of v1alpha have the same fields (grpc/grpc doc/server-reflection.md).

package enum Reflection {
  /// Newest first.
  package static let paths = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
  ]

  package enum Request: Sendable {
    case file(name: String)
    case fileWithSymbol(String)

    package var bytes: [UInt8] {
      var writer = WireWriter()
      switch self {
      case .file(let name): writer.field(3, name.utf8)
      case .fileWithSymbol(let symbol): writer.field(4, symbol.utf8)
      }
      return writer.bytes
    }
  }

  package enum Response: Sendable {
    /// The file, and maybe others that it imports.
    case files([FileDescriptor])
    case error(code: Int, message: String)

    package init(_ bytes: [UInt8]) throws(WireError) {
      let fields = try WireField.all(bytes[...])
      if let error = fields.last(7) {
        let parts = try WireField.all(error.bytes)
        self = .error(code: parts.last(1)?.integer ?? 0, message: parts.last(2)?.text ?? "")
      } else if let response = fields.last(4) {
        var files: [FileDescriptor] = []
        for file in try WireField.all(response.bytes).all(1) { files.append(try FileDescriptor(file.bytes)) }
        self = .files(files)
      } else {
        throw WireError()
      }
    }
  }
}
