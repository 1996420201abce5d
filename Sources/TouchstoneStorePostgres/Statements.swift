// What the store says to the database. Every connection prepares all of it.

internal import TouchstoneStore

extension Statement {
  static let all =
    reading + conditions + writing + doubts + logging + sweeping + erasing + ofTransactions

  /// A condition of a transaction: where the rows are none, it fails (SQLSTATE 22012), and the transaction with it. It
  /// takes no function of ours on the server, and works within a pipeline, where nobody looks at counts.
  private static func required(_ name: String, _ rows: String) -> Statement {
    Statement(name, "WITH found AS (\(rows)) SELECT 1 / count(*) FROM found")
  }

  private static func placeholders(_ range: ClosedRange<Int>) -> String {
    range.map { "$\($0)" }.joined(separator: ", ")
  }

  // MARK: Reading

  /// Also where a row may have been swept: from one snapshot.
  private static func evaluationOf(_ first: Int) -> String {
    """
    LEFT JOIN evaluations e ON e.spread = $\(first) AND e.expires_at = $\(first + 1) AND e.id = $\(first + 2)
    CROSS JOIN sweep_mark
    """
  }

  private static let attemptColumns = """
    \(qualified(BindingRecord.columns, "b")), \(qualified(DeviceRecord.columns, "d")),
    \(qualified(ProfileRecord.columns, "p")), \(qualified(EvaluationRecord.columns, "e")), swept_before
    """

  private static func qualified(_ columns: String, _ table: String) -> String {
    columns.split(separator: ",").map { "\(table).\($0.trimmed)" }.joined(separator: ", ")
  }

  /// Application, binding, stand-in of both device and profile, evaluation. One row: known or not, the same is read.
  static let attemptOfBinding = Statement(
    "attempt_of_binding",
    """
    SELECT \(attemptColumns) FROM (SELECT 1) AS one
    LEFT JOIN bindings b ON b.binding_id = $2 AND b.application_id = $1
    LEFT JOIN devices d ON d.device_id = coalesce(b.device_id, $3)
    LEFT JOIN profiles p ON p.application_id = $1 AND p.profile_id = coalesce(b.profile_id, $3)
    \(evaluationOf(4))
    """)

  /// Application, profile, evaluation.
  static let attemptOfProfile = Statement(
    "attempt_of_profile",
    """
    SELECT \(qualified(ProfileRecord.columns, "p")), \(qualified(EvaluationRecord.columns, "e")), swept_before
    FROM (SELECT 1) AS one
    LEFT JOIN profiles p ON p.application_id = $1 AND p.profile_id = $2
    \(evaluationOf(3))
    """)

  /// Application, digest, evaluation.
  static let attemptOfProfileTouchID = Statement(
    "attempt_of_profile_touch_id",
    """
    SELECT \(attemptColumns) FROM (SELECT 1) AS one
    LEFT JOIN bindings b ON b.application_id = $1 AND b.profile_touch_id = $2 AND NOT b.is_revoked
    LEFT JOIN devices d ON d.device_id = b.device_id
    LEFT JOIN profiles p ON p.application_id = b.application_id AND p.profile_id = b.profile_id
    \(evaluationOf(3))
    """)

  static let selectDevice = Statement(
    "select_device", "SELECT \(DeviceRecord.columns) FROM devices WHERE device_id = $1")
  static let selectProfile = Statement(
    "select_profile", "SELECT \(ProfileRecord.columns) FROM profiles WHERE application_id = $1 AND profile_id = $2")
  static let selectActiveBinding = Statement(
    "select_active_binding",
    "SELECT \(BindingRecord.columns) FROM bindings WHERE application_id = $1 AND device_id = $2 AND NOT is_revoked")
  static let countActiveBindings = Statement(
    "count_active_bindings",
    "SELECT count(*) FROM bindings WHERE application_id = $1 AND profile_id = $2 AND NOT is_revoked")
  /// A key.
  static let selectTicket = Statement(
    "select_ticket",
    """
    SELECT swept_before, EXISTS (SELECT 1 FROM used_tickets WHERE spread = $1 AND expires_at = $2 AND id = $3)
    FROM sweep_mark
    """)
  /// A key.
  static let selectToken = Statement(
    "select_token",
    """
    SELECT swept_before, \(TokenRecord.columns) FROM sweep_mark
    LEFT JOIN tokens ON spread = $1 AND expires_at = $2 AND id = $3
    """)
  static let selectBindings = Statement(
    "select_bindings",
    """
    SELECT \(BindingRecord.columns) FROM bindings
    WHERE application_id = $1 AND profile_id = $2 AND binding_id > $3 AND (NOT is_revoked OR $4)
    ORDER BY binding_id LIMIT $5
    """)

