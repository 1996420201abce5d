-- What a build of schema 2.0 (fa93b1b2) made. It never changes: databases of that time have it.
CREATE TABLE touchstone_schema (
  only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
  application TEXT NOT NULL,
  version BIGINT NOT NULL
);
INSERT INTO touchstone_schema VALUES (1, 'touchstone', 2);
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
) WITH (fillfactor = 85);
CREATE INDEX bindings_of_profile ON bindings (application_id, profile_id, binding_id);
CREATE INDEX active_bindings_of_profile ON bindings (application_id, profile_id, binding_id) WHERE NOT is_revoked;
CREATE UNIQUE INDEX active_binding_of_device ON bindings (application_id, device_id) WHERE NOT is_revoked;
CREATE UNIQUE INDEX active_profile_touch_id ON bindings (application_id, profile_touch_id)
WHERE NOT is_revoked AND profile_touch_id IS NOT NULL;
CREATE TABLE app_attest_receipts (
  binding_id BYTEA PRIMARY KEY,
  receipt BYTEA NOT NULL
);
CREATE TABLE devices (
  device_id BYTEA PRIMARY KEY,
  failures BIGINT NOT NULL,
  is_locked_out BOOLEAN NOT NULL,
  lock_count BIGINT NOT NULL,
  version BIGINT NOT NULL
) WITH (fillfactor = 85);
CREATE TABLE profiles (
  application_id BYTEA NOT NULL,
  profile_id BYTEA NOT NULL,
  is_biometry_enabled BOOLEAN NOT NULL,
  is_gesture_enabled BOOLEAN NOT NULL,
  is_passcode_enabled BOOLEAN NOT NULL,
  preferred BIGINT,
  settings_updated_at BIGINT,
  passcode_verifier BYTEA,
      passcode_set_at BIGINT,
      passcode_is_set BOOLEAN,
      passcode_failures BIGINT,
      passcode_locked_until BIGINT,
      passcode_is_locked_until_set_anew BOOLEAN,
      passcode_in_flight BIGINT,
      passcode_in_flight_until BIGINT,
      passcode_generation BIGINT,
  gesture_verifier BYTEA,
      gesture_set_at BIGINT,
      gesture_is_set BOOLEAN,
      gesture_failures BIGINT,
      gesture_locked_until BIGINT,
      gesture_is_locked_until_set_anew BOOLEAN,
      gesture_in_flight BIGINT,
      gesture_in_flight_until BIGINT,
      gesture_generation BIGINT,
  incarnation BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (application_id, profile_id)
) WITH (fillfactor = 85);
CREATE TABLE evaluations (
  spread SMALLINT NOT NULL,
  expires_at BIGINT NOT NULL,
  id BYTEA NOT NULL,
  failures BIGINT NOT NULL,
  device_owner_failures BIGINT NOT NULL,
  is_finished BOOLEAN NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (spread, expires_at, id)
);
CREATE TABLE tokens (
  spread SMALLINT NOT NULL,
  expires_at BIGINT NOT NULL,
  id BYTEA NOT NULL,
  state BIGINT NOT NULL,
  approved_transaction BYTEA NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (spread, expires_at, id)
);
CREATE TABLE used_tickets (
  spread SMALLINT NOT NULL,
  expires_at BIGINT NOT NULL,
  id BYTEA NOT NULL,
  PRIMARY KEY (spread, expires_at, id)
);
CREATE TABLE commit_marks (
  spread SMALLINT NOT NULL,
  expires_at BIGINT NOT NULL,
  id BYTEA NOT NULL,
  is_committed BOOLEAN NOT NULL,
  PRIMARY KEY (spread, expires_at, id)
);
CREATE TABLE unsealed_events (
  id BYTEA PRIMARY KEY,
  appended_at TIMESTAMPTZ NOT NULL,
  place BIGINT NOT NULL,
  events BYTEA NOT NULL
);
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
);
CREATE INDEX events_of_profile ON events (application_id, profile_id, sequence);
CREATE INDEX archivings ON events (sequence) WHERE kind = 'events.archived'::BYTEA;
CREATE TABLE event_chain (only_row BIGINT PRIMARY KEY, sequence BIGINT NOT NULL, hash BYTEA NOT NULL);
INSERT INTO event_chain VALUES (1, 0, decode('0000000000000000000000000000000000000000000000000000000000000000', 'hex'));
CREATE TABLE sweep_mark (only_row BIGINT PRIMARY KEY, swept_before BIGINT NOT NULL);
INSERT INTO sweep_mark VALUES (1, 0);
CREATE TABLE key_check (only_row BIGINT PRIMARY KEY, value BYTEA NOT NULL);
CREATE TABLE event_archive (
  only_row BIGINT PRIMARY KEY,
  sequence BIGINT NOT NULL,
  hash BYTEA NOT NULL,
  claimant BYTEA,
  claimed_until TIMESTAMPTZ
);
INSERT INTO event_archive VALUES (1, 0, decode('0000000000000000000000000000000000000000000000000000000000000000', 'hex'), NULL, NULL);
CREATE TABLE lineage (only_row BIGINT PRIMARY KEY, number BIGINT NOT NULL);
INSERT INTO lineage VALUES (1, floor(random() * 4294967296)::BIGINT);
