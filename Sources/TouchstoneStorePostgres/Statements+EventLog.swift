// The audit log: appended to, sealed, read in pages.

internal import TouchstoneStore

extension Statement {
  static let eventColumns =
    "salt, time, kind, application_id, profile_id, device_id, binding_id, caller, details"
  static let eventColumnCount = 9
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

  private static func isKept(after parameter: Int) -> String {
    "sequence > GREATEST($\(parameter), (SELECT sequence FROM event_archive))"
  }
  /// Not far after a sequence.
  private static func isNear(_ parameter: Int) -> String {
    "sequence <= GREATEST($\(parameter), (SELECT sequence FROM event_archive)) + \(EventPage.maximumRows)"
  }
  /// After a sequence, of those that are kept, with kinds that begin with one of the prefixes, up to a number.
  private static func eventPage(_ parameters: Int) -> String {
    """
    AND \(isKept(after: parameters + 1)) AND (cardinality($\(parameters + 2)::BYTEA[]) = 0 OR EXISTS (
      SELECT 1 FROM unnest($\(parameters + 2)::BYTEA[]) AS prefix
      WHERE substring(kind FROM 1 FOR length(prefix)) = prefix))
    ORDER BY sequence LIMIT $\(parameters + 3)
    """
  }
  private static let selectFromEvents = "SELECT sequence, hash, digest, \(eventColumns) FROM events"
  /// Where all are asked for, the number bounds what is looked at.
  static let selectEvents = Statement(
    "select_events",
    "\(selectFromEvents) WHERE (cardinality($2::BYTEA[]) = 0 OR \(isNear(1))) \(eventPage(0))")
  static let selectEventsOfApplication = Statement(
    "select_events_of_application", "\(selectFromEvents) WHERE application_id = $1 AND \(isNear(2)) \(eventPage(1))")
  /// Of all kinds.
  static let selectEventsOfProfile = Statement(
    "select_events_of_profile",
    """
    \(selectFromEvents) WHERE application_id = $1 AND profile_id = $2 AND \(isKept(after: 3)) ORDER BY sequence LIMIT $4
    """)
  static let selectEventsBeyond = Statement(
    "select_events_beyond",
    """
    SELECT COALESCE(
      (SELECT min(sequence) FROM events WHERE sequence > (SELECT sequence FROM event_chain)),
      (SELECT min(sequence) FROM events WHERE sequence < 1))
    """)

  // MARK: Archiving

  static let selectEventArchive = Statement("select_event_archive", "SELECT sequence, hash FROM event_archive")
  /// After where the kept ones begin.
  static let selectLatestArchiving = Statement(
    "select_latest_archiving",
    """
    \(selectFromEvents) WHERE sequence > (SELECT sequence FROM event_archive) AND \(Schema.isArchiving)
    ORDER BY sequence DESC LIMIT 1
    """)
  /// From a start to an end (sequence and hash each) that stands in the log and leaves two events, unless a profile was
  /// erased after a sequence (with the kind of that event), by who claimed archiving last. Answers how often it was done.
  static let dropEvents = Statement(
    "drop_events",
    """
    WITH dropped AS (
      UPDATE event_archive SET sequence = $3, hash = $4
      WHERE sequence = $1 AND hash = $2 AND $1 < $3
        AND EXISTS (SELECT 1 FROM events WHERE events.sequence = $3 AND events.hash = $4)
        AND $3 + 2 <= (SELECT sequence FROM event_chain)
        AND NOT EXISTS (SELECT 1 FROM events WHERE events.sequence > $5 AND kind = $6)
        AND claimant = $7
      RETURNING 1)
    SELECT count(*) FROM dropped
    """)
  /// Claimant, milliseconds.
  static let claimArchiving = Statement(
    "claim_archiving",
    """
    WITH claimed AS (
      UPDATE event_archive
      SET claimant = $1, claimed_until = statement_timestamp() + $2::BIGINT * INTERVAL '1 millisecond'
      WHERE claimant IS NULL OR claimant = $1 OR claimed_until < statement_timestamp()
      RETURNING 1)
    SELECT count(*) FROM claimed
    """)
  static let deleteArchivedEvents = Statement(
    "delete_archived_events",
    """
    WITH removed AS (
      DELETE FROM events WHERE sequence IN (
        SELECT sequence FROM events WHERE sequence <= (SELECT sequence FROM event_archive) ORDER BY sequence LIMIT $1)
      RETURNING 1)
    SELECT count(*) FROM removed
    """)

  static let archiving = [selectEventArchive, selectLatestArchiving, dropEvents, claimArchiving, deleteArchivedEvents]

  static let logging = [
    insertUnsealedEvent, hasUnsealedEvents, selectUnsealedEvents, sealEvents, deleteUnsealedEvents, insertSealedEvent,
    lockEventChain, selectEventChain, setEventChain, selectEvents, selectEventsOfApplication, selectEventsOfProfile,
    selectEventsBeyond,
  ]
}
