"""`touchstone policy …`: the policies in force, and what they would decide, without a service."""

import json

import pytest

from support.server import run
from test_configuration import BAD_CONFIGURATION, BUILT_IN, EXAMPLE, write

DIFFERENCE = 1
USAGE = 64
DATA_ERROR = 65
NO_INPUT = 66

EXAMPLE_TABLES = EXAMPLE.with_suffix(".md")


def test_the_built_in_policies_are_listed():
    listed = run("policy", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == BUILT_IN


def test_a_configuration_adds_to_them():
    listed = run("policy", "list", "--config", EXAMPLE)
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    assert ["step_up", "login", "biometry, primary"] in rows
    as_json = run("policy", "list", "--config", EXAMPLE, "--json").stdout.splitlines()
    step_up = {"name": "step_up", "purpose": "login", "factors": ["biometry", "primary"]}
    assert len(as_json) == len(rows) and step_up in map(json.loads, as_json)


@pytest.mark.parametrize("name", [*BUILT_IN, "high_value", "unlock", "step_up"])
def test_what_is_shown_can_be_configured(tmp_path, name):
    """A policy as it is shown, under another name, is the same policy."""
    shown = run("policy", "show", "--config", EXAMPLE, name)
    assert (shown.returncode, shown.stderr) == (0, "")
    first, *settings = shown.stdout.splitlines()
    assert first == f"{name}:"
    again = write(tmp_path / "again.yaml", "\n".join(["policies:", "  again:", *("  " + line for line in settings)]))
    assert run("check-config", again).stderr == ""
    assert run("policy", "show", "--config", again, "again").stdout.splitlines() == ["again:", *settings]


def test_a_title_is_shown_as_yaml_reads_it(tmp_path):
    title = r"""Use "my\n" 'pass': # {word}"""
    path = write(
        tmp_path / "titles.yaml",
        f"policies:\n  mine:\n    purpose: login\n    factors: [biometry]\n    cancel_title: |-\n      {title}\n",
    )
    shown = run("policy", "show", "--config", path, "mine").stdout
    again = write(tmp_path / "again.yaml", "policies:\n" + "".join(f"  {line}\n" for line in shown.splitlines()))
    assert run("policy", "show", "--config", again, "mine").stdout == shown
    assert r'cancel_title: "Use \"my\\n\" ' in shown


def test_a_policy_that_is_not_there():
    shown = run("policy", "show", "logon")
    assert (shown.returncode, shown.stdout) == (USAGE, "")
    assert 'there is no policy "logon" (did you mean "login"?)' in shown.stderr


def test_a_bad_configuration(tmp_path):
    path = write(tmp_path / "touchstone.yaml", "policies: {mine: {}}\n")
    listed = run("policy", "list", "--config", path)
    assert listed.returncode == BAD_CONFIGURATION
    assert f"{path}:1:12: purpose is required" in listed.stderr


# Decision tables


def run_tables(*files, config=EXAMPLE):
    return run("policy", "test", "--config", config, *files)


TABLE = """# Tables

| case          | policy | attempt        | → outcome | left |
|---------------|--------|----------------|-----------|------|
| a first wrong | login  | wrong biometry | {} | {}    |
| a right one   | login  | right biometry | SUCCEEDED | 5    |
"""


def test_the_example_passes():
    tested = run_tables(EXAMPLE_TABLES)
    assert (tested.returncode, tested.stderr) == (0, "")
    assert tested.stdout.endswith("rows in 1 file: all as expected\n")


def test_the_example_does_not_pass_without_its_policies():
    tested = run("policy", "test", EXAMPLE_TABLES)
    assert (tested.returncode, tested.stdout) == (DATA_ERROR, "")
    assert f"{EXAMPLE_TABLES}:" in tested.stderr


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ("attempts: 3", "a second wrong one ends it: outcome is TRY_AGAIN, not FAILED"),
        ("lockout_after: 5", "the fourth in a row locks the phone: outcome is TRY_AGAIN, not LOCKED_OUT"),
        ("key_protection: biometry_any", "a key that outlives new faces is no key: outcome is SUCCEEDED"),
        ("factors: [biometry]", "the passcode's key pays then: outcome is FACTOR_REQUIRED, not SUCCEEDED"),
    ],
)
def test_the_example_notices_a_weaker_policy(tmp_path, settings, difference):
    name = settings.split(":")[0]
    before, high_value, after = EXAMPLE.read_text().partition("  high_value:\n")
    lines = after.split("\n")
    weakened = next(index for index, line in enumerate(lines) if line.startswith(f"    {name}:"))
    lines[weakened] = f"    {settings}"
    tested = run_tables(
        EXAMPLE_TABLES, config=write(tmp_path / "weaker.yaml", before + high_value + "\n".join(lines))
    )
    assert tested.returncode == DIFFERENCE
    assert difference in tested.stdout


