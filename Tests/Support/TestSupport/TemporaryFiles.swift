// Files that tests make and look at.

public import Glibc

public struct SystemFailure: Error {
  public let number: Int32
}

public enum File {
  public static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "rb") else { throw SystemFailure(number: errno) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return bytes
  }

  public static func text(_ path: String) throws -> String { String(decoding: try read(path), as: UTF8.self) }

  public static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "wb") else { throw SystemFailure(number: errno) }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw SystemFailure(number: errno) }
  }

  public static func write(_ text: String, to path: String) throws {
    try write(Array(text.utf8), to: path)
  }

  /// The permission bits.
  public static func mode(_ path: String) throws -> mode_t {
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemFailure(number: errno) }
    return status.st_mode & 0o777
  }

  public static func names(in directory: String) throws -> [String] {
    guard let stream = opendir(directory) else { throw SystemFailure(number: errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // By its address: a copy of the entry would read beyond what the directory holds.
      let start = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
      let name = String(cString: start.assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  public static func removeTree(_ path: String) {
    // A symbolic link goes first, so its target is never walked through it.
    if unlink(path) == 0 { return }
    for name in (try? names(in: path)) ?? [] { removeTree("\(path)/\(name)") }
    rmdir(path)
  }
}
