// Clears the unused space of pages on their way into a database file, and gathers the frames of its log.

internal import CSQLite
internal import Glibc

/// A virtual file system: the system's, except that a page reaches a database file without copies of rows that moved.
///
/// SQLite overwrites a cell that it deletes (`secure_delete`). But when it balances a b-tree, it builds pages anew
/// (`rebuildPage`), and leaves the cells that moved to another page in the gap between a page's cell pointers and its
/// cells. No later deletion finds these copies. SQLite never reads the gap, so this file system writes zeros there.
///
/// Frames of the write-ahead log have checksums and are written as they are, all of a commit at once
/// (`GatheredFrames`). `SQLiteConnection.emptyLog` removes them.
///
/// https://www.sqlite.org/fileformat2.html#b_tree_pages
enum ClearingFileSystem {
  /// Registered with SQLite at the first use.
  static let name: String = {
    let name = "clearing-unused-space"
    let clearing = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    clearing.initialize(to: system.pointee)
    clearing.pointee.zName = UnsafePointer(strdup(name))
    clearing.pointee.szOsFile += Int32(MemoryLayout<FileState>.stride)
    clearing.pointee.xOpen = { ClearingFileSystem.open($1, $2, $3, $4) }
    guard sqlite3_vfs_register(clearing, 0) == SQLITE_OK else { preconditionFailure("SQLite takes no file system") }
    return name
  }()

  /// Found once, because its `szOsFile` gives the place of each file's state. SQLite never changes it.
  private nonisolated(unsafe) static let system: UnsafeMutablePointer<sqlite3_vfs> = {
    guard let system = sqlite3_vfs_find(nil) else { preconditionFailure("SQLite has a file system") }
    return system
  }()

  /// Stands behind the system's own state in the memory that SQLite allocates for a file.
  struct FileState {
    var methods: sqlite3_io_methods
    let system: UnsafePointer<sqlite3_io_methods>
    /// Used if the file is a write-ahead log.
    var gathered = GatheredFrames()
    /// The database's log while it is open, or the log's database.
    var partner: UnsafeMutablePointer<sqlite3_file>?
  }

  static func state(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<FileState> {
    (UnsafeMutableRawPointer(file) + Int(system.pointee.szOsFile)).assumingMemoryBound(to: FileState.self)
  }

  private static func open(
    _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ outFlags: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    let code = system.pointee.xOpen(system, name, file, flags, outFlags)
    guard code == SQLITE_OK, flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) != 0, let file,
      let methods = file.pointee.pMethods
    else { return code }
    let state = state(of: file)
    state.initialize(to: FileState(methods: methods.pointee, system: methods))
    if flags & SQLITE_OPEN_WAL != 0 {
      gatherFrames(by: &state.pointee.methods)
      if let database = name.flatMap({ sqlite3_database_file_object($0) }) {
        state.pointee.partner = database
        self.state(of: database).pointee.partner = file
      }
    } else {
      noteEnds(by: &state.pointee.methods)
      state.pointee.methods.xWrite = { ClearingFileSystem.write($0, $1, $2, $3) }
    }
    file.pointee.pMethods = state.pointer(to: \.methods).map { UnsafePointer($0) }
    return code
  }

  private static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: sqlite3_int64
  ) -> Int32 {
    guard let file else { return SQLITE_MISUSE }
    let system = state(of: file).pointee.system
    let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
    let gap = gap(in: page, isFirst: offset == 0)
    var size: sqlite3_int64 = 0
    guard !gap.isEmpty, system.pointee.xFileSize(file, &size) == SQLITE_OK,
      offset == 0 || isKindOfBTree(page[0], pages: size / sqlite3_int64(count)),
      offset == 0 ? !hasPointerMaps(page) : !hasPointerMaps(file, system)
    else { return system.pointee.xWrite(file, bytes, count, offset) }
    return withUnsafeTemporaryAllocation(byteCount: page.count, alignment: 8) { cleared in
      cleared.copyMemory(from: page)
      UnsafeMutableRawBufferPointer(rebasing: cleared[gap]).initializeMemory(as: UInt8.self, repeating: 0)
      return system.pointee.xWrite(file, cleared.baseAddress, count, offset)
    }
  }

  // MARK: The file's format

  /// Pages that the log may have and the file does not have yet: 4 GB.
  private static let maximumLogPages: sqlite3_int64 = 1 << 22
  private static let minimumPageSize = 512
  private static let headerSize = 100

  /// Returns false if the byte may also begin a page of another kind: with the number of a page of the file. The kinds
  /// are 2, 5, 10 and 13, so in a file of up to 28 M pages none may.
  static func isKindOfBTree(_ byte: UInt8, pages: sqlite3_int64) -> Bool {
    sqlite3_int64(byte) > (pages + maximumLogPages) >> 24
  }

  /// The largest root page's number stands there, which only the modes with pointer maps note.
  private static func hasPointerMaps(_ page: UnsafeRawBufferPointer) -> Bool { page[52..<56].contains { $0 != 0 } }

  /// Page 1 is read each time: another process may have changed the mode and written the page. SQLite writes the page 1
  /// of a new file first. A file whose page 1 cannot be read is left as it is.
  private static func hasPointerMaps(
    _ file: UnsafeMutablePointer<sqlite3_file>, _ system: UnsafePointer<sqlite3_io_methods>
  ) -> Bool {
    var root: UInt32 = 0
    return system.pointee.xRead(file, &root, 4, 52) != SQLITE_OK || root != 0
  }

  /// The space between the page's cell pointers and its cells. Empty if it is no page of a b-tree.
  static func gap(in page: UnsafeRawBufferPointer, isFirst: Bool) -> Range<Int> {
    guard page.count >= minimumPageSize else { return 0..<0 }
    let header = isFirst ? headerSize : 0
    func number(at offset: Int) -> Int { Int(page[header + offset]) << 8 | Int(page[header + offset + 1]) }
    let pointers: Int
    switch page[header] {
    case 2, 5: pointers = header + 12
    case 10, 13: pointers = header + 8
    default: return 0..<0
    }
    let start = pointers + 2 * number(at: 3)
    // A page of 65,536 bytes without cells says 0.
    let end = number(at: 5)
    return start < end && end <= page.count ? start..<end : 0..<0
  }
}
