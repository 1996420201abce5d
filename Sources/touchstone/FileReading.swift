// Whole files, up to a size.

internal import Glibc

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

/// Of regular files alone: a pipe would keep its reader waiting, and with it whoever waits for the reader.
func readFile(_ path: String, maximumBytes: Int) throws(FileError) -> [UInt8] {
  let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
  guard file >= 0 else { throw FileError(errorNumber: errno) }
  defer { close(file) }
  var status = stat()
  guard fstat(file, &status) == 0 else { throw FileError(errorNumber: errno) }
  guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(message: "cannot be read: not a regular file") }

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

/// By whoever is on this machine, apart from the owner and the group.
func isReadableByOthers(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
}
