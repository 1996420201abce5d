// A directory of key files for one test, and what a test does to them.

import Glibc
import TestSupport

struct KeyDirectory: Sendable {
  private let root = TemporaryDirectory()

  /// The key ring's directory; not there at first.
  var keys: String { root.path("keys") }

  /// A file of the ring by its relative name; the ring's directory itself where that is empty.
  func path(of name: String) -> String {
    name.isEmpty ? keys : "\(keys)/\(name)"
  }

  /// All files and directories of the ring, sorted.
  func listing(under name: String = "") -> [String] {
    ((try? File.names(in: path(of: name))) ?? []).flatMap { child in
      let relative = name.isEmpty ? child : "\(name)/\(child)"
      return [relative] + listing(under: relative)
    }.sorted()
  }

  /// Empty if there is no such file.
  func read(_ name: String) -> [UInt8] { (try? File.read(path(of: name))) ?? [] }

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
    precondition(Glibc.rename(path(of: name), root.path("moved")) == 0, "cannot move \(name)")
    precondition(symlink(root.path("moved"), path(of: name)) == 0, "cannot link \(name)")
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
}
