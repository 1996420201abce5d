// The writer's statements.

internal import TouchstoneStore

/// Confined like its connection. Records go in with the version that they have afterwards.
final class WriteStatements {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) {
    self.connection = connection
  }

  private func statement(_ sql: String) -> Statement { Statement(sql, on: connection) }

  /// Takes the write lock at once, so that nothing comes between comparing and setting.
  lazy var begin = statement("BEGIN IMMEDIATE")
  lazy var commit = statement("COMMIT")
  lazy var rollback = statement("ROLLBACK")
  lazy var beginChangeSet = statement("SAVEPOINT change_set")
  lazy var rollBackChangeSet = statement("ROLLBACK TO change_set")
  lazy var endChangeSet = statement("RELEASE change_set")

  private static let isOfBinding = "binding_number = (SELECT number FROM bindings WHERE binding_id = ?1)"

  /// Binding id, time.
  lazy var touchBinding = statement("UPDATE binding_uses SET last_used_at = ?2 WHERE \(Self.isOfBinding)")
  /// Binding id, counter.
  lazy var raiseProofCounter = statement(
    "UPDATE binding_uses SET proof_counter = max(proof_counter, ?2) WHERE \(Self.isOfBinding)")
  private lazy var keepLatestUse = statement(
    "UPDATE binding_uses SET last_used_at = max(coalesce(last_used_at, ?2), ?2) WHERE \(Self.isOfBinding)")
  /// Binding id, posture.
  lazy var notePosture = statement("INSERT OR REPLACE \(Self.intoPostures)")
  private lazy var putFirstPosture = statement("INSERT OR IGNORE \(Self.intoPostures)")
  private static let intoPostures = "INTO binding_postures SELECT number, ?2 FROM bindings WHERE binding_id = ?1"
  /// Binding id, receipt.
  lazy var putReceipt = statement("INSERT OR REPLACE INTO app_attest_receipts VALUES (?, ?)")
  /// The id of the binding that has it, and of the one that gets it.
  lazy var moveReceipt = statement("UPDATE OR REPLACE app_attest_receipts SET binding_id = ?2 WHERE binding_id = ?1")
  /// A key.
  lazy var useTicket = statement("INSERT OR IGNORE INTO used_tickets (expires_at, id) VALUES (?, ?)")

  private lazy var addUse = statement(
    "INSERT OR IGNORE INTO binding_uses (binding_number) SELECT number FROM bindings WHERE binding_id = ?")
  private lazy var putBinding = statement(
    """
    \(Self.insertion("INSERT", into: "bindings", BindingRecord.boundColumns)) ON CONFLICT (binding_id) DO UPDATE SET
      \(BindingRecord.boundColumns.names.dropFirst().map { "\($0) = excluded.\($0), " }.joined()) version = excluded.version
    """)
  private lazy var putDevice = statement(
    Self.insertion("INSERT OR REPLACE", into: "devices", DeviceRecord.boundColumns))
  private lazy var putErasureMark = statement("INSERT OR REPLACE INTO erasure_marks VALUES (?, ?, ?)")
  private lazy var putProfile = statement(
    Self.insertion("INSERT OR REPLACE", into: "profiles", ProfileRecord.boundColumns))
  private lazy var putEvaluation = statement("INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?, ?)")
  private lazy var putToken = statement("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)")
  // A key that no ticket has.
  private lazy var addRow = statement("INSERT INTO used_tickets (expires_at, id) VALUES (\(Int64.min), x'')")
  private lazy var removeRow = statement("DELETE FROM used_tickets WHERE expires_at = \(Int64.min)")
  private lazy var putFirstKeyCheck = statement("INSERT OR IGNORE INTO key_check VALUES (1, ?)")
  private lazy var selectKeyCheck = statement("SELECT value FROM key_check")

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
