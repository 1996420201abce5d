// The statements of commits.

internal import TouchstoneStore

extension Statement {
  // MARK: Keys

  static let putFirstKeyCheck = Statement(
    "put_first_key_check", "INSERT INTO key_check VALUES (1, $1::BYTEA) ON CONFLICT DO NOTHING")
  static let selectKeyCheck = Statement("select_key_check", "SELECT value FROM key_check WHERE only_row = 1")

  static let aboutKeys = [putFirstKeyCheck, selectKeyCheck]

  // MARK: Conditions: the row stays as it is until the commit

  private static let ofKey = "spread = $1 AND expires_at = $2 AND id = $3"

  /// Whether nothing that expires at this time was swept.
  static func isUnswept(_ expiry: String) -> String {
    "\(expiry) >= (SELECT swept_before FROM sweep_mark WHERE only_row = 1)"
  }

  /// - Parameter lock: shared, or for a record that the transaction writes later: two transactions that each turn a
  ///   shared lock into a write deadlock.
  private static func locking(_ name: String, _ table: String, _ condition: String, _ lock: String) -> Statement {
    deciding(name, "SELECT 1 FROM \(table) WHERE \(condition) AND \(isOpen) \(lock)")
  }
  private static let shared = "FOR SHARE"
  private static let toWrite = "FOR NO KEY UPDATE"
  private static let ofBinding = "binding_id = $1 AND version = $2"
  private static let ofDevice = "device_id = $1 AND version = $2"
  private static let ofProfile = "application_id = $1 AND profile_id = $2 AND version = $3"
  private static let ofUnsweptKey = "\(ofKey) AND version = $4 AND \(isUnswept("$2"))"

  static let requireBinding = locking("require_binding", "bindings", ofBinding, shared)
  static let requireDevice = locking("require_device", "devices", ofDevice, shared)
  static let requireProfile = locking("require_profile", "profiles", ofProfile, shared)
  static let requireToken = locking("require_token", "tokens", ofUnsweptKey, shared)
  static let holdBinding = locking("hold_binding", "bindings", ofBinding, toWrite)
  /// Id, the counter that must be there.
  static let holdProofCounter = locking(
    "hold_proof_counter", "bindings", "binding_id = $1 AND proof_counter = $2", toWrite)
  static let holdDevice = locking("hold_device", "devices", ofDevice, toWrite)
  static let holdProfile = locking("hold_profile", "profiles", ofProfile, toWrite)
  static let holdEvaluation = locking("hold_evaluation", "evaluations", ofUnsweptKey, toWrite)
  static let holdToken = locking("hold_token", "tokens", ofUnsweptKey, toWrite)

  // A missing row cannot be locked. A transaction that makes it at the same time comes after this one.
  static let requireNoBindingAtAll = deciding(
    "require_no_binding_at_all", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM bindings WHERE binding_id = $1)")
  static let requireNoDevice = deciding(
    "require_no_device", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM devices WHERE device_id = $1)")
  static let requireNoProfile = deciding(
    "require_no_profile",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE application_id = $1 AND profile_id = $2)")
  static let requireNoToken = deciding(
    "require_no_token",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE \(ofKey)) AND \(isUnswept("$2"))")
  /// A binding's id; whether it is active, and then its application, device and digest; the ids of the bindings that
  /// the transaction revokes before it. It is needed where a binding is inserted after such a revocation, which cannot
  /// be withdrawn. If a rival comes after this decision, the insertion fails.
  static let requireNoRival = deciding(
    "require_no_rival",
    """
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM bindings WHERE binding_id = $1) AND NOT ($2::BOOLEAN AND (
      EXISTS (SELECT 1 FROM bindings WHERE application_id = $3 AND device_id = $4 AND NOT is_revoked
        AND binding_id <> ALL ($6::BYTEA[]))
      OR EXISTS (SELECT 1 FROM bindings WHERE application_id = $3 AND profile_touch_id = $5 AND NOT is_revoked
        AND binding_id <> ALL ($6::BYTEA[]))))
    """)
  /// A missing erasure mark, as its row. Inserting and deleting it makes an erasure that would write the mark wait
  /// until the commit; an erasure raises the mark before it looks for records to remove.
  static let insertNoErasureMark = deciding(
    "insert_no_erasure_mark",
    """
    INSERT INTO profiles (\(ProfileRecord.boundColumns), version)
    SELECT \(placeholders(1...ProfileRecord.boundColumns.count)), 0 WHERE \(isOpen) ON CONFLICT DO NOTHING RETURNING 1
    """)
  /// Application, the mark's id. Also after a conflict.
  static let deleteNoErasureMark = Statement(
    "delete_no_erasure_mark", "DELETE FROM profiles WHERE application_id = $1 AND profile_id = $2 AND version = 0")
  /// A profile that was just inserted, and its erasure mark's id. If it waited for an erasure, its version may be one
  /// that an earlier record had.
  static let requireFreshProfile = deciding(
    "require_fresh_profile",
    "SELECT 1 FROM profiles WHERE application_id = $1 AND profile_id = $2 AND version > \(erasureMark(3))")

