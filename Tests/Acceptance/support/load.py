"""`touchstone-load`, started against a server."""

import contextlib
import json
import os
import pty
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


def start_and_await(server, *options):
    """Returns when the measured part has begun, however long the setup took: the live view, which is in a terminal alone, says
    so."""
    controller, terminal = pty.openpty()
    command = [LOAD, "--target", server.address, *map(str, options)]
    load = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal, text=True)
    os.close(terminal)
    has_begun = threading.Event()

    def read():
        with contextlib.suppress(OSError):  # EIO is a terminal's end.
            while b"due " not in os.read(controller, 65_536):
                pass
            has_begun.set()
            while os.read(controller, 65_536):
                pass
        os.close(controller)

    threading.Thread(target=read, daemon=True).start()
    assert has_begun.wait(RUN_SECONDS)
    return load


def end(load):
    stdout, stderr = load.communicate(timeout=RUN_SECONDS)
    return Ended(load.returncode, stdout, stderr)


def run_load(server, *options):
    return end(start_load(server, *options))


def run_command(*arguments):
    """`touchstone-load` without a server."""
    ended = subprocess.run([LOAD, *map(str, arguments)], capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr)
