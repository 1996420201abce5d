// What moving another store's state into an empty database says: rows as they are, with their versions.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Statement {
  private static func inserting(_ table: MovedTable, _ columns: String, count: Int) -> Statement {
    Statement(
      "move_\(table.rawValue)", "INSERT INTO \(table.rawValue) (\(columns)) VALUES (\(placeholders(1...count)))")
  }

  static let moveBinding = inserting(.bindings, BindingRecord.columns, count: BindingRecord.columnCount)
  static let moveDevice = inserting(.devices, "\(deviceColumns), version", count: 5)
  static let moveProfile = inserting(
    .profiles, "\(profileColumns.joined(separator: ", ")), version", count: profileColumns.count + 1)
  static let moveEvaluation = inserting(.evaluations, "spread, expires_at, id, \(EvaluationRecord.columns)", count: 7)
  static let moveToken = inserting(.tokens, "spread, expires_at, id, \(TokenRecord.columns)", count: 6)
  static let moveUsedTicket = inserting(.usedTickets, "spread, expires_at, id", count: 3)
  static let moveErasedEvent = inserting(.events, "sequence, hash, digest", count: 3)

  static let moving = [
    moveBinding, moveDevice, moveProfile, moveEvaluation, moveToken, moveUsedTicket, moveErasedEvent,
  ]

  static let setLineage = Statement(nil, "UPDATE lineage SET number = $1::BIGINT")
  static let setSweepMark = Statement(nil, "UPDATE sweep_mark SET swept_before = $1::BIGINT")
  static let setErasureMark = Statement(nil, "UPDATE erasure_mark SET highest_version = $1::BIGINT")
  static let setArchiveMark = Statement(nil, "UPDATE event_archive SET sequence = $1::BIGINT, hash = $2::BYTEA")
  static let setKeyCheck = Statement(nil, "INSERT INTO key_check VALUES (1, $1::BYTEA)")
}

extension StatementCall {
  init(moving row: MovedRow) {
    switch row {
    case .binding(let binding):
      self = StatementCall(.moveBinding).bind(binding).bind(binding.version)
    case .device(let device, let standInUntil):
      self = StatementCall(.moveDevice).bind(device, standInUntil: standInUntil).bind(device.version)
    case .profile(let profile, let standInUntil):
      self = StatementCall(.moveProfile).bind(profile, standInUntil: standInUntil).bind(profile.version)
    case .evaluation(let evaluation):
      let standing = evaluation.standing
      self = StatementCall(.moveEvaluation).bind(evaluation.key).bind(standing.failures)
        .bind(standing.deviceOwnerFailures).bind(standing.isFinished).bind(evaluation.version)
    case .token(let token):
      self = StatementCall(.moveToken).bind(token.key).bind(token.state.rawValue).bind(token.transaction)
        .bind(token.version)
    case .usedTicket(let key):
      self = StatementCall(.moveUsedTicket).bind(key)
    case .event(let record):
      switch record.content {
      case .whole(let event, let salt):
        self = StatementCall(.insertSealedEvent).bind(record.sequence).bind(record.hash).bind(event, salt: salt)
      case .erased(let digest):
        self = StatementCall(.moveErasedEvent).bind(record.sequence).bind(record.hash).bind(digest)
      }
    }
  }
}
