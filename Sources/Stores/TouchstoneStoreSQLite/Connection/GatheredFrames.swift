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
  /// 120 pages of 1 KB: more than a commit of 80 logins has. SQLite's own files take less than 128 KB in one call
  /// (`seekAndWriteFd`).
  private static let capacity = 124 << 10
  private static let frameHeaderSize = 24
  private static let cachePageSize: sqlite3_int64 = 4_096

  /// Made at the first write, because most connections only read.
  private var bytes: UnsafeMutableRawPointer?
  private var count = 0
  /// The first byte's place in the file.
  private var start: sqlite3_int64 = 0
  /// The place after the last frame since the log began anew. A write before it corrects a frame, which SQLite may do
  /// even after a transaction's last frame.
  private var end: sqlite3_int64 = 0
  /// The latest write was the header of a transaction's last frame.
  private var endsWithNextWrite = false
  /// SQLITE_OK, or why frames of this transaction were lost.
  private(set) var failure = SQLITE_OK
  /// The file has been written up to here, and no longer grows there. Before that it is written page by page of the
  /// page cache, which takes in what one call adds as one folio, and later counts all of a folio as written if a commit
  /// changes a part of it.
  private var written: sqlite3_int64

  init(written: sqlite3_int64 = 0) {
    self.written = written
  }

  /// `write`: to the file.
  mutating func add(
    _ source: UnsafeRawBufferPointer, at offset: sqlite3_int64, write: (UnsafeRawBufferPointer, sqlite3_int64) -> Int32
  ) -> Int32 {
    guard failure == SQLITE_OK else { return failure }
    let endsTransaction = endsWithNextWrite
    endsWithNextWrite = source.count == Self.frameHeaderSize && source[4..<8].contains { $0 != 0 }
    if offset != start + sqlite3_int64(count) || count + source.count > Self.capacity {
      let code = empty(write)
      guard code == SQLITE_OK else { return code }
    }
    let isCorrection = offset > 0 && offset < end
    guard !isCorrection, source.count <= Self.capacity else { return write(source, offset) }
    append(source, at: offset)
    return endsTransaction ? empty(write) : SQLITE_OK
  }

  private mutating func append(_ source: UnsafeRawBufferPointer, at offset: sqlite3_int64) {
    if count == 0 { start = offset }
    let bytes = bytes ?? .allocate(byteCount: Self.capacity, alignment: 8)
    self.bytes = bytes
    UnsafeMutableRawBufferPointer(start: bytes + count, count: source.count).copyMemory(from: source)
    count += source.count
    end = start + sqlite3_int64(count)
  }

  /// If it fails, frames that SQLite takes for written are lost: the transaction can no longer be committed.
  mutating func empty(_ write: (UnsafeRawBufferPointer, sqlite3_int64) -> Int32) -> Int32 {
    guard count > 0, let bytes else { return SQLITE_OK }
    defer { count = 0 }
    var place = start
    let end = start + sqlite3_int64(count)
    while place < end {
      let next = min(end, place < written ? written : (place / Self.cachePageSize + 1) * Self.cachePageSize)
      let part = UnsafeRawBufferPointer(start: bytes + Int(place - start), count: Int(next - place))
      let code = write(part, place)
      guard code == SQLITE_OK else {
        failure = code
        return code
      }
      place = next
    }
    written = max(written, end)
    return SQLITE_OK
  }

  /// The page cache has let go of what was after it.
  mutating func truncated(to size: sqlite3_int64) { written = min(written, size) }

  /// The transaction has ended. If it was rolled back, its frames are dropped, because another process may soon have
  /// frames of its own in their place.
  mutating func transactionEnded() {
    if count > 0 { end = start }
    count = 0
    failure = SQLITE_OK
    endsWithNextWrite = false
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
    methods.xTruncate = { file, size in
      ClearingFileSystem.afterGathered(file) { file, system in
        ClearingFileSystem.state(of: file).pointee.gathered.truncated(to: size)
        return system.pointee.xTruncate(file, size)
      }
    }
    methods.xSync = { file, flags in
      if let file, ClearingFileSystem.state(of: file).pointee.gathered.failure != SQLITE_OK {
        return ClearingFileSystem.state(of: file).pointee.gathered.failure
      }
      return ClearingFileSystem.afterGathered(file) { $1.pointee.xSync($0, flags) }
    }
    methods.xFileSize = { file, size in ClearingFileSystem.afterGathered(file) { $1.pointee.xFileSize($0, size) } }
    // Frames that are still here belong to a transaction that did not commit.
    methods.xClose = { file in
      guard let file else { return SQLITE_MISUSE }
      if let database = ClearingFileSystem.state(of: file).pointee.partner {
        ClearingFileSystem.state(of: database).pointee.partner = nil
      }
      ClearingFileSystem.state(of: file).pointee.gathered.free()
      return ClearingFileSystem.state(of: file).pointee.system.pointee.xClose(file)
    }
  }

  /// A transaction ends with the lock on the log's end, the first of the locks.
  static func noteEnds(by methods: inout sqlite3_io_methods) {
    methods.xShmLock = { file, first, count, flags in
      guard let file else { return SQLITE_MISUSE }
      let state = ClearingFileSystem.state(of: file)
      if first == 0, flags == SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE, let log = state.pointee.partner {
        ClearingFileSystem.state(of: log).pointee.gathered.transactionEnded()
      }
      return state.pointee.system.pointee.xShmLock(file, first, count, flags)
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
