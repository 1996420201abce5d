"""Keys outside of the database: in directories, in one file, in the environment; and none of them where others see them."""

import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

import jwt
import pytest

from support.caller import new_caller
from support.data_directory import contents, files_with
from support.phone import Phone
from support.server import BINARY, Server, run, run_to_end
from support.stores import of_sqlite
from support.stubs import evaluation_pb2, tokens_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

UNUSABLE_KEYS = 77

NOBODY = 65534


@pytest.fixture
def keys(tmp_path):
    """A directory with a first set."""
    return new_keys(tmp_path / "keys")


def new_keys(directory):
    made = run("keys", "new", directory)
    assert (made.returncode, made.stderr) == (0, "")
    return directory


def export(keys):
    exported = run("keys", "export", keys)
    assert (exported.returncode, exported.stderr) == (0, "")
    return exported.stdout.strip()


def key_ids(caller):
    """Those that are published."""
    answer = caller.tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest())
    return {key["kid"] for key in json.loads(answer.jwk_set)["keys"]}


def key_id(token):
    return jwt.get_unverified_header(token)["kid"]


# Where they are


@of_sqlite
def test_a_service_makes_keys_in_its_data_directory_alone(start, tmp_path):
    """Where it is told of another place they are to be there: a mount that failed is no reason to begin with others."""
    elsewhere = tmp_path / "elsewhere"
    for empty in (False, True):
        if empty:
            elsewhere.mkdir(mode=0o700)
        ended = run_to_end(tmp_path / "data", arguments=["--keys", elsewhere])
        assert ended.returncode == UNUSABLE_KEYS
        assert ("holds no keys" if empty else "is missing") in ended.stderr
        assert elsewhere.exists() == empty
        assert not empty or not list(elsewhere.iterdir())
        assert not (tmp_path / "data" / "keys").exists()
    start()
    assert sorted(path.name for path in (tmp_path / "data" / "keys").iterdir()) == ["audit", "pepper", "sealing", "signing"]


@pytest.mark.parametrize("way", ["flag", "configuration", "file", "environment"])
def test_one_set_of_keys_serves_from_wherever_it_comes(start, tmp_path, keys, way):
    """A token of one service, verified by another that has the same keys: the database is its own."""
    first = new_caller(start("first", arguments=["--keys", keys]), "shop")
    bundle = tmp_path / "bundle"
    bundle.touch(mode=0o400)
    bundle.chmod(0o600)
    bundle.write_text(export(keys))
    options = {
        "flag": {"arguments": ["--keys", keys]},
        "configuration": {"configuration": {"keys": str(keys)}},
        "file": {"arguments": ["--keys", bundle]},
        "environment": {"environment": {"TOUCHSTONE_KEYS": export(keys)}},
    }[way]
    second = new_caller(start("second", **options), "shop")
    assert key_ids(second) == key_ids(first)
    assert not (tmp_path / "second" / "keys").exists()


def test_the_environment_is_wiped(start, keys):
    bundle = export(keys)
    server = start(environment={"TOUCHSTONE_KEYS": bundle, "TOUCHSTONE_DEBUGGABLE": "1"})
    environment = Path(f"/proc/{server.process.pid}/environ").read_bytes()
    arguments = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert b"TOUCHSTONE_KEYS=\0" in environment
    for word in bundle.split()[1:-1]:
        secret = word.split("=")[1].encode()[:16]
        assert secret not in environment + arguments
    server.terminate()
    assert files_with(server.data_directory, bundle.split()[1].encode()) == []


