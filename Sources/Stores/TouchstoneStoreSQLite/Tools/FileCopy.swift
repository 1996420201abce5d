// Copies a file's bytes.

internal import Glibc
internal import TouchstoneStore

enum FileCopy {
  private static let bufferBytes = 1 << 20

  /// To a file that is not there yet, for its owner alone. Not synchronized.
  static func copy(_ source: String, to destination: String) throws(StoreOpenError) {
    let input = try FileDescriptor(opening: source, flags: O_RDONLY)
    let output = try FileDescriptor(
      opening: destination, flags: O_WRONLY | O_CREAT | O_EXCL, mode: DataDirectory.ownerOnlyFile)
    var buffer = [UInt8](repeating: 0, count: bufferBytes)
    while true {
      let count = read(input.number, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unwritten(source, errno) }
      guard count > 0 else { return }
      try write(buffer[..<count], to: output, destination)
    }
  }

  private static func write(
    _ bytes: ArraySlice<UInt8>, to output: FileDescriptor, _ path: String
  ) throws(StoreOpenError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(output.number, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { throw .unwritten(path, errno) }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
