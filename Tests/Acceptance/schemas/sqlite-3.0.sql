-- What a build of schema 3.0 (fa93b1b2) made. It never changes: databases of that time have it.
PRAGMA page_size = 1024; PRAGMA auto_vacuum = NONE;
PRAGMA application_id = 1415800947;
PRAGMA user_version = 3;
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
  passcode_verifier BLOB,
      passcode_set_at INTEGER,
      passcode_is_set INTEGER,
      passcode_failures INTEGER,
      passcode_locked_until INTEGER,
      passcode_is_locked_until_set_anew INTEGER,
      passcode_in_flight INTEGER,
      passcode_in_flight_until INTEGER,
      passcode_generation INTEGER,
  gesture_verifier BLOB,
      gesture_set_at INTEGER,
      gesture_is_set INTEGER,
      gesture_failures INTEGER,
      gesture_locked_until INTEGER,
      gesture_is_locked_until_set_anew INTEGER,
      gesture_in_flight INTEGER,
      gesture_in_flight_until INTEGER,
      gesture_generation INTEGER,
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
CREATE TABLE event_blocks (
  block INTEGER PRIMARY KEY,
  names BLOB NOT NULL
) STRICT;
CREATE INDEX archivings ON events (sequence) WHERE kind = 'events.archived';
CREATE TABLE sweep_mark (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  swept_before INTEGER NOT NULL
) STRICT;
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
CREATE TABLE event_archive (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  sequence INTEGER NOT NULL,
  hash BLOB NOT NULL
) STRICT;
CREATE TABLE lineage (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  number INTEGER NOT NULL
) STRICT;
CREATE TABLE key_check (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  value BLOB NOT NULL
) STRICT;
INSERT INTO sweep_mark VALUES (1, 0);
INSERT INTO event_chain VALUES (1, 0, zeroblob(32));
INSERT INTO event_archive VALUES (1, 0, zeroblob(32));
INSERT INTO lineage VALUES (1, 4711);
PRAGMA journal_mode = WAL;
