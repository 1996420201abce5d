// The tables, and the steps by which they came to be.

internal import TouchstoneStore

enum Schema {
  /// What tells our tables from another application's that are called alike.
  static let application = "touchstone"
  /// Grows with every step.
  static var version: Int64 { Int64(steps.count) }

  /// In a table of one row. `migrating_to`: a step began, and it is not known to have ended.
  static let marker = """
    CREATE TABLE IF NOT EXISTS touchstone_schema (
      only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
      application TEXT NOT NULL,
      version BIGINT NOT NULL,
      migrating_to BIGINT
    )
    """

  /// In place of the version that is migrated to: all of another store is being moved here, and that has not ended.
  static let beingFilled: Int64 = 0

  /// Step by step, from an empty database on. One that was released is never changed, and leaves what the version before
  /// it reads and writes as it was: replicas of both run at the same time.
  static let steps: [[String]] = [
    firstTables, keyCheck, eventArchive, lineage, archivings, standInYears, standInsOfRevokedBindings,
    postures, lockCounts, platformFamilies,
  ]

  /// Identifiers are bytes: equal and ordered byte for byte under every collation.
  ///
  /// Every key begins with what its transactions are about (a device, a profile, a binding), or with a random number's
  /// remainder, so that a distributed engine spreads them. Tables of one row are read by every commit, and written by
  /// sweeping, erasing and sealing alone. No sequence, no trigger, no foreign key, no function.
  private static let firstTables = [
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
      is_revoked BOOLEAN NOT NULL,
      baseline BYTEA,
      baseline_os_major BIGINT,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT,
      version BIGINT NOT NULL,
      CHECK ((hardware_keys IS NULL) <> (profile_touch_id IS NULL))
    )
    """,
    "CREATE INDEX bindings_of_profile ON bindings (application_id, profile_id, binding_id)",
    "CREATE UNIQUE INDEX active_binding_of_device ON bindings (application_id, device_id) WHERE NOT is_revoked",
    """
    CREATE UNIQUE INDEX active_profile_touch_id ON bindings (application_id, profile_touch_id)
    WHERE NOT is_revoked AND profile_touch_id IS NOT NULL
    """,
    """
    CREATE TABLE devices (
      device_id BYTEA PRIMARY KEY,
      failures BIGINT NOT NULL,
      is_locked_out BOOLEAN NOT NULL,
      stand_in_until BIGINT,
      version BIGINT NOT NULL
    )
    """,
    "CREATE INDEX stand_in_devices ON devices (stand_in_until) WHERE stand_in_until IS NOT NULL",
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
      created_at BIGINT NOT NULL,
      stand_in_until BIGINT,
      version BIGINT NOT NULL,
      PRIMARY KEY (application_id, profile_id)
    )
    """,
    "CREATE INDEX stand_in_profiles ON profiles (stand_in_until) WHERE stand_in_until IS NOT NULL",
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
    // Committed with their effect, not in the chain yet.
    """
    CREATE TABLE unsealed_events (
      salt BYTEA PRIMARY KEY,
      appended_at TIMESTAMPTZ NOT NULL,
      place BIGINT NOT NULL,
      time BIGINT NOT NULL,
      kind BYTEA NOT NULL,
      application_id BYTEA NOT NULL,
      profile_id BYTEA NOT NULL,
      device_id BYTEA NOT NULL,
      binding_id BYTEA NOT NULL,
      caller BYTEA NOT NULL,
      details BYTEA NOT NULL
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
    "CREATE TABLE event_chain (only_row BIGINT PRIMARY KEY, sequence BIGINT NOT NULL, hash BYTEA NOT NULL)",
    "INSERT INTO event_chain VALUES (1, 0, \(genesisHash))",
    "CREATE TABLE sweep_mark (only_row BIGINT PRIMARY KEY, swept_before BIGINT NOT NULL)",
    "INSERT INTO sweep_mark VALUES (1, 0)",
    "CREATE TABLE erasure_mark (only_row BIGINT PRIMARY KEY, highest_version BIGINT NOT NULL)",
    "INSERT INTO erasure_mark VALUES (1, 0)",
  ]

  /// Which keys the service has: see `Store.keyCheck`. No row before the first start.
  private static let keyCheck = ["CREATE TABLE key_check (only_row BIGINT PRIMARY KEY, value BYTEA NOT NULL)"]

  /// After which event the kept ones begin, and who archives until when, by the server's clock.
  private static let eventArchive = [
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
  ]

  private static let genesisHash =
    "decode('\(String(repeating: "00", count: EventChain.hashByteCount))', 'hex')"

  /// Another one in every database (`Lineage`).
  private static let lineage = [
    "CREATE TABLE lineage (only_row BIGINT PRIMARY KEY, number BIGINT NOT NULL)",
    "INSERT INTO lineage VALUES (1, floor(random() * 4294967296)::BIGINT)",
  ]

  /// A start asks for the latest, however long the log is.
  private static let archivings = ["CREATE INDEX archivings ON events (sequence) WHERE \(isArchiving)"]

  /// Stand-ins of profiles were kept for a day; now for a year.
  private static let standInYears = [
    """
    UPDATE profiles SET stand_in_until = stand_in_until + \(364 * microsecondsPerDay) WHERE stand_in_until IS NOT NULL
    """
  ]

  /// `SeenPosture`
  private static let postures = ["ALTER TABLE bindings ADD COLUMN last_posture BYTEA"]

  private static let microsecondsPerDay = 24 * 60 * 60 * 1_000_000

  /// Revoked bindings count on stand-ins of their own from now on: they begin with what their device has.
  private static let standInsOfRevokedBindings = [
    """
    INSERT INTO devices (device_id, failures, is_locked_out, stand_in_until, version)
    SELECT \(standInOfRevoked("b")), d.failures, d.is_locked_out, NULL, 1 FROM bindings b
    JOIN devices d ON d.device_id = b.device_id WHERE b.is_revoked AND (d.failures > 0 OR d.is_locked_out)
    """
  ]

  /// Whether a binding is from before its device's lock: of what was there, that is not known, and so no.
  private static let lockCounts = [
    "ALTER TABLE devices ADD COLUMN lock_count BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE bindings ADD COLUMN device_lock_count BIGINT NOT NULL DEFAULT 0",
  ]

  /// `DeviceRecord.standInID(forRevokedBinding:)` of the table's binding.
  static func standInOfRevoked(_ bindings: String) -> String { "'\\x02'::BYTEA || \(bindings).binding_id" }

  /// Of bindings from then on (R38).
  private static let platformFamilies = ["ALTER TABLE bindings ADD COLUMN platform_family BIGINT"]

  /// Of an event; a query must say it as the index does.
  static let isArchiving = "kind = '\(ArchivedEvents.eventKind)'::BYTEA"

  private static func secretColumns(_ name: String) -> String {
    SecretRecord.columns.map { "\(name)_\($0.name) \($0.type)" }.joined(separator: ",\n      ")
  }
}
