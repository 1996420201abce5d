// The reasons why a transaction was not committed, or may not have been.

internal import CPostgres
internal import DispatchPool
internal import TouchstoneStore

enum PostgresError: Error, Sendable, Hashable {
  /// The transaction found a conflict (`Statement.isOpen`): none of it was done.
  case conflict
  /// The server refused it: none of it was done.
  case server(SQLState, message: String)
  /// There was no connection in time, or it was lost before the transaction was sent: none of it was done.
  case notSent(String)
  /// The connection was lost after the transaction was sent: only the database knows whether it was done.
  case lost(String)
  /// A value that was read cannot be right.
  case corrupt(String)

  /// The last statement of a commit detects this.
  static let otherLineage = PostgresError.server(.notNullViolation, message: "another line of history")

  init(_ error: PoolError) {
    switch error {
    case .timedOut(let failure): self = .notSent("no connection in time" + (failure.map { ": \($0)" } ?? ""))
    case .unreachable(let failure): self = .notSent("no connection: \(failure)")
    case .tooManyWaiting: self = .notSent("too many requests are waiting")
    case .cancelled, .draining: self = .notSent("the store is closed")
    }
  }

  /// Nothing was done, and the same transaction may succeed at once.
  var isWorthRetrying: Bool {
    if case .server(let state, _) = self { state.isWorthRetrying } else { false }
  }

  var message: String {
    switch self {
    case .server(let state, let message): "PostgreSQL \(state.rawValue): \(message)"
    case .notSent(let message), .lost(let message), .corrupt(let message): message
    case .conflict: "a record is not as it was read"
    }
  }
}

extension PostgresError {
  init(_ result: OpaquePointer) {
    let state = cpostgres_sqlstate(result).map { String(cString: $0) }
    let message = cpostgres_primary_message(result).map { String(cString: $0) } ?? "the connection was lost"
    // An error without a code is libpq's own, about the connection.
    self = state.map { .server(SQLState(rawValue: $0), message: message) } ?? .lost(message)
  }

  /// The meaning of an error that came before the connection ended, without a Sync after it. A refusal of the statement
  /// is certain; the end of the session may have come after the commit.
  var ofEndedSession: PostgresError? {
    if case .server(let state, _) = self, !state.isOfTheMoment { self } else { nil }
  }
}

extension OpaquePointer {
  /// A notice of the severity WARNING without a code of its own (01000).
  var isPlainWarning: Bool {
    guard let severity = cpostgres_severity(self), let state = cpostgres_sqlstate(self) else { return false }
    return String(cString: severity) == "WARNING" && String(cString: state) == "01000"
  }
}

extension StoreError {
  /// For reads, and for writes that were not done: only a lost write is in doubt.
  init(_ error: PostgresError) {
    switch error {
    case .conflict, .server(.divisionByZero, _), .server(.uniqueViolation, _):
      self.init(code: .conflict, message: PostgresError.conflict.message)
    // The one that `Statement.finish` may cause.
    case .server(.notNullViolation, _): self = .otherLineage
    case .server(let state, _) where state.isOfDamage: self.init(code: .corrupt, message: error.message)
    case .corrupt: self.init(code: .corrupt, message: error.message)
    case .server, .notSent, .lost: self.init(code: .unavailable, message: error.message)
    }
  }

  /// The database was put back to an earlier time: tokens that this process would accept may have been used since.
  static let otherLineage = StoreError(
    code: .unavailable, remedy: .restart,
    message:
      "the database is in another line of history (`touchstone restored`) than when this service began; start it "
      + "again")
  static let closed = StoreError(code: .unavailable, message: "the store is closed")
  static let overloaded = StoreError(code: .unavailable, message: "too many writes are waiting")
}

/// PostgreSQL's manual, appendix A.
struct SQLState: RawRepresentable, Sendable, Hashable {
  var rawValue: String

  init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// A write fails with it if its row is gone after all (`Statement.decided`), or is there after all
  /// (`Statement.commitTogether`).
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
