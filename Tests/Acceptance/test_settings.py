"""Settings by flags, variables of the environment and a file: which comes first, what is printed, what is refused."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import jwt
import pytest
from ruamel.yaml import YAML

from support.caller import new_caller
from support.certificates import Authority
from support.configuration import BAD_CONFIGURATION, write
from support.pages import blocks_of
from support.phone import Phone
from support.server import run, run_to_end

USAGE = 64

ROOT = Path(__file__).parents[2]
CHECK = Path(sys.executable).with_name("check-jsonschema")

#: All configurations that the repository ships.
EXAMPLES = [
    *(ROOT / "deploy").glob("*.example.yaml"),
    *(ROOT / "deploy").rglob("touchstone.yaml"),
]


def issuer(server):
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    return jwt.decode(caller.login(phone).token, options={"verify_signature": False})["iss"]


def test_everything_may_come_from_the_environment(start):
    """Also callers and policies, as YAML, without a file."""
    server = start(
        environment={
            "TOUCHSTONE_CALLERS": '[{name: local, methods: "*", applications: [shop]}]',
            "TOUCHSTONE_POLICIES": "mine: {purpose: login, factors: [biometry]}",
            "TOUCHSTONE_LIMITS_CONNECTIONS": "20",
        }
    )
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    assert caller.login(phone, "mine").token


def test_an_images_defaults_give_way_to_a_file_and_to_variables(tmp_path):
    """The file, too, is one that the command line does not name."""
    file = tmp_path / "touchstone.yaml"
    image = {
        "TOUCHSTONE_DEFAULT_CONFIG": str(file),
        "TOUCHSTONE_DEFAULT_ISSUER": "image",
        "TOUCHSTONE_DEFAULT_TOKEN_LIFETIME_SECONDS": "61",
        "TOUCHSTONE_DEFAULT_SHARDS": "3",
    }

    def in_force(**variables):
        printed = run("config", "print", "--json", environment=image | variables)
        assert printed.returncode == 0, printed.stderr
        settings = json.loads(printed.stdout)
        return {name: settings[name]["value"] for name in ("issuer", "token_lifetime_seconds", "shards")}

    assert in_force() == {"issuer": "image", "token_lifetime_seconds": 61, "shards": 3}
    write(file, "issuer: file\ntoken_lifetime_seconds: 62\n")
    assert in_force(TOUCHSTONE_TOKEN_LIFETIME_SECONDS="63") == {
        "issuer": "file",
        "token_lifetime_seconds": 63,
        "shards": 3,
    }


def test_the_loss_of_a_default_file_is_a_refused_reload(start, tmp_path):
    """A mount that fails must not take all callers' limits away. Without a file at the start, the log says so."""
    file = write(tmp_path / "touchstone.yaml", "issuer: file\n")
    environment = {"TOUCHSTONE_DEFAULT_CONFIG": str(file)}
    server = start("with", environment=environment)
    file.unlink()
    server.process.send_signal(signal.SIGHUP)
    assert str(file) in server.next_error("configuration refused, nothing changed")
    assert issuer(server) == "file"
    server = start("without", environment=environment)
    server.next_error(f"there is no {file}: settings come from variables and flags")
    assert issuer(server) == "touchstone"


def test_commands_read_the_variables_too(start):
    """And take no other directory for the service's."""
    server = start()
    new_caller(server).bind(Phone())
    environment = {"TOUCHSTONE_DATA_DIR": str(server.data_directory), "TOUCHSTONE_STORE": server.store or ""}
    verified = run("audit", "verify", environment=environment)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert run("audit", "verify").returncode == USAGE


def test_a_reload_leaves_what_variables_and_flags_set(start):
    server = start(
        configuration={"token_lifetime_seconds": 100}, environment={"TOUCHSTONE_TOKEN_LIFETIME_SECONDS": "77"}
    )
    server.reload({"token_lifetime_seconds": 200})
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    claims = jwt.decode(caller.login(phone).token, options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 77


def test_a_variable_that_sets_nothing_is_refused(tmp_path):
    environment = {"TOUCHSTONE_SHRADS": "1"}
    complaint = 'TOUCHSTONE_SHRADS: there is no such setting (did you mean "TOUCHSTONE_SHARDS"?)'
    for ended in (
        run("serve", "--data-dir", tmp_path / "data", environment=environment),
        run("config", "print", environment=environment),
        run("migrate", environment=environment),
    ):
        assert (ended.returncode, ended.stdout, ended.stderr) == (BAD_CONFIGURATION, "", complaint + "\n")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--shrads", "1"], 'touchstone: there is no flag --shrads (did you mean "--shards"?)'),
        (["--shards", "many"], "--shards: shards must be a whole number"),
        (["--limits-connections"], "Error: Missing value for '--limits-connections <1 to 1000000>'"),
        # A password in it must not be shown.
        (["postgresql://u:secret@h/d"], "touchstone: an argument belongs to no flag: settings begin with --"),
    ],
)
def test_a_flag_that_sets_nothing_is_wrong_usage(tmp_path, flags, complaint):
    ended = run_to_end(tmp_path / "data", arguments=flags)
    assert (ended.returncode, ended.stdout, ended.stderr.splitlines()[0]) == (USAGE, "", complaint)
    assert "secret" not in ended.stderr
    assert not (tmp_path / "data").exists()


# What is refused at the start


