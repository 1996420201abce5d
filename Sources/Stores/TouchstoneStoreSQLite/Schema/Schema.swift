// The tables, and the marks by which a database file is known to be ours.

internal import CSQLite
internal import TouchstoneStore

enum Schema {
  /// "Tchs" in ASCII, in the file's header: what tells our database from another application's.
  static let applicationID: Int64 = 0x5463_6873
  /// "Tchb": another store has its state and may serve it, and no file records yet which of them goes on.
  static let beingMovedApplicationID: Int64 = 0x5463_6862
  /// "Tchm": its state is another store's now (`SQLiteMoveSource`).
  static let movedApplicationID: Int64 = 0x5463_686D
  /// A table that a directory has from the first of these marks on (`MoveTarget`).
  static let moveTarget = "move_target"
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

  /// In the header's user_version (`SchemaVersion.header`). A start brings an earlier version up to date (`upgrade`).
  static let version = SchemaVersion(tables: 3, additions: Int64(additions.count))

  /// Whether the version is read, because a backup may have it: also with the additions of a later one.
  static func canRead(_ version: SchemaVersion) -> Bool {
    version == SchemaVersion(tables: 2, additions: 0) || version.tables == Self.version.tables
  }

  /// A binding has `hardware_keys` or `profile_touch_id`. A passkey has both: its key, and the digest by which it is
  /// found.
  ///
  /// Everything that expires has its expiry in front of its key: inserts append, and sweeping drops a range.
  ///
  /// `sweep_mark` has the time up to which was swept, because keys before it may have had a row. `lineage` is another
  /// one in every new database and after each restoration.
  ///
  /// When a binding was last used, and its counter, stand in a table of their own, a row for each: every login writes
  /// it, and rows of ten bytes keep the pages that logins dirty few. Few logins write `binding_postures`
  /// (`SeenPosture`); the other ones have fewer pages to write.
  ///
  /// `app_attest_receipts` has kilobytes for a binding, which GetBinding alone reads.
  ///
  /// `active_bindings_of_profile` spares a query for active bindings the revoked ones, which stay. `archivings` gives a
  /// start the latest one, however long the log is.
  ///
  /// `event_blocks` has the names of each whole block's events (`EventBlock`).
  ///
  /// `erasure_marks` has the records of `ProfileRecord.erasureMarkID`. `key_check` has no row before the first start
  /// (`Store.keyCheck`); `event_archive` is the last event that was archived and dropped.
  private static func tables(_ version: Int64) -> String {
    """
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
      app_attest BLOB,
      is_revoked INTEGER NOT NULL,
      baseline BLOB,
      baseline_os_major INTEGER,
      platform_family INTEGER,
      device_lock_count INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      version INTEGER NOT NULL,
      CHECK (hardware_keys IS NOT NULL OR profile_touch_id IS NOT NULL)
    ) STRICT;
    CREATE INDEX bindings_of_profile ON bindings (application_id, profile_id, binding_id);
    CREATE INDEX active_bindings_of_profile ON bindings (application_id, profile_id, binding_id) WHERE NOT is_revoked;
    CREATE UNIQUE INDEX active_binding_of_device ON bindings (application_id, device_id) WHERE NOT is_revoked;
    CREATE UNIQUE INDEX active_profile_touch_id ON bindings (application_id, profile_touch_id)
      WHERE NOT is_revoked AND profile_touch_id IS NOT NULL;

    CREATE TABLE binding_uses (
      binding_number INTEGER PRIMARY KEY,
      last_used_at INTEGER,
      proof_counter INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE binding_postures (
      binding_number INTEGER PRIMARY KEY,
      posture BLOB NOT NULL
    ) STRICT;

    CREATE TABLE app_attest_receipts (
      binding_id TEXT PRIMARY KEY,
      receipt BLOB NOT NULL
    ) STRICT;

    CREATE TABLE devices (
      device_id TEXT PRIMARY KEY,
      failures INTEGER NOT NULL,
      is_locked_out INTEGER NOT NULL,
      lock_count INTEGER NOT NULL,
      version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

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
      incarnation INTEGER NOT NULL,
      version INTEGER NOT NULL,
      PRIMARY KEY (application_id, profile_id)
    ) STRICT, WITHOUT ROWID;

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
    \(version == 2 ? indexOfEvents : eventBlocks)
    CREATE INDEX archivings ON events (sequence) WHERE \(isArchiving);

    CREATE TABLE sweep_mark (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      swept_before INTEGER NOT NULL
    ) STRICT;
    INSERT INTO sweep_mark VALUES (1, 0);

    CREATE TABLE erasure_marks (
      application_id TEXT NOT NULL,
      mark_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      PRIMARY KEY (application_id, mark_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE event_chain (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      sequence INTEGER NOT NULL,
      hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO event_chain VALUES (1, 0, zeroblob(32));

    CREATE TABLE event_archive (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      sequence INTEGER NOT NULL,
      hash BLOB NOT NULL
    ) STRICT;
    INSERT INTO event_archive VALUES (1, 0, zeroblob(32));

    CREATE TABLE lineage (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      number INTEGER NOT NULL
    ) STRICT;
    INSERT INTO lineage VALUES (1, abs(random() % 4294967296));

    CREATE TABLE key_check (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      value BLOB NOT NULL
    ) STRICT;
    """
  }

