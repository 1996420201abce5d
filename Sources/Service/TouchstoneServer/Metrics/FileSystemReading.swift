// The kernel's figures of files and disks.

internal import Glibc

/// Each call may wait for the disk, so it must run on a thread that may block. `nil`: the disk does not tell.
enum FileSystemReading {
  /// The bytes that this user may still write to a directory's file system, and those that it has in all.
  static func space(at directory: String) -> (available: UInt64, size: UInt64)? {
    var space = statvfs()
    guard statvfs(directory, &space) == 0 else { return nil }
    let block = UInt64(space.f_frsize)
    return (UInt64(space.f_bavail) * block, UInt64(space.f_blocks) * block)
  }

  /// The bytes of a directory's regular files, without those of directories in it.
  static func bytes(in directory: String) -> UInt64? {
    guard let stream = opendir(directory) else { return nil }
    defer { closedir(stream) }
    var sum: UInt64 = 0
    while let entry = readdir(stream) {
      // Not through the field's tuple, because an entry is only as long as its name.
      let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
      var status = stat()
      // A file that was removed meanwhile has no size.
      guard fstatat(dirfd(stream), name.assumingMemoryBound(to: CChar.self), &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG
      else { continue }
      sum += UInt64(status.st_size)
    }
    return sum
  }
}
