import TestSupport
import Testing

@testable import TouchstoneStoreSQLite

/// `ErasureTests` shows that nothing is left of what was erased; here, that nothing else is lost.
struct ClearingFileSystemTests {
  private static let pageSize = 4_096

  private func gap(_ beginning: [UInt8], isFirst: Bool = false, pageSize: Int = Self.pageSize) -> Range<Int> {
    let header = [UInt8](repeating: 0xAA, count: isFirst ? 100 : 0)
    let page = header + beginning + [UInt8](repeating: 0xAA, count: pageSize - header.count - beginning.count)
    return page.withUnsafeBytes { ClearingFileSystem.gap(in: $0, isFirst: isFirst) }
  }

  /// The gaps of leaves, and of inner pages, whose headers are longer. Both have three cells here, from byte 3,840.
  @Test(arguments: [(2, 12), (5, 12), (10, 8), (13, 8)] as [(UInt8, Int)])
  func theGapIsBetweenPointersAndCells(kind: UInt8, headerSize: Int) {
    #expect(gap([kind, 0, 0, 0, 3, 15, 0]) == headerSize + 6..<3_840)
    #expect(gap([kind, 0, 0, 0, 3, 15, 0], isFirst: true) == 100 + headerSize + 6..<3_840)
  }

  @Test func whatIsNoPageOfABTreeHasNoGap() {
    // Overflow and free pages begin with a page's number, pointer maps with a kind of page.
    for first in [0, 1, 3, 4] as [UInt8] { #expect(gap([first, 0, 0, 0, 3, 15, 0]).isEmpty) }
    // The cells begin behind the page's end, or within the pointers.
    for end in [[16, 1], [0, 13]] as [[UInt8]] { #expect(gap([13, 0, 0, 0, 3] + end).isEmpty) }
    #expect(gap([13, 0, 0, 0, 3, 0, 200], pageSize: 256).isEmpty)
  }

  /// In a large file, the number of its page 33,554,432 begins as an inner page of an index.
  @Test func aPageThatMayBeginWithAPagesNumberIsNotCleared() {
    #expect(ClearingFileSystem.isKindOfBTree(2, pages: 7 << 22 - 1))
    #expect(!ClearingFileSystem.isKindOfBTree(2, pages: 7 << 22))
    #expect(ClearingFileSystem.isKindOfBTree(10, pages: 7 << 22))
    #expect(!ClearingFileSystem.isKindOfBTree(13, pages: 1 << 32))
  }

  /// Pointer maps may look like pages of b-trees. The service makes none, but a distribution's SQLite may by default.
  @Test func aFileWithPointerMapsStaysAsItIs() async throws {
    try await withTemporaryDirectory { directory in
      let path = "\(directory)/test.db"
      func count() throws(SQLiteError) -> Int64 {
        let connection = try SQLiteConnection(path: path, access: .readWrite)
        try DatabaseFile.checkPages(connection)
        return try connection.integer("SELECT count(*) FROM rows")
      }
      try SQLiteConnection(path: path, access: .create).execute(
        """
        PRAGMA auto_vacuum = FULL;
        CREATE TABLE rows (number INTEGER PRIMARY KEY, content BLOB);
        WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 2000)
        INSERT INTO rows SELECT number, zeroblob(3000) FROM numbers;
        """)
      #expect(try count() == 2_000)
      // A connection that finds the file so.
      try SQLiteConnection(path: path, access: .readWrite).execute("UPDATE rows SET content = zeroblob(3001)")
      #expect(try count() == 2_000)
    }
  }
}
