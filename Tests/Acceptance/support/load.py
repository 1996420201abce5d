"""`touchstone-load`, started against a server."""

import contextlib
import json
import os
import pty
import re
import subprocess
import threading
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


#: The measured part has begun.
BEGINNING = rb"due "
#: It ends in a few seconds: enough for a machine that is busy to stop the service in them.
NEAR_ITS_END = rb"\b[234] s left"


def start_and_await(server, *options, shows=BEGINNING):
    """Returns when the live view, which is in a terminal alone, shows it: however long the setup took."""
    controller, terminal = pty.openpty()
    command = [LOAD, "--target", server.address, *map(str, options)]
    load = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    is_shown = threading.Event()

    def read():
        shown = b""
        with contextlib.suppress(OSError):  # EIO is a terminal's end.
            while chunk := os.read(controller, 65_536):
                # What is looked for may come in two parts.
                shown = shown[-64:] + chunk
                if re.search(shows, shown):
                    is_shown.set()
        os.close(controller)

    threading.Thread(target=read, daemon=True).start()
    assert is_shown.wait(RUN_SECONDS)
    return load


def end(load):
    stdout, stderr = load.communicate(timeout=RUN_SECONDS)
    return Ended(load.returncode, stdout, stderr)


def latencies(part):
    """The latency of each call of a report, or of a part of it, in ascending order."""
    entries = (entry.split(":") for entry in part["histogram"].split())
    return [int(latency) for latency, calls in entries for _ in range(int(calls))]


def run_load(server, *options):
    return end(start_load(server, *options))


def run_command(*arguments):
    """`touchstone-load` without a server."""
    ended = subprocess.run([LOAD, *map(str, arguments)], capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr)