  static let conditions = [
    requireBinding, requireDevice, requireProfile, requireToken, holdBinding, holdProofCounter, holdDevice, holdProfile,
    holdEvaluation, holdToken, requireNoBindingAtAll, requireNoDevice, requireNoProfile, requireNoToken,
    requireNoRival, insertNoErasureMark, deleteNoErasureMark, requireFreshProfile,
  ]

  // MARK: Writing: a record at the version at which it was read, or as the first of its key

  /// Id, time. After the binding was held.
  static let touchBinding = Statement(
    "touch_binding", "UPDATE bindings SET last_used_at = $2 WHERE binding_id = $1 AND \(isOpen)")
  static let insertBinding = ComparingStatement(
    "insert_binding",
    insertion(
      into: "bindings", BindingRecord.columns, "\(placeholders(1...BindingRecord.columns.count - 1)), 1"))
  /// The record, and the version at which it was read.
  static let updateBinding = ComparingStatement(
    "update_binding",
    """
    UPDATE bindings SET
      \(BindingRecord.boundColumns.names.enumerated().dropFirst().map { "\($1) = $\($0 + 1)" }.joined(separator: ", ")),
      last_used_at = greatest(last_used_at, $\(BindingRecord.boundColumns.count + 1)),
      posture = coalesce(posture, $\(BindingRecord.boundColumns.count + 2)),
      proof_counter = greatest(proof_counter, $\(BindingRecord.boundColumns.count + 3)), version = version + 1
    WHERE binding_id = $1 AND version = $\(BindingRecord.boundColumns.count + 4) AND \(isOpen) RETURNING 1
    """)
  /// Id, posture.
  static let notePosture = Statement(
    "note_posture", "UPDATE bindings SET posture = $2 WHERE binding_id = $1 AND \(isOpen)")
  /// Id, posture, version.
  static let noteRequiredPosture = ComparingStatement(
    "note_required_posture",
    "UPDATE bindings SET posture = $2 WHERE binding_id = $1 AND version = $3 AND \(isOpen) RETURNING 1")

  /// Id, the counter that must be there, the next one.
  static let raiseProofCounter = ComparingStatement(
    "raise_proof_counter",
    """
    UPDATE bindings SET proof_counter = $3 WHERE binding_id = $1 AND proof_counter = $2 AND \(isOpen) RETURNING 1
    """)

  /// Binding id, receipt.
  static let putReceipt = Statement(
    "put_receipt",
    """
    INSERT INTO app_attest_receipts (binding_id, receipt) SELECT $1, $2 WHERE \(isOpen)
    ON CONFLICT (binding_id) DO UPDATE SET receipt = excluded.receipt
    """)
  /// The id of the binding that has it, and of the one that gets it, which is new.
  static let moveReceipt = Statement(
    "move_receipt", "UPDATE app_attest_receipts SET binding_id = $2 WHERE binding_id = $1 AND \(isOpen)")

