"""`retention:` and `touchstone audit archive`, `erase`, `verify --archive`: old events leave the log for files, and all of
it stays one chain that verifies (R41)."""

import contextlib
import json
import re
import sqlite3
import time

import grpc
import pytest

from support.admin import admin
from support.caller import new_caller
from support.console import operators, signed_in
from support.data_directory import database
from support.errors import refused
from support.phone import Phone
from support.server import run
from support.stores import of_sqlite
from support.stubs import administration_pb2

USAGE = 64
CORRUPT, NO_INPUT, UNWRITABLE, LOCKED, CONFIGURATION = 65, 66, 73, 75, 78
PATIENCE_SECONDS = 30
#: The log's last two events always stay, of which one may say that others were archived.
KEPT = 2


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


def use(server, logins=4):
    """A binding and so many logins, by one person; answers the caller."""
    caller, phone = new_caller(server, "shop"), Phone()
    binding = caller.bind(phone)
    for _ in range(logins):
        caller.login(phone)
    return caller, phone, binding


def kept(caller, after=0):
    request = administration_pb2.ListEventsRequest(
        filter=administration_pb2.EventFilter(application_id=caller.application_id), after_sequence=after
    )
    return [event.sequence for event in caller.administration.ListEvents(request).events]


def wait_until_archived(caller, count):
    """Until no more than so many events are kept."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(kept(caller)) > count:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def archive_all(location, archive, *arguments):
    """By hand, as soon as all that happened is old enough."""
    time.sleep(1.1)
    archived = run("audit", "archive", *location, "--older-than", "1s", "--archive", archive, *arguments)
    assert (archived.returncode, archived.stderr) == (0, "")
    return archived.stdout


def verified(location, *arguments):
    ended = run("audit", "verify", *location, *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@of_sqlite
def test_a_service_archives_what_is_older_than_its_setting(start, archive):
    server = start(configuration={"retention": {"events": "1s", "archive": str(archive)}})
    caller, phone, _ = use(server)
    wait_until_archived(caller, KEPT)
    # The phone still logs in, and what it does is logged behind the others.
    caller.login(phone)
    assert kept(caller)[-1] > 5
    location = ("--data-dir", server.data_directory)
    log = verified(location)
    assert "those before were archived" in log
    with_archive = verified(location, "--archive", archive)
    assert "archived events, each as it was written, 0 of them erased" in with_archive
    for file in archive.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600


def test_archiving_that_goes_on_failing_is_said_in_the_log_itself(start, archive):
    server = start(configuration={"retention": {"events": "1s", "archive": str(archive)}})
    archive.rename(archive.with_suffix(".away"))
    archive.write_text("no directory")
    caller, *_ = use(server)
    event_filter = administration_pb2.EventFilter(kinds=["events.not_archived"])
    event = next(caller.administration.WatchEvents(administration_pb2.WatchEventsRequest(filter=event_filter))).event
    assert event.details["reason"] == "unusable"
    assert str(archive) in server.next_error("events that should be archived stay in the log")
    # As soon as it can be made again.
    archive.unlink()
    wait_until_archived(caller, KEPT)


def test_who_follows_the_log_meets_no_gap_in_silence(start, archive):
    server = start(configuration={"retention": {"events": "1s", "archive": str(archive)}})
    caller, phone, _ = use(server)
    wait_until_archived(caller, KEPT)
    # The last of all, so that it stays.
    caller.login(phone)
    first = kept(caller)[0]
    assert first > 2
    assert kept(caller, after=first - 1)[0] == first
    with refused(grpc.StatusCode.OUT_OF_RANGE, reason="EVENTS_ARCHIVED"):
        kept(caller, after=1)
    watch = administration_pb2.WatchEventsRequest(after_sequence=1)
    with refused(grpc.StatusCode.OUT_OF_RANGE, reason="EVENTS_ARCHIVED"):
        next(caller.administration.WatchEvents(watch))


def test_readers_are_told_where_earlier_events_are(start, archive):
    """The API, the console's pages and the terminal: a list that begins late would pass for a whole one."""
    configuration = {"retention": {"events": "1s", "archive": str(archive)}, "operators": operators(anna="read")}
    server = start(configuration=configuration, arguments=["--http", "127.0.0.1:0"], http=1)
    anna = signed_in(server.urls[0], "anna")
    caller, _, binding = use(server)
    hint = "were archived: they are in the archive's files"
    wait_until_archived(caller, KEPT)
    page = caller.administration.ListEvents(administration_pb2.ListEventsRequest(page_size=1))
    assert page.events[0].sequence == page.archived_through + 1 > 1
    for shown in (anna.profile("shop", binding.profile_id), anna.open("/console/events")):
        assert re.search(rf"Events up to \d+ {hint}", shown.text), shown.text
    for arguments in (["profile", "events", "shop", binding.profile_id], ["events", "--last", "1"]):
        listed = admin(server, *arguments)
        assert listed.returncode == 0
        assert re.fullmatch(rf"touchstone: events up to \d+ {hint} .*\n", listed.stderr), listed.stderr


