// The tables, and the marker by which a database is known to be ours.

internal import TouchstoneStore

enum Schema {
  /// The name that tells our tables from another application's tables with the same names.
  static let application = "touchstone"
  static let version = SchemaVersion(tables: 2, additions: Int64(additions.count))

  /// All of it for one transaction: a process that saw a part would take the database for another application's.
  static let creation = [marker] + tables + steps(after: 0)

  /// The statements that bring the tables from so many additions to this version's, for one transaction.
  static func steps(after count: Int64) -> [String] {
    additions.dropFirst(Int(clamping: count)).joined()
      + ["UPDATE touchstone_schema SET additions = \(version.additions) WHERE only_row = 1"]
  }

  /// Records the present change: its time, and the build that made it.
  static func record(by build: String) -> String {
    """
    INSERT INTO schema_changes VALUES (
      \(version.tables), \(version.additions), now(), '\(build.replacing("'", with: "''"))')
    """
  }

  /// In their order. Earlier builds run beside them (`SchemaVersion`), so none may be changed after a release. None may
  /// lock a large table for long: a column with a constant default does not, an index on a table with rows does.
  private static let additions: [[String]] = [
    [
      // In this table each build looks for the version that it must know, which is `version` alone.
      "ALTER TABLE touchstone_schema ADD COLUMN additions BIGINT NOT NULL DEFAULT 0",
      """
      CREATE TABLE schema_changes (
        version BIGINT NOT NULL,
        additions BIGINT NOT NULL,
        made_at TIMESTAMPTZ NOT NULL,
        build TEXT NOT NULL,
        PRIMARY KEY (version, additions)
      )
      """,
    ]
  ]

  /// In a table of one row.
  private static let marker = """
    CREATE TABLE touchstone_schema (
      only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
      application TEXT NOT NULL,
      version BIGINT NOT NULL
    )
    """