  private static let reading = [
    attemptOfBinding, attemptOfProfile, attemptOfProfileTouchID, selectDevice, selectProfile, selectActiveBinding,
    countActiveBindings, selectTicket, selectToken, selectBindings,
  ]

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

  private static let conditions = [
    requireBinding, requireDevice, requireProfile, requireToken, requireNoBindingAtAll, requireNoBinding,
    requireNoDevice, requireNoProfile, requireNoToken, requireFreshProfile,
  ]

  // MARK: Writing: a record at the version it was read at, or as the first of its key

  /// Id, version, time.
  static let touchBinding = required(
    "touch_binding", "UPDATE bindings SET last_used_at = $3 WHERE binding_id = $1 AND version = $2 RETURNING 1")
  static let insertBinding = Statement(
    "insert_binding", "INSERT INTO bindings (\(BindingRecord.columns)) VALUES (\(placeholders(1...13)), 1)")
  /// The record, and the version it was read at.
  static let updateBinding = required(
    "update_binding",
    """
    UPDATE bindings SET application_id = $2, profile_id = $3, device_id = $4, device_name = $5, biometry_type = $6,
      hardware_keys = $7, profile_touch_id = $8, is_revoked = $9, baseline = $10, baseline_os_major = $11,
      created_at = $12, last_used_at = greatest(last_used_at, $13), version = version + 1
    WHERE binding_id = $1 AND version = $14 RETURNING 1
    """)

  private static let deviceColumns = "device_id, failures, is_locked_out, stand_in_until"
  static let insertDevice = Statement(
    "insert_device", "INSERT INTO devices (\(deviceColumns), version) VALUES (\(placeholders(1...4)), 1)")
  static let updateDevice = required(
    "update_device",
    """
    UPDATE devices SET failures = $2, is_locked_out = $3, stand_in_until = $4, version = version + 1
    WHERE device_id = $1 AND version = $5 RETURNING 1
    """)

  /// All but the version.
  private static let profileColumns =
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
  /// expiry in it.
  ///
  /// Looked at after all was written: a row that took the place of one that is being swept waited for the sweep, and
  /// this statement sees what that left.
  static let finish = required(
    "finish",
    """
    INSERT INTO commit_marks SELECT $1::SMALLINT, $2::BIGINT, $3::BYTEA, true FROM sweep_mark WHERE swept_before <= $4
    RETURNING 1
    """)

  private static let writing = [
    touchBinding, insertBinding, updateBinding, insertDevice, updateDevice, insertProfile, updateProfile,
    insertEvaluation, updateEvaluation, insertToken, updateToken, useTicket, finish,
  ]

  // MARK: Commits in doubt

  /// A key. Waits for the transaction that is writing the mark, if it still is; afterwards it never can.
  static let forestallCommit = Statement(
    "forestall_commit", "INSERT INTO commit_marks VALUES (\(placeholders(1...3)), false) ON CONFLICT DO NOTHING")
  static let selectCommitMark = Statement("select_commit_mark", "SELECT is_committed FROM commit_marks WHERE \(ofKey)")
  static let deleteCommitMark = Statement("delete_commit_mark", "DELETE FROM commit_marks WHERE \(ofKey)")

