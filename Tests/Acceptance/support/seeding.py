"""Writes profiles, bindings, expired rows and old events straight into a store that nobody has open, many thousands a
second.

Each profile has two bindings, each on a device of its own; every fourth has a passcode. The bindings' keys are those of
`touchstone-load --seeded`, so that it can log in as any of them.
"""

import contextlib
import hashlib
import sqlite3
import subprocess
import sys
import time

from .load import LOAD

#: As touchstone-load's phones are.
APPLICATION = "touchstone-load"
FACE_ID, BIOMETRY_CURRENT_SET, IOS = 3, 1, 1
DOMAIN_STATE, OS = bytes([0x5A]) * 32, (17, 4, 0)
MODEL = b"iPhone15,2"
#: As of phones that log in daily. A login within an hour would write no posture (`SeenPosture`).
LAST_USE_SECONDS = 86_400

BINDINGS_PER_PROFILE = 2
PROFILES_PER_PASSCODE = 4
#: As long as an Argon2id hash with its parameters.
VERIFIER = bytes([0xA2]) * 97
MASK = (1 << 64) - 1


def mixed(number):
    """SplitMix64's next number after a state, as touchstone-load has it: no two states give the same."""
    bits = (number + 0x9E3779B97F4A7C15) & MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    return bits ^ (bits >> 31)


def profile_id(number):
    return f"profile{mixed(number):016x}"


def device_id(binding):
    return f"device{mixed(binding):016x}"


def binding_id(number):
    return f"seeded{mixed(number):016x}"


def posture(seen_at):
    """`SeenPosture.encoded`: with all flags except for a lockout."""
    numbers = b"".join(number.to_bytes(4, "big") for number in OS)
    return bytes([1, 1 | 2 | 4 | 16, IOS, FACE_ID]) + numbers + seen_at.to_bytes(8, "big") + MODEL


