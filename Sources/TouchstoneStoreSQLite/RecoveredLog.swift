// The write-ahead log as an earlier process left it, made durable before anything is added to it.

internal import Glibc
internal import TouchstoneStore

enum RecoveredLog {
  private static let stepBytes = 1 << 20

  /// Writes what the log holds over itself, and waits for the disk: some 20 ms for a log as long as it gets.
  ///
  /// Where an fsync failed, the kernel shows what was written all the same, and takes it for written: SQLite would go on
  /// behind it, and a loss of power would leave a gap there, and nothing of what was answered since. What is written
  /// again the kernel has to bring to the disk, or to say that it cannot.
  static func makeDurable(path: String) throws(StoreOpenError) {
    guard access(path, F_OK) == 0 else { return }
    let file = try FileDescriptor(opening: path, flags: O_RDWR)
    var bytes = [UInt8](repeating: 0, count: stepBytes)
    var offset: off_t = 0
    while case let count = pread(file.number, &bytes, stepBytes, offset), count != 0 {
      guard count > 0, pwrite(file.number, bytes, count, offset) == count else { throw .unwritable(path, errno) }
      offset += off_t(count)
    }
    guard fsync(file.number) == 0 else { throw .unwritable(path, errno) }
  }
}
