"""`touchstone backup` and `restore`: whole, beside a running service; what was used does not come back (R28, R35, R39)."""

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import time
from subprocess import PIPE

import pytest

from support.caller import new_caller, passcode
from support.data_directory import contents, database
from support.issued import Issued
from support.phone import Phone
from support.replicas import Load
from support.server import BINARY, run
from support.stores import of_sqlite
from support.stubs import administration_pb2, evaluation_pb2

pytestmark = of_sqlite

USAGE = 64
CORRUPT = 65
UNWRITABLE = 73
NEWER_SCHEMA = 76
UNPROTECTED = 77

APPLICATION = "shop"

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


def back_up(server, to):
    """Answers what it prints."""
    ended = run("backup", "--data-dir", server.data_directory, "--to", to)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@pytest.fixture
def restore(start, tmp_path):
    """Serves what a backup holds, with the keys of the service that it was made of."""
    count = 0

    def restore(file, origin):
        nonlocal count
        count += 1
        directory = tmp_path / f"restored-{count}"
        directory.mkdir(mode=0o700)
        shutil.copytree(origin.data_directory / "keys", directory / "keys")
        ended = run("restore", "--from", file, "--data-dir", directory)
        assert (ended.returncode, ended.stderr) == (0, "")
        return start(directory.name)

    return restore


def test_what_was_answered_before_a_backup_under_load_is_in_it(start, restore, tmp_path):
    server = start()
    bound, copies = [], []

    def bind_and_log_in(caller):
        phone = Phone()
        caller.bind(phone)
        assert caller.login(phone).outcome == SUCCEEDED
        bound.append(phone)

    with Load(*(functools.partial(bind_and_log_in, new_caller(server, APPLICATION)) for _ in range(4))) as load:
        for number in range(3):
            load.wait_for_rounds(3)
            # The latest: the others were there long before.
            copies.append((bound[-10:], tmp_path / f"copy-{number}"))
            back_up(server, copies[-1][1])
    for known, file in copies:
        restored = restore(file, server)
        caller = new_caller(restored, APPLICATION)
        for phone in known:
            binding = caller.get_binding(phone.binding.binding_id)
            # Of the login that was answered, too.
            assert binding.HasField("last_used_at")
            binding.ClearField("last_used_at")
            assert binding == phone.binding
            assert caller.login(phone).outcome == SUCCEEDED
        restored.terminate()


def test_a_backup_is_for_its_owner_alone_and_tells_where_the_log_ends(start, tmp_path):
    server = start()
    caller, phone = new_caller(server, APPLICATION), Phone()
    caller.bind(phone)
    said = back_up(server, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    assert "whole: 1 binding, 0 devices, 0 evaluations, 1 profile, 0 tokens, 1 used ticket\n" in said
    assert caller.events()[-1].hash.hex() in said
    assert f"{server.data_directory}/keys" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "copy.signature", "data"]
    assert hashlib.sha256((tmp_path / "copy").read_bytes()).hexdigest() in said
    assert (tmp_path / "copy.signature").stat().st_mode & 0o777 == 0o600


def swap_owners(copy):
    """Makes one person's phone another's."""
    with contextlib.closing(sqlite3.connect(copy)) as database:
        database.execute("UPDATE bindings SET profile_id = ?", ("victim",))
        database.commit()


def sign_by_another_key(copy):
    signature = copy.with_name(copy.name + ".signature")
    lines = signature.read_text().splitlines()
    lines[2] = "audit key " + "A" * 43
    signature.write_text("\n".join(lines) + "\n")


def forge(copy):
    signature = copy.with_name(copy.name + ".signature")
    signature.write_text(re.sub("sha256 .*", f"sha256 {hashlib.sha256(copy.read_bytes()).hexdigest()}", signature.read_text()))


