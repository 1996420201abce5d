"""A service under measurement, and the PostgreSQL that it may stand on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "Tests/Acceptance"))

from support.postgres import PostgresServer  # noqa: E402

BUILD = ROOT / ".build/release"
TOUCHSTONE, TOUCHSTONE_LOAD = BUILD / "touchstone", BUILD / "touchstone-load"

DATABASE = "touchstone"
#: As a machine has that serves a database; the tests' own is smaller.
_POSTGRES_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB"}


def new_postgres():
    """With fsync, on this machine."""
    return PostgresServer(_POSTGRES_SETTINGS, fsync=True)


def touchstone(*arguments, store):
    """A command that is no server."""
    environment = {**os.environ, "TOUCHSTONE_STORE": store}
    subprocess.run([TOUCHSTONE, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)


class Service:
    """`touchstone serve` in a directory, until it is stopped."""

    def __init__(self, directory, store="sqlite", configuration=None):
        """`configuration`: YAML."""
        command = [TOUCHSTONE, "serve", "--listen", "127.0.0.1:0", "--data-dir", directory / "data"]
        if configuration is not None:
            (directory / "touchstone.yaml").write_text(configuration)
            command += ["--config", directory / "touchstone.yaml"]
        self._log = (directory / "log").open("w+")
        environment = {**os.environ, "TOUCHSTONE_STORE": store}
        begin = time.monotonic()
        self._process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        line = self._process.stdout.readline()
        self.start_seconds = time.monotonic() - begin
        if not line:
            sys.exit(f"the service does not start: {self._read_log()}")
        self.address = line.removeprefix("listening on ").strip()

    @property
    def megabytes(self):
        """Resident (proc(5))."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def load(self, *options, duration):
        """touchstone-load, begun."""
        command = [TOUCHSTONE_LOAD, "--target", self.address, "--json", "--duration", duration]
        return subprocess.Popen([*command, *map(str, options)], stdout=subprocess.PIPE, text=True)

    def stop(self):
        """Answers what it logged."""
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait() != 0:
            sys.exit(f"the service ended with {self._process.returncode}: {self._read_log()}")
        return self._read_log()

    def _read_log(self):
        self._log.seek(0)
        return self._log.read()


def report(load, *, may_refuse=False):
    """What touchstone-load says at its end."""
    output = load.communicate()[0]
    if load.returncode != 0:
        sys.exit(f"touchstone-load ended with {load.returncode}: {output}")
    found = json.loads(output)
    if found["errors"] and not may_refuse:
        sys.exit(f"logins failed: {found}")
    return found
