// A directory that is gone after the test, with all that is in it.

import Glibc

final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/rpc-test-XXXXXX".utf8CString)
    let made = mkdtemp(&template)
    precondition(made != nil, "a directory can be made in /tmp")
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    for name in fileNames() { unlink(path(name)) }
    rmdir(path)
  }

  func path(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ bytes: [UInt8], to name: String, permissions: mode_t = 0o600) -> String {
    let path = path(name)
    let file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
    precondition(file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count, "\(path) can be written")
    fchmod(file, permissions)
    close(file)
    return path
  }

  private func fileNames() -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names.filter { $0 != "." && $0 != ".." }
  }
}