CHANGES = {
    "a row": (swap_owners, CORRUPT, "is not as it was made"),
    "a row and its digest": (lambda copy: (swap_owners(copy), forge(copy)), CORRUPT, "is forged"),
    "the key": (sign_by_another_key, UNPROTECTED, "is not among the given keys"),
    "no signature": (lambda copy: copy.with_name(copy.name + ".signature").unlink(), CORRUPT, "--unsigned"),
    "an empty signature": (lambda copy: copy.with_name(copy.name + ".signature").write_text(""), CORRUPT, "is no signature"),
    "the mode": (lambda copy: copy.chmod(0o666), UNPROTECTED, "lets other users change it"),
    "the directory's mode": (lambda copy: copy.parent.chmod(0o777), UNPROTECTED, "lets other users change it"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_backup_is_not_restored(start, tmp_path, change):
    """Write access to records is write access to accounts."""
    spoil, status, complaint = CHANGES[change]
    server = start()
    new_caller(server, APPLICATION).bind(Phone())
    (tmp_path / "backups").mkdir()
    back_up(server, tmp_path / "backups/copy")
    spoil(tmp_path / "backups/copy")
    keys = server.data_directory / "keys"
    ended = run("restore", "--from", tmp_path / "backups/copy", "--data-dir", tmp_path / "restored", "--keys", keys)
    assert (ended.returncode, complaint in ended.stderr) == (status, True), ended.stderr
    assert not (tmp_path / "restored").exists()


def test_a_backup_of_an_earlier_version_is_restored_if_that_is_said(start, tmp_path):
    server = start()
    back_up(server, tmp_path / "copy")
    (tmp_path / "copy.signature").unlink()
    ended = run("restore", "--from", tmp_path / "copy", "--data-dir", tmp_path / "restored", "--unsigned")
    assert ended.returncode == 0, ended.stderr


def test_a_restore_without_the_keys_asks_for_those_that_made_the_backup(start, tmp_path):
    server = start()
    back_up(server, tmp_path / "copy")
    restored = tmp_path / "restored"
    ended = run("restore", "--from", tmp_path / "copy", "--data-dir", restored)
    assert f"{restored}/keys: is missing: put back the service's keys" in ended.stderr
    assert "keys new" not in ended.stderr
    keys = server.data_directory / "keys"
    ended = run("restore", "--from", tmp_path / "copy", "--data-dir", restored, "--keys", keys)
    assert f"MISSING: the keys. Serve it with those of {keys}," in ended.stdout, ended.stderr
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"data_dir: {tmp_path / 'elsewhere'}\nkeys: {keys}\n")
    ended = run("restore", "--from", tmp_path / "copy", "--config", settings)
    assert (ended.returncode, "MISSING" in ended.stdout) == (0, False), ended.stderr


def test_no_backup_is_made_where_others_could_change_it(start, tmp_path):
    server = start()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    ended = run("backup", "--data-dir", server.data_directory, "--to", tmp_path / "open")
    assert (ended.returncode, "lets other users change it" in ended.stderr) == (UNPROTECTED, True)
    assert not list((tmp_path / "open").iterdir())


def test_the_configuration_says_where_the_data_and_the_keys_are(start, tmp_path):
    server = start()
    keys = (server.data_directory / "keys").rename(tmp_path / "keys")
    assert run("backup", "--data-dir", server.data_directory, "--to", tmp_path / "copy").returncode == UNPROTECTED
    configuration = tmp_path / "touchstone.yaml"
    configuration.write_text(f"keys: {keys}\ndata_dir: {server.data_directory}\n")
    for command in ("backup", "--to"), ("restore", "--data-dir", tmp_path / "restored", "--from"):
        ended = run(*command, tmp_path / "copy", "--config", configuration)
        assert ended.returncode == 0, ended.stderr
    assert run("backup", "--to", tmp_path / "another").returncode == USAGE
    configuration.write_text("store: postgresql://127.0.0.1/touchstone\n")
    ended = run("backup", "--to", tmp_path / "another", "--config", configuration)
    assert (ended.returncode, "tools of its own" in ended.stderr) == (USAGE, True)


def test_a_backup_of_a_service_that_was_killed_has_its_last_word(start, restore, tmp_path):
    server = start()
    phone = Phone()
    new_caller(server, APPLICATION).bind(phone)
    server.kill()
    back_up(server, tmp_path / "copy")
    caller = new_caller(restore(tmp_path / "copy", server), APPLICATION)
    assert caller.login(phone).outcome == SUCCEEDED


def test_a_backup_changes_nothing_of_a_service_that_has_stopped(start, tmp_path):
    server = start()
    new_caller(server).bind(Phone())
    server.terminate()
    before = contents(server.data_directory)
    back_up(server, tmp_path / "copy")
    assert contents(server.data_directory) == before


def test_a_backup_holds_no_key(start, tmp_path):
    server = start()
    new_caller(server).bind(Phone())
    back_up(server, tmp_path / "copy")
    copy = (tmp_path / "copy").read_bytes()
    keys = [path for path in (server.data_directory / "keys").rglob("*") if path.is_file()]
    assert keys
    for key in keys:
        assert key.read_bytes().strip() not in copy


def test_a_directory_takes_one_backup_after_the_other(start, tmp_path):
    server = start()
    directory = tmp_path / "backups"
    directory.mkdir()
    back_up(server, directory)
    made, signature = sorted(directory.iterdir())
    assert re.fullmatch(r"touchstone-\d{8}T\d{6}Z\.db", made.name)
    assert signature.name == made.name + ".signature"


def assert_no_backup(*arguments, says):
    ended = run("backup", *arguments)
    assert ended.returncode == UNWRITABLE, ended.stderr
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("touchstone: ")
    assert str(says) in line


def test_a_backup_takes_nobodys_place(start, tmp_path):
    server = start()
    (tmp_path / "copy").write_text("mine")
    assert_no_backup("--data-dir", server.data_directory, "--to", tmp_path / "copy", says=tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "mine"


def test_what_a_killed_backup_left_goes_with_the_next_one(start, tmp_path):
    """It holds all that the database holds. What may still be written to stays, and so does what is no backup's."""
    server = start()
    directory = tmp_path / "backups"
    directory.mkdir()
    left = [directory / name for name in ("touchstone-20261121T190332Z.db.part-1f", "copy.part-1f", "copy.part-fresh")]
    running = directory / "touchstone-20261121T190333Z.db.part-2f"
    begun = directory / "touchstone-20261121T190334Z.db.part-3f"
    for path in (*left, running, begun):
        path.write_text("half of it")
    for path in (*left, running):
        os.utime(path, (time.time() - 120,) * 2)
    with running.open() as file:
        # As its writer does, until it ends.
        fcntl.flock(file, fcntl.LOCK_EX)
        back_up(server, directory)
    (made,) = directory.glob("touchstone-*.db")
    signature = made.with_name(made.name + ".signature")
    assert set(directory.iterdir()) == {made, signature, running, begun, *left[1:]}
    back_up(server, directory / "copy")
    copy = {directory / "copy", directory / "copy.signature"}
    assert set(directory.iterdir()) == {made, signature, running, begun, *copy, left[2]}


def test_a_backup_to_nowhere_or_of_nothing(start, tmp_path):
    server = start()
    nowhere = tmp_path / "nowhere"
    assert_no_backup("--data-dir", server.data_directory, "--to", nowhere / "copy", says=nowhere / "copy")
    keys = server.data_directory / "keys"
    assert_no_backup("--data-dir", nowhere, "--keys", keys, "--to", tmp_path / "copy", says=nowhere)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_damaged_service_gets_no_backup(start, tmp_path):
    server = start()
    caller, phone = new_caller(server, APPLICATION), Phone()
    caller.bind(phone)
    caller.login(phone)
    server.terminate()
    alter(database(server.data_directory), "UPDATE events SET kind = 'binding.revoked' WHERE sequence = 1")
    ended = run("backup", "--data-dir", server.data_directory, "--to", tmp_path / "copy")
    assert ended.returncode == CORRUPT
    assert "event 1 was altered" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# Streams


def stream(server, **options):
    """`backup --to -`, as a pod's or another machine's shell would run it; stdout is bytes."""
    command = [BINARY, "backup", "--data-dir", server.data_directory, "--to", "-"]
    return subprocess.run(command, check=False, timeout=60, **{"stdout": PIPE, "stderr": PIPE, **options})


def restore_stream(content, directory, keys, *arguments):
    command = [BINARY, "restore", "--from", "-", "--data-dir", directory, "--keys", keys, *arguments]
    return subprocess.run(command, input=content, capture_output=True, check=False, timeout=60)


@pytest.fixture
def streamed(shop):
    server, _, phone = shop
    ended = stream(server)
    assert ended.returncode == 0, ended.stderr
    return ended, phone, server


def test_a_streamed_backup_is_restored_from_the_pipe_and_from_a_file(streamed, start, tmp_path):
    ended, phone, server = streamed
    assert b"stdout: " in ended.stderr and b"NOT in it: the keys" in ended.stderr
    assert sorted(path.name for path in server.data_directory.iterdir() if ".part-" in path.name) == []
    keys = server.data_directory / "keys"
    piped = restore_stream(ended.stdout, tmp_path / "piped", keys)
    assert (piped.returncode, piped.stderr) == (0, b"")
    (tmp_path / "kept").write_bytes(ended.stdout)
    kept = run("restore", "--from", tmp_path / "kept", "--data-dir", tmp_path / "filed", "--keys", keys)
    assert (kept.returncode, kept.stderr) == (0, "")
    for name in ("piped", "filed"):
        restored = start(name, arguments=["--keys", keys])
        assert new_caller(restored, APPLICATION).login(phone).outcome == SUCCEEDED


def flip_last(content):
    return content[:-1] + bytes([content[-1] ^ 1])


STREAM_DAMAGE = {
    "cut off": (lambda content: content[:-4096], CORRUPT, "cut off"),
    "a byte is another": (flip_last, CORRUPT, "is not as it was made"),
    "the digest is another": (lambda content: content.replace(b"sha256 ", b"sha256 00", 1), CORRUPT, "does not begin with"),
    "without its signature": (lambda content: content.split(b"\n", 4)[4], CORRUPT, "does not begin with"),
    "nothing": (lambda content: b"", CORRUPT, "does not begin with"),
    "another key's": (lambda content: re.sub(b"audit key .*", b"audit key " + b"A" * 43, content, count=1), UNPROTECTED, "not among"),
}


@pytest.mark.parametrize("damage", STREAM_DAMAGE)
def test_a_damaged_stream_is_refused_and_leaves_nothing(streamed, tmp_path, damage):
    spoil, status, complaint = STREAM_DAMAGE[damage]
    ended, _, server = streamed
    refused = restore_stream(spoil(ended.stdout), tmp_path / "restored", server.data_directory / "keys")
    (line,) = refused.stderr.decode().splitlines()
    assert (refused.returncode, complaint in line, refused.stdout) == (status, True, b""), line
    assert not (tmp_path / "restored").exists()


def test_a_stream_without_a_signature_is_taken_if_that_is_said(streamed, tmp_path):
    ended, _, server = streamed
    bare = ended.stdout.split(b"\n", 4)[4]
    taken = restore_stream(bare, tmp_path / "restored", server.data_directory / "keys", "--unsigned")
    assert (taken.returncode, taken.stderr) == (0, b"")


def test_a_reader_that_is_gone_ends_a_stream_with_a_line(shop):
    server, *_ = shop
    reading, writing = os.pipe()
    os.close(reading)
    ended = stream(server, stdout=writing)
    os.close(writing)
    assert ended.returncode == UNWRITABLE
    assert ended.stderr.decode().splitlines() == ["touchstone: stdout: cannot be written: Broken pipe"]
    assert not list(server.data_directory.glob("*.part-*"))


def test_no_stream_goes_to_a_terminal(shop):
    server, *_ = shop
    terminal, other = os.openpty()
    ended = stream(server, stdout=other)
    os.close(terminal), os.close(other)
    assert ended.returncode == USAGE
    assert b"redirect stdout" in ended.stderr


# What was used


@pytest.fixture
def shop(start):
    """A service, and a caller on it with a phone that is bound."""
    server = start()
    caller, phone = new_caller(server, APPLICATION), Phone()
    caller.bind(phone, "profile-1")
    caller.set_secret("profile-1", passcode("271828"))
    return server, caller, phone


def test_what_was_issued_before_a_restoration_is_void(shop, restore, tmp_path):
    server, caller, phone = shop
    issued = Issued(caller, phone)
    back_up(server, tmp_path / "copy")
    issued.use(caller)
    server.terminate()
    issued.assert_void(new_caller(restore(tmp_path / "copy", server), APPLICATION))


def test_what_is_issued_after_a_restoration_serves_at_once(shop, restore, tmp_path):
    server, _, phone = shop
    back_up(server, tmp_path / "copy")
    server.terminate()
    caller = new_caller(restore(tmp_path / "copy", server), APPLICATION)
    assert caller.introspect(caller.login(phone).token).active
    assert caller.consume(caller.pay(phone).token).consumed
    caller.bind(Phone(), "profile-1")
    opened = caller.begin(phone, "deviceOwnerAuthentication")
    assert caller.submit(phone, opened, secret=passcode("271828")).outcome == SUCCEEDED


def test_each_restoration_of_one_backup_is_a_line_of_its_own(shop, restore, tmp_path):
    server, _, phone = shop
    back_up(server, tmp_path / "copy")
    server.terminate()
    first = new_caller(restore(tmp_path / "copy", server), APPLICATION)
    token, opened = first.login(phone).token, first.begin(phone)
    second = new_caller(restore(tmp_path / "copy", server), APPLICATION)
    assert not second.introspect(token).active
    assert second.submit(phone, opened).outcome == INVALID_CONTEXT


def test_the_audit_log_tells_of_the_restoration_and_goes_on(shop, restore, tmp_path):
    server, caller, phone = shop
    last = caller.events()[-1]
    back_up(server, tmp_path / "copy")
    server.terminate()
    restored = restore(tmp_path / "copy", server)
    caller = new_caller(restored, APPLICATION)
    caller.login(phone)
    request = administration_pb2.ListEventsRequest(after_sequence=last.sequence, page_size=10)
    events = caller.administration.ListEvents(request).events
    assert [event.kind for event in events] == ["store.restored", "evaluation.succeeded"]
    assert events[0].details["last_sequence"] == str(last.sequence)
    verified = run("audit", "verify", "--data-dir", restored.data_directory)
    assert verified.returncode == 0, verified.stderr
    assert events[-1].hash.hex() in verified.stdout


# What is refused


@pytest.fixture
def backup(shop, tmp_path):
    """A file to be damaged."""
    server, caller, phone = shop
    caller.login(phone)
    back_up(server, tmp_path / "copy")
    return tmp_path / "copy"


def assert_not_restored(file, directory, exit_code, says):
    before = contents(directory) if directory.exists() else None
    ended = run("restore", "--from", file, "--data-dir", directory, "--unsigned")
    assert ended.returncode == exit_code, ended.stderr
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("touchstone: ")
    assert str(says) in line
    assert (contents(directory) if directory.exists() else None) == before


def alter(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)


def cut(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def flip(path):
    """In the middle of a page of a table that has rows."""
    content = bytearray(path.read_bytes())
    place = content.index(b"binding.created")
    content[place] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "cut short": cut,
    "a byte is another": flip,
    "text": lambda path: path.write_text("Dear diary,\n" * 1000),
    "empty": lambda path: path.write_bytes(b""),
    "an event was dropped": lambda path: alter(path, "DELETE FROM events WHERE sequence = 2"),
    "a table was dropped": lambda path: alter(path, "DROP TABLE devices"),
    "another application's": lambda path: alter(path, "PRAGMA application_id = 4711"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_backup_is_refused(backup, damage, tmp_path):
    damage(backup)
    assert_not_restored(backup, tmp_path / "restored", CORRUPT, says=backup)


def test_a_newer_versions_backup_is_refused(backup, tmp_path):
    alter(backup, "PRAGMA user_version = 1000")
    assert_not_restored(backup, tmp_path / "restored", NEWER_SCHEMA, says=backup)


def test_a_running_services_database_is_no_backup(shop, tmp_path):
    server, *_ = shop
    assert_not_restored(database(server.data_directory), tmp_path / "restored", CORRUPT, says="write-ahead log")


def test_a_backup_that_is_not_there(tmp_path):
    assert_not_restored(tmp_path / "nowhere", tmp_path / "restored", UNWRITABLE, says=tmp_path / "nowhere")


def test_a_directory_in_use_is_left_alone(backup, shop):
    server, caller, phone = shop
    ended = run("restore", "--from", backup, "--data-dir", server.data_directory)
    assert ended.returncode == UNWRITABLE
    assert str(server.data_directory) in ended.stderr
    assert caller.login(phone).outcome == SUCCEEDED
    server.terminate()
    assert_not_restored(backup, server.data_directory, UNWRITABLE, says="touchstone.db")


def test_a_directory_may_hold_the_keys_already(backup, shop, start, tmp_path):
    server, _, phone = shop
    server.terminate()
    directory = tmp_path / "restored"
    shutil.copytree(server.data_directory / "keys", directory / "keys")
    ended = run("restore", "--from", backup, "--data-dir", directory)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "MISSING" not in ended.stdout
    assert new_caller(start(directory.name), APPLICATION).login(phone).outcome == SUCCEEDED


def test_what_a_cut_restoration_left_is_no_obstacle(backup, tmp_path):
    directory = tmp_path / "restored"
    directory.mkdir()
    (directory / "touchstone.db.new").write_text("half of it")
    (directory / "touchstone.lock").touch()
    ended = run("restore", "--from", backup, "--data-dir", directory, "--unsigned")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(path.name for path in directory.iterdir()) == ["touchstone.db", "touchstone.lock"]


def test_a_backup_replaces_no_other_process_s_signature(start, tmp_path):
    """One of the same name may be under way: its signature is on the disk before it has its name."""
    directory, copy, signature = start().data_directory, tmp_path / "copy.db", tmp_path / "copy.db.signature"
    signature.write_text("another's")
    assert run("backup", "--data-dir", directory, "--to", copy).returncode == 73
    assert signature.read_text() == "another's" and not copy.exists()
    # What a killed process left does not stay in the way.
    os.utime(signature, (0, 0))
    assert run("backup", "--data-dir", directory, "--to", copy).returncode == 0
    assert run("restore", "--from", copy, "--data-dir", tmp_path / "restored", "--keys", directory / "keys").returncode == 0
