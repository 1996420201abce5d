// The statements of several commits in one transaction: an array for each column, with an element for each record.

internal import TouchstoneStore

extension Statement {
  /// Decides about all records that the commits depend on, holds them until their end, and writes. A server spends half
  /// as much on it as on a statement for each table.
  ///
  /// A subquery comes into effect only if those before it found no conflict, so rows are held in the order of all
  /// commits: bindings, devices, profiles, then first records. The index of bindings is read in its order, so two
  /// batches that touch the same bindings never wait for each other both. A row that another transaction wrote after
  /// this statement began is found as it is now, because this one locks it (READ COMMITTED).
  ///
  /// Bindings without a join, for which a plan that was made for a small table could read all of them. For the others,
  /// `OFFSET 0` has each row found by its key, also by such a plan.
  ///
  /// After a conflict with one of several records of a kind, `withdrawEvaluations` and `withdrawTokens` delete what was
  /// inserted. If the only evaluation was inserted and the only token was not, the statement fails (SQLSTATE 22012),
  /// and the commits run alone.
  ///
  /// Parameters 1 to 10: ids, versions and counters (or NULL) of bindings; ids and versions of devices; ids of missing
  /// devices; applications, ids and versions of profiles; the earliest expiry. To 21: the columns of evaluations and of
  /// tokens. To 24: times, postures and next counters of the bindings, where there are any. To 27: rows of events.
  static let commitTogether = Statement(
    "commit_together",
    """
    WITH held AS MATERIALIZED (SELECT \(isOpen) AND CASE
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
      ELSE \(isUnswept("$10")) END AS ok),
    new_evaluations AS (
      INSERT INTO evaluations (spread, expires_at, id, \(EvaluationRecord.columns))
      SELECT *, 1 FROM unnest($11::SMALLINT[], $12::BIGINT[], $13::BYTEA[], $14::BIGINT[], $15::BIGINT[], $16::BOOLEAN[])
      WHERE (SELECT ok FROM held) ON CONFLICT DO NOTHING RETURNING 1),
    evaluated AS (
      SELECT ok AND (SELECT count(*) FROM new_evaluations) = cardinality($13::BYTEA[]) AS ok FROM held),
    new_tokens AS (
      INSERT INTO tokens (spread, expires_at, id, \(TokenRecord.columns))
      SELECT *, 1 FROM unnest($17::SMALLINT[], $18::BIGINT[], $19::BYTEA[], $20::BIGINT[], $21::BYTEA[])
      WHERE (SELECT ok FROM evaluated) ON CONFLICT DO NOTHING RETURNING 1),
    decided AS (
      SELECT ok AND CASE (SELECT count(*) FROM new_tokens) WHEN cardinality($19::BYTEA[]) THEN true ELSE
        cardinality($13::BYTEA[]) = 1 AND cardinality($19::BYTEA[]) = 1 AND 1 / (SELECT count(*) FROM new_tokens) = 0
      END AS ok FROM evaluated),
    touched AS (
      UPDATE bindings SET last_used_at = ($22::BIGINT[])[array_position($1::BYTEA[], binding_id)],
        posture = coalesce(($23::BYTEA[])[array_position($1::BYTEA[], binding_id)], posture),
        proof_counter = coalesce(($24::BIGINT[])[array_position($1::BYTEA[], binding_id)], proof_counter)
      WHERE binding_id = ANY ($1::BYTEA[]) AND (SELECT ok FROM decided)),
    logged AS (\(insertionOfEvents("$25::BYTEA[], $26::BIGINT[], $27::BYTEA[]", where: "(SELECT ok FROM decided)")))
    \(noteConflict) WHERE NOT (SELECT ok FROM decided)
    """)

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

  static let batching = [commitLogin, commitLoginUnflushed, commitTogether, withdrawEvaluations, withdrawTokens]
}
