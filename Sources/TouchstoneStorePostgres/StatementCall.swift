// A statement and the values it is called with.

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
struct StatementCall: Sendable {
  private(set) var statement: Statement
  private(set) var bytes: [UInt8] = []
  /// Of each value; `nullLength` for NULL.
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

  consuming func bind(_ value: some FixedWidthInteger) -> StatementCall {
    bytes.append(bigEndian: value)
    lengths.append(Int32(value.bitWidth / 8))
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

  /// Identifiers are kept as bytes: equal, ordered and indexed as such, whatever the database's collation.
  consuming func bind(_ value: String) -> StatementCall {
    var value = value
    let count = value.withUTF8 { text in
      bytes.append(contentsOf: text)
      return text.count
    }
    lengths.append(Int32(count))
    return self
  }

  consuming func bindNull() -> StatementCall {
    lengths.append(Self.nullLength)
    return self
  }

  consuming func bind(_ value: Int64?) -> StatementCall {
    if let value { bind(value) } else { bindNull() }
  }

  consuming func bind(_ value: [UInt8]?) -> StatementCall {
    if let value { bind(value) } else { bindNull() }
  }

  consuming func bind(_ time: UnixTime) -> StatementCall { bind(time.microseconds) }

  /// Compared for being equal alone; sequences, which are ordered, never come so far.
  consuming func bind(_ value: UInt64) -> StatementCall { bind(Int64(bitPattern: value)) }

  consuming func bind(_ value: UInt32) -> StatementCall { bind(Int64(value)) }

  consuming func bind(_ value: UInt8) -> StatementCall { bind(Int64(value)) }

  consuming func bind(_ value: Int) -> StatementCall { bind(Int64(value)) }

  // MARK: Arrays

  consuming func bind(array values: [[UInt8]]) -> StatementCall {
    bindArray(of: .bytea, count: values.count) { bytes in
      for value in values {
        bytes.append(bigEndian: Int32(value.count))
        bytes.append(contentsOf: value)
      }
    }
  }

  consuming func bind(array values: [String]) -> StatementCall { bind(array: values.map { [UInt8]($0.utf8) }) }

  consuming func bind(array values: [UInt64]) -> StatementCall {
    bindArray(of: .bigint, count: values.count) { bytes in
      for value in values {
        bytes.append(bigEndian: Int32(8))
        bytes.append(bigEndian: Int64(bitPattern: value))
      }
    }
  }

  /// `src/include/catalog/pg_type.dat`
  private enum ElementType: UInt32 {
    case bytea = 17
    case bigint = 20
  }

  private consuming func bindArray(
    of type: ElementType, count: Int, _ appendElements: (inout [UInt8]) -> Void
  ) -> StatementCall {
    let start = bytes.count
    bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))  // dimensions
    bytes.append(bigEndian: Int32(0))  // no NULL in it
    bytes.append(bigEndian: type.rawValue)
    if count > 0 {
      bytes.append(bigEndian: Int32(count))
      bytes.append(bigEndian: Int32(1))  // of the first element
      appendElements(&bytes)
    }
    lengths.append(Int32(bytes.count - start))
    return self
  }
}
