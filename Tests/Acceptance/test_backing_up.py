"""`backup:`: the running service backs itself up, keeps the last backups, and goes on serving where that fails."""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from support.caller import new_caller
from support.data_directory import database
from support.phone import Phone
from support.server import run
from support.stores import of_sqlite
from support.stubs import administration_pb2, evaluation_pb2

pytestmark = of_sqlite

CONFIGURATION = 78
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
MADE = "a backup was made"
#: A backup by hand.
MINE = "touchstone-20260101T000000Z.db"


@pytest.fixture
def backups(tmp_path):
    return tmp_path / "backups"


@pytest.fixture
def serve(start, backups):
    """A service that backs itself up."""

    def serve(every="1s", **settings):
        configuration = {"backup": {"every": every, "to": str(backups), **settings}}
        return start(configuration=configuration, arguments=["--http", "127.0.0.1:0"], http=1)

    return serve


def figure(server, name):
    """A family's number; None if it is absent."""
    with urllib.request.urlopen(f"{server.urls[0]}/metrics", timeout=30) as answer:
        found = re.search(rf"(?m)^{name} (\S+)$", answer.read().decode())
    return found and float(found[1])


def event_of(server, kind):
    """The first one, also if it is still to come."""
    event_filter = administration_pb2.EventFilter(kinds=[kind])
    watch = administration_pb2.WatchEventsRequest(filter=event_filter)
    return next(new_caller(server).administration.WatchEvents(watch)).event


def test_a_backup_leaves_the_service_its_locks(serve):
    """Closing a descriptor of the database ends a process's locks on it. Then another reader's end would remove the
    write-ahead log under the service."""
    server = serve()
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    server.next_error(MADE)
    log = database(server.data_directory).with_name("touchstone.db-wal")
    before = log.stat().st_ino
    with contextlib.closing(sqlite3.connect(database(server.data_directory))) as reader:
        reader.execute("SELECT count(*) FROM bindings").fetchone()
    assert log.stat().st_ino == before
    assert caller.login(phone).outcome == SUCCEEDED


def file_of(line):
    return re.search(r"file=(\S+)", line)[1]


def await_pairs(directory, count):
    """Until there are so many backups, each with its signature, and nothing else: between two backups."""
    deadline = time.monotonic() + 60
    while True:
        names = {path.name for path in directory.iterdir()} - {MINE}
        backups = {name for name in names if name.endswith(".db")}
        if len(backups) == count and names == backups | {name + ".signature" for name in backups}:
            return
        assert time.monotonic() < deadline, names
        time.sleep(0.05)


def test_a_service_backs_itself_up_and_keeps_the_last_ones(serve, start, backups, tmp_path):
    backups.mkdir(mode=0o700)
    # By hand: the service removes what it made alone.
    (backups / MINE).write_text("mine")
    server = serve(keep=2)
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    made = [file_of(server.next_error(MADE)) for _ in range(5)]
    assert len(set(made)) == 5
    await_pairs(backups, 2)
    assert caller.login(phone).outcome == SUCCEEDED
    server.terminate()
    kept = [path.name for path in backups.glob("*.db")]
    assert MINE in kept
    assert (backups / max(kept)).stat().st_mode & 0o777 == 0o600
    shutil.copytree(server.data_directory / "keys", tmp_path / "restored/keys")
    (tmp_path / "restored").chmod(0o700)
    ended = run("restore", "--from", backups / max(kept), "--data-dir", tmp_path / "restored")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert new_caller(start("restored"), "shop").login(phone).outcome == SUCCEEDED


def test_the_age_of_the_last_backup_outlives_a_restart(serve, backups):
    server = serve("12h")
    file = file_of(server.next_error(MADE))
    event = event_of(server, "backup.made")
    with open(file, "rb") as backup:
        assert event.details["sha256"] == hashlib.sha256(backup.read()).hexdigest()
    assert (event.details["file"], event.details["bytes"]) == (file, str(os.path.getsize(file)))
    made_at = figure(server, "touchstone_backup_last_success_timestamp_seconds")
    assert abs(time.time() - made_at) < 60
    assert figure(server, "touchstone_backup_size_bytes") == os.path.getsize(file)
    assert figure(server, "touchstone_backup_overdue_seconds") == 0
    server.terminate()
    again = serve("12h")
    assert figure(again, "touchstone_backup_last_success_timestamp_seconds") == made_at
    assert figure(again, "touchstone_backup_overdue_seconds") == 0
    again.terminate()
    assert MADE not in again.errors
    assert sorted(path.name for path in backups.glob("*.db")) == [os.path.basename(file)]


def make_open(backups):
    backups.mkdir()
    backups.chmod(0o777)
    return "lets other users change it"


def make_file(backups):
    backups.write_text("no directory")
    return "Not a directory"


def make_nothing(backups):
    backups.symlink_to(backups.with_name("away") / "backups")
    return str(backups)


