// The statements of several commits in one transaction: an array for each column, with an element for each record.

internal import TouchstoneStore

extension Statement {
  /// Ids, versions, times, and postures where they are news. Without a join, for which a plan that was made for a small table
  /// could read all bindings. The index is read in its order, so two batches that touch the same bindings never wait for each
  /// other both.
  static let touchBindings = requiredAll(
    "touch_bindings",
    """
    UPDATE bindings SET last_used_at = ($3::BIGINT[])[array_position($1::BYTEA[], binding_id)],
      posture = coalesce(($4::BYTEA[])[array_position($1::BYTEA[], binding_id)], posture)
    WHERE binding_id = ANY ($1::BYTEA[]) AND version = ($2::BIGINT[])[array_position($1::BYTEA[], binding_id)]
    RETURNING 1
    """)

  /// Ids, the counters that must be there, the next ones. After `touchBindings`, which has the rows already.
  static let raiseProofCounters = requiredAll(
    "raise_proof_counters",
    """
    UPDATE bindings SET proof_counter = ($3::BIGINT[])[array_position($1::BYTEA[], binding_id)]
    WHERE binding_id = ANY ($1::BYTEA[]) AND proof_counter = ($2::BIGINT[])[array_position($1::BYTEA[], binding_id)]
    RETURNING 1
    """)

  /// Ids, versions. `OFFSET 0` has each row found by its key, also by a plan that was made for a small table.
  static let requireDevices = requiredAll(
    "require_devices",
    """
    SELECT 1 FROM unnest($1::BYTEA[], $2::BIGINT[]) AS r (id, version) CROSS JOIN LATERAL (
      SELECT 1 FROM devices WHERE device_id = r.id AND version = r.version OFFSET 0 FOR SHARE) AS x
    """)
  /// Ids.
  static let requireNoDevices = Statement(
    "require_no_devices",
    """
    SELECT 1 / (CASE WHEN EXISTS (SELECT 1 FROM devices WHERE device_id = ANY ($1::BYTEA[])) THEN 0 ELSE 1 END)
    """)
  /// Applications, ids, versions.
  static let requireProfiles = requiredAll(
    "require_profiles",
    """
    SELECT 1 FROM unnest($1::BYTEA[], $2::BYTEA[], $3::BIGINT[]) AS r (application_id, id, version) CROSS JOIN LATERAL (
      SELECT 1 FROM profiles WHERE application_id = r.application_id AND profile_id = r.id AND version = r.version
      OFFSET 0 FOR SHARE) AS x
    """)

  /// An array for each column of the key and of `bind`.
  static let insertEvaluations = Statement(
    "insert_evaluations",
    """
    INSERT INTO evaluations (spread, expires_at, id, \(EvaluationRecord.columns))
    SELECT *, 1 FROM unnest($1::SMALLINT[], $2::BIGINT[], $3::BYTEA[], $4::BIGINT[], $5::BIGINT[], $6::BOOLEAN[])
    """)
  static let insertTokens = Statement(
    "insert_tokens",
    """
    INSERT INTO tokens (spread, expires_at, id, \(TokenRecord.columns))
    SELECT *, 1 FROM unnest($1::SMALLINT[], $2::BIGINT[], $3::BYTEA[], $4::BIGINT[], $5::BYTEA[])
    """)

  static let batching = [
    touchBindings, raiseProofCounters, requireDevices, requireNoDevices, requireProfiles, insertEvaluations,
    insertTokens,
  ]
}
