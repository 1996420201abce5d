// The result of a statement.

internal import CPostgres
internal import TouchstonePolicy
internal import TouchstoneStore

/// `@unchecked Sendable`: it never changes.
final class QueryResult: @unchecked Sendable {
  private let pointer: OpaquePointer

  /// Owns the result from now on.
  init(owning pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    PQclear(pointer)
  }

  var rowCount: Int { Int(PQntuples(pointer)) }

  var first: Row? { rowCount > 0 ? row(0) : nil }

  func row(_ number: Int) -> Row { Row(result: self, pointer: pointer, number: Int32(number)) }

  func map<Value>(
    _ transform: (inout Row) throws(PostgresError) -> Value
  ) throws(PostgresError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(rowCount)
    for number in 0..<Int32(rowCount) {
      var row = Row(result: self, pointer: pointer, number: number)
      values.append(try transform(&row))
    }
    return values
  }

  /// Reads the only row, which always exists.
  func only<Value>(_ transform: (inout Row) throws(PostgresError) -> Value) throws(PostgresError) -> Value {
    guard var row = first else { throw .corrupt("a row is missing") }
    return try transform(&row)
  }
}

/// The columns of one row, read from left to right. A NULL reads as zero, or as nothing.
struct Row: ColumnReader {
  /// Keeps the bytes.
  private let result: QueryResult
  private let pointer: OpaquePointer
  private let number: Int32
  private var column: Int32 = 0

  fileprivate init(result: QueryResult, pointer: OpaquePointer, number: Int32) {
    self.result = result
    self.pointer = pointer
    self.number = number
  }

  var isNull: Bool { PQgetisnull(pointer, number, column) != 0 }

  mutating func skip(_ count: Int) {
    column += Int32(count)
  }

  mutating func integer() -> Int64 {
    // A smallint, an integer or a bigint.
    let bytes = next()
    let start: Int64 = bytes.first.map { $0 & 0x80 == 0 ? 0 : -1 } ?? 0
    return bytes.reduce(start) { $0 << 8 | Int64($1) }
  }

  mutating func boolean() -> Bool { next().first == 1 }

  mutating func text() -> String { String(decoding: next(), as: UTF8.self) }

  mutating func blob() -> [UInt8] { [UInt8](next()) }

  static func unreadable(_ column: String) -> PostgresError { .corrupt("unreadable column \(column)") }

  private mutating func next() -> UnsafeRawBufferPointer {
    defer { column += 1 }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(pointer, number, column), count: Int(PQgetlength(pointer, number, column)))
  }
}
