"""The configuration: what `check-config` finds, what `serve` takes of it, and what SIGHUP changes."""

import json
import os
import random
import re
import signal
from pathlib import Path

import grpc
import pytest

from support.caller import COFFEE, new_caller
from support.configuration import BAD_CONFIGURATION, check_complaints, write
from support.pages import blocks_of
from support.phone import Phone
from support.server import Server, run, run_to_end
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "deploy/policies.example.yaml"
POLICIES = ROOT / "docs" / "POLICIES.md"

BUILT_IN = ["deviceOwnerAuthenticationWithBiometrics", "deviceOwnerAuthentication", "login", "payment"]


# Each kind of error has its row in Tests/Service/TouchstoneServerTests; here is what becomes of it in the process.
WRONG = {
    "not YAML": ("policies: {\n‸", "expected"),
    "an unknown setting": ("‸colour: red", '"colour" is not a setting of the configuration'),
    "several": (
        "shards: ‸0\npolicies:\n  ‸‸mine: {}",
        "shards must be 1 to 256",
        "purpose is required",
        "factors is required",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, case):
    check_complaints(tmp_path / "touchstone.yaml", *case)


def test_serve_refuses_what_check_config_refuses_and_makes_nothing(tmp_path):
    path = write(tmp_path / "touchstone.yaml", "shards: 0\npolicies: {mine: {}}\n")
    checked = run("check-config", path)
    ended = run_to_end(tmp_path / "data", arguments=["--config", path])
    assert (ended.returncode, ended.stdout) == (BAD_CONFIGURATION, "")
    assert ended.stderr == checked.stderr
    assert len(ended.stderr.splitlines()) == 3
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_file_that_cannot_be_read(tmp_path, name):
    checked = run("check-config", tmp_path / name)
    assert checked.returncode == BAD_CONFIGURATION
    assert checked.stderr.startswith(f"{tmp_path / name}: cannot be read")


def test_a_pipe_is_no_configuration(tmp_path):
    os.mkfifo(tmp_path / "touchstone.yaml")
    checked = run("check-config", tmp_path / "touchstone.yaml")
    assert checked.returncode == BAD_CONFIGURATION
    assert checked.stderr == f"{tmp_path / 'touchstone.yaml'}: cannot be read: not a regular file\n"


def test_a_file_that_is_too_large(tmp_path):
    checked = run("check-config", write(tmp_path / "touchstone.yaml", "#" * (1 << 20) + "\n"))
    assert checked.returncode == BAD_CONFIGURATION
    assert "larger than" in checked.stderr


def test_too_many_policies(tmp_path):
    policies = {f"mine-{number}": {"purpose": "login", "factors": ["biometry"]} for number in range(257)}
    checked = run("check-config", write(tmp_path / "touchstone.yaml", json.dumps({"policies": policies})))
    assert checked.returncode == BAD_CONFIGURATION
    assert "policies must be at most 256" in checked.stderr


def test_the_example_is_right_and_its_policies_are_listed(tmp_path):
    example = write(tmp_path / "touchstone.yaml", EXAMPLE.read_text())
    checked = run("check-config", example)
    assert (checked.returncode, checked.stderr) == (0, "")
    first, *policies = checked.stdout.splitlines()
    assert first == f"{example}: ok"
    assert [line.split()[0] for line in policies] == [*BUILT_IN, "high_value", "unlock", "step_up"]


def test_the_example_of_the_page_is_right(tmp_path):
    block = blocks_of(POLICIES, "yaml")[0]
    checked = run("check-config", write(tmp_path / "touchstone.yaml", block))
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.splitlines()[-1].split() == ["high_value", "payment", "biometry,", "device_owner"]


#: Of damaged files: all in CI.
SEEDS = 8 if os.environ.get("TOUCHSTONE_ALL_SEEDS") == "1" else 2


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_damaged_file_is_taken_or_refused_with_places_and_never_traps(tmp_path, seed):
    dice = random.Random(seed)
    example = EXAMPLE.read_bytes()
    path = tmp_path / "touchstone.yaml"
    for _ in range(25):
        damaged = bytearray(example)
        for _ in range(dice.randrange(1, 6)):
            start = dice.randrange(len(damaged))
            end = start + dice.randrange(12)
            damaged[start:end] = dice.choice([b"", b"\xff", b"\x00", b": ", b"\n", b"[", b"- ", damaged[:40], b"9" * 30])
        path.write_bytes(damaged)
        checked = run("check-config", path)
        if checked.returncode == 0:
            assert checked.stderr == ""
        else:
            assert checked.returncode == BAD_CONFIGURATION
            assert checked.stdout == ""
            lines = checked.stderr.splitlines()
            assert lines
            assert all(re.match(rf"{re.escape(str(path))}:\d+:\d+: ", line) for line in lines)


# What is served


def policies(**named):
    """Of a configuration, as JSON, which YAML includes."""
    return json.dumps({"policies": named})


FINGER = {"purpose": "login", "factors": ["biometry"]}
WALLET = {"purpose": "payment", "factors": ["biometry"], "attempts": 2}


@pytest.fixture
def configured(start, tmp_path):
    """Starts a service on a configuration that the test may write anew: its `path`."""

    def configured(text):
        path = write(tmp_path / "touchstone.yaml", text)
        server = start(arguments=["--config", path])
        server.path = path
        return server

    return configured


def reload(server, text, *, expecting="configuration reloaded"):
    """Writes the file, sends SIGHUP, and answers what the log says of it."""
    write(server.path, text)
    server.process.send_signal(signal.SIGHUP)
    return server.next_error(expecting)


def bound(server):
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    return caller, phone


def assert_unknown(caller, phone, policy):
    with pytest.raises(grpc.RpcError) as raised:
        caller.begin(phone, policy)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_named_policies_are_served(configured):
    server = configured(
        policies(finger={**FINGER, "token": "none"}, wallet=WALLET, toKen={**FINGER, "evaluation_lifetime": "30s"})
    )
    caller, phone = bound(server)
    answer = caller.login(phone, "finger")
    assert (answer.outcome, answer.token) == (SUCCEEDED, "")

    opened = caller.begin(phone, "wallet", transaction=COFFEE)
    assert caller.submit_wrong(phone, opened).outcome == evaluation_pb2.OUTCOME_TRY_AGAIN
    assert caller.submit_wrong(phone, opened).outcome == evaluation_pb2.OUTCOME_FAILED
    paid = caller.submit(phone, caller.begin(phone, "wallet", transaction=COFFEE))
    assert caller.consume(paid.token).consumed
    assert not caller.consume(paid.token).consumed

    assert caller.login(phone, "toKen").outcome == SUCCEEDED
    # KELVIN SIGN is not K, though Unicode holds them for one.
    assert_unknown(caller, phone, "to\u212aen")
    assert_unknown(caller, phone, "Finger")


def test_reloading_changes_adds_and_removes_policies(configured):
    server = configured(policies(kept=FINGER, changed=FINGER, removed=FINGER))
    caller, phone = bound(server)
    opened = {name: caller.begin(phone, name) for name in ["login", "kept", "changed", "removed"]}
    assert_unknown(caller, phone, "added")

    log = reload(server, policies(kept=FINGER, changed={**FINGER, "attempts": 2}, added=FINGER))
    assert "added=added" in log and "changed=changed" in log and "removed=removed" in log

    assert caller.submit(phone, opened["login"]).outcome == SUCCEEDED
    assert caller.submit(phone, opened["kept"]).outcome == SUCCEEDED
    assert caller.submit(phone, opened["changed"]).outcome == INVALID_CONTEXT
    assert caller.submit(phone, opened["removed"]).outcome == INVALID_CONTEXT
    assert_unknown(caller, phone, "removed")
    for name in ["kept", "changed", "added"]:
        assert caller.login(phone, name).outcome == SUCCEEDED
    server.terminate()


@pytest.mark.parametrize("text", [policies(kept=FINGER, added=FINGER, wrong={}), None], ids=["a wrong policy", "no file"])
def test_a_bad_file_changes_nothing(configured, text):
    server = configured(policies(kept=FINGER))
    caller, phone = bound(server)
    opened = caller.begin(phone, "kept")
    if text is None:
        server.path.unlink()
        server.process.send_signal(signal.SIGHUP)
        log = server.next_error("configuration refused")
    else:
        log = reload(server, text, expecting="configuration refused")
    assert f"{server.path}:" in log

    assert caller.submit(phone, opened).outcome == SUCCEEDED
    assert_unknown(caller, phone, "added")
    reload(server, policies(added=FINGER))
    assert caller.login(phone, "added").outcome == SUCCEEDED
    server.terminate()


def test_a_hang_up_while_the_service_drains_is_no_second_signal(configured):
    server = configured("")
    for _ in range(5):
        grpc.channel_ready_future(server.channel()).result(10)
    for number in [signal.SIGHUP, signal.SIGTERM, signal.SIGHUP]:
        server.process.send_signal(number)
    assert server.process.wait(30) == 0, server.errors


def test_without_a_file_a_hang_up_ends_nothing(tmp_path):
    """There are keys to reload, and what is under way is not cut."""
    server = Server(tmp_path / "data")
    for number in [signal.SIGHUP, signal.SIGTERM]:
        server.process.send_signal(number)
    assert server.process.wait(30) == 0, server.errors
