import TestSupport
import Testing

@testable import TouchstoneStoreSQLite

/// Values are read back as they were bound, whether the statement or SQLite keeps them.
struct StatementTests {
  private static let sizes = [0, 1, 511, 512, 513, 1_023, 1_024, 1_025, 5_000]

  @Test func boundValuesAreKeptUntilTheStatementIsBoundAnew() async throws {
    try await withTemporaryDirectory { directory in
      let connection = try SQLiteConnection(path: "\(directory)/values.db", access: .create)
      try connection.execute("CREATE TABLE bound (number INTEGER, text TEXT NOT NULL, blob BLOB NOT NULL)")
      let insert = Statement("INSERT INTO bound VALUES (?, ?, ?)", on: connection)
      let values = Self.sizes.flatMap { text in Self.sizes.map { blob in (text: text, blob: blob) } }
      for (number, size) in values.enumerated() {
        try insert.bind(number).bind(Self.text(number, size.text)).bind(Self.blob(number, size.blob)).run()
      }
      let select = Statement("SELECT text, blob FROM bound WHERE number = ?", on: connection)
      for (number, size) in values.enumerated() {
        let found = try select.bind(number).first { row in (row.text(), row.blob()) }
        #expect(found?.0 == Self.text(number, size.text))
        #expect(found?.1 == Self.blob(number, size.blob))
      }
    }
  }

  private static func text(_ number: Int, _ count: Int) -> String {
    String(repeating: number.isMultiple(of: 2) ? "a" : "b", count: count)
  }

  private static func blob(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number + $0) }
  }
}