  private static let doubts = [forestallCommit, selectCommitMark, deleteCommitMark]

  // MARK: The audit log

  private static let eventColumns =
    "salt, time, kind, application_id, profile_id, device_id, binding_id, caller, details"
  /// An event with its salt, and its place among those of its process. The server's clock orders those of several
  /// processes: who was answered before another began comes first.
  static let insertUnsealedEvent = Statement(
    "insert_unsealed_event",
    """
    INSERT INTO unsealed_events (\(eventColumns), place, appended_at)
    VALUES (\(placeholders(1...10)), statement_timestamp())
    """)
  /// And where the chain ends.
  static let hasUnsealedEvents = Statement(
    "has_unsealed_events", "SELECT EXISTS (SELECT 1 FROM unsealed_events), sequence FROM event_chain")
  static let selectUnsealedEvents = Statement(
    "select_unsealed_events",
    "SELECT \(eventColumns) FROM unsealed_events ORDER BY appended_at, place, salt LIMIT $1")
  /// Salts, sequences and hashes, of the same events: all of them, or it fails.
  static let sealEvents = Statement(
    "seal_events",
    """
    WITH sealed AS (
      INSERT INTO events (sequence, hash, \(eventColumns))
      SELECT s.sequence, s.hash, u.salt, u.time, u.kind, u.application_id, u.profile_id, u.device_id, u.binding_id,
        u.caller, u.details
      FROM unnest($1::BYTEA[], $2::BIGINT[], $3::BYTEA[]) AS s (salt, sequence, hash)
      JOIN unsealed_events u ON u.salt = s.salt
      RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = cardinality($1::BYTEA[]) THEN 1 ELSE 0 END) FROM sealed
    """)
  static let deleteUnsealedEvents = Statement(
    "delete_unsealed_events", "DELETE FROM unsealed_events WHERE salt = ANY ($1::BYTEA[])")
  static let insertSealedEvent = Statement(
    "insert_sealed_event",
    "INSERT INTO events (sequence, hash, \(eventColumns)) VALUES (\(placeholders(1...11)))")
  static let lockEventChain = Statement("lock_event_chain", "SELECT sequence, hash FROM event_chain FOR UPDATE")
  static let selectEventChain = Statement("select_event_chain", "SELECT sequence, hash FROM event_chain")
  static let setEventChain = Statement("set_event_chain", "UPDATE event_chain SET sequence = $1, hash = $2")

  /// After a sequence, with kinds that begin with one of the prefixes, up to a number.
  private static func eventPage(_ parameters: Int) -> String {
    """
    AND sequence > $\(parameters + 1)
    AND (cardinality($\(parameters + 2)::BYTEA[]) = 0 OR EXISTS (
      SELECT 1 FROM unnest($\(parameters + 2)::BYTEA[]) AS prefix
      WHERE substring(kind FROM 1 FOR length(prefix)) = prefix))
    ORDER BY sequence LIMIT $\(parameters + 3)
    """
  }
  private static let selectFromEvents = "SELECT sequence, hash, digest, \(eventColumns) FROM events"
  static let selectEvents = Statement("select_events", "\(selectFromEvents) WHERE true \(eventPage(0))")
  static let selectEventsOfApplication = Statement(
    "select_events_of_application", "\(selectFromEvents) WHERE application_id = $1 \(eventPage(1))")
  static let selectEventsOfProfile = Statement(
    "select_events_of_profile", "\(selectFromEvents) WHERE application_id = $1 AND profile_id = $2 \(eventPage(2))")
  static let selectEventsBeyond = Statement(
    "select_events_beyond",
    "SELECT min(sequence) FROM events WHERE sequence < 1 OR sequence > (SELECT sequence FROM event_chain)")

  private static let logging = [
    insertUnsealedEvent, hasUnsealedEvents, selectUnsealedEvents, sealEvents, deleteUnsealedEvents, insertSealedEvent,
    lockEventChain, selectEventChain, setEventChain, selectEvents, selectEventsOfApplication, selectEventsOfProfile,
    selectEventsBeyond,
  ]

