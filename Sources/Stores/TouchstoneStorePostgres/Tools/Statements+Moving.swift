// Statements that move another store's state into an empty database: rows as they are, with their versions.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Statement {
  static let setLineage = Statement(nil, "UPDATE lineage SET number = $1::BIGINT")
  static let setSweepMark = Statement(nil, "UPDATE sweep_mark SET swept_before = $1::BIGINT")
  static let setArchiveMark = Statement(nil, "UPDATE event_archive SET sequence = $1::BIGINT, hash = $2::BYTEA")
  static let setKeyCheck = Statement(nil, "INSERT INTO key_check VALUES (1, $1::BYTEA)")
}

/// Inserts many rows of one table.
struct RowInsertion {
  private let statement: Statement
  private var rows: RowArrays

  init(into table: MovedTable) {
    let columns = table.columns
    let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.type.sql)[]" }
    statement = Statement(
      "move_\(table.rawValue)",
      """
      INSERT INTO \(table.rawValue) (\(columns.map(\.name).joined(separator: ", ")))
      SELECT * FROM unnest(\(arrays.joined(separator: ", ")))
      """)
    rows = RowArrays(columns.map(\.type))
  }

  /// Must be sent once before `call`.
  var preparation: StatementCall { .raw("PREPARE \(statement.name ?? "") AS \(statement.sql)") }

  mutating func append(_ row: MovedRow) { rows.append(StatementCall(valuesOf: row)) }

  var call: StatementCall { StatementCall(statement).bind(rows) }
}

extension ArrayElements.ElementType {
  fileprivate var sql: String {
    switch self {
    case .boolean: "BOOLEAN"
    case .bytea: "BYTEA"
    case .bigint: "BIGINT"
    case .smallint: "SMALLINT"
    }
  }
}

extension MovedTable {
  fileprivate typealias Column = (name: String, type: ArrayElements.ElementType)

  /// In the order of `StatementCall(valuesOf:)`.
  fileprivate var columns: [Column] {
    let key = Columns(["spread", "expires_at", "id"])
    let columns =
      switch self {
      case .bindings: BindingRecord.columns
      case .receipts: Columns(["binding_id", "receipt"])
      case .devices: DeviceRecord.boundColumns + ["version"]
      case .profiles: ProfileRecord.boundColumns + ["version"]
      case .evaluations: key + EvaluationRecord.columns.names
      case .tokens: key + TokenRecord.columns.names
      case .usedTickets: key
      case .events: EventRecord.columns
      }
    return columns.names.map { ($0, Self.type(of: $0)) }
  }

  /// As `Schema` has it.
  private static func type(of column: String) -> ArrayElements.ElementType {
    if column == "spread" { return .smallint }
    if column.hasPrefix("is_") || column.contains("_is_") { return .boolean }
    return byteColumns.contains(column) ? .bytea : .bigint
  }

  private static let byteColumns: Set = [
    "binding_id", "application_id", "profile_id", "device_id", "device_name", "hardware_keys", "profile_touch_id",
    "app_attest", "receipt", "baseline", "posture", "passcode_verifier", "gesture_verifier", "id",
    "approved_transaction", "hash", "digest",
    "salt", "kind",
    "caller", "details",
  ]
}

extension StatementCall {
  /// Inserts all columns of the row's table.
  fileprivate init(valuesOf row: MovedRow) {
    let none = StatementCall.row
    switch row {
    case .binding(let binding): self = none.bind(whole: binding).bind(binding.version)
    case .receipt(let bindingID, let receipt): self = none.bind(bindingID).bind(receipt)
    case .device(let device): self = none.bind(device).bind(device.version)
    case .profile(let profile): self = none.bind(profile).bind(profile.version)
    case .evaluation(let evaluation):
      self = none.bind(evaluation.key).bind(evaluation.standing).bind(evaluation.version)
    case .token(let token):
      self = none.bind(token.key).bind(token).bind(token.version)
    case .usedTicket(let key): self = none.bind(key)
    case .event(let record):
      self = none.bind(record.sequence).bind(record.hash)
      switch record.content {
      case .whole(let event, let salt): self = bindNull().bind(event, salt: salt)
      case .erased(let digest):
        self = EventDraft.columns.names.reduce(bind(digest)) { call, _ in call.bindNull() }
      }
    }
  }
}