@pytest.mark.parametrize("spoil", [make_open, make_file, make_nothing])
def test_a_backup_that_fails_is_said_and_done_as_soon_as_it_can_be(serve, backups, spoil):
    # A directory that is wrong at the start is refused by `check-config`; this one becomes wrong.
    server = serve()
    server.next_error(MADE)
    shutil.rmtree(backups)
    reason = spoil(backups)
    assert reason in server.next_error("a backup failed; earlier ones stay")
    assert reason in event_of(server, "backup.failed").details["error"]
    assert figure(server, "touchstone_backup_failures_total") >= 1
    assert not backups.is_dir() or not list(backups.iterdir())
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == SUCCEEDED
    backups.rmdir() if backups.is_dir() else backups.unlink()
    assert os.path.exists(file_of(server.next_error(MADE)))


@pytest.fixture
def full_disk(backups):
    """One that is too small for a backup."""
    backups.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(backups)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("may not mount a file system")
    unmount = functools.cache(lambda: subprocess.run(["umount", str(backups)], check=True))
    yield unmount
    unmount()


def test_a_full_disk_is_said_and_nothing_is_left_on_it(serve, backups, full_disk):
    server = serve()
    assert re.search(r"the disk has \d+ bytes free; a backup takes \d+, and \d+ must stay free", server.next_error("a backup failed"))
    assert "the disk has" in event_of(server, "backup.failed").details["error"]
    assert not list(backups.iterdir())
    full_disk()
    server.next_error(MADE)


def test_what_a_kill_leaves_has_no_name_and_goes(serve, backups):
    left = set()
    for round in range(20):
        # Some kills come when the backup has its name already.
        if round >= 4 and any(path.exists() for path in left):
            break
        server = serve()
        deadline = time.monotonic() + 60
        while not (begun := set(backups.glob("*.part-*")) - left):
            assert time.monotonic() < deadline
        server.kill()
        left |= begun
    assert any(path.exists() for path in left)
    for path in filter(Path.exists, left):
        os.utime(path, (time.time() - 120,) * 2)
    server = serve()
    server.next_error(MADE)
    server.terminate()
    assert not any(path.exists() for path in left)
    for file in backups.glob("*.db"):
        ended = run("restore", "--from", file, "--data-dir", backups.with_name(file.name), "--keys", server.data_directory / "keys")
        assert (ended.returncode, ended.stderr) == (0, "")


REFUSED = {
    "on PostgreSQL": (
        {"store": "postgresql:///shop", "backup": {"every": "6h", "to": "/backups"}},
        ":2:1: backup is for SQLite: PostgreSQL is backed up by its own tools",
    ),
    "none kept": ({"backup": {"every": "6h", "keep": 0, "to": "/backups"}}, "backup.keep must be 1 to 366"),
    "never": ({"backup": {"every": "0s", "to": "/backups"}}, "backup.every must be an age such as"),
    "nowhere": ({"backup": {"every": "6h"}}, "backup needs to"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_settings_are_refused(tmp_path, case):
    settings, complaint = REFUSED[case]
    file = tmp_path / "touchstone.yaml"
    file.write_text("".join(f"{key}: {value if isinstance(value, str) else json.dumps(value)}\n" for key, value in settings.items()))
    file.chmod(0o600)
    ended = run("check-config", file)
    assert (ended.returncode, complaint in ended.stderr) == (CONFIGURATION, True), ended.stderr


def test_a_directory_that_others_can_change_is_refused_beforehand(tmp_path, backups):
    make_open(backups)
    file = tmp_path / "touchstone.yaml"
    file.write_text(f"data_dir: {tmp_path}/data\nbackup: {{every: 6h, to: {backups}}}\n")
    ended = run("check-config", file)
    assert (ended.returncode, "backup.to" in ended.stderr) == (CONFIGURATION, True), ended.stderr


def test_a_restored_copy_removes_no_backup_of_the_original(start, tmp_path):
    backups = tmp_path / "backups"

    def serve(name, keep):
        backup = {"every": "1s", "to": str(backups), "keep": keep}
        return start(name, configuration={"backup": backup}, arguments=["--http", "127.0.0.1:0"], http=1)

    original = serve("data", 3)
    for _ in range(3):
        original.next_error("a backup was made")
    original.close()
    made = {path.name for path in backups.iterdir()}
    shutil.copytree(original.data_directory / "keys", tmp_path / "drill/keys")
    (tmp_path / "drill").chmod(0o700)
    latest = backups / max(name for name in made if name.endswith(".db"))
    restored = run("restore", "--from", latest, "--data-dir", tmp_path / "drill")
    assert restored.returncode == 0, restored.stderr
    drill = serve("drill", 1)
    for _ in range(3):
        drill.next_error("a backup was made")
    assert made <= {path.name for path in backups.iterdir()}
