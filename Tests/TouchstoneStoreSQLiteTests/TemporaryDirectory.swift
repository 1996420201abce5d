import Glibc

/// A directory that is gone afterwards, with all that is in it.
func withTemporaryDirectory<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  var template = Array("/tmp/touchstone-store-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw SystemFailure(number: errno) }
  let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  defer { removeTree(path) }
  return try await body(path)
}

struct SystemFailure: Error {
  let number: Int32
}

enum File {
  static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "rb") else { throw SystemFailure(number: errno) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return bytes
  }

  static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "wb") else { throw SystemFailure(number: errno) }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw SystemFailure(number: errno) }
  }

  /// The permission bits.
  static func mode(_ path: String) throws -> mode_t {
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemFailure(number: errno) }
    return status.st_mode & 0o777
  }

  static func names(in directory: String) throws -> [String] {
    guard let stream = opendir(directory) else { throw SystemFailure(number: errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

private func removeTree(_ path: String) {
  for name in (try? File.names(in: path)) ?? [] { removeTree("\(path)/\(name)") }
  remove(path)
}
