// The audit log: appended to, sealed, read in pages.

extension Statement {
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

  static let logging = [
    insertUnsealedEvent, hasUnsealedEvents, selectUnsealedEvents, sealEvents, deleteUnsealedEvents, insertSealedEvent,
    lockEventChain, selectEventChain, setEventChain, selectEvents, selectEventsOfApplication, selectEventsOfProfile,
    selectEventsBeyond,
  ]
}
