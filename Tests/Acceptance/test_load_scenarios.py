"""The load client's scenarios: what people do, whether the answers are right, and the phones that are kept."""

import json
import re
import time
from pathlib import Path

import pytest

from support.caller import new_caller
from support.liar import Liar
from support.load import RUN_SECONDS, run_command, run_load, start_and_await

VALID, CLIENT_LIMITED, MISSED = 0, 70, 99
#: A machine that also does other work may make the client late.
FINE = (VALID, CLIENT_LIMITED)
CLASSES = ("succeeded", "wrong", "failed", "timed_out", "unfinished", "unsent")
DOCS = Path(__file__).parents[2] / "docs/LOAD.md"
ACTIONS = {
    "bind", "login", "payment", "passcode", "gesture", "wrong_finger", "changed_finger", "lockout", "introspect",
    "preflight",
}  # fmt: skip
#: Few phones, since each takes a while to bind where the machine is busy.
#: Passcodes are hashed by threads of low priority, which wait long on a busy machine.
PATIENCE = ("--timeout", "60s", "--grace", "60s")
SMALL = ("--json", "--connections", 2, "--streams", 2, "--warmup", "100ms", *PATIENCE)


@pytest.fixture
def write(tmp_path):
    def write(text, name="shop.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def bindings_of(server, application="touchstone-load"):
    """How often phones were bound, as the audit log has it."""
    return sum(event.kind == "binding.created" for event in new_caller(server, application).events())


def run_right(server, *options):
    """A run in which every call succeeds, in every flow.

    At the end of a run the client gives up calls if it gets no answer for 300 ms. A busy machine may keep the service
    waiting for so long: then the run is repeated.
    """
    until = time.monotonic() + RUN_SECONDS
    while (ended := run_load(server, *options)).stdout and ended.report["unfinished"] and time.monotonic() < until:
        pass
    assert ended.returncode in FINE, ended.stdout + ended.stderr
    report = ended.report
    assert report["wrong_by_reason"] == {}
    assert report["due"] == report["succeeded"] > 0
    for flow in report["flows"]:
        assert flow["due"] == flow["succeeded"], flow
    return ended


# What people do


def test_what_is_built_in_runs_without_errors(start):
    report = run_right(start(), "--scenario", "mixed", "--rate", 50, "--duration", "3s", *SMALL).report
    assert report["scenario"] == "mixed"
    assert report["signatures_verified"] > 0
    assert {flow["name"] for flow in report["flows"]} == ACTIONS - {"bind"}
    assert all(flow["due"] > 0 for flow in report["flows"])
    for name in ("due", *CLASSES):
        assert sum(flow[name] for flow in report["flows"]) == report[name]
    login = next(flow for flow in report["flows"] if flow["name"] == "login")
    assert login["due"] == pytest.approx(0.6 * report["due"], abs=3)


def test_the_scenario_of_the_docs_runs(start, write):
    """It has every action, weights, and think times."""
    text = re.search(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert set(re.findall(r"[a-z_]+", text)) >= ACTIONS
    server = start()
    report = run_right(server, "--scenario", write(text), "--rate", 40, "--duration", "4s", *SMALL).report
    assert report["scenario"] == "shop.yaml"
    flows = {flow["name"]: flow for flow in report["flows"]}
    assert len(flows) == 9
    assert all(flow["due"] > 0 for flow in flows.values())
    assert "checkout" in flows
    # Each a new phone, beside the run's own.
    assert bindings_of(server, "shop") > flows["bind"]["due"]


PASSKEYS = {"touchstone-load": {"passkeys": {"rp_id": "load.example", "origins": ["https://load.example"]}}}


@pytest.mark.parametrize("credential", ["hybrid", "passkey"])
def test_people_prove_themselves_by_other_credentials(start, write, credential):
    actions = "[bind, preflight, login, payment, introspect, passcode]"
    scenario = write(f"credential: {credential}\nflows: [{{actions: {actions}}}, {{actions: login, weight: 5}}]")
    server = start(configuration={"applications": PASSKEYS})
    run_right(server, "--scenario", scenario, "--rate", 20, "--duration", "2s", *SMALL)
    bound = [event for event in new_caller(server, "touchstone-load").events() if event.kind == "binding.created"]
    assert bound
    assert all(event.device_id.startswith("passkey:") == (credential == "passkey") for event in bound)


def test_a_phone_file_has_keys_of_p256_alone(server, write, tmp_path):
    scenario = write("credential: hybrid\nflows: [{actions: login}]")
    ended = run_load(server, "--scenario", scenario, "--phones", tmp_path / "phones.json", *SMALL)
    assert ended.returncode == 64
    assert "credential: hybrid" in ended.stderr


def test_the_table_has_a_line_for_each_flow(server):
    ended = run_load(server, "--scenario", "mixed", "--rate", 50, "--duration", "2s", *SMALL[1:])
    assert re.search(r"^flow +due +succeeded +errors +unsent +p50 +p99$", ended.stdout, re.MULTILINE)
    assert re.search(r"^login +[56]\d ", ended.stdout, re.MULTILINE)


# Answers are checked


def with_other_signature(answer):
    if answer.token:
        head, _, signature = answer.token.rpartition(".")
        answer.token = f"{head}.{signature[::-1]}"


def test_a_wrong_signature_is_found_in_the_sample(server):
    with Liar(server, SubmitAttempt=with_other_signature) as liar:
        ended = run_load(liar, "--rate", 100, "--duration", "2s", *SMALL)
    assert ended.returncode == MISSED, ended.stderr
    assert ended.report["wrong_by_reason"] == {"login: the token's signature": 2}


# Phones


def test_a_second_run_binds_nothing(start, tmp_path):
    server = start()
    phones = tmp_path / "phones.json"

    def run(streams):
        options = ["--scenario", "mixed", "--rate", 50, "--duration", "1s", "--phones", phones, *SMALL]
        run_right(server, *options, "--streams", streams)
        return bindings_of(server)

    first = run(2)
    assert first == len(json.loads(phones.read_text())["phones"]) > 4
    assert phones.stat().st_mode & 0o777 == 0o600
    content = phones.read_text()
    assert run(2) == first
    assert phones.read_text() == content
    # More phones are bound beside those of the file.
    assert run(4) == len(json.loads(phones.read_text())["phones"]) > first
    assert json.loads(phones.read_text())["phones"][:first] == json.loads(content)["phones"]
    assert list(tmp_path.glob("phones.json*")) == [phones]


def test_phones_that_a_killed_run_left_locked_recover(start, write, tmp_path):
    server = start()
    scenario = write("flows: [{actions: lockout}, {actions: changed_finger}]")
    options = ["--scenario", scenario, "--phones", tmp_path / "phones.json", *SMALL]
    # At a rate: in a loop that is closed, and on a machine that is busy, no call may begin in the second.
    brief = ["--duration", "1s", "--rate", 8]
    run_right(server, *options, *brief)
    for _ in range(3):
        load = start_and_await(server, *options, "--duration", "30s")
        load.kill()
        load.communicate()
    run_right(server, *options, *brief)


def test_a_phone_file_serves_its_service_wherever_it_is(start, tmp_path):
    """Restarted on another port; with another signing key it is the same service, too."""
    phones = ["--phones", tmp_path / "phones.json", "--rate", 20, "--duration", "1s", *SMALL]
    server = start()
    run_right(server, *phones)
    server.terminate()
    server = start()
    run_right(server, *phones)
    assert bindings_of(server) == 4


def test_a_phone_file_of_another_service_is_refused(start, server, tmp_path):
    path = tmp_path / "phones.json"
    home = start()
    options = ["--phones", path, "--rate", 20, "--duration", "1s", *SMALL]
    run_right(home, *options)
    content, bound = path.read_text(), bindings_of(server)
    # Also where it has too few phones.
    for more in ([], ["--streams", 8]):
        ended = run_load(server, *options, *more)
        assert_refused(
            ended,
            f"{path} is of another service: the one at {server.address} does not know its phones, which were bound at "
            f"{home.address}",
        )
    assert path.read_text() == content
    assert bindings_of(server) == bound


def test_a_phone_file_is_used_by_one_run_at_a_time(server, tmp_path):
    options = ["--phones", tmp_path / "phones.json", "--scenario", "preflight", *SMALL]
    load = start_and_await(server, *options, "--duration", "60s")
    assert_refused(run_load(server, *options), f"{tmp_path}/phones.json is in use by another run")
    assert load.poll() is None
    load.kill()
    load.communicate()


# Bad input: where no service is, so that nothing can have been bound


def assert_refused(ended, line):
    assert ended.returncode == 64, ended.stderr
    assert ended.stderr.splitlines() == [f"touchstone-load: {line}"]
    assert not ended.stdout


def test_a_wrong_scenario_is_refused(write):
    path = write("flows:\n  - actions: login\n    wieght: 5\n")
    assert_refused(
        run_command("--target", "127.0.0.1:1", "--scenario", path),
        f'{path}:3:5: "wieght" is not a setting of a flow (did you mean "weight"?)',
    )


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("logn", '--scenario "logn" is neither login, preflight, payment, mixed nor the name of a YAML file'),
        ("/no/such.yaml", "/no/such.yaml cannot be read: No such file or directory"),
    ],
)
def test_a_scenario_that_does_not_exist_is_refused(name, error):
    assert_refused(run_command("--target", "127.0.0.1:1", "--scenario", name), error)