  /// Identifiers are bytes: equal and ordered byte for byte under every collation.
  ///
  /// Every key begins with what its transactions are about (a device, a profile, a binding), or with a random number's
  /// remainder, so that commits do not all write the last page of an index. Tables of one row are read by every commit,
  /// and written by sweeping, erasing and sealing alone. No sequence, no trigger, no foreign key, no function.
  /// Erasure marks are rows of `profiles` (`ProfileRecord.erasureMarkID`).
  private static let tables = [
    "INSERT INTO touchstone_schema VALUES (1, '\(application)', \(version.tables))",
    """
    CREATE TABLE bindings (
      binding_id BYTEA PRIMARY KEY,
      application_id BYTEA NOT NULL,
      profile_id BYTEA NOT NULL,
      device_id BYTEA NOT NULL,
      device_name BYTEA NOT NULL,
      biometry_type BIGINT NOT NULL,
      hardware_keys BYTEA,
      profile_touch_id BYTEA,
      app_attest BYTEA,
      is_revoked BOOLEAN NOT NULL,
      baseline BYTEA,
      baseline_os_major BIGINT,
      platform_family BIGINT,
      device_lock_count BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT,
      posture BYTEA,
      proof_counter BIGINT NOT NULL DEFAULT 0,
      version BIGINT NOT NULL,
      CHECK (hardware_keys IS NOT NULL OR profile_touch_id IS NOT NULL)
    ) \(roomForUpdates)
    """,
    "CREATE INDEX bindings_of_profile ON bindings (application_id, profile_id, binding_id)",
    // Revoked bindings stay: a query for active ones does not walk them.
    """
    CREATE INDEX active_bindings_of_profile ON bindings (application_id, profile_id, binding_id) WHERE NOT is_revoked
    """,
    "CREATE UNIQUE INDEX active_binding_of_device ON bindings (application_id, device_id) WHERE NOT is_revoked",
    """
    CREATE UNIQUE INDEX active_profile_touch_id ON bindings (application_id, profile_touch_id)
    WHERE NOT is_revoked AND profile_touch_id IS NOT NULL
    """,
    // A few bindings have some kilobytes each here, which GetBinding alone reads.
    """
    CREATE TABLE app_attest_receipts (
      binding_id BYTEA PRIMARY KEY,
      receipt BYTEA NOT NULL
    )
    """,
    """
    CREATE TABLE devices (
      device_id BYTEA PRIMARY KEY,
      failures BIGINT NOT NULL,
      is_locked_out BOOLEAN NOT NULL,
      lock_count BIGINT NOT NULL,
      version BIGINT NOT NULL
    ) \(roomForUpdates)
    """,
    """
    CREATE TABLE profiles (
      application_id BYTEA NOT NULL,
      profile_id BYTEA NOT NULL,
      is_biometry_enabled BOOLEAN NOT NULL,
      is_gesture_enabled BOOLEAN NOT NULL,
      is_passcode_enabled BOOLEAN NOT NULL,
      preferred BIGINT,
      settings_updated_at BIGINT,
      \(secretColumns("passcode")),
      \(secretColumns("gesture")),
      incarnation BIGINT NOT NULL,
      version BIGINT NOT NULL,
      PRIMARY KEY (application_id, profile_id)
    ) \(roomForUpdates)
    """,
    """
    CREATE TABLE evaluations (
      spread SMALLINT NOT NULL,
      expires_at BIGINT NOT NULL,
      id BYTEA NOT NULL,
      failures BIGINT NOT NULL,
      device_owner_failures BIGINT NOT NULL,
      is_finished BOOLEAN NOT NULL,
      version BIGINT NOT NULL,
      PRIMARY KEY (spread, expires_at, id)
    )
    """,
    """
    CREATE TABLE tokens (
      spread SMALLINT NOT NULL,
      expires_at BIGINT NOT NULL,
      id BYTEA NOT NULL,
      state BIGINT NOT NULL,
      approved_transaction BYTEA NOT NULL,
      version BIGINT NOT NULL,
      PRIMARY KEY (spread, expires_at, id)
    )
    """,
    """
    CREATE TABLE used_tickets (
      spread SMALLINT NOT NULL,
      expires_at BIGINT NOT NULL,
      id BYTEA NOT NULL,
      PRIMARY KEY (spread, expires_at, id)
    )
    """,
    // That a commit was done, or (false) that it never will be: asked where the connection was lost meanwhile.
    """
    CREATE TABLE commit_marks (
      spread SMALLINT NOT NULL,
      expires_at BIGINT NOT NULL,
      id BYTEA NOT NULL,
      is_committed BOOLEAN NOT NULL,
      PRIMARY KEY (spread, expires_at, id)
    )
    """,
    // Committed with their effect, not in the chain yet: some events in each row (`UnsealedEvents`).
    """
    CREATE TABLE unsealed_events (
      id BYTEA PRIMARY KEY,
      appended_at TIMESTAMPTZ NOT NULL,
      place BIGINT NOT NULL,
      events BYTEA NOT NULL
    )
    """,
    // All but sequence, hash and digest are NULL where the event is erased; the digest where it is not.
    """
    CREATE TABLE events (
      sequence BIGINT PRIMARY KEY,
      hash BYTEA NOT NULL,
      digest BYTEA,
      salt BYTEA,
      time BIGINT,
      kind BYTEA,
      application_id BYTEA,
      profile_id BYTEA,
      device_id BYTEA,
      binding_id BYTEA,
      caller BYTEA,
      details BYTEA
    )
    """,
    "CREATE INDEX events_of_profile ON events (application_id, profile_id, sequence)",
    // A start reads the latest, however long the log is.
    "CREATE INDEX archivings ON events (sequence) WHERE \(isArchiving)",
    "CREATE TABLE event_chain (only_row BIGINT PRIMARY KEY, sequence BIGINT NOT NULL, hash BYTEA NOT NULL)",
    "INSERT INTO event_chain VALUES (1, 0, \(genesisHash))",
    "CREATE TABLE sweep_mark (only_row BIGINT PRIMARY KEY, swept_before BIGINT NOT NULL)",
    "INSERT INTO sweep_mark VALUES (1, 0)",
    // Which keys the service has: see `Store.keyCheck`. No row before the first start.
    "CREATE TABLE key_check (only_row BIGINT PRIMARY KEY, value BYTEA NOT NULL)",
    // After which event the kept ones begin, and which process archives until when, by the server's clock.
    """
    CREATE TABLE event_archive (
      only_row BIGINT PRIMARY KEY,
      sequence BIGINT NOT NULL,
      hash BYTEA NOT NULL,
      claimant BYTEA,
      claimed_until TIMESTAMPTZ
    )
    """,
    "INSERT INTO event_archive VALUES (1, 0, \(genesisHash), NULL, NULL)",
    // Another number in every database (`Lineage`).
    "CREATE TABLE lineage (only_row BIGINT PRIMARY KEY, number BIGINT NOT NULL)",
    "INSERT INTO lineage VALUES (1, floor(random() * 4294967296)::BIGINT)",
  ]

  /// In percent of a page. A login writes its binding's last use: with room in the row's page no index changes (a HOT
  /// update). In a full page it would write another page and four indexes, each of which may have to be read from the
  /// disk.
  private static let roomForUpdates = "WITH (fillfactor = 85)"

  private static let genesisHash =
    "decode('\(String(repeating: "00", count: EventChain.hashByteCount))', 'hex')"

  /// A condition on an event. A query must say it as the index does.
  static let isArchiving = "kind = '\(ArchivedEvents.eventKind)'::BYTEA"

  private static func secretColumns(_ name: String) -> String {
    SecretRecord.columns.map { column in
      let type = column == "verifier" ? "BYTEA" : column.hasPrefix("is_") ? "BOOLEAN" : "BIGINT"
      return "\(name)_\(column) \(type)"
    }.joined(separator: ",\n      ")
  }
}
