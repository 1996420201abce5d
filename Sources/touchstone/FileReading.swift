// Whole files, up to a size.

internal import Glibc

struct FileError: Error {
  /// To go behind the file's name: "cannot be read: No such file or directory".
  var message: String
}

func readFile(_ path: String, maximumBytes: Int) throws(FileError) -> [UInt8] {
  guard let file = fopen(path, "r") else {
    throw FileError(message: "cannot be read: \(String(cString: strerror(errno)))")
  }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
  let count = fread(&bytes, 1, bytes.count, file)
  guard ferror(file) == 0 else { throw FileError(message: "cannot be read: \(String(cString: strerror(errno)))") }
  guard count <= maximumBytes else { throw FileError(message: "is larger than \(maximumBytes) bytes") }
  return Array(bytes.prefix(count))
}