def as_a_user():
    """Where the tests are root's: another one's, as a service is."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


@of_sqlite
@pytest.mark.parametrize("is_debuggable", [False, True])
def test_neither_core_files_nor_other_processes_of_its_user_show_them(public_directory, is_debuggable):
    data = public_directory / "data"
    data.mkdir(mode=0o700)
    if as_a_user():
        os.chown(data, NOBODY, NOBODY)
    hard_limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    with Server(
        data,
        arguments=["--store", "sqlite"],
        environment={"TOUCHSTONE_DEBUGGABLE": "1"} if is_debuggable else None,
        program=(shutil.copy(BINARY, public_directory),),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard_limit, hard_limit)),
        **as_a_user(),
    ) as server:
        process = Path(f"/proc/{server.process.pid}")
        shown = [
            subprocess.run(["cat", process / name], capture_output=True, check=False, **as_a_user()).returncode == 0
            for name in ("environ", "maps")
        ]
        assert shown == [is_debuggable] * 2
        (limit,) = (line for line in (process / "limits").read_text().splitlines() if "core file" in line)
        assert (limit.split()[4:6] == ["0", "0"]) != (is_debuggable and hard_limit != 0)


# Whose they are


@of_sqlite
def test_a_database_is_served_with_the_keys_that_it_was_begun_with(start, tmp_path):
    """As after a restore of the one without the other."""
    server = start(arguments=["--keys", new_keys(tmp_path / "keys")])
    new_caller(server).bind(Phone())
    server.terminate()
    before = contents(server.data_directory)
    other = new_keys(tmp_path / "other")
    for ended in (
        run_to_end(server.data_directory, arguments=["--keys", other]),
        run_to_end(server.data_directory, environment={"TOUCHSTONE_KEYS": export(other)}),
    ):
        assert ended.returncode == UNUSABLE_KEYS
        assert len(ended.stderr.splitlines()) == 1
        assert "not the keys that the database was begun with" in ended.stderr
    assert contents(server.data_directory) == before
    start(arguments=["--keys", tmp_path / "keys"])


@of_sqlite
def test_lost_keys_are_not_replaced(start):
    server = start()
    new_caller(server).bind(Phone())
    server.terminate()
    keys = server.data_directory / "keys"
    kept = keys.rename(keys.with_name("kept"))
    ended = run_to_end(server.data_directory)
    assert ended.returncode == UNUSABLE_KEYS
    assert ended.stderr.startswith(f"touchstone: {keys}: is missing: restore it from a backup")
    assert not keys.exists()
    kept.rename(keys)
    start()


# Rotation


def rotate(keys, kind, **options):
    done = run("keys", "rotate", keys, kind, *(each for name, value in options.items() for each in (f"--{name}", value)))
    assert (done.returncode, done.stderr) == (0, "")


def test_keys_are_rotated_without_a_restart(start, keys):
    """R40: known and published first, used from its time on; what the one before made stays good."""
    server = start(arguments=["--keys", keys])
    caller = new_caller(server)
    phone = Phone()
    caller.bind(phone)
    (old,) = key_ids(caller)
    token = caller.login(phone).token
    opened = caller.begin(phone)

    for kind in ("sealing", "signing"):
        rotate(keys, kind, after="1h")
    assert key_ids(caller) == {old}
    reloaded = server.reload()
    assert "2 sealing, 2 signing" in reloaded
    assert old in key_ids(caller)
    assert all(each in reloaded for each in key_ids(caller))
    assert len(key_ids(caller)) == 2
    assert key_id(caller.login(phone).token) == old

    for kind in ("sealing", "signing"):
        rotate(keys, kind, after="0s")
    server.reload()
    late = caller.login(phone).token
    assert key_id(late) != old
    assert caller.introspect(token).active
    assert caller.introspect(late).active
    assert caller.submit(phone, opened).outcome == SUCCEEDED

    # Where one leaked, it goes at once, and with it all that it made.
    for path in [*(keys / "sealing").iterdir(), *(keys / "signing").iterdir()]:
        if ".from-" not in path.name:
            path.unlink()
    server.reload()
    assert old not in key_ids(caller)
    assert not caller.introspect(token).active
    assert caller.introspect(late).active


def test_pruning_leaves_what_may_live(keys):
    rotate(keys, "signing", after="0s")
    done = run("keys", "prune", keys)
    assert done.stdout.splitlines()[0] == f"{keys}: nothing to prune"
    (new,) = (keys / "signing").glob("2.from-*")
    new.rename(keys / "signing" / "2.from-20200101T000000Z.pem")
    removed, rest = run("keys", "prune", keys).stdout.splitlines()
    assert removed == f"{keys}/signing/1.pem: removed"
    # By the clock of the machine that it ran on, which may be wrong.
    assert rest.endswith("here: sealing/1.key seals, signing/2.from-20200101T000000Z.pem signs, audit/1.pem signs")
    assert "signs" in run("keys", "list", keys).stdout
    listed = [json.loads(line) for line in run("keys", "list", keys, "--json").stdout.splitlines()]
    assert {(key["kind"], key["state"]) for key in listed} >= {("sealing", "active"), ("signing", "active"), ("audit", "active")}


def test_the_log_names_the_keys_as_their_list_does(start, keys):
    """So that whoever rotates sees that every replica knows the new one, before its time comes."""
    rotate(keys, "sealing", after="1h")
    logged = start(arguments=["--keys", keys]).next_error("keys loaded")
    listed = [line.split()[1] for line in run("keys", "list", keys).stdout.splitlines()]
    assert len(listed) == 4
    assert all(each in logged for each in listed)
    assert str(keys) in logged