def test_a_file_that_is_no_phone_file_or_that_others_can_open_is_refused(write):
    path = write("flows: []", "phones.json")
    path.chmod(0o600)
    options = ["--target", "127.0.0.1:1", "--phones", path]
    assert_refused(run_command(*options), f"{path} cannot be used: it is no phone file of touchstone-load")
    assert path.read_text() == "flows: []"
    wallet = {"format": "touchstone-load phones", "version": 1, "application": "wallet"}
    write(json.dumps({**wallet, "target": "", "signing_keys": [], "phones": []}), "phones.json")
    assert_refused(
        run_command(*options), f'{path} has phones of application "wallet", and the scenario\'s is "touchstone-load"'
    )
    for mode in [0o640, 0o602]:
        path.chmod(mode)
        assert_refused(run_command(*options), f"{path} has private keys, and other users can open it: run chmod 600 on it")


def test_phones_cannot_be_kept_where_there_is_no_directory():
    assert_refused(
        run_command("--target", "127.0.0.1:1", "--phones", "/no/such/phones.json"),
        "/no/such/phones.json cannot be opened: No such file or directory",
    )


def test_seeded_phones_have_no_passcodes():
    assert_refused(
        run_command("--target", "127.0.0.1:1", "--seeded", "5", "--scenario", "mixed"),
        "--seeded has phones without passcodes, and scenario mixed needs some with one",
    )
