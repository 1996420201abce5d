// Whole files, up to a size.

internal import Glibc
internal import TouchstoneStore

struct FileError: Error {
  /// To go behind the file's name: "cannot be read: No such file or directory".
  var message: String

  init(message: String) {
    self.message = message
  }

  fileprivate init(errorNumber: Int32) {
    message = "cannot be read: \(String(cString: strerror(errorNumber)))"
  }
}

/// Whose files are read.
enum FileTrust {
  /// What the file says is harmless.
  case anybody
  /// Nobody but root and this process's user can change it, or put another one in its place.
  case ownersOnly
}

/// Of regular files alone: a pipe would keep its reader waiting, and with it whoever waits for the reader.
func readFile(_ path: String, maximumBytes: Int, from trust: FileTrust = .anybody) throws(FileError) -> [UInt8] {
  let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
  guard file >= 0 else { throw FileError(errorNumber: errno) }
  defer { close(file) }
  var status = stat()
  guard fstat(file, &status) == 0 else { throw FileError(errorNumber: errno) }
  guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(message: "cannot be read: not a regular file") }
  // By its path: who could exchange the file between open(2) and here could have done so before.
  if trust == .ownersOnly { try requireProtection(ofFile: path) }

  var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
  var count = 0
  while count < bytes.count {
    let step = bytes[count...].withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
    if step < 0, errno == EINTR { continue }
    guard step >= 0 else { throw FileError(errorNumber: errno) }
    guard step > 0 else { break }
    count += step
  }
  guard count <= maximumBytes else { throw FileError(message: "is larger than \(maximumBytes) bytes") }
  return Array(bytes.prefix(count))
}

/// Of the file, and of the directories in which its path and what links in it lead to stand. Those of a read-only mount, such as a
/// ConfigMap's, are protected. Where nothing is, its reader says so.
func requireProtection(ofFile path: String) throws(FileError) {
  if let violation = FileProtection.violation(at: path) { throw FileError(message: violation) }
  for directory in Set([path, realPath(path)].map(parentDirectory)).sorted() {
    guard let violation = FileProtection.violation(at: directory) else { continue }
    throw FileError(message: "its directory \(directory): \(violation)")
  }
}

/// With no link in it; the path itself where there is nothing.
private func realPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}

private func parentDirectory(_ path: String) -> String {
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// By whoever is on this machine, apart from the owner and the group.
func isReadableByOthers(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
}
