// A statement and its parameter values.

internal import TouchstonePolicy
internal import TouchstoneStore

/// SQL that every connection prepares once, or that is sent as it is (`name` is `nil`).
struct Statement: Sendable, Hashable {
  let name: String?
  let sql: String

  init(_ name: String?, _ sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// Values go in PostgreSQL's binary format, in one buffer: integers and lengths big-endian, as
/// `src/backend/utils/adt` receives them.
struct StatementCall: ColumnWriter, Sendable {
  private(set) var statement: Statement
  private(set) var bytes: [UInt8] = []
  /// The length of each value; `nullLength` for NULL.
  private(set) var lengths: [Int32] = []

  static let nullLength: Int32 = -1

  init(_ statement: Statement) {
    self.statement = statement
  }

  /// The same values.
  consuming func saying(_ other: Statement) -> StatementCall {
    statement = other
    return self
  }

  consuming func bind(_ value: Int64) -> StatementCall {
    bytes.append(bigEndian: value)
    lengths.append(8)
    return self
  }

  /// A smallint.
  consuming func bind(_ value: Int16) -> StatementCall {
    bytes.append(bigEndian: value)
    lengths.append(2)
    return self
  }

  consuming func bind(_ value: Bool) -> StatementCall {
    bytes.append(value ? 1 : 0)
    lengths.append(1)
    return self
  }

  consuming func bind(_ value: [UInt8]) -> StatementCall {
    bytes.append(contentsOf: value)
    lengths.append(Int32(value.count))
    return self
  }

  /// Identifiers are stored as bytes: compared, ordered and indexed as bytes under every collation.
  consuming func bind(_ value: String) -> StatementCall {
    var value = value
    let count = value.withUTF8 { text in
      bytes.append(contentsOf: text)
      return text.count
    }
    lengths.append(Int32(count))
    return self
  }

  consuming func bind(_ id: UniqueID) -> StatementCall {
    bytes.append(bigEndian: id.high)
    bytes.append(bigEndian: id.low)
    lengths.append(16)
    return self
  }

  consuming func bindNull() -> StatementCall {
    lengths.append(Self.nullLength)
    return self
  }

  // MARK: Arrays

  consuming func bind(array values: [[UInt8]]) -> StatementCall {
    var elements = ArrayElements(of: .bytea)
    for value in values { elements.append(value) }
    return bind(elements)
  }

  consuming func bind(array values: [String]) -> StatementCall { bind(array: values.map { [UInt8]($0.utf8) }) }

  consuming func bind(array values: [UInt64]) -> StatementCall {
    var elements = ArrayElements(of: .bigint)
    for value in values { elements.append(bigEndian: value) }
    return bind(elements)
  }

  consuming func bind(_ elements: ArrayElements) -> StatementCall {
    let start = bytes.count
    elements.encode(into: &bytes)
    lengths.append(Int32(bytes.count - start))
    return self
  }
}

/// Rows as an array for each column, so that the server plans and starts one statement for all of them.
struct RowArrays: Sendable {
  fileprivate private(set) var columns: [ArrayElements]

  init(_ types: [ArrayElements.ElementType]) {
    columns = types.map { ArrayElements(of: $0) }
  }

  /// - Parameter row: `StatementCall.row` with a value for each column.
  mutating func append(_ row: StatementCall) {
    precondition(row.lengths.count == columns.count, "of another table")
    var rest = row.bytes[...]
    for (index, length) in row.lengths.enumerated() {
      if length == StatementCall.nullLength {
        columns[index].appendNull()
      } else {
        columns[index].append(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
      }
    }
  }
}

extension StatementCall {
  /// The values of one row of `RowArrays`, none yet, with room for those of most.
  static var row: StatementCall {
    var row = StatementCall(Statement(nil, ""))
    row.bytes.reserveCapacity(256)
    row.lengths.reserveCapacity(16)
    return row
  }

  consuming func bind(_ rows: RowArrays) -> StatementCall {
    rows.columns.reduce(self) { call, column in call.bind(column) }
  }
}

/// An array's elements, as `array_recv` reads them (`src/backend/utils/adt/arrayfuncs.c`).
struct ArrayElements: Sendable {
  /// `src/include/catalog/pg_type.dat`
  enum ElementType: UInt32 {
    case boolean = 16
    case bytea = 17
    case bigint = 20
    case smallint = 21
  }

  private let type: ElementType
  private var bytes: [UInt8] = []
  private var count: Int32 = 0
  private var hasNull = false

  init(of type: ElementType) {
    self.type = type
  }

  /// In the type's binary format.
  mutating func append(_ value: some Collection<UInt8>) {
    bytes.append(bigEndian: Int32(value.count))
    bytes.append(contentsOf: value)
    count += 1
  }

  mutating func append(bigEndian value: some FixedWidthInteger) {
    bytes.append(bigEndian: Int32(value.bitWidth / 8))
    bytes.append(bigEndian: value)
    count += 1
  }

  mutating func appendNull() {
    bytes.append(bigEndian: StatementCall.nullLength)
    count += 1
    hasNull = true
  }

  fileprivate func encode(into output: inout [UInt8]) {
    output.append(bigEndian: Int32(count == 0 ? 0 : 1))  // dimensions
    output.append(bigEndian: Int32(hasNull ? 1 : 0))
    output.append(bigEndian: type.rawValue)
    guard count > 0 else { return }
    output.append(bigEndian: count)
    output.append(bigEndian: Int32(1))  // of the first element
    output.append(contentsOf: bytes)
  }
}
