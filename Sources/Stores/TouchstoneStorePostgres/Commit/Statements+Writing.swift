// The statements of commits.

internal import TouchstoneStore

extension Statement {
  // MARK: Keys

  /// The mark of a move, which stays as it is until the commit: a move that begins meanwhile waits, and finds what was written.
  static let lockMoveMark = Statement("lock_move_mark", "SELECT is_being_filled FROM touchstone_schema FOR SHARE")
  static let putFirstKeyCheck = Statement(
    "put_first_key_check",
    """
    INSERT INTO key_check SELECT 1, $1::BYTEA FROM touchstone_schema WHERE NOT is_being_filled ON CONFLICT DO NOTHING
    """)
  static let selectKeyCheck = Statement("select_key_check", "SELECT value FROM key_check WHERE only_row = 1")

  static let aboutKeys = [lockMoveMark, putFirstKeyCheck, selectKeyCheck]

  // MARK: Conditions: the row stays as it is until the commit

  static let requireBinding = required(
    "require_binding", "SELECT 1 FROM (SELECT 1 FROM bindings WHERE binding_id = $1 AND version = $2 FOR SHARE) AS x")
  static let requireDevice = required(
    "require_device", "SELECT 1 FROM (SELECT 1 FROM devices WHERE device_id = $1 AND version = $2 FOR SHARE) AS x")
  static let requireProfile = required(
    "require_profile",
    """
    SELECT 1 FROM (
      SELECT 1 FROM profiles WHERE application_id = $1 AND profile_id = $2 AND version = $3 FOR SHARE) AS x
    """)
  /// A key and a version.
  static let requireToken = required(
    "require_token",
    """
    SELECT 1 FROM (
      SELECT 1 FROM tokens WHERE spread = $1 AND expires_at = $2 AND id = $3 AND version = $4 FOR SHARE) AS x
    """)
  // A missing row cannot be locked. A transaction that makes it at the same time comes after this one.
  static let requireNoBindingAtAll = required(
    "require_no_binding_at_all", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM bindings WHERE binding_id = $1)")
  static let requireNoDevice = required(
    "require_no_device", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM devices WHERE device_id = $1)")
  static let requireNoProfile = required(
    "require_no_profile",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE application_id = $1 AND profile_id = $2)")
  static let requireNoToken = required(
    "require_no_token",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE spread = $1 AND expires_at = $2 AND id = $3)")
  /// A missing erasure mark, as its row. Inserting and deleting it makes an erasure that would write the mark wait until the
  /// commit; an erasure raises the mark before it looks for records to remove.
  static let insertNoErasureMark = required(
    "insert_no_erasure_mark",
    """
    INSERT INTO profiles (\(ProfileRecord.boundColumns), version)
    VALUES (\(placeholders(1...ProfileRecord.boundColumns.count)), 0) ON CONFLICT DO NOTHING RETURNING 1
    """)
  /// Application, the mark's id.
  static let deleteNoErasureMark = Statement(
    "delete_no_erasure_mark", "DELETE FROM profiles WHERE application_id = $1 AND profile_id = $2 AND version = 0")
  /// A profile that was just inserted, and its erasure mark's id. If it waited for an erasure, its version may be one that an
  /// earlier record had.
  static let requireFreshProfile = required(
    "require_fresh_profile",
    "SELECT 1 FROM profiles WHERE application_id = $1 AND profile_id = $2 AND version > \(erasureMark(3))")

  static let conditions = [
    requireBinding, requireDevice, requireProfile, requireToken, requireNoBindingAtAll,
    requireNoDevice, requireNoProfile, requireNoToken, insertNoErasureMark,
    deleteNoErasureMark, requireFreshProfile,
  ]

  // MARK: Writing: a record at the version at which it was read, or as the first of its key

  /// Id, version, time.
  static let touchBinding = required(
    "touch_binding", "UPDATE bindings SET last_used_at = $3 WHERE binding_id = $1 AND version = $2 RETURNING 1")
  // A unique violation would write ids of persons and phones into the server's log, where no erasure reaches them.
  // Evaluations, tokens and tickets have random keys.
  static let insertBinding = required(
    "insert_binding",
    """
    INSERT INTO bindings (\(BindingRecord.columns)) VALUES (\(placeholders(1...BindingRecord.columns.count - 1)), 1)
    ON CONFLICT DO NOTHING RETURNING 1
    """)
  /// The record, and the version at which it was read.
  static let updateBinding = required(
    "update_binding",
    """
    UPDATE bindings SET
      \(BindingRecord.boundColumns.names.enumerated().dropFirst().map { "\($1) = $\($0 + 1)" }.joined(separator: ", ")),
      last_used_at = greatest(last_used_at, $\(BindingRecord.boundColumns.count + 1)),
      posture = coalesce(posture, $\(BindingRecord.boundColumns.count + 2)),
      proof_counter = greatest(proof_counter, $\(BindingRecord.boundColumns.count + 3)), version = version + 1
    WHERE binding_id = $1 AND version = $\(BindingRecord.boundColumns.count + 4) RETURNING 1
    """)
  /// Id, posture.
  static let notePosture = Statement("note_posture", "UPDATE bindings SET posture = $2 WHERE binding_id = $1")
  /// Id, posture, version.
  static let noteRequiredPosture = required(
    "note_required_posture",
    "UPDATE bindings SET posture = $2 WHERE binding_id = $1 AND version = $3 RETURNING 1")

  /// Id, the counter that must be there, the next one.
  static let raiseProofCounter = required(
    "raise_proof_counter",
    "UPDATE bindings SET proof_counter = $3 WHERE binding_id = $1 AND proof_counter = $2 RETURNING 1")