def test_a_certificate_that_does_not_fit_its_key(tmp_path):
    authority = Authority(tmp_path)
    certificate, other = authority.issue_server(), authority.issue_server("other")
    shutil.copyfile(other.key_file, certificate.key_file)
    flags = [f"--tls-certificate={certificate.file}", f"--tls-key={certificate.key_file}", "--callers"]
    caller = '[{name: shop, methods: "*", applications: "*", keys: ["sha256:' + "0" * 64 + '"]}]'
    ended = run_to_end(tmp_path / "data", arguments=[*flags, caller])
    assert (ended.returncode, ended.stdout) == (BAD_CONFIGURATION, "")
    assert ended.stderr == (
        f"--tls-key: tls.key {certificate.key_file}: not the key of the certificate in {certificate.file}\n"
    )
    assert not (tmp_path / "data").exists()


# What is printed


def check(schema, *paths):
    checked = subprocess.run(
        [CHECK, "--schemafile", schema, *paths], capture_output=True, text=True, check=False, timeout=60
    )
    return checked.returncode == 0, checked.stdout


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "touchstone.schema.json"
    path.write_text(run("config", "schema").stdout)
    return path


def test_the_schema_is_one_and_accepts_what_is_shipped(schema, tmp_path):
    checked = subprocess.run([CHECK, "--check-metaschema", schema], capture_output=True, text=True, check=False, timeout=60)
    assert checked.returncode == 0, checked.stdout
    assert json.loads(schema.read_text())["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert len(EXAMPLES) >= 4
    blocks = []
    for page in ("ATTESTATION.md", "POLICIES.md"):
        for block in blocks_of(ROOT / "docs" / page, "yaml"):
            blocks.append(write(tmp_path / f"{len(blocks)}.yaml", block))
    assert len(blocks) >= 4
    is_accepted, output = check(schema, *EXAMPLES, *blocks)
    assert is_accepted, output


def test_the_schema_accepts_what_is_printed(schema, tmp_path):
    example = tmp_path / "touchstone.yaml"
    shutil.copy(ROOT / "deploy/touchstone.example.yaml", example)
    for options in ([], ["--config", example]):
        printed = write(tmp_path / "printed.yaml", run("config", "print", *options).stdout)
        is_accepted, output = check(schema, printed)
        assert is_accepted, output
        assert run("check-config", printed).returncode in (0, BAD_CONFIGURATION)
        again = run("config", "print", "--config", printed).stdout
        assert YAML(typ="safe").load(printed.read_text()) == YAML(typ="safe").load(again)


def variants(value):
    """The value with one key misspelt, or with one value of another type, at each place in it, and where that is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            rest = {name: other for name, other in value.items() if name != key}
            yield (key,), {**rest, f"{key}x": inner}
            for place, variant in variants(inner):
                yield (key, *place), {**rest, key: variant}
    elif isinstance(value, list):
        yield (), {"other": value}
        for index, inner in enumerate(value):
            for place, variant in variants(inner):
                yield (index, *place), [*value[:index], variant, *value[index + 1 :]]
    else:
        yield (), [[value]]
        yield (), {"other": value}


#: Below these an operator chooses the names.
MAPS = {("vendors",), ("applications",), ("policies",)}


@pytest.mark.parametrize("example", ["touchstone.example.yaml", "policies.example.yaml"])
def test_each_slip_and_each_wrong_type_in_an_example_is_refused(schema, example):
    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text()))
    value = YAML(typ="safe").load((ROOT / "deploy" / example).read_text())
    # A date, for this reader.
    value = json.loads(json.dumps(value, default=str))
    assert validator.is_valid(value)
    found = list(variants(value))
    assert len(found) > 40
    accepted = [place for place, variant in found if validator.is_valid(variant)]
    assert [place for place in accepted if place[:-1] not in MAPS] == []


@pytest.mark.parametrize(
    "text",
    [
        "shrads: 1",
        "shards: many",
        "shards: 0",
        "limits: {conections: 1}",
        "limits: 5",
        "limits: {connection_age: 90}",
        "listen: [1, 2]",
        "reflection: maybe",
        "store: mysql://db/x",
        "tls: {certificate: /a}",
        "callers: {name: shop}",
        'callers: [{nmae: shop, methods: "*"}]',
        'callers: [{name: shop, methods: ["EvaluationService/Nothing"]}]',
        "applications: {shop: {attestation: perhaps}}",
        "policies: {mine: {purpose: login, factors: [biometry], attemps: 1}}",
        "policies: {mine: {purpose: login, factors: [finger]}}",
        "policies: {mine: {purpose: login, factors: [biometry], attempts: 99}}",
        "watch_files: 10",
    ],
)
def test_the_schema_refuses_what_the_service_refuses(schema, tmp_path, text):
    path = write(tmp_path / "touchstone.yaml", text)
    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text()))
    assert not validator.is_valid(YAML(typ="safe").load(text))
    assert run("check-config", path).returncode == BAD_CONFIGURATION


def test_no_policy_has_the_console_s_name(tmp_path):
    file = tmp_path / "configuration.yaml"
    file.write_text('policies: {touchstone.console: {purpose: login, factors: [biometry]}}\n')
    ended = run("check-config", str(file))
    assert ended.returncode == 78 and "touchstone.console" in ended.stderr, ended.stderr + ended.stdout