def bindings(profiles, keys, now):
    """(number, binding, application, profile, device, name, biometry, keys, baseline, OS, platform, created) of each."""
    encoded = [bytes([BIOMETRY_CURRENT_SET, len(key)]) + key for key in keys]
    for number in range(profiles * BINDINGS_PER_PROFILE):
        yield (
            number + 1,
            binding_id(number),
            APPLICATION,
            profile_id(number // BINDINGS_PER_PROFILE),
            device_id(number),
            "A phone",
            FACE_ID,
            encoded[number % len(keys)],
            DOMAIN_STATE,
            OS[0],
            IOS,
            now,
        )


def passcode(number, now):
    """The nine columns of a secret, or of none."""
    if number % PROFILES_PER_PASSCODE:
        return (None,) * 9
    return (VERIFIER, now, True, 0, None, False, 0, 0, 0)


def keys():
    """The public ones, of `touchstone-load --seeded`."""
    listing = subprocess.run([LOAD, "--print-seeded-keys"], stdout=subprocess.PIPE, text=True, check=True)
    return [bytes.fromhex(line) for line in listing.stdout.split()]


def now_microseconds():
    return int(time.time() * 1e6)


def expired_keys(count, now):
    """(expiry, id): past since a minute to an hour."""
    for number in range(count):
        yield now - 60_000_000 - mixed(number) % 3_540_000_000, mixed(number).to_bytes(8, "big") * 2


#: As a login leaves.
EVENT_KIND, EVENT_CALLER = "evaluation.succeeded", "local"
EVENT_DETAILS = sorted([("policy", "login"), ("factor", "biometry"), ("attempt", "1")])


def chained(count, profiles, age_seconds, head):
    """The rows of so many events behind the head, which happened so long ago, one each microsecond: of random profiles, as
    `EventChain` numbers and hashes them."""
    sequence, link = head
    time_of = now_microseconds() - int(age_seconds * 1e6) - count
    encoded = b"".join(prefixed(text) for pair in EVENT_DETAILS for text in pair)
    end = prefixed(EVENT_CALLER) + len(EVENT_DETAILS).to_bytes(4, "big") + encoded
    for number in range(count):
        sequence += 1
        binding = mixed(sequence) % (profiles * BINDINGS_PER_PROFILE)
        salt = mixed(binding ^ sequence).to_bytes(8, "big") + sequence.to_bytes(8, "big")
        texts = [
            EVENT_KIND,
            APPLICATION,
            profile_id(binding // BINDINGS_PER_PROFILE),
            device_id(binding),
            binding_id(binding),
        ]
        content = salt + (time_of + number).to_bytes(8, "big") + b"".join(map(prefixed, texts)) + end
        link = hashlib.sha256(link + sequence.to_bytes(8, "big") + hashlib.sha256(content).digest()).digest()
        yield (sequence, link, None, salt, time_of + number, *texts, EVENT_CALLER, encoded)


def prefixed(text):
    return len(text).to_bytes(4, "big") + text.encode()


# SQLite


def connect(path):
    connection = sqlite3.connect(path, isolation_level=None)
    # Whoever loses power seeds anew.
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA wal_autocheckpoint = 0")
    return connection


def seed_sqlite(path, profiles, keys):
    now = now_microseconds()
    last_use = now - LAST_USE_SECONDS * 1_000_000
    with contextlib.closing(connect(path)) as connection:
        connection.execute("BEGIN")
        # Without the event log.signed of the first start: it is younger than those that are seeded behind it,
        # and nothing behind a young event is archived.
        connection.execute("DELETE FROM events")
        connection.execute("UPDATE event_chain SET sequence = 0, hash = zeroblob(32)")
        connection.executemany(
            """INSERT INTO bindings (number, binding_id, application_id, profile_id, device_id, device_name, biometry_type,
            hardware_keys, is_revoked, baseline, baseline_os_major, platform_family, device_lock_count, created_at, version)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, 0, ?, 1)""",
            bindings(profiles, keys, now),
        )
        connection.execute("INSERT INTO binding_uses SELECT number, ?, 0 FROM bindings", (last_use,))
        connection.execute("INSERT INTO binding_postures SELECT number, ? FROM bindings", (posture(last_use),))
        connection.execute(
            "INSERT INTO devices SELECT device_id, 0, 0, 0, 1 FROM bindings"
        )
        connection.executemany(
            f"INSERT INTO profiles VALUES (?, ?, 1, 1, 1, NULL, NULL, {', '.join('?' * 9)}, {', '.join(['NULL'] * 9)}, ?, 1)",
            ((APPLICATION, profile_id(number), *passcode(number, now), now) for number in range(profiles)),
        )
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def log_sqlite(path, count, profiles, age_seconds):
    """So many events, behind those that there are."""
    with contextlib.closing(connect(path)) as connection:
        connection.execute("BEGIN")
        head = connection.execute("SELECT sequence, hash FROM event_chain").fetchone()
        connection.executemany(
            f"INSERT INTO events VALUES ({', '.join('?' * 12)})", chained(count, profiles, age_seconds, head)
        )
        connection.execute(
            """UPDATE event_chain SET (sequence, hash) = (
            SELECT sequence, hash FROM events ORDER BY sequence DESC LIMIT 1)"""
        )
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def expire_sqlite(path, count):
    """So many rows that a sweep removes: evaluations, tokens, used tickets."""
    now = now_microseconds()
    with contextlib.closing(connect(path)) as connection:
        connection.execute("BEGIN")
        keys = expired_keys(count, now)
        connection.executemany(
            "INSERT INTO evaluations VALUES (?, ?, 0, 0, 1, 1)", (key for _, key in zip(range(count // 2), keys))
        )
        connection.executemany(
            "INSERT INTO tokens VALUES (?, ?, 1, x'', 1)", (key for _, key in zip(range(count // 4), keys))
        )
        connection.executemany("INSERT INTO used_tickets VALUES (?, ?)", keys)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def rows_sqlite(path):
    """That a sweep has left."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        before = now_microseconds() - 60_000_000
        return sum(
            connection.execute(f"SELECT count(*) FROM {table} WHERE expires_at < ?", (before,)).fetchone()[0]
            for table in ("evaluations", "tokens", "used_tickets")
        )


# PostgreSQL


def seed_postgresql(uri, profiles, keys):
    now = now_microseconds()
    last_use = now - LAST_USE_SECONDS * 1_000_000
    used = (last_use, posture(last_use))
    copy(
        uri,
        """bindings (binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys,
        baseline, baseline_os_major, platform_family, created_at, last_used_at, posture, device_lock_count, is_revoked,
        version)""",
        ((*row[1:], *used, 0, False, 1) for row in bindings(profiles, keys, now)),
    )
    copy(
        uri,
        "devices (device_id, failures, is_locked_out, lock_count, version)",
        ((device_id(number), 0, False, 0, 1) for number in range(profiles * BINDINGS_PER_PROFILE)),
    )
    names = "verifier set_at is_set failures locked_until is_locked_until_set_anew in_flight in_flight_until generation"
    copy(
        uri,
        f"""profiles (application_id, profile_id, is_biometry_enabled, is_gesture_enabled, is_passcode_enabled,
        {", ".join(f"passcode_{name}" for name in names.split())}, incarnation, version)""",
        ((APPLICATION, profile_id(number), *TRUE * 3, *passcode(number, now), now, 1) for number in range(profiles)),
    )
    execute(uri, "VACUUM ANALYZE")


def log_postgresql(uri, count, profiles, age_seconds):
    """So many events, behind those that there are."""
    head = execute(uri, "SELECT sequence, encode(hash, 'hex') FROM event_chain").split("|")
    head = int(head[0]), bytes.fromhex(head[1])
    copy(uri, "events", chained(count, profiles, age_seconds, head))
    execute(
        uri,
        """UPDATE event_chain SET (sequence, hash) = (
        SELECT sequence, hash FROM events ORDER BY sequence DESC LIMIT 1)""",
    )
    execute(uri, "VACUUM ANALYZE events")


def expire_postgresql(uri, count):
    keys = ((mixed(number) % SPREAD, *key) for number, key in enumerate(expired_keys(count, now_microseconds())))
    copy(
        uri,
        "evaluations (spread, expires_at, id, failures, device_owner_failures, is_finished, version)",
        ((*key, 0, 0, True, 1) for _, key in zip(range(count // 2), keys)),
    )
    copy(
        uri,
        "tokens (spread, expires_at, id, state, approved_transaction, version)",
        ((*key, 1, b"", 1) for _, key in zip(range(count // 4), keys)),
    )
    copy(uri, "used_tickets (spread, expires_at, id)", keys)
    execute(uri, "VACUUM ANALYZE evaluations, tokens, used_tickets")


def rows_postgresql(uri):
    """That a sweep has left."""
    before = now_microseconds() - 60_000_000
    counts = (
        f"(SELECT count(*) FROM {table} WHERE expires_at < {before})"
        for table in ("evaluations", "tokens", "used_tickets")
    )
    return int(execute(uri, f"SELECT {' + '.join(counts)}"))


#: The store's `UniqueID.spreadCount`.
SPREAD = 16
TRUE = (True,)


def psql(uri, command):
    return ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1", "-c", command, uri]


def execute(uri, command):
    return subprocess.run(psql(uri, command), check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def copy(uri, columns, rows):
    """https://www.postgresql.org/docs/current/sql-copy.html, the text format."""
    process = subprocess.Popen(psql(uri, f"COPY {columns} FROM STDIN"), stdin=subprocess.PIPE, text=True)
    for row in rows:
        process.stdin.write("\t".join(map(field, row)) + "\n")
    process.stdin.close()
    if process.wait() != 0:
        sys.exit(f"seeding ended with {process.returncode}")


def field(value):
    match value:
        case None:
            return r"\N"
        case bool():
            return "t" if value else "f"
        case bytes():
            return r"\\x" + value.hex()
        case _:
            return str(value)
