"""`touchstone audit verify`: whoever alters the log behind the service's back is found out, at the event (R41)."""

import contextlib
import sqlite3

import pytest

from support.caller import new_caller
from support.data_directory import contents, database
from support.event_log import alter
from support.phone import Phone
from support.server import run
from support.stores import ON_POSTGRESQL

CORRUPT = 65

#: That accounts are signed, a binding and three logins.
EVENT_COUNT = 5

#: Some of what somebody with the disk may do, and the number of the first event that is not as it was written.
#: SQLiteAuditLogTests and PostgresAuditLogTests have more.
TAMPERING = {
    "altered profile": ("UPDATE events SET profile_id = 'somebody else' WHERE sequence = 3", 3),
    "dropped in the middle": ("DELETE FROM events WHERE sequence = 3", 3),
    "closed up": (
        "DELETE FROM events WHERE sequence = 3; UPDATE events SET sequence = sequence - 1 WHERE sequence > 3",
        3,
    ),
}


@pytest.fixture
def used_server(start):
    server = start()
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    for _ in range(EVENT_COUNT - 2):
        caller.login(phone)
    return server


def assert_whole(server, head):
    """`head`: the last event's hash."""
    verified = server.verify_audit()
    assert (verified.returncode, verified.stderr) == (0, "")
    assert verified.stdout.startswith(f"{EVENT_COUNT} events")
    assert head.hex() in verified.stdout


def test_an_untouched_log_is_whole_beside_the_running_service_and_after_it(used_server):
    events = new_caller(used_server, "shop").events()
    assert [event.sequence for event in events] == list(range(2, EVENT_COUNT + 1))
    assert_whole(used_server, events[-1].hash)

    used_server.terminate()
    before = contents(used_server.data_directory)
    assert_whole(used_server, events[-1].hash)
    assert contents(used_server.data_directory) == before


def test_what_a_killed_service_left_is_whole(used_server):
    head = new_caller(used_server, "shop").events()[-1].hash
    used_server.kill()
    assert_whole(used_server, head)


@pytest.mark.parametrize(("sql", "sequence"), TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_found_at_the_event(used_server, sql, sequence):
    # PostgreSQL's log has them by when it is read.
    assert len(new_caller(used_server, "shop").events()) == EVENT_COUNT - 1
    used_server.terminate()
    alter(used_server, sql)
    verified = used_server.verify_audit()
    assert verified.returncode == CORRUPT
    assert verified.stdout == ""
    assert f"event {sequence} " in verified.stderr


@pytest.mark.skipif(ON_POSTGRESQL, reason="an index is exchanged in the file")
def test_an_index_that_is_not_as_its_events_is_found(used_server):
    """The chain of hashes is whole."""
    index = "archivings"
    used_server.terminate()
    with contextlib.closing(sqlite3.connect(database(used_server.data_directory), isolation_level=None)) as connection:
        (whole,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (index,)).fetchone()
        # No event is one, so one is in it that does not belong there.
        other = whole.replace("WHERE kind", "WHERE sequence = 3 OR kind")
        connection.execute(f"DROP INDEX {index}")
        connection.execute(other)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (whole, index))
    verified = used_server.verify_audit()
    assert (verified.returncode, verified.stdout) == (CORRUPT, "")
    assert index in verified.stderr


def test_a_directory_that_is_not_there(tmp_path):
    verified = run("audit", "verify", "--data-dir", tmp_path / "nowhere")
    assert verified.returncode != 0
    assert str(tmp_path / "nowhere") in verified.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_a_log(tmp_path):
    assert run("audit", "verify", "--data-dir", tmp_path).returncode != 0
    assert list(tmp_path.iterdir()) == []
