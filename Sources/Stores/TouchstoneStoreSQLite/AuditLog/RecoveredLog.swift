// Makes the write-ahead log of an earlier process durable before anything is added to it.

internal import Glibc
internal import TouchstoneStore

enum RecoveredLog {
  private static let stepBytes = 1 << 20

  /// Writes the log's content over itself, and waits for the disk: some 20 ms for the longest log.
  ///
  /// After a failed fsync the kernel shows the written pages, and treats them as written. SQLite would append after
  /// them, and a power failure would leave a gap there and lose everything that was answered since. The kernel must
  /// write the second copy to the disk, or report that it cannot.
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
