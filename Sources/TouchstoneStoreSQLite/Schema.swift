// The tables, and the marks by which a database file is known to be ours.

internal import CSQLite
internal import TouchstoneStore

enum Schema {
  /// "Tchs" in ASCII, in the file's header: what tells our database from another application's.
  static let applicationID: Int64 = 0x5463_6873
  /// "Tchb": another store has its state and may serve it, and it has not been said which of them goes on.
  static let beingMovedApplicationID: Int64 = 0x5463_6862
  /// "Tchm": its state is another store's now (`SQLiteMoveSource`).
  static let movedApplicationID: Int64 = 0x5463_686D
  /// A table that a directory has from the first of these marks on (`MoveTarget`).
  static let moveTarget = "move_target"
  static let hasMoveTarget = "SELECT count(*) FROM sqlite_schema WHERE name = '\(moveTarget)'"
  /// Within a transaction, as the other one.
  static let beginMove = """
    PRAGMA application_id = \(beingMovedApplicationID);
    CREATE TABLE \(moveTarget) (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      mark BLOB NOT NULL,
      place TEXT NOT NULL
    ) STRICT;
    """
  static let takeMoveBack = "PRAGMA application_id = \(applicationID); DROP TABLE IF EXISTS \(moveTarget);"

  /// In the header's user_version; grows with every change of the tables.
  static let version: Int64 = 11
  /// The first that is brought forward; what was before it, nobody kept.
  static let oldestVersion: Int64 = 2

  /// Everything that expires has its expiry in front of its key: inserts append, and sweeping drops a range.
  ///
  /// Where sweeping has come to stands in `sweep_mark`, as keys before it may have had a row. The highest version of an
  /// erased profile stands in `erasure_mark`, as a version is never given twice. `lineage` is another one in every new
  /// database and after each restoration.
  ///
  /// When a binding was last used stands in a table of its own, a row for each: every login writes it, and rows of ten
  /// bytes keep the pages that logins dirty few.
  private static let tables = """
    CREATE TABLE bindings (
      number INTEGER PRIMARY KEY,
      binding_id TEXT NOT NULL UNIQUE,
      application_id TEXT NOT NULL,
      profile_id TEXT NOT NULL,
      device_id TEXT NOT NULL,
      device_name TEXT NOT NULL,
      biometry_type INTEGER NOT NULL,
      hardware_keys BLOB,
      profile_touch_id BLOB,
      is_revoked INTEGER NOT NULL,
      baseline BLOB,
      baseline_os_major INTEGER,
      created_at INTEGER NOT NULL,
      version INTEGER NOT NULL,
      CHECK ((hardware_keys IS NULL) <> (profile_touch_id IS NULL))
    ) STRICT;
    CREATE INDEX bindings_of_profile ON bindings (application_id, profile_id, binding_id);
    CREATE UNIQUE INDEX active_binding_of_device ON bindings (application_id, device_id) WHERE NOT is_revoked;
    CREATE UNIQUE INDEX active_profile_touch_id ON bindings (application_id, profile_touch_id)
      WHERE NOT is_revoked AND profile_touch_id IS NOT NULL;

    CREATE TABLE binding_uses (
      binding_number INTEGER PRIMARY KEY,
      last_used_at INTEGER
    ) STRICT;

    CREATE TABLE devices (
      device_id TEXT PRIMARY KEY,
      failures INTEGER NOT NULL,
      is_locked_out INTEGER NOT NULL,
      version INTEGER NOT NULL,
      stand_in_until INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX stand_in_devices ON devices (stand_in_until) WHERE stand_in_until IS NOT NULL;

    CREATE TABLE profiles (
      application_id TEXT NOT NULL,
      profile_id TEXT NOT NULL,
      is_biometry_enabled INTEGER NOT NULL,
      is_gesture_enabled INTEGER NOT NULL,
      is_passcode_enabled INTEGER NOT NULL,
      preferred INTEGER,
      settings_updated_at INTEGER,
      \(secretColumns("passcode")),
      \(secretColumns("gesture")),
      created_at INTEGER NOT NULL,
      version INTEGER NOT NULL,
      stand_in_until INTEGER,
      PRIMARY KEY (application_id, profile_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX stand_in_profiles ON profiles (stand_in_until) WHERE stand_in_until IS NOT NULL;

    CREATE TABLE evaluations (
      expires_at INTEGER NOT NULL,
      id BLOB NOT NULL,
      failures INTEGER NOT NULL,
      device_owner_failures INTEGER NOT NULL,
      is_finished INTEGER NOT NULL,
      version INTEGER NOT NULL,
      PRIMARY KEY (expires_at, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE tokens (
      expires_at INTEGER NOT NULL,
      id BLOB NOT NULL,
      state INTEGER NOT NULL,
      approved_transaction BLOB NOT NULL,
      version INTEGER NOT NULL,
      PRIMARY KEY (expires_at, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE used_tickets (
      expires_at INTEGER NOT NULL,
      id BLOB NOT NULL,
      PRIMARY KEY (expires_at, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE events (
      sequence INTEGER PRIMARY KEY,
      hash BLOB NOT NULL,
      digest BLOB,
      salt BLOB,
      time INTEGER,
      kind TEXT,
      application_id TEXT,
      profile_id TEXT,
      device_id TEXT,
      binding_id TEXT,
      caller TEXT,
      details BLOB
    ) STRICT;
    CREATE INDEX events_of_block ON events (\(EventBlock.expression), application_id, profile_id);

    CREATE TABLE sweep_mark (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      swept_before INTEGER NOT NULL
    ) STRICT;
    INSERT INTO sweep_mark VALUES (1, 0);

    CREATE TABLE erasure_mark (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      highest_version INTEGER NOT NULL
    ) STRICT;
    INSERT INTO erasure_mark VALUES (1, 0);

    CREATE TABLE event_chain (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      sequence INTEGER NOT NULL,
      hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO event_chain VALUES (1, 0, zeroblob(32));
    """

