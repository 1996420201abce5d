// Statements of sweeping and erasing.

internal import TouchstoneStore

extension Statement {
  // MARK: Sweeping

  /// A time, or an earlier one before which everything has expired by the clock of each process. Everything before the
  /// mark is void everywhere and for good, so no single process's clock may raise it.
  private static let sweptBefore = """
    least($1, (extract(epoch FROM statement_timestamp()) * 1000000)::BIGINT - \(Sweeper.clockSkewMicroseconds))
    """

  static let raiseSweepMark = Statement(
    "raise_sweep_mark", "UPDATE sweep_mark SET swept_before = \(sweptBefore) WHERE swept_before < \(sweptBefore)")

  static let selectSweepMark = Statement("select_sweep_mark", "SELECT swept_before FROM sweep_mark")

  /// - Parameter limit: the time before which rows go, whatever `$1` is.
  private static func deleteExpired(from table: String, before limit: String) -> Statement {
    // One range for each beginning of a key. A row that another transaction holds delays the step.
    Statement(
      "sweep_\(table)",
      """
      WITH removed AS (
        DELETE FROM \(table) WHERE (spread, expires_at, id) IN (
          SELECT x.spread, x.expires_at, x.id FROM generate_series(0, \(UniqueID.spreadCount - 1)) AS s (spread)
          CROSS JOIN LATERAL (
            SELECT spread, expires_at, id FROM \(table) WHERE spread = s.spread AND expires_at < \(limit)
            ORDER BY expires_at, id LIMIT $2) AS x)
        RETURNING 1)
      SELECT count(*) FROM removed
      """)
  }

  /// Removes only keys before the mark, which the same transaction raised. The mark is read by its key: reading it
  /// without an index counts as so expensive in these sessions (`SessionSetup.plansByIndex`) that the rest of a plan
  /// would be chosen blindly.
  static let deleteExpiredRecords = ["evaluations", "tokens", "used_tickets"].map {
    deleteExpired(from: $0, before: "least($1, (SELECT swept_before FROM sweep_mark WHERE only_row = 1))")
  }
  static let deleteExpiredCommitMarks = deleteExpired(from: "commit_marks", before: sweptBefore)

  static let sweeping = [raiseSweepMark, selectSweepMark, deleteExpiredCommitMarks] + deleteExpiredRecords

  // MARK: Erasing

  /// Milliseconds, for the rest of the transaction.
  static let limitLockWaits = Statement("limit_lock_waits", "SELECT set_config('lock_timeout', $1, true)")

  /// A bounded number of revoked bindings after an id, in the order of their ids.
  static let deleteRevokedBindings = Statement(
    "delete_revoked_bindings",
    """
    WITH removed AS (
      DELETE FROM bindings WHERE binding_id IN (
        SELECT binding_id FROM bindings
        WHERE application_id = $1 AND profile_id = $2 AND binding_id > $3 AND is_revoked ORDER BY binding_id LIMIT $4)
      RETURNING binding_id),
    \(deletionOfReceipts)
    SELECT binding_id FROM removed ORDER BY binding_id
    """)
  static let deleteBindingsOfProfile = Statement(
    "delete_bindings_of_profile",
    """
    WITH removed AS (DELETE FROM bindings WHERE application_id = $1 AND profile_id = $2 RETURNING binding_id),
    \(deletionOfReceipts)
    SELECT binding_id FROM removed
    """)
  /// Deletes the receipts of removed bindings, in the same statement.
  private static let deletionOfReceipts =
    "receipts AS (DELETE FROM app_attest_receipts WHERE binding_id IN (SELECT binding_id FROM removed))"
  /// A missing mark, as a record. A commit that depends on the mark comes before the erasure, which then finds its
  /// writes, or finds another mark.
  static let beginErasure = raiseErasureMark("begin_erasure", to: "profiles.version + 1")
  /// A mark and its least version, as a record and its version.
  static let raiseErasureMark = raiseErasureMark(
    "raise_erasure_mark", to: "GREATEST(profiles.version, excluded.version)")

  /// A profile's record as it is or, if it is missing, one of version 0. A commit that would write a first record then
  /// waits until the erasure is done, and finds another mark (`requireFreshProfile`).
  static let reserveProfile = raiseErasureMark("reserve_profile", to: "profiles.version")

  private static func raiseErasureMark(_ name: String, to version: String) -> Statement {
    Statement(
      name,
      """
      INSERT INTO profiles (\(ProfileRecord.boundColumns), version)
      VALUES (\(placeholders(1...ProfileRecord.boundColumns.count + 1)))
      ON CONFLICT (application_id, profile_id) DO UPDATE SET version = \(version)
      """)
  }

  /// Takes an application and an id. Returns the version.
  static let deleteProfile = Statement(
    "delete_profile", "DELETE FROM profiles WHERE application_id = $1 AND profile_id = $2 RETURNING version")
  /// Takes sequences and digests of the same events.
  static let eraseEvents = Statement(
    "erase_events",
    """
    UPDATE events SET digest = e.digest, salt = NULL, time = NULL, kind = NULL, application_id = NULL,
      profile_id = NULL, device_id = NULL, binding_id = NULL, caller = NULL, details = NULL
    FROM unnest($1::BIGINT[], $2::BYTEA[]) AS e (sequence, digest) WHERE events.sequence = e.sequence
    """)

  static let erasing = [
    limitLockWaits, beginErasure, reserveProfile, deleteRevokedBindings, deleteBindingsOfProfile, deleteProfile,
    raiseErasureMark, eraseEvents,
  ]
}