@of_sqlite
def test_by_hand_while_the_service_is_stopped_and_again(start, archive):
    server = start()
    use(server)
    location = ("--data-dir", server.data_directory)
    busy = run("audit", "archive", *location, "--older-than", "1s", "--archive", archive)
    assert busy.returncode == LOCKED
    server.terminate()

    assert "4 events were archived" in archive_all(location, archive)
    assert "0 events were archived" in archive_all(location, archive)
    assert "4 archived events" in verified(location, "--archive", archive)
    assert rows(server.data_directory) == KEPT + 1

    again = start()
    caller, phone, _ = use(again)
    again.terminate()
    assert "6 events were archived" in archive_all(location, archive)
    assert len(list(archive.glob("*.jsonl"))) == 2
    assert "10 archived events" in verified(location, "--archive", archive)


def rows(directory):
    with contextlib.closing(sqlite3.connect(database(directory))) as connection:
        return connection.execute("SELECT count(*) FROM events").fetchone()[0]


@of_sqlite
def test_nobody_alters_or_drops_what_was_archived_unnoticed(start, archive):
    server = start()
    _, _, binding = use(server)
    server.terminate()
    location = ("--data-dir", server.data_directory)
    archive_all(location, archive)
    (file,) = archive.glob("*.jsonl")
    whole = file.read_text()

    file.write_text(whole.replace(binding.profile_id, "somebody else"))
    altered = run("audit", "verify", *location, "--archive", archive)
    assert (altered.returncode, altered.stdout) == (CORRUPT, "")
    assert "event 2 was altered" in altered.stderr

    file.unlink()
    missing = run("audit", "verify", *location, "--archive", archive)
    assert missing.returncode == CORRUPT
    assert "event 1 is missing" in missing.stderr
    # Nor is it archived on as if nothing had happened.
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection:
        connection.executescript("UPDATE event_archive SET hash = zeroblob(32)")
    assert run("audit", "verify", *location).returncode == CORRUPT
    archived = run("audit", "archive", *location, "--older-than", "1s", "--archive", archive)
    assert archived.returncode == CORRUPT
    assert list(archive.glob("*.jsonl")) == []


#: What archiving would have left, but for the event that says so.
CUT = (
    "UPDATE event_archive SET sequence = 6, hash = (SELECT hash FROM events WHERE sequence = 6);"
    "DELETE FROM events WHERE sequence <= 6"
)


def assert_missed(location, archive, *others):
    missing = "events 1 to 6 are missing, and no event says that they were archived"
    ended = run("audit", "verify", *location)
    assert (ended.returncode, ended.stdout) == (CORRUPT, "")
    assert missing in ended.stderr
    archived = ("audit", "archive", *location, "--older-than", "1s", "--archive", archive)
    for command in (archived, *others):
        ended = run(*command)
        assert (ended.returncode, ended.stdout) == (CORRUPT, "")
        assert "no event says" in ended.stderr
    assert list(archive.glob("*.jsonl")) == []


@of_sqlite
def test_a_beginning_that_nobody_archived_is_missed_by_every_command(start, tmp_path, archive):
    server = start()
    use(server, logins=9)
    server.terminate()
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as connection:
        connection.executescript(CUT)
    data = server.data_directory
    assert_missed(
        ("--data-dir", data),
        archive,
        ("backup", "--data-dir", data, "--to", tmp_path / "copy"),
        ("serve", "--data-dir", data, "--listen", "127.0.0.1:0"),
    )


def test_a_beginning_that_nobody_archived_is_missed_on_postgresql(start, postgres, tmp_path, archive):
    uri = postgres.create_database()
    keys = tmp_path / "keys"
    assert run("migrate", "--store", uri).returncode == 0
    assert run("keys", "new", keys).returncode == 0
    server = start(configuration={"store": uri, "keys": str(keys)}, store="")
    caller, _, _ = use(server, logins=9)
    # Whoever reads the log seals first what was not yet.
    assert kept(caller)
    server.terminate()
    postgres.execute(CUT, uri)
    location = ("--store", uri)
    assert_missed(location, archive, ("serve", *location, "--keys", keys, "--listen", "127.0.0.1:0"))


