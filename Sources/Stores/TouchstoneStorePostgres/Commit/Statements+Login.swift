// A login's commit by one statement. Most logins of a service that is not busy share no transaction, and go this way.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Statement {
  /// Does the work of `commitTogether` and `finish`, for one record of each kind and no token. The server spends half
  /// as much on it, because it has no arrays to take apart and one statement less to start. Returns how many
  /// evaluations it inserted: none after a conflict, and then it writes nothing.
  ///
  /// While it waits for a row, a sweep may come, which `finish` would see and this statement does not. A sweep removes
  /// nothing that has just expired by the server's clock (`Sweeper.certainty`), and this statement reads that clock
  /// after the insertion. If a sweep was possible, it fails (SQLSTATE 22012), and the commit goes the other way.
  ///
  /// Nor does it see a restoration that comes while it waits (50 ms for a row at most). Its event is then sealed after
  /// the restoration's. The evaluation and the token are void all the same (`Lineage`).
  ///
  /// Parameters 1 to 8: id, version and counter (or NULL) of the binding; id and version of the device; application, id
  /// and version of the profile. A version of 0: there is no record. To 14: the columns of the evaluation. To 17: the
  /// binding's time, posture and next counter. To 20: a row of events. To 25: the mark, the line of history, and a time
  /// until which no sweep can have removed the evaluation.
  static let commitLogin = commitLogin("commit_login", isUnflushed: "count(*) = 0")
  static let commitLoginUnflushed = commitLogin("commit_login_unflushed", isUnflushed: "true")

  private static func commitLogin(_ name: String, isUnflushed: String) -> Statement {
    Statement(
      name,
      """
      WITH held AS MATERIALIZED (SELECT CASE
        WHEN NOT EXISTS (
          SELECT FROM bindings WHERE binding_id = $1 AND version = $2 AND proof_counter = coalesce($3, proof_counter)
          FOR NO KEY UPDATE) THEN false
        WHEN coalesce((SELECT version FROM devices WHERE device_id = $4 FOR SHARE), 0) <> $5 THEN false
        WHEN coalesce((SELECT version FROM profiles WHERE application_id = $6 AND profile_id = $7 FOR SHARE), 0) <> $8
          THEN false
        ELSE \(isUnswept("$10")) END AS ok),
      new_evaluation AS (
        INSERT INTO evaluations (spread, expires_at, id, \(EvaluationRecord.columns))
        SELECT $9, $10, $11, $12, $13, $14, 1 WHERE (SELECT ok FROM held) ON CONFLICT DO NOTHING RETURNING 1),
      touched AS (
        UPDATE bindings SET last_used_at = $15, posture = coalesce($16, posture),
          proof_counter = coalesce($17, proof_counter)
        WHERE binding_id = $1 AND EXISTS (SELECT FROM new_evaluation)),
      logged AS (
        INSERT INTO unsealed_events (id, appended_at, place, events)
        SELECT $18, statement_timestamp(), $19, $20 FROM new_evaluation),
      marked AS (INSERT INTO commit_marks SELECT $21, $22, $23, \(isOfLineage("$24")) FROM new_evaluation)
      SELECT count(*) / (CASE WHEN count(*) > 0 AND clock_timestamp() >= $25 THEN 0 ELSE 1 END),
        CASE WHEN \(isUnflushed) THEN set_config('synchronous_commit', 'off', true) END
      FROM new_evaluation
      """)
  }
}

extension StatementCall {
  /// A TIMESTAMPTZ: microseconds since 2000. The server refuses a time that it does not have.
  consuming func bind(timestamp time: UnixTime) -> StatementCall { bind(time.microseconds &- 946_684_800_000_000) }
}
