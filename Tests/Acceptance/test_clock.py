"""A clock that was ahead: what is issued afterwards serves, or the service says that it does not, and how to mend it."""

import contextlib
import sqlite3
import time
import uuid

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.caller import new_caller
from support.clocks import SettableClock
from support.phone import Phone
from support.server import run
from support.stores import databases, of_sqlite
from support.stubs import administration_pb2, evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

AHEAD_SECONDS = 10 * 3600
#: A sweep comes every five seconds; this long only where the machine is very busy.
PATIENCE_SECONDS = 60

IS_AHEAD = "clock is ahead of the time that has passed since the latest sweep"
IS_RIGHT_AGAIN = "expired records are dropped by this machine's clock again"
IS_BEHIND = "clock is behind the time up to which expired records were dropped"

pytestmark = of_sqlite


def status(server):
    request = health_pb2.HealthCheckRequest()
    return health_pb2_grpc.HealthStub(server.channel()).Check(request, timeout=20).status


def logs_in(server):
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    return caller.login(phone).outcome == SUCCEEDED


def event_of_clock(caller):
    """Waits for it: the log line comes first."""
    watch = caller.administration.WatchEvents(administration_pb2.WatchEventsRequest(), timeout=PATIENCE_SECONDS)
    event = next(answer.event for answer in watch if answer.event.kind == "clock.behind")
    watch.cancel()
    return event


def test_a_clock_that_is_ahead_for_seconds_voids_nothing(start, tmp_path):
    clock = SettableClock(tmp_path)
    server = start(environment=clock.environment)
    assert logs_in(server)
    clock.set(AHEAD_SECONDS)
    assert "set it by NTP" in server.next_error(IS_AHEAD)
    # Serving on: what is issued now lives by the same clock.
    assert status(server) == SERVING
    clock.set(0)
    server.next_error(IS_RIGHT_AGAIN)
    assert status(server) == SERVING
    assert logs_in(server)
    assert IS_BEHIND not in server.errors


class OnSQLite:
    """Begun on a clock that is ahead, which nothing can tell from a right one."""

    def __init__(self, tmp_path):
        self.store = None
        self._clock = SettableClock(tmp_path)
        self._data = tmp_path / "data"
        self.location = ("--data-dir", self._data)

    def spoil(self, start):
        self._clock.set(AHEAD_SECONDS)
        server = start(environment=self._clock.environment)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._mark() < time.time():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        server.terminate()

    def _mark(self):
        with contextlib.closing(sqlite3.connect(f"file:{self._data / 'touchstone.db'}?mode=ro", uri=True)) as database:
            return database.execute("SELECT swept_before FROM sweep_mark").fetchone()[0] / 1_000_000


class OnPostgreSQL:
    """The server's clock was ahead, and with it each process's."""

    def __init__(self, _tmp_path):
        self.store = databases().create_database(f"clock_{uuid.uuid4().hex}")
        assert run("migrate", "--store", self.store).returncode == 0
        self.location = ("--store", self.store)

    def spoil(self, start):
        start(store=self.store).terminate()
        mark = int((time.time() + AHEAD_SECONDS) * 1_000_000)
        databases().execute(f"UPDATE sweep_mark SET swept_before = {mark}", self.store)


@pytest.fixture(params=[OnSQLite, OnPostgreSQL], ids=["sqlite", "postgresql"])
def place(request, tmp_path):
    return request.param(tmp_path)


def test_a_clock_behind_the_mark_is_told_and_mended_by_a_new_line_of_history(place, start):
    place.spoil(start)
    server = start(store=place.store)
    assert status(server) == NOT_SERVING
    line = server.next_error(IS_BEHIND)
    assert "set it by NTP" in line
    assert "`touchstone restored`" in line
    caller = new_caller(server)
    event = event_of_clock(caller)
    assert abs(int(event.details["outage_until"]) - time.time() - AHEAD_SECONDS) < 10 * PATIENCE_SECONDS
    assert "`touchstone restored`" in event.details["remedy"]
    # It is so: what is issued is void.
    assert not logs_in_where_void(server)
    server.terminate()

    restored = run("restored", *place.location)
    assert restored.returncode == 0, restored.stderr
    server = start(store=place.store)
    assert status(server) == SERVING
    assert logs_in(server)
    assert IS_BEHIND not in server.errors


def logs_in_where_void(server):
    caller, phone = new_caller(server), Phone()
    try:
        caller.bind(phone)
    except Exception:  # noqa: BLE001  The ticket is void, however that is said.
        return False
    return caller.login(phone).outcome == SUCCEEDED


def test_a_backup_that_is_restored_has_no_mark_of_a_wrong_clock(start, tmp_path):
    OnSQLite(tmp_path).spoil(start)
    backup, restored = tmp_path / "backup.db", tmp_path / "restored"
    made = run("backup", "--data-dir", tmp_path / "data", "--to", backup)
    assert made.returncode == 0, made.stderr
    (tmp_path / "data" / "keys").rename(tmp_path / "keys")
    restored.mkdir(mode=0o700)
    (tmp_path / "keys").rename(restored / "keys")
    put_back = run("restore", "--from", backup, "--data-dir", restored)
    assert put_back.returncode == 0, put_back.stderr
    server = start("restored")
    assert status(server) == SERVING
    assert logs_in(server)
