// A row's columns as the bytes of one value.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Each column has its length in front, in four bytes; all numbers are big-endian.
struct PackedRowWriter: ColumnWriter {
  private(set) var bytes: [UInt8] = []

  consuming func bind(_ value: Int64) -> PackedRowWriter {
    bytes.append(bigEndian: Int32(8))
    bytes.append(bigEndian: value)
    return self
  }

  consuming func bind(_ value: Bool) -> PackedRowWriter { bind([value ? 1 : 0]) }

  consuming func bind(_ value: String) -> PackedRowWriter {
    bytes.append(lengthPrefixed: value)
    return self
  }

  consuming func bind(_ value: [UInt8]) -> PackedRowWriter {
    bytes.append(bigEndian: Int32(value.count))
    bytes.append(contentsOf: value)
    return self
  }

  consuming func bind(_ id: UniqueID) -> PackedRowWriter { bind(id.bytes) }

  consuming func bindNull() -> PackedRowWriter {
    bytes.append(bigEndian: StatementCall.nullLength)
    return self
  }
}

/// Bytes that end too early read as empty columns, and are noticed in `isBroken`.
struct PackedRowReader: ColumnReader {
  private var rest: ArraySlice<UInt8>
  private(set) var isBroken = false

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  var isAtEnd: Bool { rest.isEmpty }

  var isNull: Bool { length == StatementCall.nullLength }

  private var length: Int32? {
    rest.count < 4 ? nil : Int32(bitPattern: rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
  }

  mutating func skip(_ count: Int) {
    for _ in 0..<count { _ = next() }
  }

  mutating func integer() -> Int64 {
    let bytes = next()
    if bytes.count != 8 { isBroken = true }
    return Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
  }

  mutating func boolean() -> Bool { next().first == 1 }

  mutating func text() -> String { String(decoding: next(), as: UTF8.self) }

  mutating func blob() -> [UInt8] { Array(next()) }

  static func unreadable(_ column: String) -> PostgresError { .corrupt("unreadable column \(column)") }

  private mutating func next() -> ArraySlice<UInt8> {
    guard let length, length >= 0, rest.count - 4 >= Int(length) else {
      let isPresent = length == StatementCall.nullLength
      rest = isPresent ? rest.dropFirst(4) : []
      isBroken = isBroken || !isPresent
      return []
    }
    defer { rest = rest.dropFirst(4 + Int(length)) }
    return rest.dropFirst(4).prefix(Int(length))
  }
}
