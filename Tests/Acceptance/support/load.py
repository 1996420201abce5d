"""`touchstone-load`, started against a server."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .server import BINARY

LOAD = Path(os.environ.get("TOUCHSTONE_LOAD_BINARY") or BINARY.parent / "touchstone-load")

#: Longer than any run here, also on a busy machine.
RUN_SECONDS = 120


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str

    @property
    def report(self):
        return json.loads(self.stdout)


def start_load(server, *options):
    command = [LOAD, "--target", server.address, *map(str, options)]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(load):
    stdout, stderr = load.communicate(timeout=RUN_SECONDS)
    return Ended(load.returncode, stdout, stderr)


def run_load(server, *options):
    return end(start_load(server, *options))


def run_command(*arguments):
    """`touchstone-load` without a server."""
    ended = subprocess.run([LOAD, *map(str, arguments)], capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr)
