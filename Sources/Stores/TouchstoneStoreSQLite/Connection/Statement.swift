// A prepared statement: parameters in their order, rows one by one.

internal import CSQLite
internal import TouchstoneStore

/// Confined like its connection. Owns the pointer, finalizes it when released. SQLite prepares it at its first use.
///
///     try insert.bind(id).bind(version).run()
///     while var row = try select.next() { row.text() … }
final class Statement: ColumnWriter {
  private let sql: String
  private let connection: SQLiteConnection
  private var pointer: OpaquePointer?
  private let parameters = ParameterMemory()
  private var parameter: Int32 = 0
  /// It could not be prepared, or a parameter could not be bound (out of memory); thrown by the next step.
  private var failure: SQLiteError?

  init(_ sql: String, on connection: SQLiteConnection) {
    self.sql = sql
    self.connection = connection
  }

  deinit {
    sqlite3_finalize(pointer)
  }

  /// The next row, or `nil` after the last one; the statement is then ready to be used again.
  func next() throws(SQLiteError) -> Row? {
    if pointer == nil { prepare() }
    guard failure == nil, let pointer else {
      defer { reset() }
      throw failure ?? SQLiteError(code: .misuse, message: "not a statement: \(sql)")
    }
    let code = sqlite3_step(pointer)
    if code == SQLITE_ROW { return Row(statement: pointer) }
    defer { reset() }
    guard code == SQLITE_DONE else { throw connection.error(ResultCode(rawValue: code)) }
    return nil
  }

  /// For statements that answer no rows.
  func run() throws(SQLiteError) {
    while try next() != nil {}
  }

  /// The only row, read by `decode`.
  func first<Value>(_ decode: (inout Row) throws(SQLiteError) -> Value) throws(SQLiteError) -> Value? {
    guard var row = try next() else { return nil }
    defer { reset() }
    return try decode(&row)
  }

  /// Lets go of the row and the parameters; needed where not all rows were read.
  func reset() {
    sqlite3_reset(pointer)
    parameter = 0
    parameters.reuse()
    failure = nil
  }

  private func prepare() {
    check(sqlite3_prepare_v3(connection.pointer, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil))
  }

  private func check(_ code: Int32) {
    if code != SQLITE_OK, failure == nil { failure = connection.error(ResultCode(rawValue: code)) }
  }

  @discardableResult
  func bind(_ value: Int64) -> Statement {
    bindNext { sqlite3_bind_int64(pointer, $0, value) }
  }

  @discardableResult
  func bind(_ value: some FixedWidthInteger) -> Statement {
    bind(Int64(truncatingIfNeeded: value))
  }

  @discardableResult
  func bind(_ value: Bool) -> Statement {
    bind(value ? 1 : Int64(0))
  }

  @discardableResult
  func bind(_ value: String) -> Statement {
    var value = value
    return value.withUTF8 { utf8 in
      bindNext { index in
        parameters.withPlace(of: UnsafeRawBufferPointer(utf8)) { text, destructor in
          sqlite3_bind_text(
            pointer, index, text.assumingMemoryBound(to: CChar.self), Int32(utf8.count), destructor)
        }
      }
    }
  }

  @discardableResult
  func bind(_ value: [UInt8]) -> Statement {
    value.withUnsafeBytes { bind($0) }
  }

  func bind(_ id: UniqueID) -> Statement {
    withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { bind($0) }
  }

  private func bind(_ value: UnsafeRawBufferPointer) -> Statement {
    bindNext { index in
      parameters.withPlace(of: value) { blob, destructor in
        sqlite3_bind_blob(pointer, index, blob, Int32(value.count), destructor)
      }
    }
  }

  func bindNull() -> Statement {
    bindNext { sqlite3_bind_null(pointer, $0) }
  }

  private func bindNext(_ bind: (Int32) -> Int32) -> Statement {
    if pointer == nil { prepare() }
    parameter += 1
    check(bind(parameter))
    return self
  }
}

/// The columns of the current row, read from left to right; valid until the statement's next step.
struct Row: ColumnReader {
  private let statement: OpaquePointer
  private var column: Int32 = 0

  fileprivate init(statement: OpaquePointer) {
    self.statement = statement
  }

  mutating func integer() -> Int64 {
    defer { column += 1 }
    return sqlite3_column_int64(statement, column)
  }

  mutating func boolean() -> Bool {
    integer() != 0
  }

  mutating func text() -> String {
    defer { column += 1 }
    let text = sqlite3_column_text(statement, column)
    return String(
      decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(statement, column))), as: UTF8.self)
  }

  mutating func blob() -> [UInt8] { withBytes { [UInt8]($0) } }

  /// A text's or a blob's bytes, valid until the statement's next step, without a copy.
  mutating func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    defer { column += 1 }
    let bytes = sqlite3_column_blob(statement, column)
    return body(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column))))
  }

  var isNull: Bool {
    sqlite3_column_type(statement, column) == SQLITE_NULL
  }

  mutating func skip(_ count: Int) {
    column += Int32(count)
  }

  static func unreadable(_ column: String) -> SQLiteError {
    SQLiteError(code: .corrupt, message: "unreadable column \(column)")
  }
}

/// Without it, SQLite would allocate a copy of each value at each use of the statement, and free it again.
///
/// Confined like its statement.
final class ParameterMemory {
  /// Room for an event with identifiers of usual lengths. SQLite copies what does not fit.
  private static let byteCount = 1_024

  /// `nil` until the first use, because many statements are never used.
  private var bytes: UnsafeMutableRawPointer?
  private var usedCount = 0

  deinit {
    bytes?.deallocate()
  }

  /// Calls `bind` with a place of the value that stays valid until the statement is bound anew, or with the value's own
  /// place and SQLite's order to copy it.
  func withPlace(
    of value: UnsafeRawBufferPointer, _ bind: (UnsafeRawPointer, sqlite3_destructor_type?) -> Int32
  ) -> Int32 {
    guard value.count <= Self.byteCount - usedCount else { return bind(value.baseAddress!, csqlite_transient()) }
    let place = memory() + usedCount
    usedCount += value.count
    if let source = value.baseAddress { place.copyMemory(from: source, byteCount: value.count) }
    // Not null, also for an empty value: a null pointer would bind NULL.
    return bind(place, nil)
  }

  /// The statement is about to be bound anew.
  func reuse() {
    usedCount = 0
  }

  private func memory() -> UnsafeMutableRawPointer {
    if let bytes { return bytes }
    let allocated = UnsafeMutableRawPointer.allocate(byteCount: Self.byteCount, alignment: 1)
    bytes = allocated
    return allocated
  }
}
