// Statements of the audit log: appending, sealing, reading in pages.

internal import TouchstoneStore

extension Statement {
  /// Rows of events, each with its place among the rows of its process. The server's clock orders the rows of several
  /// processes: a call that was answered before another began comes first. Commits at the same time may come in any
  /// order.
  static let insertUnsealedEvents = Statement(
    "insert_unsealed_events", insertionOfEvents("$1::BYTEA[], $2::BIGINT[], $3::BYTEA[]", where: isOpen))
  static func insertionOfEvents(_ arrays: String, where condition: String) -> String {
    """
    INSERT INTO unsealed_events (id, appended_at, place, events)
    SELECT id, statement_timestamp(), place, events FROM unnest(\(arrays)) AS e (id, place, events) WHERE \(condition)
    """
  }
  /// Also reads the chain's end.
  static let hasUnsealedEvents = Statement(
    "has_unsealed_events", "SELECT EXISTS (SELECT 1 FROM unsealed_events), sequence FROM event_chain")
  /// By the index, whose entries of deleted rows the server soon skips and overwrites. The table itself keeps the space
  /// of the rows that were deleted since the latest VACUUM.
  static let selectUnsealedEvents = Statement(
    "select_unsealed_events",
    "SELECT id, events FROM unsealed_events WHERE id >= ''::BYTEA ORDER BY appended_at, place, id LIMIT $1")
  /// Takes the ids of rows that were sealed. It deletes all of them, or fails.
  static let deleteUnsealedEvents = Statement(
    "delete_unsealed_events",
    """
    WITH deleted AS (DELETE FROM unsealed_events WHERE id = ANY ($1::BYTEA[]) RETURNING 1)
    SELECT 1 / (CASE WHEN count(*) = cardinality($1::BYTEA[]) THEN 1 ELSE 0 END) FROM deleted
    """)
  /// An array for each column.
  static let insertSealedEvents = Statement(
    "insert_sealed_events",
    """
    INSERT INTO events (sequence, hash, \(EventDraft.columns))
    SELECT * FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[], $4::BIGINT[], \(
      (5...11).map { "$\($0)::BYTEA[]" }.joined(separator: ", ")))
    """)
  static let lockEventChain = Statement("lock_event_chain", "SELECT sequence, hash FROM event_chain FOR UPDATE")
  static let selectEventChain = Statement("select_event_chain", "SELECT sequence, hash FROM event_chain")
  static let setEventChain = Statement("set_event_chain", "UPDATE event_chain SET sequence = $1, hash = $2")

