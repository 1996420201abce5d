"""An audit log that was altered (R41): a start refuses it; of a long one a start looks at the latest part, and the rest is read
beside the service, which says what it finds and goes on."""

import pytest

from support.caller import new_caller
from support.data_directory import contents
from support.event_log import alter, lengthen
from support.phone import Phone
from support.server import run
from support.stubs import administration_pb2

CORRUPT = 65
#: That accounts are signed, a binding and three logins.
EVENT_COUNT = 5
#: More than a start looks at.
MANY = 50_100

#: And what is said of it.
TAMPERING = {
    "first altered": ("UPDATE events SET caller = 'mallory' WHERE sequence = 1", "event 1 was altered"),
    "dropped in the middle": ("DELETE FROM events WHERE sequence = 3", "event 3 is missing"),
    "last dropped": ("DELETE FROM events WHERE sequence = 5", "event 5 is missing"),
}


@pytest.fixture
def used_server(start):
    """Stopped."""
    server = start()
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    for _ in range(EVENT_COUNT - 2):
        caller.login(phone)
    # PostgreSQL's log has them by when it is read.
    assert len(caller.events()) == EVENT_COUNT - 1
    server.terminate()
    return server


def refused_start(server):
    """Exit code and stderr."""
    store = ("--store", server.store) if server.store else ()
    ended = run("serve", "--data-dir", server.data_directory, *store, "--listen", "127.0.0.1:0")
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(("sql", "finding"), TAMPERING.values(), ids=TAMPERING)
def test_a_start_refuses_it_and_changes_nothing(used_server, sql, finding):
    alter(used_server, sql)
    before = contents(used_server.data_directory)
    status, errors = refused_start(used_server)
    assert status == CORRUPT
    assert finding in errors and "restore it from a backup" in errors
    assert contents(used_server.data_directory) == before


def test_a_long_one_is_refused_where_its_latest_part_was_altered(used_server):
    lengthen(used_server, MANY)
    alter(used_server, "UPDATE events SET caller = 'mallory' WHERE sequence = 20000")
    status, errors = refused_start(used_server)
    assert status == CORRUPT
    assert "event 20000 was altered" in errors


def test_a_long_one_that_is_whole_is_served_and_read(used_server, start):
    lengthen(used_server, MANY)
    server = start()
    # A start finds that accounts are signed, though its latest part does not say so, and does not say it again.
    assert f"sequence={EVENT_COUNT + MANY}" in server.next_error("the audit log was read").split()
    assert "not as it was written" not in server.errors


def test_what_was_altered_in_a_long_one_before_its_latest_part_does_not_go_unnoticed(used_server, start):
    lengthen(used_server, MANY)
    alter(used_server, "UPDATE events SET caller = 'mallory' WHERE sequence = 2")
    server = start()
    caller = new_caller(server, "shop")
    # What is asked does not rest on the log.
    phone = Phone()
    caller.bind(phone)
    caller.login(phone)
    assert "event 2 was altered" in server.next_error("the audit log is not as it was written")
    event_filter = administration_pb2.EventFilter(kinds=["log.broken"])
    event = next(caller.administration.WatchEvents(administration_pb2.WatchEventsRequest(filter=event_filter))).event
    assert dict(event.details) == {"finding": "event 2 was altered", "sequence": "2"}
    server.terminate()
    assert "event 2 was altered" in used_server.verify_audit().stderr