  static let insertDevice = deciding(
    "insert_device",
    insertion(into: "devices", DeviceRecord.boundColumns + ["version"], "\(placeholders(1...4)), 1"))
  static let updateDevice = ComparingStatement(
    "update_device",
    """
    UPDATE devices SET failures = $2, is_locked_out = $3, lock_count = $4, version = version + 1
    WHERE device_id = $1 AND version = $5 AND \(isOpen) RETURNING 1
    """)

  /// The record and its erasure mark's id: the version is above the mark.
  static let insertProfile = deciding(
    "insert_profile",
    insertion(
      into: "profiles", ProfileRecord.boundColumns + ["version"],
      """
      \(placeholders(1...ProfileRecord.boundColumns.count)),
      1 + \(erasureMark(ProfileRecord.boundColumns.count + 1))
      """))
  /// The mark of a profile of application `$1`.
  private static func erasureMark(_ id: Int) -> String {
    "COALESCE((SELECT m.version FROM profiles AS m WHERE m.application_id = $1 AND m.profile_id = $\(id)), 0)"
  }
  static let updateProfile = ComparingStatement(
    "update_profile",
    """
    UPDATE profiles SET
      \(ProfileRecord.boundColumns.names.enumerated().dropFirst(2).map { "\($1) = $\($0 + 1)" }.joined(separator: ", ")),
      version = version + 1
    WHERE application_id = $1 AND profile_id = $2 AND version = $\(ProfileRecord.boundColumns.count + 1) AND \(isOpen)
    RETURNING 1
    """)

  private static let keyColumns = Columns(["spread", "expires_at", "id"])
  static let insertEvaluation = deciding(
    "insert_evaluation",
    insertion(
      into: "evaluations", keyColumns + EvaluationRecord.columns.names, "\(placeholders(1...6)), 1",
      where: isUnswept("$2")))
  static let updateEvaluation = ComparingStatement(
    "update_evaluation",
    """
    UPDATE evaluations SET failures = $4, device_owner_failures = $5, is_finished = $6, version = version + 1
    WHERE \(ofKey) AND version = $7 AND \(isUnswept("$2")) AND \(isOpen) RETURNING 1
    """)
  static let insertToken = deciding(
    "insert_token",
    insertion(
      into: "tokens", keyColumns + TokenRecord.columns.names, "\(placeholders(1...5)), 1", where: isUnswept("$2")))
  static let updateToken = ComparingStatement(
    "update_token",
    """
    UPDATE tokens SET state = $4, approved_transaction = $5, version = version + 1
    WHERE \(ofKey) AND version = $6 AND \(isUnswept("$2")) AND \(isOpen) RETURNING 1
    """)
  static let useTicket = deciding(
    "use_ticket", insertion(into: "used_tickets", keyColumns, placeholders(1...3), where: isUnswept("$2")))

  /// A row if there is none of its key, also in a transaction that is about to commit, which is waited for.
  private static func insertion(
    into table: String, _ columns: Columns, _ values: String, where condition: String = "true"
  ) -> String {
    """
    INSERT INTO \(table) (\(columns)) SELECT \(values) WHERE \(isOpen) AND \(condition)
    ON CONFLICT DO NOTHING RETURNING 1
    """
  }

