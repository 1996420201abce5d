// The writer's statements.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection. Records go in with the version that they have afterwards.
final class WriteStatements {
  let begin: Statement
  let commit: Statement
  let rollback: Statement
  /// Binding id, time.
  let touchBinding: Statement
  /// Binding id, counter.
  let raiseProofCounter: Statement
  /// A key.
  let useTicket: Statement
  /// Binding id, posture.
  let notePosture: Statement
  /// Binding id, receipt.
  let putReceipt: Statement
  /// The id of the binding that has it, and of the one that gets it.
  let moveReceipt: Statement
  private let putFirstPosture: Statement
  private let putBinding: Statement
  private let addUse: Statement
  private let keepLatestUse: Statement
  private let putDevice: Statement
  private let putProfile: Statement
  private let putErasureMark: Statement
  private let putEvaluation: Statement
  private let putToken: Statement
  private let addRow: Statement
  private let removeRow: Statement
  private let putFirstKeyCheck: Statement
  private let selectKeyCheck: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(sql, on: connection) }
    // Takes the write lock at once, so that nothing comes between comparing and setting.
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
    rollback = try prepare("ROLLBACK")
    let isOfBinding = "binding_number = (SELECT number FROM bindings WHERE binding_id = ?1)"
    touchBinding = try prepare("UPDATE binding_uses SET last_used_at = ?2 WHERE \(isOfBinding)")
    raiseProofCounter = try prepare(
      "UPDATE binding_uses SET proof_counter = max(proof_counter, ?2) WHERE \(isOfBinding)")
    keepLatestUse = try prepare(
      "UPDATE binding_uses SET last_used_at = max(coalesce(last_used_at, ?2), ?2) WHERE \(isOfBinding)")
    func notingPosture(_ insert: String) throws(SQLiteError) -> Statement {
      try prepare("\(insert) INTO binding_postures SELECT number, ?2 FROM bindings WHERE binding_id = ?1")
    }
    notePosture = try notingPosture("INSERT OR REPLACE")
    putFirstPosture = try notingPosture("INSERT OR IGNORE")
    putReceipt = try prepare("INSERT OR REPLACE INTO app_attest_receipts VALUES (?, ?)")
    moveReceipt = try prepare("UPDATE OR REPLACE app_attest_receipts SET binding_id = ?2 WHERE binding_id = ?1")
    addUse = try prepare(
      "INSERT OR IGNORE INTO binding_uses (binding_number) SELECT number FROM bindings WHERE binding_id = ?")
    useTicket = try prepare("INSERT OR IGNORE INTO used_tickets (expires_at, id) VALUES (?, ?)")
    putBinding = try prepare(
      """
      \(Self.insertion("INSERT", into: "bindings", BindingRecord.boundColumns)) ON CONFLICT (binding_id) DO UPDATE SET
        \(BindingRecord.boundColumns.names.dropFirst().map { "\($0) = excluded.\($0), " }.joined()) version = excluded.version
      """)
    putDevice = try prepare(Self.insertion("INSERT OR REPLACE", into: "devices", DeviceRecord.boundColumns))
    putErasureMark = try prepare("INSERT OR REPLACE INTO erasure_marks VALUES (?, ?, ?)")
    putProfile = try prepare(Self.insertion("INSERT OR REPLACE", into: "profiles", ProfileRecord.boundColumns))
    putEvaluation = try prepare("INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?, ?)")
    putToken = try prepare("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)")
    // A key that no ticket has.
    addRow = try prepare("INSERT INTO used_tickets (expires_at, id) VALUES (\(Int64.min), x'')")
    removeRow = try prepare("DELETE FROM used_tickets WHERE expires_at = \(Int64.min)")
    putFirstKeyCheck = try prepare("INSERT OR IGNORE INTO key_check VALUES (1, ?)")
    selectKeyCheck = try prepare("SELECT value FROM key_check")
  }

  /// The columns, and the version.
  private static func insertion(_ verb: String, into table: String, _ columns: Columns) -> String {
    "\(verb) INTO \(table) (\(columns), version) VALUES (\(columns.names.map { _ in "?, " }.joined())?)"
  }

  func put(_ binding: BindingRecord) throws(SQLiteError) {
    try putBinding.bind(binding).bind(binding.version).run()
    try addUse.bind(binding.bindingID).run()
    if let lastUsedAt = binding.lastUsedAt { try keepLatestUse.bind(binding.bindingID).bind(lastUsedAt).run() }
    if binding.proofCounter > 0 { try raiseProofCounter.bind(binding.bindingID).bind(binding.proofCounter).run() }
    if let lastSeen = binding.lastSeen { try putFirstPosture.bind(binding.bindingID).bind(lastSeen.encoded).run() }
  }

  func put(_ device: DeviceRecord) throws(SQLiteError) {
    try putDevice.bind(device).bind(device.version).run()
  }

  func put(_ profile: ProfileRecord) throws(SQLiteError) {
    try putProfile.bind(profile).bind(profile.version).run()
  }

  func put(erasureMark mark: ProfileRecord) throws(SQLiteError) {
    try putErasureMark.bind(mark.applicationID).bind(mark.profileID).bind(mark.version).run()
  }

  func put(_ evaluation: EvaluationRecord) throws(SQLiteError) {
    try putEvaluation.bind(evaluation.key).bind(evaluation.standing).bind(evaluation.version).run()
  }

  func put(_ token: TokenRecord) throws(SQLiteError) {
    try putToken.bind(token.key).bind(token).bind(token.version).run()
  }

  /// Leaves the rows as they were, and pages to be written.
  func writeAndRemove() throws(SQLiteError) {
    try addRow.run()
    try removeRow.run()
  }

  /// The one that holds.
  func keyCheck(initially check: [UInt8]) throws(SQLiteError) -> [UInt8] {
    try putFirstKeyCheck.bind(check).run()
    return try selectKeyCheck.first { row in row.blob() } ?? check
  }
}
