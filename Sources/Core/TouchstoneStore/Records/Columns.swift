// The columns of a row, by name and one by one.

public import TouchstonePolicy

/// Names of columns. In SQL they stand with commas between them.
package struct Columns: Sendable, CustomStringConvertible {
  package let names: [String]

  package init(_ names: [String]) {
    self.names = names
  }

  package var count: Int { names.count }

  package var description: String { names.joined(separator: ", ") }

  package static func + (left: Columns, right: [String]) -> Columns { Columns(left.names + right) }
}

// The rest of this file is inlinable, and public for that: each store gets its own copy, made for its statements and
// rows. With calls through a protocol, a login's writes on SQLite cost 12 % more instructions.

/// A statement that takes its parameters in their order.
public protocol ColumnWriter {
  consuming func bind(_ value: Int64) -> Self
  consuming func bind(_ value: Bool) -> Self
  consuming func bind(_ value: String) -> Self
  consuming func bind(_ value: [UInt8]) -> Self
  /// 16 bytes, big-endian.
  consuming func bind(_ id: UniqueID) -> Self
  consuming func bindNull() -> Self
}

extension ColumnWriter {
  /// Databases have signed integers. A larger number is compared only for equality.
  @inlinable
  public consuming func bind(_ value: some FixedWidthInteger) -> Self { bind(Int64(truncatingIfNeeded: value)) }

  @inlinable
  public consuming func bind<Value: FixedWidthInteger>(_ value: Value?) -> Self {
    if let value { bind(Int64(truncatingIfNeeded: value)) } else { bindNull() }
  }

  @inlinable
  public consuming func bind(_ value: [UInt8]?) -> Self {
    if let value { bind(value) } else { bindNull() }
  }

  @inlinable
  public consuming func bind(_ time: UnixTime) -> Self { bind(time.microseconds) }

  @inlinable
  public consuming func bind(_ time: UnixTime?) -> Self { bind(time?.microseconds) }
}

/// One row, read from left to right.
public protocol ColumnReader {
  associatedtype Failure: Error

  /// Whether the next column is NULL.
  var isNull: Bool { get }
  mutating func skip(_ count: Int)
  mutating func integer() -> Int64
  mutating func boolean() -> Bool
  mutating func text() -> String
  mutating func blob() -> [UInt8]
  /// Returns the error for a column's value that the store never wrote.
  static func unreadable(_ column: String) -> Failure
}

extension ColumnReader {
  @inlinable
  public mutating func optionalInteger() -> Int64? {
    guard !isNull else {
      skip(1)
      return nil
    }
    return integer()
  }

  @inlinable
  public mutating func optionalBlob() -> [UInt8]? {
    guard !isNull else {
      skip(1)
      return nil
    }
    return blob()
  }

  @inlinable
  public mutating func time() -> UnixTime { UnixTime(microseconds: integer()) }

  @inlinable
  public mutating func optionalTime() -> UnixTime? { optionalInteger().map { UnixTime(microseconds: $0) } }

  @inlinable
  public mutating func version() -> RecordVersion { RecordVersion(truncatingIfNeeded: integer()) }

  @inlinable
  public mutating func count() -> UInt32 { UInt32(truncatingIfNeeded: integer()) }

  @inlinable
  public mutating func choice<Choice: RawRepresentable<UInt8>>(_ column: String) throws(Failure) -> Choice {
    try value(Choice(rawValue: UInt8(truncatingIfNeeded: integer())), column)
  }

  @inlinable
  public mutating func optionalChoice<Choice: RawRepresentable<UInt8>>(
    _ column: String
  ) throws(Failure) -> Choice? {
    guard let raw = optionalInteger() else { return nil }
    return try value(Choice(rawValue: UInt8(truncatingIfNeeded: raw)), column)
  }

  /// - Parameter value: `nil` if it cannot be read.
  @inlinable
  public func value<Value>(_ value: Value?, _ column: String) throws(Failure) -> Value {
    guard let value else { throw Self.unreadable(column) }
    return value
  }
}
