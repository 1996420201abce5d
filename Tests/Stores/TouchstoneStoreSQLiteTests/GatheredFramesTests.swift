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
    var gathered = GatheredFrames()
    var writes: [Write] = []
    private var content: [UInt8] = []

    mutating func add(_ bytes: [UInt8], at offset: Int) {
      let code = bytes.withUnsafeBytes { source in
        gathered.add(source, at: sqlite3_int64(offset)) { bytes, offset in
          writes.append(Write(offset: offset, count: bytes.count))
          return SQLITE_OK
        }
      }
      #expect(code == SQLITE_OK)
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
    _ = file.addFrame(at: 32)
    #expect(file.writes.count == 3)
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

  /// What is left of a transaction that was rolled back comes before what takes its place.
  @Test func framesThatAreReplacedAreWrittenFirst() {
    var file = File()
    defer { file.end() }
    _ = file.addFrame(at: 32)
    _ = file.addFrame(at: 32, databaseSize: 5)
    #expect(
      file.writes.map(\.offset) == [32, 32, 56] && file.writes.map(\.count) == [Self.frameSize, 24, File.pageSize])
  }
}
