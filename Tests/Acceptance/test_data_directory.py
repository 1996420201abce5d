"""A data directory that cannot be served from: one clear line, an exit code of its own, and nothing overwritten."""

import os
import shutil
import socket
import sqlite3

import pytest

from support.caller import new_caller
from support.data_directory import contents, database
from support.phone import Phone
from support.server import BINARY, run_to_end
from support.stores import of_sqlite

USAGE = 64
CORRUPT = 65
CANNOT_LISTEN = 69
UNWRITABLE = 73
LOCKED = 75
OTHER_SCHEMA = 76
UNPROTECTED = 77
BAD_CONFIGURATION = 78

NOBODY = 65534


@pytest.fixture
def used_directory(start):
    """The data directory of a service that has stopped, with a binding in it."""
    server = start()
    new_caller(server).bind(Phone())
    server.terminate()
    return server.data_directory


def assert_refused(directory, exit_code, *, is_served=False, **options):
    """Changes nothing. The process that serves a directory may write at any time: then the files are the same, not their bytes."""
    before = contents(directory) if directory.exists() else {}
    ended = run_to_end(directory, **options)
    assert ended.returncode == exit_code, ended.stderr
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith("touchstone: ")
    assert str(directory) in lines[0]
    after = contents(directory) if directory.exists() else {}
    if is_served:
        assert after.keys() == before.keys()
    else:
        assert {path: after.get(path) for path in before} == before


@of_sqlite
def test_a_second_process_is_locked_out(start):
    server = start()
    caller = new_caller(server)
    phone = Phone()
    caller.bind(phone)
    assert_refused(server.data_directory, LOCKED, is_served=True)
    assert caller.login(phone).profile_id == phone.binding.profile_id


def test_a_lock_goes_with_its_process(start):
    start().kill()
    start()


def test_an_unwritable_directory(public_directory):
    directory = public_directory / "data"
    directory.mkdir(mode=0o555)
    if os.geteuid() != 0:
        assert_refused(directory, UNWRITABLE)
        return
    # Root writes wherever it likes, so somebody else has to try, with a binary that they can reach.
    binary = shutil.copy(BINARY, public_directory)
    assert_refused(directory, UNWRITABLE, program=binary, user=NOBODY, group=NOBODY, extra_groups=[])


@of_sqlite
@pytest.mark.parametrize("name", ["touchstone.db", "touchstone.lock"])
def test_a_file_of_it_that_others_can_write_to(used_directory, start, name):
    (used_directory / name).chmod(0o666)
    assert_refused(used_directory, UNPROTECTED)
    (used_directory / name).chmod(0o600)
    start()


def test_a_directory_below_a_file(tmp_path):
    (tmp_path / "file").write_text("no directory")
    assert_refused(tmp_path / "file" / "data", UNWRITABLE)
    assert (tmp_path / "file").read_text() == "no directory"


@of_sqlite
@pytest.mark.parametrize("step", [-2, 1], ids=["older", "newer"])
def test_another_schema(used_directory, step):
    with sqlite3.connect(database(used_directory)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        assert version >= 3
        connection.execute(f"PRAGMA user_version = {version + step}")
    connection.close()
    assert_refused(used_directory, OTHER_SCHEMA)


def overwrite_schema(path):
    """The first page's tree, behind the header of 100 bytes."""
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 400)


@of_sqlite
def test_a_corrupt_database(used_directory):
    overwrite_schema(database(used_directory))
    assert_refused(used_directory, CORRUPT)


def test_an_address_in_use(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = run_to_end(tmp_path / "data", arguments=["--listen", address])
    assert ended.returncode == CANNOT_LISTEN
    assert ended.stdout == ""
    assert address in ended.stderr


@pytest.mark.parametrize("arguments", [["--listen"], ["--no-such-flag"]], ids=" ".join)
def test_bad_usage(tmp_path, arguments):
    ended = run_to_end(tmp_path / "data", arguments=arguments)
    assert ended.returncode == USAGE
    assert ended.stdout == ""
    assert not (tmp_path / "data").exists()


def test_a_name_that_only_looks_like_this_machine(tmp_path):
    """RFC 6761, section 6.4: names below "invalid" never resolve."""
    ended = run_to_end(tmp_path / "data", arguments=["--listen", "127.evil.invalid:0"])
    assert ended.returncode == CANNOT_LISTEN
    assert "127.evil.invalid" in ended.stderr


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "0:0", "[::ffff:0.0.0.0]:0"])
def test_plaintext_stays_on_this_machine_unless_told(tmp_path, address):
    ended = run_to_end(tmp_path / "data", arguments=["--listen", address])
    assert ended.returncode == BAD_CONFIGURATION
    assert "--allow-plaintext" in ended.stderr
