// SQLite's answers as values. https://www.sqlite.org/rescode.html

internal import CSQLite

/// An extended result code.
struct ResultCode: RawRepresentable, Sendable, Hashable {
  let rawValue: Int32

  static let ok = ResultCode(rawValue: SQLITE_OK)
  static let busy = ResultCode(rawValue: SQLITE_BUSY)
  static let full = ResultCode(rawValue: SQLITE_FULL)
  static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
  static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
  static let ioError = ResultCode(rawValue: SQLITE_IOERR)
  static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
  // Extended ones are macros that Swift does not see.
  static let ioErrorWrite = ResultCode(rawValue: SQLITE_IOERR | 3 << 8)
  static let ioErrorSync = ResultCode(rawValue: SQLITE_IOERR | 4 << 8)
  /// A unique index has the values already.
  static let notUnique = ResultCode(rawValue: SQLITE_CONSTRAINT | 8 << 8)

  /// Without the detail in the upper bytes.
  var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }
}

/// A call of SQLite that failed.
struct SQLiteError: Error, Sendable, Hashable {
  let code: ResultCode
  /// With the system's own reason, if there is one.
  let message: String

  /// For the log.
  var text: String { "SQLite \(code.rawValue): \(message)" }
}
