// A file that is there as a whole or not at all, and never in another's place.

internal import Glibc
internal import TouchstoneStore

/// Written under a name of its own, for its owner alone; removed unless it is published.
final class NewFile {
  let path: String
  private let finalPath: String
  private let descriptor: FileDescriptor
  private var isPublished = false

  /// Of a write that the system had accepted: it tells of one only once.
  private var failure: StoreOpenError?

  /// Fails where there is something at `finalPath`.
  init(for finalPath: String) throws(StoreOpenError) {
    guard access(finalPath, F_OK) != 0 else { throw .occupied(finalPath) }
    guard access(DataDirectory.parent(of: finalPath), W_OK) == 0 else { throw .unwritten(finalPath, errno) }
    self.finalPath = finalPath
    path = "\(finalPath).part-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
    descriptor = try FileDescriptor(
      opening: path, flags: O_RDWR | O_CREAT | O_EXCL, mode: DataDirectory.ownerOnlyFile)
  }

  deinit {
    if !isPublished { unlink(path) }
  }

  /// What was written so far goes to the disk.
  func synchronize() {
    if fdatasync(descriptor.number) != 0, failure == nil { failure = .unwritten(path, errno) }
  }

  /// Under its own name, durably. From here on it stays.
  func publish() throws(StoreOpenError) {
    if let failure { throw failure }
    guard fsync(descriptor.number) == 0 else { throw .unwritten(path, errno) }
    // Unlike rename(2), it never takes the place of what came there meanwhile.
    guard link(path, finalPath) == 0 else {
      if errno == EEXIST { throw .occupied(finalPath) }
      throw .unwritten(finalPath, errno)
    }
    isPublished = true
    unlink(path)
    try DataDirectory.synchronize(directory: DataDirectory.parent(of: finalPath))
  }
}

extension StoreOpenError {
  /// `error`: an errno.
  static func unwritten(_ path: String, _ error: Int32) -> StoreOpenError {
    StoreOpenError(code: .unwritable, message: "\(path): cannot be written: \(String(cString: strerror(error)))")
  }

  static func occupied(_ path: String) -> StoreOpenError {
    StoreOpenError(
      code: .unwritable, message: "\(path) is there already, and nothing is overwritten: choose another name")
  }
}
