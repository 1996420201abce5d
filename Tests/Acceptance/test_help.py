"""What the program says of itself to shells and to `man`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.server import BINARY, run

ROOT = Path(__file__).resolve().parents[2]
MAN_PAGE = ROOT / "deploy/debian/touchstone.1"
MAKE_MAN_PAGE = ROOT / "deploy/debian/make_man_page.py"


def test_the_man_page_has_every_command_and_option():
    """`make man` writes it anew."""
    dumped = run("--experimental-dump-help")
    assert dumped.returncode == 0
    made = subprocess.run(
        [sys.executable, MAKE_MAN_PAGE], input=dumped.stdout, capture_output=True, text=True, check=True
    ).stdout
    assert made == MAN_PAGE.read_text(encoding="utf-8"), "run `make man`"
    commands = {it["commandName"] for it in json.loads(dumped.stdout)["command"]["subcommands"]} - {"help"}
    assert {line.removeprefix(".SS ").replace("\\-", "-") for line in made.splitlines() if line.startswith(".SS ")} == commands


def script(shell):
    made = run("--generate-completion-script", shell)
    assert (made.returncode, made.stderr) == (0, "")
    return made.stdout


def completions(tmp_path, *words):
    """What bash offers for the last word."""
    file = tmp_path / "touchstone.bash"
    file.write_text(script("bash"))
    line = " ".join(words)
    ask = f"""
    source {file}
    COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
    COMP_CWORD={len(words) - 1} COMP_LINE='{line}' COMP_POINT={len(line)}
    function=$(complete -p touchstone | sed 's/.*-F \\([^ ]*\\).*/\\1/')
    "$function" touchstone '{words[-1]}' '{words[-2]}'
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    # The script may call the program.
    path = f"{BINARY.parent}:/usr/bin:/bin"
    asked = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, env={"PATH": path}, check=False)
    assert (asked.returncode, asked.stderr) == (0, ""), asked
    return {word.strip() for word in asked.stdout.splitlines()}


def test_bash_completes_commands_and_options(tmp_path):
    assert {"serve", "admin", "policy"} <= completions(tmp_path, "touchstone", "")
    assert completions(tmp_path, "touchstone", "adm") == {"admin"}
    assert {"show", "explain", "erase"} <= completions(tmp_path, "touchstone", "admin", "profile", "")
    assert completions(tmp_path, "touchstone", "admin", "events", "--fol") == {"--follow"}


@pytest.mark.parametrize(("shell", "check"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_each_shell_reads_its_script(tmp_path, shell, check):
    file = tmp_path / shell
    file.write_text(script(shell))
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    checked = subprocess.run([shell, check, file], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_settings_and_paths(tmp_path):
    assert completions(tmp_path, "touchstone", "serve", "--limits-connection-i") == {"--limits-connection-idle"}
    assert completions(tmp_path, "touchstone", "serve", "--log-format", "") == {"text", "json"}
    directory = tmp_path / "keys"
    directory.mkdir()
    (tmp_path / "keys.yaml").touch()
    assert completions(tmp_path, "touchstone", "serve", "--config", f"{directory}") >= {f"{directory}.yaml"}
    assert completions(tmp_path, "touchstone", "keys", "list", f"{directory}") == {str(directory)}
    assert completions(tmp_path, "touchstone", "keys", "rotate", f"{directory}", "a") == {"audit"}