def test_differences_have_a_place_and_say_what_is_and_what_should_be(tmp_path):
    good = write(tmp_path / "good.md", TABLE.format("TRY_AGAIN", 4))
    bad = write(tmp_path / "bad.md", TABLE.format("FAILED", ""))
    tested = run_tables(good, bad)
    assert (tested.returncode, tested.stderr) == (DIFFERENCE, "")
    assert tested.stdout.splitlines() == [
        f"{bad}:5:45: a first wrong: outcome is TRY_AGAIN, not FAILED",
        f"{bad}:5:58: a first wrong: left is 4, not nothing",
        "4 rows in 2 files: 2 differences",
    ]


def test_a_malformed_table_runs_no_row(tmp_path):
    bad = write(tmp_path / "bad.md", TABLE.format("DONE", 4))
    tested = run_tables(EXAMPLE_TABLES, bad)
    assert (tested.returncode, tested.stdout) == (DATA_ERROR, "")
    assert tested.stderr.startswith(f"{bad}:5:45")


def test_a_table_that_is_no_text(tmp_path):
    bad = tmp_path / "bad.md"
    bad.write_bytes(b"| \xff |\n")
    tested = run_tables(bad)
    assert (tested.returncode, tested.stderr) == (DATA_ERROR, f"{bad}: is not UTF-8\n")


def test_a_table_that_is_not_there(tmp_path):
    tested = run_tables(tmp_path / "nowhere.md")
    assert (tested.returncode, tested.stdout) == (NO_INPUT, "")
    assert tested.stderr.startswith(f"{tmp_path / 'nowhere.md'}: cannot be read")


# Explanations


def explain(*arguments):
    """Which rules were asked, as (rule, ok or no, detail), and the answers by column."""
    explained = run("policy", "explain", *arguments)
    assert (explained.returncode, explained.stderr) == (0, "")
    rules, answers = explained.stdout.split("\n\n")
    return [line.split(maxsplit=2) for line in rules.splitlines()], dict(
        line.split(maxsplit=1) for line in answers.splitlines()
    )


def test_a_situation_is_explained_rule_by_rule():
    rules, answers = explain("login", "--posture", "iOS 9.3, touch_id", "--standing", "failures 4")
    assert ["R2", "ok", "biometry: needs 8.0, runs iOS 9.3"] in rules
    assert ["R4", "ok", "biometry: biometrics are not locked out"] in rules
    assert answers == {"outcome": "YES", "next": "biometry", "left": "1", "change": "UNCHANGED"}


def test_a_row_of_a_table_is_explained():
    lines = EXAMPLE_TABLES.read_text().splitlines()
    for name, outcome in [("the third goes on", "FACTOR_REQUIRED"), ("which opens it", "SUCCEEDED")]:
        number = next(number for number, line in enumerate(lines, start=1) if name in line)
        _, answers = explain("--config", EXAMPLE, "--row", f"{EXAMPLE_TABLES}:{number}")
        assert answers["outcome"] == outcome


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name a policy"),
        (["login", "--row", "tables.md:1"], "name a policy"),
        (["--row", "tables.md:1", "--time", "+1m"], "a --row has its own"),
        (["--row", "tables.md"], "is not FILE:LINE"),
        (["--row", f"{EXAMPLE.with_suffix('.md')}:1", "--config", EXAMPLE], "has no row of a decision table in line 1"),
        (["logon"], "policy: "),
        (["login", "--posture", "iOS nine"], "posture: "),
        (["login", "--standing", "then"], "standing: there is no previous row"),
        (["login", "--attempt", "guess"], "attempt: "),
        (["login", "--time", "later"], "time: "),
    ],
)
def test_a_situation_that_makes_no_sense(arguments, complaint):
    explained = run("policy", "explain", *arguments)
    assert (explained.returncode, explained.stdout) == (USAGE, "")
    assert complaint in explained.stderr
