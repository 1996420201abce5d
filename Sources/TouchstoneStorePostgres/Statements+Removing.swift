// Sweeping and erasing.

internal import TouchstoneStore

extension Statement {
  // MARK: Sweeping

  /// A time, or where that is later the one before which everything has expired by the clock of each process: what the
  /// mark passes is void everywhere and for good, so no process's clock alone may raise it.
  private static let sweptBefore = """
    least($1, (extract(epoch FROM statement_timestamp()) * 1000000)::BIGINT - \(Sweeper.clockSkewMicroseconds))
    """

  static let raiseSweepMark = Statement(
    "raise_sweep_mark", "UPDATE sweep_mark SET swept_before = \(sweptBefore) WHERE swept_before < \(sweptBefore)")

  static let selectSweepMark = Statement("select_sweep_mark", "SELECT swept_before FROM sweep_mark")

  /// - Parameter limit: of what goes, whatever `$1` is.
  private static func deleteExpired(from table: String, before limit: String) -> Statement {
    // A range of each of the key's beginnings; those of which a transaction has hold are left to the next step.
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

  /// Only what the mark speaks for, which was raised in the same transaction.
  static let deleteExpiredRecords = ["evaluations", "tokens", "used_tickets"].map {
    deleteExpired(from: $0, before: "least($1, (SELECT swept_before FROM sweep_mark))")
  }
  static let deleteExpiredCommitMarks = deleteExpired(from: "commit_marks", before: sweptBefore)

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

  /// How many are kept. Answers when the first of those that are too many may be forgotten; no row where there are not
  /// as many.
  static let selectStandInDeviceLimit = standInLimit("devices")
  static let selectStandInProfileLimit = standInLimit("profiles")

  private static func standInLimit(_ table: String) -> Statement {
    Statement(
      "stand_in_limit_of_\(table)",
      """
      SELECT stand_in_until FROM \(table) WHERE stand_in_until IS NOT NULL
      ORDER BY stand_in_until DESC OFFSET $1 LIMIT 1
      """)
  }

  static let sweeping =
    [
      selectStandInDeviceLimit, selectStandInProfileLimit, raiseSweepMark, selectSweepMark, deleteStandInDevices,
      deleteStandInProfiles, deleteExpiredCommitMarks,
    ] + deleteExpiredRecords

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

  static let erasing = [
    deleteBindingsOfProfile, deleteProfiles, deleteDevices, raiseErasureMark, eraseEvents,
  ]
}
