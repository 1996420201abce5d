// The frames of a commit, on their way to the log's file.

import CSQLite
import Testing

@testable import TouchstoneStoreSQLite

struct GatheredFramesTests {
  /// A file that notes where something is written, and how much.
  private struct File {
    struct Write: Hashable {
      var offset: sqlite3_int64
      var count: Int
    }

    static let pageSize = 4_096
    /// A file that no longer grows.
    var gathered = GatheredFrames(written: .max)
    var writes: [Write] = []
    /// Expected of each call.
    var code = SQLITE_OK

    mutating func add(_ bytes: [UInt8], at offset: Int) {
      let answer = bytes.withUnsafeBytes { source in
        gathered.add(source, at: sqlite3_int64(offset)) { bytes, offset in
          writes.append(Write(offset: offset, count: bytes.count))
          return SQLITE_OK
        }
      }
      #expect(answer == code)
    }

    /// Returns where the next frame goes. `databaseSize`: of a transaction's last frame, in pages.
    mutating func addFrame(at offset: Int, databaseSize: UInt8 = 0) -> Int {
      add(File.header(databaseSize), at: offset)
      add([UInt8](repeating: 1, count: Self.pageSize), at: offset + 24)
      return offset + 24 + Self.pageSize
    }

    static func header(_ databaseSize: UInt8) -> [UInt8] {
      [0, 0, 0, 9, 0, 0, 0, databaseSize] + [UInt8](repeating: 7, count: 16)
    }

    mutating func end() { gathered.free() }
  }

  private static let frameSize = 24 + File.pageSize

  @Test func aTransactionIsWrittenAtOnceWithItsLastFrame() {
    var file = File()
    defer { file.end() }
    file.add([UInt8](repeating: 3, count: 32), at: 0)
    var end = file.addFrame(at: 32)
    end = file.addFrame(at: end)
    #expect(file.writes.isEmpty)
    end = file.addFrame(at: end, databaseSize: 5)
    #expect(file.writes == [.init(offset: 0, count: 32 + 3 * Self.frameSize)])
    _ = file.addFrame(at: end, databaseSize: 5)
    #expect(file.writes.last == .init(offset: sqlite3_int64(end), count: Self.frameSize))
  }

  /// SQLite corrects the headers of frames that a transaction has written twice, after its last frame, too.
  @Test func aCorrectionIsWrittenAtOnce() {
    var file = File()
    defer { file.end() }
    let end = file.addFrame(at: 32, databaseSize: 5)
    _ = file.addFrame(at: end, databaseSize: 5)
    file.add(File.header(5), at: 32)
    #expect(file.writes.last == .init(offset: 32, count: 24))
    // The log from its beginning again.
    file.add([UInt8](repeating: 3, count: 32), at: 0)
    let count = file.writes.count
    _ = file.addFrame(at: 32)
    #expect(file.writes.count == count)
  }

  /// SQLite's own files take less than 128 KB in one call.
  @Test func aLargeTransactionIsWrittenInParts() {
    var file = File()
    defer { file.end() }
    var end = 32
    for _ in 0..<99 { end = file.addFrame(at: end) }
    _ = file.addFrame(at: end, databaseSize: 200)
    #expect(file.writes.map(\.count).max()! < 1 << 17)
    #expect(file.writes.map(\.count).reduce(0, +) == 100 * Self.frameSize)
    for (write, next) in zip(file.writes, file.writes.dropFirst()) {
      #expect(write.offset + sqlite3_int64(write.count) == next.offset)
    }
  }

  /// What is written in one call stays together in the page cache.
  @Test func aGrowingLogIsWrittenByPagesOfThePageCache() {
    var file = File()
    defer { file.end() }
    file.gathered = GatheredFrames()
    func expect(_ places: [Int], through end: Int) {
      let writes = zip(places, places.dropFirst() + [end]).map { File.Write(offset: sqlite3_int64($0), count: $1 - $0) }
      #expect(file.writes == writes)
      file.writes = []
    }
    let end = file.addFrame(at: 32, databaseSize: 5)
    expect([32, 4_096], through: end)
    let longer = file.addFrame(at: end, databaseSize: 5)
    expect([end, 8_192], through: longer)
    // From its beginning again.
    file.add([UInt8](repeating: 3, count: 32), at: 0)
    _ = file.addFrame(at: 32, databaseSize: 5)
    expect([0], through: end)
    file.gathered.truncated(to: 0)
    file.add([UInt8](repeating: 3, count: 32), at: 0)
    _ = file.addFrame(at: 32, databaseSize: 5)
    expect([0, 4_096], through: end)
  }

  /// Another process may have frames of its own there.
  @Test func whatIsLeftOfATransactionIsNeverWritten() {
    var file = File()
    defer { file.end() }
    _ = file.addFrame(at: 32)
    file.gathered.transactionEnded()
    _ = file.addFrame(at: 32, databaseSize: 5)
    #expect(file.writes == [.init(offset: 32, count: Self.frameSize)])
  }

  /// Frames that SQLite takes for written are lost, so nothing of the transaction may be written any more.
  @Test func afterAFailureTheTransactionFails() {
    var file = File()
    defer { file.end() }
    var end = file.addFrame(at: 32)
    file.code = SQLITE_FULL
    _ = file.gathered.empty { _, _ in SQLITE_FULL }
    end = file.addFrame(at: end, databaseSize: 5)
    #expect(file.writes.isEmpty && file.gathered.failure == SQLITE_FULL)
    file.gathered.transactionEnded()
    file.code = SQLITE_OK
    _ = file.addFrame(at: 32, databaseSize: 5)
    #expect(file.writes.count > 0)
  }
}
