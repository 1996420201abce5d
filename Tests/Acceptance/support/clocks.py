"""Other times of day than ours, for programs that are run."""

import mmap
import struct
import subprocess
from pathlib import Path

from . import preload

_SOURCE = Path(__file__).with_name("wall_clock.c")


class Clock:
    """What makes programs see another time of day, as libfaketime does it: timers are left alone.

    Its own command stays in front of a program and takes its signals. So it runs one that does nothing, and others borrow
    what it set up.
    """

    _VARIABLES = ("LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC", "FAKETIME_SHARED")

    def __init__(self, seconds_ahead):
        command = ["faketime", "--exclude-monotonic", "-f", f"{seconds_ahead:+}s", "sh", "-c", "env && echo && exec cat"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = iter(self._process.stdout.readline, "\n")
        variables = dict(line.rstrip("\n").split("=", 1) for line in lines if "=" in line)
        self.environment = {name: variables[name] for name in self._VARIABLES}

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class SettableClock:
    """Can be set while a program runs, by hours: libfaketime moves a program's timers, too."""

    def __init__(self, directory):
        library, control = preload.build(_SOURCE, directory), directory / "wall_clock"
        control.write_bytes(bytes(8))
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), 0)
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(control)}

    def set(self, seconds_ahead):
        struct.pack_into("q", self._control, 0, seconds_ahead)
