public import Glibc

/// A directory that is gone after the test, with all that is in it.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() {
    // Not in TMPDIR, which may be long: a socket's path has at most 107 bytes.
    var template = Array("/tmp/touchstone-test-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "a directory can be made in /tmp")
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    File.removeTree(path)
  }

  public func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Returns the file's path.
  public func write(_ bytes: [UInt8], to name: String, permissions: mode_t = 0o600) -> String {
    let path = path(name)
    let file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
    precondition(file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count, "\(path) can be written")
    fchmod(file, permissions)
    close(file)
    return path
  }
}

/// A directory that is gone afterwards, with all that is in it.
public func withTemporaryDirectory<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  let directory = TemporaryDirectory()
  defer { withExtendedLifetime(directory) {} }
  return try await body(directory.path)
}
