"""kill -9 of `backup`, `restore` and `migrate --from` at random moments: run again, each ends as if nothing had happened.

`make soak KILLS=200` kills more often.
"""

import contextlib
import os
import random
import shutil
import time

import pytest

from faults.commands import Killing
from faults.extent import kills
from faults.seeded import SeededDirectory, digests, rows
from faults.site import await_end_of_sessions
from support.server import run, run_to_end

KILLS = kills(2, in_ci=5)

UNWRITABLE, OTHER_SCHEMA = 73, 76


@pytest.fixture
def dice(seed):
    return random.Random(seed)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    return SeededDirectory(tmp_path_factory.mktemp("seeded") / "data")


def test_a_killed_backup_is_whole_or_not_there(seeded, tmp_path, dice):
    killing = Killing(dice)
    killing.whole("backup", "--data-dir", seeded.path, "--to", tmp_path / "whole")
    expected = rows(seeded.file)
    assert rows(tmp_path / "whole") == expected
    for number in range(KILLS):
        directory = tmp_path / str(number)
        directory.mkdir()
        command = ("backup", "--data-dir", seeded.path, "--to", directory / "copy")
        killing.kill(*command)
        if not (directory / "copy").exists():
            age(directory / "copy.signature")
            killing.whole(*command)
        assert rows(directory / "copy") == expected
        shutil.rmtree(directory)


def age(signature):
    """As if a minute had passed: a younger one, if there is one, is of a backup under way."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(signature, (time.time() - 61,) * 2)


def test_a_killed_restoration_is_whole_or_begins_anew(seeded, tmp_path, dice):
    backup = tmp_path / "backup"
    killing = Killing(dice)
    killing.whole("backup", "--data-dir", seeded.path, "--to", backup)
    killing.whole("restore", "--from", backup, "--data-dir", tmp_path / "whole", "--keys", seeded.path / "keys")
    expected = restored(tmp_path / "whole")
    for number in range(KILLS):
        directory = tmp_path / str(number)
        command = ("restore", "--from", backup, "--data-dir", directory, "--keys", seeded.path / "keys")
        killing.kill(*command)
        again = run(*command)
        is_whole = (directory / "touchstone.db").exists() and again.returncode == UNWRITABLE
        assert is_whole or (again.returncode, again.stderr) == (0, "")
        verified = run("audit", "verify", "--data-dir", directory)
        assert verified.returncode == 0, verified.stderr
        assert restored(directory) == expected
        shutil.rmtree(directory)


def restored(directory):
    """What is the same in each restoration of one backup: all but the event of the restoration itself."""
    found = rows(directory / "touchstone.db")
    assert [event[5] for event in found["events"]].count("store.restored") == 1
    found["events"] = [event for event in found["events"] if event[5] != "store.restored"]
    del found["event_chain"]
    return found


def test_a_killed_move_leaves_one_store_at_most_that_serves_and_goes_on(seeded, shared_postgres, tmp_path, dice):
    killing = Killing(dice)
    uri = shared_postgres.create_database()
    killing.whole("migrate", "--from", seeded.copy(tmp_path / "whole"), "--to", uri)
    expected = digests(shared_postgres, uri)
    for number in range(KILLS):
        directory = seeded.copy(tmp_path / str(number))
        uri = shared_postgres.create_database()
        command = ("migrate", "--from", directory, "--to", uri)
        killing.kill(*command)
        await_end_of_sessions(shared_postgres, uri)
        is_moved = check_servable(shared_postgres, directory, uri)
        again = run(*command)
        # Nothing is left to do where it had ended just before.
        assert again.returncode == (OTHER_SCHEMA if is_moved else 0), again.stderr
        assert digests(shared_postgres, uri) == expected
        assert run_to_end(directory).returncode == OTHER_SCHEMA
        shutil.rmtree(directory)


def check_servable(postgres, directory, uri):
    """Not both; answers whether the directory knows that it was moved."""
    served = run("audit", "verify", "--store", uri)
    kept = (directory / "touchstone.db").read_bytes()[68:72]
    assert kept in (b"Tchs", b"Tchb", b"Tchm")
    assert served.returncode in (0, OTHER_SCHEMA), served.stderr
    if served.returncode == 0:
        assert kept != b"Tchs"
    if kept != b"Tchs":
        assert run_to_end(directory).returncode == OTHER_SCHEMA
    return kept == b"Tchm"
