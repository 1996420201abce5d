// The statements of several commits in one transaction: an array for each column, with an element for each record.

internal import TouchstoneStore

extension Statement {
  /// Holds all records that the commits depend on until their end, and decides whether each is as it was read. A
  /// subquery comes into effect only if those before it found no conflict, so rows are held in the order of all
  /// commits: bindings, devices, profiles. The index of bindings is read in its order, so two batches that touch the
  /// same bindings never wait for each other both.
  ///
  /// Bindings without a join, for which a plan that was made for a small table could read all of them. For the others,
  /// `OFFSET 0` has each row found by its key, also by such a plan.
  ///
  /// Ids, versions and counters (or NULL) of bindings; ids and versions of devices; ids of missing devices;
  /// applications, ids and versions of profiles; the earliest expiry.
  static let holdRecords = Statement(
    "hold_records",
    """
    \(noteConflict) WHERE NOT CASE
      WHEN (SELECT count(*) FROM (
        SELECT 1 FROM bindings WHERE binding_id = ANY ($1::BYTEA[])
          AND version = ($2::BIGINT[])[array_position($1::BYTEA[], binding_id)]
          AND proof_counter = coalesce(($3::BIGINT[])[array_position($1::BYTEA[], binding_id)], proof_counter)
        FOR NO KEY UPDATE) AS x) <> cardinality($1::BYTEA[]) THEN false
      WHEN (SELECT count(*) FROM unnest($4::BYTEA[], $5::BIGINT[]) AS r (id, version) CROSS JOIN LATERAL (
        SELECT 1 FROM devices WHERE device_id = r.id AND version = r.version OFFSET 0 FOR SHARE) AS x)
        <> cardinality($4::BYTEA[]) THEN false
      WHEN EXISTS (SELECT 1 FROM devices WHERE device_id = ANY ($6::BYTEA[])) THEN false
      WHEN (SELECT count(*) FROM unnest($7::BYTEA[], $8::BYTEA[], $9::BIGINT[]) AS r (application_id, id, version)
        CROSS JOIN LATERAL (
          SELECT 1 FROM profiles WHERE application_id = r.application_id AND profile_id = r.id AND version = r.version
          OFFSET 0 FOR SHARE) AS x) <> cardinality($7::BYTEA[]) THEN false
      ELSE \(isUnswept("$10")) END
    """)

  /// Ids, times, and postures and next counters where there are any. After `holdRecords`.
  static let touchBindings = Statement(
    "touch_bindings",
    """
    UPDATE bindings SET last_used_at = ($2::BIGINT[])[array_position($1::BYTEA[], binding_id)],
      posture = coalesce(($3::BYTEA[])[array_position($1::BYTEA[], binding_id)], posture),
      proof_counter = coalesce(($4::BIGINT[])[array_position($1::BYTEA[], binding_id)], proof_counter)
    WHERE binding_id = ANY ($1::BYTEA[]) AND \(isOpen)
    """)

  // An array for each column of the key and of `bind`.
  static let insertEvaluations = insertion(
    into: "evaluations", "(spread, expires_at, id, \(EvaluationRecord.columns))",
    from: "$1::SMALLINT[], $2::BIGINT[], $3::BYTEA[], $4::BIGINT[], $5::BIGINT[], $6::BOOLEAN[]")
  static let insertTokens = insertion(
    into: "tokens", "(spread, expires_at, id, \(TokenRecord.columns))",
    from: "$1::SMALLINT[], $2::BIGINT[], $3::BYTEA[], $4::BIGINT[], $5::BYTEA[]")
  private static func insertion(into table: String, _ columns: String, from arrays: String) -> Statement {
    Statement(
      "insert_many_\(table)",
      """
      WITH inserted AS (
        INSERT INTO \(table) \(columns) SELECT *, 1 FROM unnest(\(arrays)) WHERE \(isOpen)
        ON CONFLICT DO NOTHING RETURNING 1)
      \(noteConflict) WHERE (SELECT count(*) FROM inserted) <> cardinality($3::BYTEA[])
      """)
  }

  // An array for each column of the key.
  static let withdrawEvaluations = withdrawal(from: "evaluations")
  static let withdrawTokens = withdrawal(from: "tokens")
  private static func withdrawal(from table: String) -> Statement {
    Statement(
      "withdraw_many_\(table)",
      """
      DELETE FROM \(table) WHERE \(isWithdrawn) AND (spread, expires_at, id) IN (
        SELECT * FROM unnest($1::SMALLINT[], $2::BIGINT[], $3::BYTEA[]))
      """)
  }

  static let batching = [
    holdRecords, touchBindings, insertEvaluations, insertTokens, withdrawEvaluations, withdrawTokens,
  ]
}