  // MARK: Sweeping

  static let raiseSweepMark = Statement(
    "raise_sweep_mark", "UPDATE sweep_mark SET swept_before = $1 WHERE swept_before < $1")

  private static func deleteExpired(from table: String) -> Statement {
    // A range of each of the key's beginnings; those of which a transaction has hold are left to the next step.
    Statement(
      "sweep_\(table)",
      """
      WITH removed AS (
        DELETE FROM \(table) WHERE (spread, expires_at, id) IN (
          SELECT x.spread, x.expires_at, x.id FROM generate_series(0, \(UniqueID.spreadCount - 1)) AS s (spread)
          CROSS JOIN LATERAL (
            SELECT spread, expires_at, id FROM \(table) WHERE spread = s.spread AND expires_at < $1
            ORDER BY expires_at, id LIMIT $2) AS x)
        RETURNING 1)
      SELECT count(*) FROM removed
      """)
  }

  static let deleteExpiredRecords = ["evaluations", "tokens", "used_tickets"].map(deleteExpired)
  static let deleteExpiredCommitMarks = deleteExpired(from: "commit_marks")

  static let deleteStandInDevices = Statement(
    "sweep_devices",
    """
    WITH removed AS (
      DELETE FROM devices WHERE device_id IN (SELECT device_id FROM devices WHERE stand_in_until < $1 LIMIT $2)
      RETURNING 1)
    SELECT count(*) FROM removed
    """)
  static let deleteStandInProfiles = Statement(
    "sweep_profiles",
    """
    WITH removed AS (
      DELETE FROM profiles WHERE (application_id, profile_id) IN (
        SELECT application_id, profile_id FROM profiles WHERE stand_in_until < $1 LIMIT $2)
      RETURNING 1)
    SELECT count(*) FROM removed
    """)

  private static let sweeping =
    [raiseSweepMark, deleteStandInDevices, deleteStandInProfiles, deleteExpiredCommitMarks] + deleteExpiredRecords

  // MARK: Erasing

  static let deleteBindingsOfProfile = Statement(
    "delete_bindings_of_profile",
    "DELETE FROM bindings WHERE application_id = $1 AND profile_id = $2 RETURNING binding_id")
  /// Application, ids. Answers the highest version.
  static let deleteProfiles = Statement(
    "delete_profiles",
    """
    WITH removed AS (
      DELETE FROM profiles WHERE application_id = $1 AND profile_id = ANY ($2::BYTEA[]) RETURNING version)
    SELECT coalesce(max(version), 0) FROM removed
    """)
  static let deleteDevices = Statement("delete_devices", "DELETE FROM devices WHERE device_id = ANY ($1::BYTEA[])")
  static let raiseErasureMark = Statement(
    "raise_erasure_mark", "UPDATE erasure_mark SET highest_version = $1 WHERE highest_version < $1")
  /// Sequences and digests, of the same events.
  static let eraseEvents = Statement(
    "erase_events",
    """
    UPDATE events SET digest = e.digest, salt = NULL, time = NULL, kind = NULL, application_id = NULL,
      profile_id = NULL, device_id = NULL, binding_id = NULL, caller = NULL, details = NULL
    FROM unnest($1::BIGINT[], $2::BYTEA[]) AS e (sequence, digest) WHERE events.sequence = e.sequence
    """)

  private static let erasing = [
    deleteBindingsOfProfile, deleteProfiles, deleteDevices, raiseErasureMark, eraseEvents,
  ]

  // MARK: Transactions of several round trips

  static let begin = Statement("begin_transaction", "BEGIN")
  static let commit = Statement("commit_transaction", "COMMIT")
  static let rollBack = Statement("roll_back", "ROLLBACK")

  static let ofTransactions = [begin, commit, rollBack]
}

extension Substring {
  /// Without the blanks and line ends around it.
  fileprivate var trimmed: String { split { $0 == " " || $0 == "\n" }.joined() }
}
