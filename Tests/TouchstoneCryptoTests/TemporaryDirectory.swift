// A directory for one test, and what a test does to the key files in it.

import Glibc

/// Removed with all it holds when the test ends.
struct TemporaryDirectory: ~Copyable, Sendable {
  private let root: String

  init() {
    var template = Array("/tmp/touchstone-keys-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "mkdtemp failed")
    root = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    Self.removeTree(root)
  }

  /// The key ring's directory; not there at first.
  var keys: String { "\(root)/keys" }

  /// A file of the ring by its relative name; the ring's directory itself where that is empty.
  func path(of name: String) -> String {
    name.isEmpty ? keys : "\(keys)/\(name)"
  }

  /// All files and directories of the ring, sorted.
  func listing(under name: String = "") -> [String] {
    Self.children(of: path(of: name)).flatMap { child in
      let relative = name.isEmpty ? child : "\(name)/\(child)"
      return [relative] + listing(under: relative)
    }.sorted()
  }

  func read(_ name: String) -> [UInt8] {
    guard let file = fopen(path(of: name), "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes[..<count])
  }

  /// Makes a file of mode 0600; it must not be there.
  func write(_ name: String, _ content: [UInt8]) {
    let file = open(path(of: name), O_WRONLY | O_CREAT | O_EXCL, 0o600)
    precondition(file >= 0 && Glibc.write(file, content, content.count) == content.count, "cannot write \(name)")
    close(file)
  }

  func remove(_ name: String) {
    precondition(Glibc.remove(path(of: name)) == 0, "cannot remove \(name)")
  }

  func rename(_ name: String, to other: String) {
    precondition(Glibc.rename(path(of: name), path(of: other)) == 0, "cannot rename \(name)")
  }

  /// Moves it out of the ring and leaves a symbolic link to it.
  func replaceByLink(_ name: String) {
    precondition(Glibc.rename(path(of: name), "\(root)/moved") == 0, "cannot move \(name)")
    precondition(symlink("\(root)/moved", path(of: name)) == 0, "cannot link \(name)")
  }

  func mode(_ name: String) -> mode_t? {
    var status = stat()
    return lstat(path(of: name), &status) == 0 ? status.st_mode & 0o777 : nil
  }

  func setMode(_ name: String, _ mode: mode_t) {
    precondition(chmod(path(of: name), mode) == 0, "cannot change the mode of \(name)")
  }

  func setOwner(_ name: String, _ user: uid_t) {
    precondition(chown(path(of: name), user, gid_t.max) == 0, "cannot change the owner of \(name)")
  }

  /// Empty for what is not a directory.
  private static func children(of path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(cString: $0.assumingMemoryBound(to: CChar.self).baseAddress!)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private static func removeTree(_ path: String) {
    // A symbolic link goes first, so its target is never walked through it.
    if unlink(path) == 0 { return }
    for child in children(of: path) { removeTree("\(path)/\(child)") }
    rmdir(path)
  }
}