  /// What each version added to `tables`, by its number.
  private static let steps: [Int64: String] = [
    // Which keys the service has: see `Store.keyCheck`. No row before the first start.
    3: """
    CREATE TABLE key_check (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      value BLOB NOT NULL
    ) STRICT;
    """,
    // The last event that was archived and dropped: see `Store.eventChainStart`.
    archiveVersion: """
    CREATE TABLE event_archive (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      sequence INTEGER NOT NULL,
      hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO event_archive VALUES (1, 0, zeroblob(32));
    """,
    // See `Lineage`.
    5: """
    CREATE TABLE lineage (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      number INTEGER NOT NULL
    ) STRICT;
    INSERT INTO lineage VALUES (1, abs(random() % 4294967296));
    """,
    // A start asks for the latest, however long the log is.
    6: "CREATE INDEX archivings ON events (sequence) WHERE \(isArchiving);",
    // How many stand-ins there are (`StandInBound`). Those of profiles were kept for a day; now for a year.
    7: """
    CREATE TABLE stand_in_counts (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      devices INTEGER NOT NULL,
      profiles INTEGER NOT NULL
    ) STRICT;
    INSERT INTO stand_in_counts SELECT 1,
      (SELECT count(*) FROM devices WHERE stand_in_until IS NOT NULL),
      (SELECT count(*) FROM profiles WHERE stand_in_until IS NOT NULL);
    UPDATE profiles SET stand_in_until = stand_in_until + \(364 * microsecondsPerDay) WHERE stand_in_until IS NOT NULL;
    """,
    // Revoked bindings count on stand-ins of their own from now on: they begin with what their device has.
    8: """
    INSERT INTO devices SELECT char(2) || binding_id, failures, is_locked_out, 1, NULL FROM bindings
      JOIN devices USING (device_id) WHERE is_revoked AND (failures > 0 OR is_locked_out);
    """,
    // `SeenPosture`, in a table of its own: few logins write it, and those that do not have fewer pages to write.
    9: """
    CREATE TABLE binding_postures (
      binding_number INTEGER PRIMARY KEY,
      posture BLOB NOT NULL
    ) STRICT;
    """,
    // Whether a binding is from before its device's lock: of what was there, that is not known, and so no.
    10: """
    ALTER TABLE devices ADD COLUMN lock_count INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE bindings ADD COLUMN device_lock_count INTEGER NOT NULL DEFAULT 0;
    """,
    // Of bindings from then on (R38).
    11: "ALTER TABLE bindings ADD COLUMN platform_family INTEGER;",
  ]

  private static let microsecondsPerDay: Int64 = 24 * 60 * 60 * 1_000_000

  private static func secretColumns(_ name: String) -> String {
    SecretRecord.columns.map { "\(name)_\($0.name) \($0.type)" }.joined(separator: ",\n      ")
  }

  /// All of it in one transaction, on an empty database.
  static func create(version: Int64 = version, on connection: SQLiteConnection) throws(SQLiteError) {
    try connection.execute(
      """
      BEGIN;
      PRAGMA application_id = \(applicationID);
      \(tables)
      \(steps(after: oldestVersion, through: version))
      COMMIT;
      """)
  }

  /// All of it in one transaction, which is the caller's to commit: where it is cut short, the next start does it.
  static func beginBringingForward(from old: Int64, on connection: SQLiteConnection) throws(SQLiteError) {
    try connection.execute("BEGIN IMMEDIATE; \(steps(after: old, through: version))")
  }

  /// An earlier version's log, for a connection that only reads: nothing of it was archived.
  static func addMissingArchive(on connection: SQLiteConnection) throws(SQLiteError) {
    guard try Self.version(of: connection) < archiveVersion else { return }
    try connection.execute("CREATE TEMP TABLE event_archive AS SELECT 0 AS sequence, zeroblob(32) AS hash")
  }

  private static let archiveVersion: Int64 = 4

  /// Of an event; a query must say it as the index does.
  static let isArchiving = "kind = '\(ArchivedEvents.eventKind)'"

  private static func steps(after old: Int64, through version: Int64) -> String {
    (old..<version).compactMap { steps[$0 + 1] }.joined() + "PRAGMA user_version = \(version);"
  }

  static func version(of connection: SQLiteConnection) throws(SQLiteError) -> Int64 {
    try connection.integer("PRAGMA user_version")
  }

  /// Whether the tables and indexes are those that `create` makes.
  static func isIntact(_ version: Int64, on connection: SQLiteConnection) throws(SQLiteError) -> Bool {
    let model = try SQLiteConnection(path: ":memory:", access: .create)
    try create(version: version, on: model)
    return try definitions(on: connection) == definitions(on: model)
  }

  private static func definitions(on connection: SQLiteConnection) throws(SQLiteError) -> [String] {
    let select = try Statement(
      """
      SELECT name || coalesce(sql, '') FROM sqlite_schema
      WHERE name NOT LIKE 'sqlite_stat%' AND name <> '\(moveTarget)' ORDER BY name
      """, on: connection)
    var definitions: [String] = []
    while var row = try select.next() { definitions.append(row.text()) }
    return definitions
  }
}
