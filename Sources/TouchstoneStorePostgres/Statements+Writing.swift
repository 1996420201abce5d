// What commits consist of.

internal import TouchstoneStore

extension Statement {
  // MARK: Keys

  static let putFirstKeyCheck = Statement(
    "put_first_key_check", "INSERT INTO key_check VALUES (1, $1) ON CONFLICT DO NOTHING")
  static let selectKeyCheck = Statement("select_key_check", "SELECT value FROM key_check WHERE only_row = 1")

  static let aboutKeys = [putFirstKeyCheck, selectKeyCheck]

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
  // What is not there cannot be locked. Who makes it at the same time comes after this transaction.
  static let requireNoBindingAtAll = required(
    "require_no_binding_at_all", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM bindings WHERE binding_id = $1)")
  static let requireNoBinding = required(
    "require_no_binding",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM bindings WHERE binding_id = $1 AND application_id = $2)")
  static let requireNoDevice = required(
    "require_no_device", "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM devices WHERE device_id = $1)")
  static let requireNoProfile = required(
    "require_no_profile",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM profiles WHERE application_id = $1 AND profile_id = $2)")
  static let requireNoToken = required(
    "require_no_token",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE spread = $1 AND expires_at = $2 AND id = $3)")
  /// A profile that was just inserted. Where it waited for an erasure, its version may be one that was given before.
  static let requireFreshProfile = required(
    "require_fresh_profile",
    """
    SELECT 1 FROM profiles CROSS JOIN erasure_mark
    WHERE application_id = $1 AND profile_id = $2 AND version > highest_version
    """)

  static let conditions = [
    requireBinding, requireDevice, requireProfile, requireToken, requireNoBindingAtAll, requireNoBinding,
    requireNoDevice, requireNoProfile, requireNoToken, requireFreshProfile,
  ]

  // MARK: Writing: a record at the version it was read at, or as the first of its key

  /// Id, version, time.
  static let touchBinding = required(
    "touch_binding", "UPDATE bindings SET last_used_at = $3 WHERE binding_id = $1 AND version = $2 RETURNING 1")
  static let insertBinding = Statement(
    "insert_binding", "INSERT INTO bindings (\(BindingRecord.columns)) VALUES (\(placeholders(1...16)), 1)")
  /// The record, and the version it was read at.
  static let updateBinding = required(
    "update_binding",
    """
    UPDATE bindings SET application_id = $2, profile_id = $3, device_id = $4, device_name = $5, biometry_type = $6,
      hardware_keys = $7, profile_touch_id = $8, is_revoked = $9, baseline = $10, baseline_os_major = $11,
      platform_family = $12, device_lock_count = $13, created_at = $14, last_used_at = greatest(last_used_at, $15),
      last_posture = coalesce(last_posture, $16), version = version + 1
    WHERE binding_id = $1 AND version = $17 RETURNING 1
    """)
  /// Id, posture.
  static let notePosture = Statement("note_posture", "UPDATE bindings SET last_posture = $2 WHERE binding_id = $1")

  static let deviceColumns = "device_id, failures, is_locked_out, stand_in_until, lock_count"
  static let insertDevice = Statement(
    "insert_device", "INSERT INTO devices (\(deviceColumns), version) VALUES (\(placeholders(1...5)), 1)")
  static let updateDevice = required(
    "update_device",
    """
    UPDATE devices SET failures = $2, is_locked_out = $3, stand_in_until = $4, lock_count = $5,
      version = version + 1
    WHERE device_id = $1 AND version = $6 RETURNING 1
    """)

  /// All but the version.
  static let profileColumns =
    ProfileRecord.columns.split(separator: ",").map(\.trimmed).filter { $0 != "version" } + ["stand_in_until"]
  /// Above those of all profiles that were erased.
  static let insertProfile = Statement(
    "insert_profile",
    """
    INSERT INTO profiles (\(profileColumns.joined(separator: ", ")), version)
    SELECT \(placeholders(1...profileColumns.count)), 1 + highest_version FROM erasure_mark
    """)
  static let updateProfile = required(
    "update_profile",
    """
    UPDATE profiles SET
      \(profileColumns.enumerated().dropFirst(2).map { "\($1) = $\($0 + 1)" }.joined(separator: ", ")),
      version = version + 1
    WHERE application_id = $1 AND profile_id = $2 AND version = $\(profileColumns.count + 1) RETURNING 1
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

  /// Last in every commit: its mark, a key, where nothing of it expired before the latest sweep. The time is the earliest
  /// expiry in it. And the line of history that it belongs to: where the database is in another one, the mark has a NULL
  /// that it must not have (SQLSTATE 23502).
  ///
  /// Looked at after all was written: a row that took the place of one that is being swept waited for the sweep, and
  /// this statement sees what that left.
  static let finish = Statement("finish", "WITH found AS (\(mark)) SELECT 1 / count(*) FROM found")
  /// The same, and the commit does not wait for its fsync: it is answered after a later one's, which makes both durable,
  /// for there is one log.
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
    touchBinding, insertBinding, updateBinding, notePosture, insertDevice, updateDevice, insertProfile, updateProfile,
    insertEvaluation, updateEvaluation, insertToken, updateToken, useTicket, finish,
    finishUnflushed,
  ]

  // MARK: Commits in doubt

  /// A key. Waits for the transaction that is writing the mark, if it still is; afterwards it never can.
  static let forestallCommit = Statement(
    "forestall_commit", "INSERT INTO commit_marks VALUES (\(placeholders(1...3)), false) ON CONFLICT DO NOTHING")
  static let selectCommitMark = Statement("select_commit_mark", "SELECT is_committed FROM commit_marks WHERE \(ofKey)")
  static let deleteCommitMark = Statement("delete_commit_mark", "DELETE FROM commit_marks WHERE \(ofKey)")

  static let doubts = [forestallCommit, selectCommitMark, deleteCommitMark]
}