  /// The last statement of every commit. It writes the commit's mark, a key, and returns how many it wrote: none after
  /// a conflict. It fails if something in the commit expired before the latest sweep, which earlier statements find,
  /// but for a sweep at the same time. The time is the earliest expiry in it. If the database has another line of
  /// history than the commit, a required column is NULL (SQLSTATE 23502).
  ///
  /// It runs after all writes: a row that replaced one during a sweep waited for the sweep, and this statement sees the
  /// sweep's mark.
  static let finish = Statement("finish", "WITH found AS (\(mark)) SELECT \(marksWritten) FROM found")
  /// The same without waiting for the fsync. The commit is answered after the fsync of a later one, which makes both
  /// durable, because there is one log.
  static let finishUnflushed = Statement(
    "finish_unflushed",
    "WITH found AS (\(mark)) SELECT \(marksWritten), set_config('synchronous_commit', 'off', true) FROM found")
  private static let mark = """
    INSERT INTO commit_marks
    SELECT $1::SMALLINT, $2::BIGINT, $3::BYTEA, \(isOfLineage("$5"))
    FROM sweep_mark WHERE swept_before <= $4 AND \(isOpen)
    RETURNING 1
    """
  /// True on this line of history. Otherwise NULL, which a required column refuses.
  static func isOfLineage(_ number: String) -> String {
    "CASE WHEN (SELECT number FROM lineage WHERE only_row = 1) = \(number) THEN true END"
  }
  private static let marksWritten =
    "count(*) / (CASE WHEN count(*) > 0 OR NOT (\(isOpen)) THEN 1 ELSE 0 END)"

  private static let comparing: [ComparingStatement] = [
    insertBinding, updateBinding, noteRequiredPosture, raiseProofCounter, updateDevice, updateProfile,
    updateEvaluation, updateToken,
  ]
  static let writing =
    comparing.flatMap(\.both) + [
      touchBinding, notePosture, putReceipt, moveReceipt, insertDevice, insertProfile, insertEvaluation, insertToken,
      useTicket,
      finish, finishUnflushed,
    ]

  // MARK: After a conflict

  /// Whether a row is to go that this transaction inserted before it found a conflict.
  static let isWithdrawn = "NOT (\(isOpen)) AND xmin = pg_current_xact_id_if_assigned()::xid"

  static let withdrawBinding = withdrawal(from: "bindings", "binding_id = $1")
  static let withdrawDevice = withdrawal(from: "devices", "device_id = $1")
  static let withdrawProfile = withdrawal(from: "profiles", "application_id = $1 AND profile_id = $2")
  static let withdrawEvaluation = withdrawal(from: "evaluations", ofKey)
  static let withdrawToken = withdrawal(from: "tokens", ofKey)
  static let withdrawTicket = withdrawal(from: "used_tickets", ofKey)
  private static func withdrawal(from table: String, _ key: String) -> Statement {
    Statement("withdraw_from_\(table)", "DELETE FROM \(table) WHERE \(key) AND \(isWithdrawn)")
  }

  static let withdrawing = [
    withdrawBinding, withdrawDevice, withdrawProfile, withdrawEvaluation, withdrawToken, withdrawTicket,
  ]

  // MARK: Commits in doubt

  /// Takes a key. Waits for a transaction that is still writing the mark. Afterwards that transaction can never write
  /// it.
  static let forestallCommit = Statement(
    "forestall_commit", "INSERT INTO commit_marks VALUES (\(placeholders(1...3)), false) ON CONFLICT DO NOTHING")
  static let selectCommitMark = Statement("select_commit_mark", "SELECT is_committed FROM commit_marks WHERE \(ofKey)")
  static let deleteCommitMark = Statement("delete_commit_mark", "DELETE FROM commit_marks WHERE \(ofKey)")

  /// Takes a key. Writes its mark, also if it is there: a transaction that writes nothing does not wait for the fsync.
  /// A repeated one finds its mark if the first wait was cancelled, which is not durable then.
  static let flush = Statement(
    "flush",
    """
    INSERT INTO commit_marks VALUES (\(placeholders(1...3)), false)
    ON CONFLICT (spread, expires_at, id) DO UPDATE SET is_committed = excluded.is_committed
    """)

  static let doubts = [forestallCommit, selectCommitMark, deleteCommitMark, flush]
}
