"""A clock that was ahead: what is issued afterwards serves, or the service says that it does not, and how to mend it."""

import contextlib
import sqlite3
import time
import uuid

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.caller import new_caller, new_profile_id, passcode, primary_login, seconds_from_now
from support.clocks import SettableClock
from support.phone import Phone
from support.server import run
from support.stores import databases, of_sqlite
from support.stubs import administration_pb2, evaluation_pb2, secrets_pb2

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


def mark(data_directory):
    """How far expired records were dropped, in seconds since 1970."""
    with contextlib.closing(sqlite3.connect(f"file:{data_directory / 'touchstone.db'}?mode=ro", uri=True)) as database:
        return database.execute("SELECT swept_before FROM sweep_mark").fetchone()[0] / 1_000_000


def wait_for_mark(data_directory, seconds):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while mark(data_directory) < seconds:
        assert time.monotonic() < deadline
        time.sleep(0.1)


DAYS_AHEAD_SECONDS = 100 * 86_400


@pytest.mark.parametrize("years", [-300_000, 290_000])
def test_a_clock_beyond_all_dates_ends_no_process(start, tmp_path, years):
    clock = SettableClock(tmp_path)
    server = start(environment=clock.environment)
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    clock.set(years * 365 * 86_400)
    with contextlib.suppress(grpc.RpcError):
        caller.begin(phone)
    status(server)
    clock.set(0)
    assert caller.login(phone).outcome == SUCCEEDED


def test_a_clock_that_is_ahead_for_a_minute_archives_nothing(start, tmp_path):
    clock, archive = SettableClock(tmp_path), tmp_path / "archive"
    # The log is looked at every 7 seconds then.
    retention = {"retention": {"events": "60s", "archive": str(archive)}}
    server = start(environment=clock.environment, configuration=retention)
    assert logs_in(server)
    clock.set(DAYS_AHEAD_SECONDS)
    server.next_error(IS_AHEAD)
    # Sweeping goes on by the time that passes: meanwhile the log was looked at twice.
    wait_for_mark(server.data_directory, mark(server.data_directory) + 15)
    assert not list(archive.glob("*.jsonl"))
    caller = new_caller(server)
    assert caller.list_events()[0].sequence == 1
    server.terminate()

    # Nor does the command, which has the same clock and no service beside it.
    location = ("--data-dir", server.data_directory, "--archive", archive)
    archived = run("audit", "archive", *location, "--older-than", "1h", environment=clock.environment)
    assert archived.returncode == 0, archived.stderr
    assert "0 events were archived" in archived.stdout
    assert "seconds ahead of how far services have swept this database, so ages are counted from" in archived.stdout
    assert not list(archive.glob("*.jsonl"))


def test_a_start_whose_clock_is_a_little_ahead_says_so(start, tmp_path):
    """It may have been a restart that took so long; but starts add up."""
    clock = SettableClock(tmp_path)
    server = start(environment=clock.environment)
    wait_for_mark(server.data_directory, 1)
    server.terminate()
    clock.set(90)
    server = start(environment=clock.environment)
    assert "seconds_ahead=9" in server.next_error("is ahead of the latest sweep by more than restarts commonly take")


def by_passcode(caller, profile, text="2468"):
    phone = Phone()
    return caller.submit(phone, caller.begin(phone, profile_id=profile), secret=passcode(text))


DAYS_AHEAD = 30


@pytest.mark.parametrize("end", ["unlocked", "set anew"])
def test_what_was_set_or_locked_while_the_clock_was_ahead_is_mended(start, tmp_path, end):
    """R15, R32: what OPERATING.md says of a clock that was wrong."""
    clock = SettableClock(tmp_path)
    caller = new_caller(start(environment=clock.environment))
    made, locked = new_profile_id(), new_profile_id()
    caller.set_secret(locked, passcode("2468"))
    clock.set(DAYS_AHEAD * 86_400)
    login = primary_login(authenticated_at=seconds_from_now(DAYS_AHEAD * 86_400))
    assert caller.set_secret(made, passcode("2468"), primary=login).accepted
    for _ in range(5):
        by_passcode(caller, locked, "0001")
    clock.set(0)

    for text in ("2468", "1357"):
        answer = by_passcode(caller, made, text)
        assert answer.outcome == SUCCEEDED
        assert caller.introspect(answer.token).active
        caller.set_secret(made, passcode("1357"))

    denial = caller.begin(Phone(), profile_id=locked).denial
    assert denial.retry_after.ToSeconds() > (DAYS_AHEAD - 1) * 86_400
    if end == "unlocked":
        caller.unlock_secret(locked, secrets_pb2.SECRET_KIND_PASSCODE)
    else:
        assert caller.set_secret(locked, passcode("2468")).accepted
    assert by_passcode(caller, locked).outcome == SUCCEEDED


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
        wait_for_mark(self._data, time.time())
        server.terminate()


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
