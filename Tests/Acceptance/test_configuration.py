"""The configuration: what `check-config` finds, what `serve` takes of it, and what SIGHUP changes."""

import json
import os
import random
import re
import signal
from pathlib import Path

import grpc
import jwt
import pytest

from support.caller import COFFEE, new_caller
from support.configuration import BAD_CONFIGURATION, check_complaints, marked, write
from support.phone import Phone
from support.server import Server, run, run_to_end
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "deploy/policies.example.yaml"
README = ROOT / "README.md"

BUILT_IN = ["deviceOwnerAuthenticationWithBiometrics", "deviceOwnerAuthentication", "login", "payment"]


def in_policy(settings, *complaints):
    """`settings` of a policy that is right without them."""
    return ("policies:\n  mine:\n    purpose: login\n    factors: [biometry, passcode]\n" + settings, *complaints)


WRONG = {
    "nothing but a word": ("‸policies", "must be a mapping"),
    "a list": ("‸- a\n- list", "must be a mapping"),
    "not YAML": ("policies: {\n‸", "expected"),
    "a tab": ("policies:\n‸\tmine: {}", "cannot start any token"),
    "an alias": ("issuer: ‸*other", "anchors and aliases"),
    "two documents": ("listen: 127.0.0.1:0\n‸---\nshards: 1", "one document"),
    "an unknown setting": ("‸colour: red", '"colour" is not a setting of the configuration'),
    "a slip": ("‸polices: {}", 'did you mean "policies"?'),
    "a setting twice": ("shards: 1\n‸shards: 2", '"shards" stands here twice'),
    "an address": ("listen: ‸nowhere", "listen must be HOST:PORT"),
    "an empty directory": ('data_dir: ‸""', "data_dir must be 1 to"),
    "shards": ("shards: ‸0", "shards must be 1 to 256"),
    "shards by word": ("shards: ‸all", "shards must be a whole number"),
    "a lifetime": ("token_lifetime_seconds: ‸3601", "must be 1 to 3600"),
    "policies that are a list": ("policies: ‸[]", "policies must be a mapping"),
    "policies that are none": ("policies:‸", "policies must be a mapping"),
    "a policy that is none": ("policies:\n  mine: ‸biometry", '"mine" must be a mapping'),
    "a policy of nothing": ("policies:\n  ‸‸mine: {}", "purpose is required", "factors is required"),
    "a policy twice": (
        "policies:\n  mine: {purpose: login, factors: [biometry]}\n  ‸mine: {purpose: login, factors: [biometry]}",
        '"mine" stands here twice',
    ),
    "a built-in name": ("policies:\n  ‸login: {purpose: login, factors: [biometry]}", "name of a built-in policy"),
    "an impossible name": ("policies:\n  ‸my own: {purpose: login, factors: [biometry]}", "must be 1 to 64 ASCII"),
    "a slip in a policy": in_policy("    ‸attemps: 3", '"attemps" is not a setting of "mine" (did you mean "attempts"?)'),
    "a purpose": ("policies:\n  mine: {purpose: ‸pay, factors: [biometry]}", "login, payment"),
    "a factor": (
        "policies:\n  mine: {purpose: login, factors: [biometry, ‸device-owner]}",
        'not "device-owner" (did you mean "device_owner"?)',
    ),
    "a factor that is a list": ("policies:\n  mine: {purpose: login, factors: [‸[biometry]]}", "a factor must be one of"),
    "a factor that is not served": (
        "policies:\n  mine: {purpose: login, factors: [biometry, ‸passkey]}",
        "passkey is not served by this version",
    ),
    "a factor behind primary": (
        "policies:\n  mine:\n    purpose: login\n    factors:\n      - primary\n      - ‸device_owner",
        "factors[1] device_owner stands after primary",
    ),
    "factors that cannot pay": (
        "policies:\n  mine: {purpose: payment, factors: [biometry, ‸passcode, ‸gesture]}",
        "passcode cannot pay",
        "gesture cannot pay",
    ),
    "a number by word": in_policy("    attempts: ‸three", "attempts must be a whole number"),
    "a number too large": in_policy("    attempts: ‸11", "attempts must be 1 to 10"),
    "a number beyond all": in_policy("    attempts: ‸99999999999999999999", "attempts must be a whole number"),
    "attempts that never come": in_policy("    attempts: ‸6", "attempts is 6, more than lockout_after (5)"),
    "a time without unit": in_policy("    evaluation_lifetime: ‸120", "must be a time such as 30s, 5m or 1h"),
    "a time too long": in_policy("    evaluation_lifetime: ‸2h", "must be 1s to 1h"),
    "a version": in_policy("    minimum_os: ‸eleven", "must be a version"),
    "a version nobody has": in_policy("    minimum_os: ‸2026", "must be a version from 1 to 99"),
    "a ladder that falls": in_policy(
        "    ladder:\n      - {failures: 5, lock: 1m}\n      - {failures: ‸4, lock: ‸30s}",
        "ladder[1].failures must be more than the 5",
        "ladder[1].lock is shorter than a lock before (1m)",
    ),
    "a ladder beyond its end": in_policy(
        "    ladder:\n      - {failures: 5, disable: true}\n      - ‸{failures: 6, lock: 1m}",
        "ladder[1] comes after the secret is disabled",
    ),
    "a rung that is none": in_policy("    ladder: [‸5]", "a rung must be a mapping"),
    "a slip in a rung": in_policy(
        "    ladder: [{failures: 5, lock: 1m, ‸disabled: true}]", 'not a setting of a rung (did you mean "disable"?)'
    ),
    "a ladder for nobody": (
        "policies:\n  mine:\n    purpose: login\n    factors: [biometry]\n    ‸ladder:\n      - {failures: 5, lock: 1m}",
        "ladder has no effect: it concerns passcode or gesture",
    ),
    "freshness for nobody": in_policy("    primary_freshness: ‸1m", "primary_freshness has no effect"),
    "a key for nobody": in_policy("    key_protection: ‸device_passcode", "guards keys of device_owner"),
    "a domain state for nobody": (
        "policies:\n  mine: {purpose: login, factors: [passcode], domain_state: ‸required}",
        "domain_state has no effect",
    ),
    "a payment that compares": (
        "policies:\n  mine: {purpose: payment, factors: [biometry], domain_state: ‸compared}",
        "must be required where money moves",
    ),
    "a payment without token": (
        "policies:\n  mine: {purpose: payment, factors: [biometry], token: ‸none}",
        "token cannot be none where money moves",
    ),
    "a payment twice": (
        "policies:\n  mine: {purpose: payment, factors: [biometry], token: {single_use: ‸false}}",
        "token.single_use cannot be false where money moves",
    ),
    "a token of another kind": in_policy("    token: ‸5m", "token must be none, or a mapping of lifetime, single_use"),
    "a token that lives for no time": in_policy(
        "    token: {lifetime: ‸none, single_use: true}", "lifetime must be a time"
    ),
    "a token by word": in_policy("    token: {single_use: ‸yes}", "single_use must be one of true, false"),
    "nothing to fall back to": (
        "policies:\n  mine: {purpose: login, factors: [biometry], fallback: ‸automatic}",
        "fallback automatic has nothing to fall back to",
    ),
    "a button that is never drawn": in_policy(
        "    fallback: automatic\n    fallback_title: ‸Passcode", "fallback_title is never shown"
    ),
    "a title too long": in_policy(f"    cancel_title: ‸{'é' * 65}", "cancel_title is longer than 128 bytes"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, case):
    check_complaints(tmp_path / "touchstone.yaml", *case)


def test_all_that_is_wrong_is_named_in_the_order_of_the_file(tmp_path):
    cases = [case for case in WRONG.values() if case[0].startswith("policies:\n  mine:")]
    text = "policies:\n"
    complaints = []
    for number, (policy, *expected) in enumerate(cases):
        text += policy.removeprefix("policies:\n").replace("mine:", f"mine-{number}:") + "\n"
        complaints += expected
    places = marked(tmp_path / "touchstone.yaml", text.replace('"mine"', "mine"))
    lines = run("check-config", tmp_path / "touchstone.yaml").stderr.splitlines()
    assert [line[: len(place)] for line, place in zip(lines, places, strict=True)] == places
    assert len(complaints) > 30


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


def test_a_hundred_errors_are_named(tmp_path):
    path = write(tmp_path / "touchstone.yaml", "".join(f"key-{number}: 1\n" for number in range(5_000)))
    lines = run("check-config", path).stderr.splitlines()
    assert len(lines) == 101
    assert lines[0].startswith(f"{path}:1:1: ")
    assert lines[99].startswith(f"{path}:100:1: ")
    assert lines[100] == f"{path}: and more"


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


def test_the_readme_is_right(tmp_path):
    block = README.read_text().split("```yaml\n")[1].split("```")[0]
    checked = run("check-config", write(tmp_path / "touchstone.yaml", block))
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.splitlines()[-1].split() == ["high_value", "payment", "biometry,", "device_owner"]


@pytest.mark.parametrize("seed", range(8))
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


def test_an_empty_file_is_right(tmp_path):
    checked = run("check-config", write(tmp_path / "touchstone.yaml", ""))
    assert [line.split()[0] for line in checked.stdout.splitlines()[1:]] == BUILT_IN


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


@pytest.mark.parametrize(
    "text",
    [policies(kept=FINGER, added=FINGER, wrong={}), "policies: {", "colour: red", None],
    ids=["a wrong policy", "not YAML", "an unknown setting", "no file"],
)
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


def test_other_settings_are_not_reloaded(configured):
    """What else changed waits for a restart, and is named; a flag's setting is the flag's."""
    server = configured("issuer: first\n")
    log = reload(
        server,
        "issuer: second\nshards: 3\nlisten: 127.0.0.1:1\nticket_lifetime_seconds: 1\ntoken_lifetime_seconds: 99\n"
        "retention: {events: 400d, archive: /nowhere}\n",
        expecting="wait for a restart",
    )
    assert "settings=retention, shards, issuer, ticket_lifetime_seconds" in log
    caller, phone = bound(server)
    assert jwt.decode(caller.login(phone).token, options={"verify_signature": False})["iss"] == "first"
    server.terminate()


def test_lifetimes_of_all_policies_are_reloaded_with_them(configured):
    server = configured("token_lifetime_seconds: 600\n")
    caller, phone = bound(server)
    opened = caller.begin(phone)
    reload(server, "token_lifetime_seconds: 599\n")
    assert caller.submit(phone, opened).outcome == INVALID_CONTEXT
    assert caller.login(phone).outcome == SUCCEEDED


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