@of_sqlite
def test_erasing_reaches_the_archive_by_a_command_of_its_own(start, archive):
    server = start()
    caller, _, binding = use(server)
    _, _, other = use(server)
    server.terminate()
    location = ("--data-dir", server.data_directory)
    archive_all(location, archive)
    (file,) = archive.glob("*.jsonl")
    assert binding.profile_id in file.read_text()

    server = start()
    caller = new_caller(server, "shop")
    # Who erases learns that there is something to be done by this command, too.
    assert caller.erase_profile(binding.profile_id).archived_through == 9
    # A list of processes has no profile.
    erase = ("audit", "erase", "--archive", archive, "--application", "shop", "--profile", "-")
    for nothing in ("", "\n", "one\ntwo\n"):
        refused_input = run(*erase, stdin=nothing)
        assert (refused_input.returncode, refused_input.stdout) == (USAGE, "")
        assert "stdin" in refused_input.stderr
    erased = run(*erase, stdin=f"{binding.profile_id}\n")
    assert (erased.returncode, erased.stderr) == (0, "")
    assert erased.stdout.startswith("5 events erased, in 1 file\nNOT SIGNED: ")
    again = run("audit", "erase", "--archive", archive, "--application", "shop", "--profile", binding.profile_id)
    assert (again.returncode, again.stdout) == (0, "0 events erased, in 0 files\n")
    assert binding.profile_id not in file.read_text()
    assert other.profile_id in file.read_text()
    sentence = "9 archived events, each as it was written, 5 of them erased, 5 of these in the archive"
    without = verified(location, "--archive", archive)
    assert sentence in without
    assert "NOT CHECKED: 5 events lost content in the archive without a signature" in without

    keys, public = server.data_directory / "keys", archive.with_name("audit-keys.pem")
    public.write_text(run("keys", "public", keys).stdout)
    by_keys = (*location, "--archive", archive, "--audit-keys", public)
    unsigned = run("audit", "verify", *by_keys)
    assert unsigned.returncode == CORRUPT
    assert "lost its content in the archive, and no audit key signed that" in unsigned.stderr
    assert "--sign-earlier" in unsigned.stderr
    vouched = run("audit", "erase", "--archive", archive, "--sign-earlier", "--keys", keys)
    assert (vouched.returncode, vouched.stdout, vouched.stderr) == (0, "5 events signed, in 1 file\n", "")
    assert sentence in verified(by_keys)
    # With the key, there is nothing to do afterwards.
    erase = ("audit", "erase", "--archive", archive, "--application", "shop", "--profile", other.profile_id)
    signed = run(*erase, "--keys", keys)
    assert (signed.returncode, signed.stdout, signed.stderr) == (0, "3 events erased, in 1 file\n", "")
    assert "8 of these in the archive" in verified(by_keys)


def test_the_services_configuration_says_where_the_log_and_the_keys_are(start, tmp_path, archive):
    keys, file = tmp_path / "keys-elsewhere", tmp_path / "touchstone.yaml"
    assert run("keys", "new", keys).returncode == 0
    server = start(configuration={"keys": str(keys)})
    use(server)
    server.terminate()
    settings = {"data_dir": str(server.data_directory), "keys": str(keys)}
    file.write_text(json.dumps(settings | ({"store": server.store} if server.store else {})))
    location = ("--config", file)
    # Without the keys, a log with signed accounts is not archived.
    assert "4 events were archived" in archive_all(location, archive)
    assert "4 archived events" in verified(location, "--archive", archive)
    assert run("restored", *location).returncode == 0
    # Flags take precedence.
    nowhere = run("audit", "archive", *location, "--data-dir", archive, "--older-than", "1s", "--archive", archive)
    assert (nowhere.returncode, str(archive) in nowhere.stderr) == (NO_INPUT, True)
    assert run("audit", "verify").returncode == USAGE


def test_what_is_wrong_is_said_in_a_line_and_nothing_is_made(start, tmp_path, archive):
    nowhere = tmp_path / "nowhere"
    none = run("audit", "archive", "--data-dir", nowhere, "--older-than", "1d", "--archive", archive)
    assert none.returncode == NO_INPUT
    assert str(nowhere) in none.stderr
    assert not archive.exists() and not nowhere.exists()
    erase = run("audit", "erase", "--archive", nowhere, "--application", "shop", "--profile", "alice")
    assert erase.returncode == UNWRITABLE
    assert not nowhere.exists()

    configuration = tmp_path / "bad.yaml"
    configuration.write_text("retention: {events: soon}\n")
    checked = run("check-config", configuration)
    assert checked.returncode == CONFIGURATION
    assert "retention needs archive" in checked.stderr
    assert "retention.events must be an age" in checked.stderr

    configuration.write_text(f"retention: {{events: 1d, archive: {nowhere}/a/b}}\n")
    refused_start = run("serve", "--config", configuration, "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0")
    assert refused_start.returncode == UNWRITABLE
    assert str(nowhere) in refused_start.stderr


def test_on_postgresql_replicas_archive_one_at_a_time_and_beside_the_command(start, postgres, tmp_path, archive):
    uri = postgres.create_database()
    keys = tmp_path / "keys"
    assert run("migrate", "--store", uri).returncode == 0
    assert run("keys", "new", keys).returncode == 0
    configuration = {"store": uri, "keys": str(keys), "retention": {"events": "1s", "archive": str(archive)}}
    servers = [start(name, configuration=configuration, store="") for name in ("a", "b")]
    callers = [new_caller(server, "shop") for server in servers]
    for _ in range(3):
        for server in servers:
            use(server)
    for caller in callers:
        wait_until_archived(caller, KEPT)
        with refused(grpc.StatusCode.OUT_OF_RANGE, reason="EVENTS_ARCHIVED"):
            kept(caller, after=1)
    location = ("--store", uri)
    assert "archived events, each as it was written, 0 of them erased" in verified(location, "--archive", archive)
    for server in servers:
        server.terminate()
    assert "events were archived" in archive_all(location, archive, "--keys", keys)
    assert int(postgres.execute("SELECT count(*) FROM events", uri)[0]) <= KEPT + 1
