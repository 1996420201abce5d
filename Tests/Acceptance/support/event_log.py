"""The audit log, written and altered behind the service's back."""

import contextlib
import hashlib
import sqlite3

from .data_directory import database
from .stores import ON_POSTGRESQL, databases

_SALT, _TIME, _KIND, _CALLER = bytes(16), 1_700_000_000_000_000, b"test.filler", b"filler"

#: Each event after the head, as the service would have written it, and then the head.
_LENGTHEN = """
    CREATE TEMP TABLE chain AS
    WITH RECURSIVE chain (sequence, hash) AS (
        SELECT sequence, hash FROM event_chain
        UNION ALL
        SELECT sequence + 1, sha256({concatenated}) FROM chain
        WHERE sequence < (SELECT sequence + {count} FROM event_chain))
    SELECT * FROM chain WHERE sequence > (SELECT sequence FROM event_chain);
    INSERT INTO events (sequence, hash, salt, time, kind, application_id, profile_id, device_id, binding_id, caller, details)
    SELECT sequence, hash, {salt}, {time}, {kind}, {empty}, {empty}, {empty}, {empty}, {caller}, {nothing} FROM chain;
    UPDATE event_chain SET sequence = (SELECT max(sequence) FROM chain),
        hash = (SELECT hash FROM chain ORDER BY sequence DESC LIMIT 1);
"""


def lengthen(server, count):
    """By so many events; the service must not run."""
    digest = _digest().hex()
    if ON_POSTGRESQL:
        sql = _LENGTHEN.format(
            count=count,
            concatenated=f"hash || int8send(sequence + 1) || '\\x{digest}'::BYTEA",
            salt=f"'\\x{_SALT.hex()}'::BYTEA",
            time=_TIME,
            kind=f"'{_KIND.decode()}'::BYTEA",
            caller=f"'{_CALLER.decode()}'::BYTEA",
            empty="''::BYTEA",
            nothing="''::BYTEA",
        )
        databases().execute(sql, server.store)
        return
    sql = _LENGTHEN.format(
        count=count,
        concatenated=f"concatenated(hash, sequence + 1, x'{digest}')",
        salt=f"x'{_SALT.hex()}'",
        time=_TIME,
        kind=f"'{_KIND.decode()}'",
        caller=f"'{_CALLER.decode()}'",
        empty="''",
        nothing="x''",
    )
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection:
        connection.create_function("sha256", 1, lambda content: hashlib.sha256(content).digest())
        connection.create_function("concatenated", 3, lambda hash, number, digest: hash + number.to_bytes(8) + digest)
        connection.executescript(f"BEGIN; {sql} COMMIT")


def alter(server, sql):
    """By who may write to the database."""
    if ON_POSTGRESQL:
        databases().execute(sql, server.store)
        return
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection:
        connection.executescript(f"BEGIN; {sql}; COMMIT")
        assert connection.total_changes > 0


def _digest():
    """Of a content: each field with its length in front."""
    fields = (_KIND, b"", b"", b"", b"", _CALLER)
    content = _SALT + _TIME.to_bytes(8) + b"".join(len(field).to_bytes(4) + field for field in fields) + bytes(4)
    return hashlib.sha256(content).digest()
