// Writes all frames of a commit to the write-ahead log in one system call.

internal import CSQLite

/// The frames of a transaction that the log's file does not have yet.
///
/// SQLite writes each frame in two calls, a header of 24 bytes and a page. Here they are gathered up to the frame that
/// ends a transaction, whose header says so, and written at once. No other connection reads a frame before that: SQLite
/// tells them of a transaction's frames after the last one. This connection reads them back if it runs short of memory
/// within a transaction; then, and before anything else is done to the file, they are written first.
///
/// https://www.sqlite.org/fileformat2.html#the_write_ahead_log
struct GatheredFrames {
  /// 30 pages of 4 KB: more than a commit of logins has. SQLite's own files take less than 128 KB in one call
  /// (`seekAndWriteFd`).
  private static let capacity = 124 << 10
  private static let frameHeaderSize = 24

  /// Made at the first write, because most connections only read.
  private var bytes: UnsafeMutableRawPointer?
  private var count = 0
  /// Where in the file the first byte goes.
  private var start: sqlite3_int64 = 0
  /// After all that was written since the log last began at its beginning. What is written before that place is a
  /// correction of a frame, which SQLite may make after the last one.
  private var end: sqlite3_int64 = 0
  /// The latest write was the header of a transaction's last frame.
  private var endsWithNextWrite = false

  /// `write`: to the file.
  mutating func add(
    _ source: UnsafeRawBufferPointer, at offset: sqlite3_int64, write: (UnsafeRawBufferPointer, sqlite3_int64) -> Int32
  ) -> Int32 {
    if offset != start + sqlite3_int64(count) || count + source.count > Self.capacity {
      let code = empty(write)
      guard code == SQLITE_OK else { return code }
    }
    let isCorrection = offset > 0 && offset < end
    guard !isCorrection, source.count <= Self.capacity else { return write(source, offset) }
    append(source, at: offset)
    let isHeader = source.count == Self.frameHeaderSize
    defer { endsWithNextWrite = isHeader && source[4..<8].contains { $0 != 0 } }
    return endsWithNextWrite ? empty(write) : SQLITE_OK
  }

  private mutating func append(_ source: UnsafeRawBufferPointer, at offset: sqlite3_int64) {
    if count == 0 { start = offset }
    let bytes = bytes ?? .allocate(byteCount: Self.capacity, alignment: 8)
    self.bytes = bytes
    UnsafeMutableRawBufferPointer(start: bytes + count, count: source.count).copyMemory(from: source)
    count += source.count
    end = start + sqlite3_int64(count)
  }

  /// Whatever the answer, nothing is left: SQLite then rolls the transaction back.
  mutating func empty(_ write: (UnsafeRawBufferPointer, sqlite3_int64) -> Int32) -> Int32 {
    guard count > 0, let bytes else { return SQLITE_OK }
    defer { count = 0 }
    return write(UnsafeRawBufferPointer(start: bytes, count: count), start)
  }

  mutating func free() {
    bytes?.deallocate()
    self = GatheredFrames()
  }
}

extension ClearingFileSystem {
  static func gatherFrames(by methods: inout sqlite3_io_methods) {
    methods.xWrite = { file, bytes, count, offset in
      guard let file else { return SQLITE_MISUSE }
      let source = UnsafeRawBufferPointer(start: bytes, count: Int(count))
      return ClearingFileSystem.state(of: file).pointee.gathered.add(source, at: offset) {
        ClearingFileSystem.write($0, at: $1, to: file)
      }
    }
    methods.xRead = { file, bytes, count, offset in
      ClearingFileSystem.afterGathered(file) { $1.pointee.xRead($0, bytes, count, offset) }
    }
    methods.xTruncate = { file, size in ClearingFileSystem.afterGathered(file) { $1.pointee.xTruncate($0, size) } }
    methods.xSync = { file, flags in ClearingFileSystem.afterGathered(file) { $1.pointee.xSync($0, flags) } }
    methods.xFileSize = { file, size in ClearingFileSystem.afterGathered(file) { $1.pointee.xFileSize($0, size) } }
    // What is left then belongs to a transaction without an end.
    methods.xClose = { file in
      guard let file else { return SQLITE_MISUSE }
      ClearingFileSystem.state(of: file).pointee.gathered.free()
      return ClearingFileSystem.state(of: file).pointee.system.pointee.xClose(file)
    }
  }

  private static func write(
    _ bytes: UnsafeRawBufferPointer, at offset: sqlite3_int64, to file: UnsafeMutablePointer<sqlite3_file>
  ) -> Int32 {
    state(of: file).pointee.system.pointee.xWrite(file, bytes.baseAddress, Int32(bytes.count), offset)
  }

  private static func afterGathered(
    _ file: UnsafeMutablePointer<sqlite3_file>?,
    _ act: (UnsafeMutablePointer<sqlite3_file>, UnsafePointer<sqlite3_io_methods>) -> Int32
  ) -> Int32 {
    guard let file else { return SQLITE_MISUSE }
    let state = state(of: file)
    let code = state.pointee.gathered.empty { write($0, at: $1, to: file) }
    return code == SQLITE_OK ? act(file, state.pointee.system) : code
  }
}
