// The codes of errors that the store acts on.

/// PostgreSQL's manual, appendix A.
struct SQLState: RawRepresentable, Sendable, Hashable {
  var rawValue: String

  init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// A write fails with it if its row is gone after all (`Statement.decided`).
  static let divisionByZero = SQLState(rawValue: "22012")
  static let notNullViolation = SQLState(rawValue: "23502")
  static let uniqueViolation = SQLState(rawValue: "23505")
  static let serializationFailure = SQLState(rawValue: "40001")
  static let deadlockDetected = SQLState(rawValue: "40P01")
  static let lockNotAvailable = SQLState(rawValue: "55P03")
  static let undefinedTable = SQLState(rawValue: "42P01")
  static let undefinedColumn = SQLState(rawValue: "42703")
  /// A primary that became a standby.
  static let readOnlyTransaction = SQLState(rawValue: "25006")

  /// 08 connection, 53 resources (disk full, too many connections), 55P03 lock timeout, 57 operator intervention
  /// (shutdown, statement timeout), 58 the system, 25006 read-only: nothing was written, and a later try may succeed.
  var isOfTheMoment: Bool {
    ["08", "53", "57", "58"].contains(rawValue.prefix(2)) || self == .lockNotAvailable || self == .readOnlyTransaction
  }

  /// The same statements may succeed if they are sent again.
  var isWorthRetrying: Bool { self == .serializationFailure || self == .deadlockDetected }

  /// XX: the database is damaged or the server is.
  var isOfDamage: Bool { rawValue.hasPrefix("XX") }
}
