"""`touchstone policy …`: the policies in force, and what they would decide, without a service."""

import pytest

from support.server import run
from test_configuration import BAD_CONFIGURATION, BUILT_IN, EXAMPLE, write

USAGE = 64


def test_the_built_in_policies_are_listed():
    listed = run("policy", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == BUILT_IN


def test_a_configuration_adds_to_them():
    listed = run("policy", "list", "--config", EXAMPLE)
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    assert ["step_up", "login", "biometry, primary"] in rows


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