  /// Binding id, receipt.
  static let putReceipt = Statement(
    "put_receipt",
    """
    INSERT INTO app_attest_receipts (binding_id, receipt) VALUES ($1, $2)
    ON CONFLICT (binding_id) DO UPDATE SET receipt = excluded.receipt
    """)
  /// The id of the binding that has it, and of the one that gets it, which is new.
  static let moveReceipt = Statement(
    "move_receipt", "UPDATE app_attest_receipts SET binding_id = $2 WHERE binding_id = $1")

  static let insertDevice = required(
    "insert_device",
    """
    INSERT INTO devices (\(DeviceRecord.boundColumns), version) VALUES (\(placeholders(1...4)), 1)
    ON CONFLICT DO NOTHING RETURNING 1
    """)
  static let updateDevice = required(
    "update_device",
    """
    UPDATE devices SET failures = $2, is_locked_out = $3, lock_count = $4, version = version + 1
    WHERE device_id = $1 AND version = $5 RETURNING 1
    """)

  /// The record and its erasure mark's id: the version is above the mark.
  static let insertProfile = required(
    "insert_profile",
    """
    INSERT INTO profiles (\(ProfileRecord.boundColumns), version)
    VALUES (\(placeholders(1...ProfileRecord.boundColumns.count)), 1 + \(erasureMark(ProfileRecord.boundColumns.count + 1)))
    ON CONFLICT DO NOTHING RETURNING 1
    """)
  /// The mark of a profile of application `$1`.
  private static func erasureMark(_ id: Int) -> String {
    "COALESCE((SELECT m.version FROM profiles AS m WHERE m.application_id = $1 AND m.profile_id = $\(id)), 0)"
  }
  static let updateProfile = required(
    "update_profile",
    """
    UPDATE profiles SET
      \(ProfileRecord.boundColumns.names.enumerated().dropFirst(2).map { "\($1) = $\($0 + 1)" }.joined(separator: ", ")),
      version = version + 1
    WHERE application_id = $1 AND profile_id = $2 AND version = $\(ProfileRecord.boundColumns.count + 1) RETURNING 1
    """)

  private static let ofKey = "spread = $1 AND expires_at = $2 AND id = $3"
  static let insertEvaluation = Statement(
    "insert_evaluation",
    "INSERT INTO evaluations (spread, expires_at, id, \(EvaluationRecord.columns)) VALUES (\(placeholders(1...6)), 1)")
  static let updateEvaluation = required(
    "update_evaluation",
    """
    UPDATE evaluations SET failures = $4, device_owner_failures = $5, is_finished = $6, version = version + 1
    WHERE \(ofKey) AND version = $7 RETURNING 1
    """)
  static let insertToken = Statement(
    "insert_token",
    "INSERT INTO tokens (spread, expires_at, id, \(TokenRecord.columns)) VALUES (\(placeholders(1...5)), 1)")
  static let updateToken = required(
    "update_token",
    """
    UPDATE tokens SET state = $4, approved_transaction = $5, version = version + 1
    WHERE \(ofKey) AND version = $6 RETURNING 1
    """)
  static let useTicket = Statement("use_ticket", "INSERT INTO used_tickets VALUES (\(placeholders(1...3)))")

  /// The last statement of every commit. It writes the commit's mark, a key, if nothing in the commit expired before the
  /// latest sweep. The time is the earliest expiry in it. If the database has another line of history than the commit, a
  /// required column is NULL (SQLSTATE 23502).
  ///
  /// It runs after all writes: a row that replaced one during a sweep waited for the sweep, and this statement sees the
  /// sweep's mark.
  static let finish = Statement("finish", "WITH found AS (\(mark)) SELECT 1 / count(*) FROM found")
  /// The same without waiting for the fsync. The commit is answered after the fsync of a later one, which makes both durable,
  /// because there is one log.
  static let finishUnflushed = Statement(
    "finish_unflushed",
    "WITH found AS (\(mark)) SELECT 1 / count(*), set_config('synchronous_commit', 'off', true) FROM found")
  private static let mark = """
    INSERT INTO commit_marks
    SELECT $1::SMALLINT, $2::BIGINT, $3::BYTEA, CASE WHEN (SELECT number FROM lineage) = $5 THEN true END
    FROM sweep_mark WHERE swept_before <= $4
    RETURNING 1
    """

  static let writing = [
    touchBinding, insertBinding, updateBinding, notePosture, noteRequiredPosture, raiseProofCounter, putReceipt,
    moveReceipt, insertDevice, updateDevice,
    insertProfile, updateProfile, insertEvaluation, updateEvaluation, insertToken, updateToken, useTicket, finish,
    finishUnflushed,
  ]

  // MARK: Commits in doubt

  /// Takes a key. Waits for a transaction that is still writing the mark. Afterwards that transaction can never write it.
  static let forestallCommit = Statement(
    "forestall_commit", "INSERT INTO commit_marks VALUES (\(placeholders(1...3)), false) ON CONFLICT DO NOTHING")
  static let selectCommitMark = Statement("select_commit_mark", "SELECT is_committed FROM commit_marks WHERE \(ofKey)")
  static let deleteCommitMark = Statement("delete_commit_mark", "DELETE FROM commit_marks WHERE \(ofKey)")

  /// Takes a key. Writes its mark, also if it is there: a transaction that writes nothing does not wait for the fsync. A repeated
  /// one finds its mark if the first wait was cancelled, which is not durable then.
  static let flush = Statement(
    "flush",
    """
    INSERT INTO commit_marks VALUES (\(placeholders(1...3)), false)
    ON CONFLICT (spread, expires_at, id) DO UPDATE SET is_committed = excluded.is_committed
    """)

  static let doubts = [forestallCommit, selectCommitMark, deleteCommitMark, flush]
}