  private static let eventBlocks = """
    CREATE TABLE event_blocks (
      block INTEGER PRIMARY KEY,
      names BLOB NOT NULL
    ) STRICT;
    """

  /// Version 2 had it instead. Every appended event changed its pages.
  static let indexOfEvents = """
    CREATE INDEX events_of_block ON events (sequence >> 8, application_id, profile_id);
    """

  private static func secretColumns(_ name: String) -> String {
    SecretRecord.columns(of: name).map { "\($0) \($0.hasSuffix("_verifier") ? "BLOB" : "INTEGER")" }
      .joined(separator: ",\n      ")
  }

  /// The additions to version 3, in their order. None may be changed after a release (`SchemaVersion`).
  private static let additions = [
    // The backups that the service made, and removes when there are more than it keeps.
    """
    CREATE TABLE backups (
      number INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      made_at INTEGER NOT NULL,
      bytes INTEGER NOT NULL
    ) STRICT;
    """
  ]

  /// All of it in one transaction, on an empty database. Tests make an earlier version's.
  static func create(on connection: SQLiteConnection, version: SchemaVersion = version) throws(SQLiteError) {
    try connection.execute(
      """
      BEGIN;
      PRAGMA application_id = \(applicationID);
      PRAGMA user_version = \(version.header);
      \(tables(version.tables))
      \(additions.prefix(Int(clamping: version.additions)).joined())
      COMMIT;
      """)
  }

  /// Within a transaction, on a readable version. Reads each event of version 2, in some microseconds.
  static func upgrade(_ connection: SQLiteConnection) throws(SQLiteError) {
    let found = try version(of: connection)
    guard !found.serves(version) else { return }
    if found.tables == 2 {
      try connection.execute("PRAGMA secure_delete = ON; DROP INDEX events_of_block; \(eventBlocks)")
      try EventLog(on: connection).writeNames()
    }
    let missing = additions.dropFirst(Int(clamping: found.additions)).joined()
    try connection.execute("\(missing) PRAGMA user_version = \(version.header)")
  }

  /// A condition on an event. A query must have it as the index does.
  static let isArchiving = "kind = '\(ArchivedEvents.eventKind)'"

  static func version(of connection: SQLiteConnection) throws(SQLiteError) -> SchemaVersion {
    SchemaVersion(header: try connection.integer("PRAGMA user_version"))
  }

  /// Whether the tables and indexes are those that `create` makes. If a later version made additions, whether those of
  /// this version are there.
  static func isIntact(on connection: SQLiteConnection) throws(SQLiteError) -> Bool {
    let model = try SQLiteConnection(path: ":memory:", access: .create)
    let found = try version(of: connection)
    if found.additions > version.additions {
      try create(on: model)
      let isOurs = try Set(parts(on: connection)).isSuperset(of: parts(on: model))
      let hasPrograms = try hasPrograms(connection)
      return isOurs && !hasPrograms
    }
    try create(on: model, version: found)
    return try definitions(on: connection) == definitions(on: model)
  }

  private static func definitions(on connection: SQLiteConnection) throws(SQLiteError) -> [String] {
    try texts(
      """
      SELECT name || coalesce(sql, '') FROM sqlite_schema
      WHERE name NOT LIKE 'sqlite_stat%' AND name <> '\(moveTarget)' ORDER BY name
      """, on: connection)
  }

  /// The columns of tables, and the definitions of everything else.
  private static func parts(on connection: SQLiteConnection) throws(SQLiteError) -> [String] {
    try texts(
      """
      SELECT format('%s %s %s %d %d', t.name, c.name, c.type, c."notnull", c.pk)
      FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
      UNION ALL SELECT name || coalesce(sql, '') FROM sqlite_schema WHERE type <> 'table'
      """, on: connection)
  }

  /// Triggers and views, which are no additions: they would act on what this version writes and reads.
  private static func hasPrograms(_ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
    try !texts("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')", on: connection).isEmpty
  }

  private static func texts(_ query: String, on connection: SQLiteConnection) throws(SQLiteError) -> [String] {
    let select = Statement(query, on: connection)
    var texts: [String] = []
    while var row = try select.next() { texts.append(row.text()) }
    return texts
  }
}

extension SchemaVersion {
  private static let step: Int64 = 1_000

  /// As the header's user_version has it. A build that knows no additions refuses the number.
  var header: Int64 { tables + additions * Self.step }

  init(header: Int64) {
    self.init(tables: header % Self.step, additions: header / Self.step)
  }
}