  private static func isKept(after parameter: Int) -> String {
    "sequence > GREATEST($\(parameter), (SELECT sequence FROM event_archive))"
  }
  private static let selectFromEvents = "SELECT \(EventRecord.columns) FROM events"
  static let selectEventPlace = Statement("select_event_place", EventRecord.placeQuery)
  /// All kept events after a sequence, so many, up to another one.
  static let selectEvents = Statement(
    "select_events",
    "\(selectFromEvents) WHERE \(isKept(after: 1)) AND sequence <= $3 ORDER BY sequence LIMIT $2")
  /// Kept events not far after a sequence, and up to another one ($5): of an application, a device, a binding, a caller
  /// (empty: of any), whose kinds begin with one of the prefixes (none: of any), whose encoded details have a piece,
  /// within a time; so many. `OFFSET 0` has the near events read by their numbers, and filtered then: a plan that is
  /// made once for all values would walk all of the application's events to find them.
  static let selectMatchingEvents = Statement(
    "select_matching_events",
    """
    SELECT \(EventRecord.columns) FROM (
      \(selectFromEvents) WHERE \(isKept(after: 2)) AND sequence <= $5
        AND sequence <= GREATEST($2, (SELECT sequence FROM event_archive)) + \(EventPage.maximumRows)
      ORDER BY sequence OFFSET 0) AS near
    WHERE ($1 = ''::BYTEA OR application_id = $1) AND (cardinality($3::BYTEA[]) = 0 OR EXISTS (
      SELECT 1 FROM unnest($3::BYTEA[]) AS prefix WHERE substring(kind FROM 1 FOR length(prefix)) = prefix))
      AND ($6 = ''::BYTEA OR device_id = $6) AND ($7 = ''::BYTEA OR binding_id = $7)
      AND ($8 = ''::BYTEA OR caller = $8) AND ($9 = ''::BYTEA OR position($9 IN details) > 0)
      AND time >= $10 AND time < $11
    ORDER BY sequence LIMIT $4
    """)
  /// Events of all kinds, so many ($4), up to a sequence.
  static let selectEventsOfProfile = Statement(
    "select_events_of_profile",
    """
    \(selectFromEvents) WHERE application_id = $1 AND profile_id = $2 AND \(isKept(after: 3)) AND sequence <= $5
    ORDER BY sequence LIMIT $4
    """)
  /// Events of all kinds up to a sequence, each after the previous event's hash.
  static let selectEventsToErase = Statement(
    "select_events_to_erase",
    """
    SELECT events.sequence, (SELECT earlier.hash FROM events AS earlier WHERE earlier.sequence = events.sequence - 1),
      events.sequence, hash, digest, \(EventDraft.columns)
    FROM events WHERE application_id = $1 AND profile_id = $2 AND \(isKept(after: 3)) AND events.sequence <= $4
    ORDER BY events.sequence LIMIT $5
    """)
  static let selectEventsBeyond = Statement(
    "select_events_beyond",
    """
    SELECT COALESCE(
      (SELECT min(sequence) FROM events WHERE sequence > (SELECT sequence FROM event_chain WHERE only_row = 1)),
      (SELECT min(sequence) FROM events WHERE sequence < 1))
    """)

  // MARK: Archiving

  static let selectEventArchive = Statement("select_event_archive", "SELECT sequence, hash FROM event_archive")
  /// After the sequence where the kept events begin.
  static let selectLatestArchiving = Statement(
    "select_latest_archiving",
    """
    \(selectFromEvents) WHERE sequence > (SELECT sequence FROM event_archive) AND \(Schema.isArchiving)
    ORDER BY sequence DESC LIMIT 1
    """)
  /// The event after which accounts are signed.
  static let selectFirstSigning = Statement(
    "select_first_signing",
    """
    \(selectFromEvents) WHERE application_id = ''::BYTEA AND profile_id = ''::BYTEA AND kind = $1
      AND sequence > (SELECT sequence FROM event_archive) ORDER BY sequence LIMIT 1
    """)
  /// The events of a kind after a sequence that is near the log's end. `OFFSET 0` has them read by their numbers.
  static let selectLastEvents = Statement(
    "select_last_events",
    """
    SELECT \(EventRecord.columns) FROM (\(selectFromEvents) WHERE sequence > $1 ORDER BY sequence OFFSET 0) AS last
    WHERE kind = $2
    """)
  /// Moves the log's beginning to an end in the log (sequence and hash each) that leaves two events. Only the last
  /// claimant of archiving may do so. Returns the number of moves.
  static let dropEvents = Statement(
    "drop_events",
    """
    WITH dropped AS (
      UPDATE event_archive SET sequence = $3, hash = $4
      WHERE sequence = $1 AND hash = $2 AND $1 < $3
        AND EXISTS (SELECT 1 FROM events WHERE events.sequence = $3 AND events.hash = $4)
        AND $3 + 2 <= (SELECT sequence FROM event_chain WHERE only_row = 1)
        AND claimant = $5
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

  static let archiving = [
    selectEventArchive, selectLatestArchiving, selectFirstSigning, selectLastEvents, dropEvents, claimArchiving,
    deleteArchivedEvents,
  ]

  static let logging = [
    insertUnsealedEvents, hasUnsealedEvents, selectUnsealedEvents, deleteUnsealedEvents, insertSealedEvents,
    lockEventChain, selectEventChain, setEventChain, selectEventPlace, selectEvents, selectMatchingEvents,
    selectEventsOfProfile, selectEventsToErase, selectEventsBeyond,
  ]
}
