"""What durable logins a second each store takes, how late they are at a steady rate, and how many share an fsync.

SQLite's file, and PostgreSQL with fsync on this machine, service and load beside it. A login is one commit. Exits with 1
where PostgreSQL's are fewer, or later, than promised.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "Tests/Acceptance"))

from support.postgres import PostgresServer  # noqa: E402

BUILD = ROOT / ".build/release"
DURATION = os.environ.get("DURATION", "10s")

CONNECTIONS, STREAMS = 8, 25
#: Logins a second while latency is measured.
STEADY_RATE = 1_000

#: Of PostgreSQL.
MINIMUM_RATE = 3_000
MAXIMUM_STEADY_P99_MILLISECONDS = 50

#: As a machine has that serves a database; the tests' own is smaller.
POSTGRES_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB"}


class Service:
    """`touchstone serve` on a store of its own, until it is stopped."""

    def __init__(self, directory, environment):
        command = [BUILD / "touchstone", "serve", "--listen", "127.0.0.1:0", "--data-dir", directory / "data"]
        self._log = (directory / "log").open("w+")
        self._process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        self.address = self._process.stdout.readline().removeprefix("listening on ").strip()

    def load(self, *options):
        command = [BUILD / "touchstone-load", "--target", self.address, "--json", "--duration", DURATION]
        command += ["--connections", str(CONNECTIONS), "--streams", str(STREAMS), *options]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if ended.returncode != 0:
            sys.exit(f"touchstone-load ended with {ended.returncode}: {ended.stdout}")
        report = json.loads(ended.stdout)
        if report["errors"]:
            sys.exit(f"logins failed: {report}")
        return report

    def stop(self):
        """Answers what it logged."""
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait() != 0:
            sys.exit(f"the service ended with {self._process.returncode}")
        self._log.seek(0)
        return self._log.read()


def report(name, fastest, steady, commits, fsyncs):
    print(
        f"{name:<12}{fastest['rate']:>9.0f}{fastest['p50_us'] / 1e3:>9.1f}{fastest['p99_us'] / 1e3:>9.1f}"
        f"{commits / fsyncs:>16.1f}{steady['rate']:>12.0f}{steady['p50_us'] / 1e3:>9.1f}{steady['p99_us'] / 1e3:>9.1f}",
        flush=True,
    )


def measure_sqlite(directory):
    service = Service(directory, {"TOUCHSTONE_STORE": "sqlite"})
    steady = service.load("--rate", str(STEADY_RATE))
    service.stop()
    # Anew, so that what is counted is of the fastest alone.
    service = Service(directory, {"TOUCHSTONE_STORE": "sqlite"})
    fastest = service.load()
    written = re.search(r"commits=(\d+) fsyncs=(\d+)", service.stop())
    report("SQLite", fastest, steady, int(written[1]), int(written[2]))


def measure_postgresql(directory):
    database = PostgresServer(POSTGRES_SETTINGS, fsync=True)
    try:
        environment = {"TOUCHSTONE_STORE": database.create_database("touchstone")}
        touchstone = BUILD / "touchstone"
        subprocess.run([touchstone, "migrate"], env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
        (directory / "data").mkdir(mode=0o700)
        subprocess.run([touchstone, "keys", "new", directory / "data/keys"], check=True, stdout=subprocess.DEVNULL)
        service = Service(directory, environment)
        steady = service.load("--rate", str(STEADY_RATE))
        fsyncs_before = fsyncs_of(database)
        fastest = service.load()
        fsyncs = fsyncs_of(database) - fsyncs_before
        service.stop()
    finally:
        database.close()
    report("PostgreSQL", fastest, steady, fastest["completed"], fsyncs)
    return fastest["rate"] >= MINIMUM_RATE and steady["p99_us"] <= MAXIMUM_STEADY_P99_MILLISECONDS * 1_000


def fsyncs_of(database):
    """Of the write-ahead log; the server's count of them is a second late at most."""
    return int(database.execute("SELECT wal_sync FROM pg_stat_wal")[0])


def main():
    print(f"{os.cpu_count()} cores, {DURATION} each, {CONNECTIONS} × {STREAMS} phones; times in ms")
    print(
        f"{'store':<12}{'logins/s':>9}{'p50':>9}{'p99':>9}{'commits/fsync':>16}{f'at {STEADY_RATE}/s':>12}{'p50':>9}{'p99':>9}"
    )
    with tempfile.TemporaryDirectory(prefix="touchstone-store-") as directory:
        for name in ["sqlite", "postgresql"]:
            (Path(directory) / name).mkdir()
        measure_sqlite(Path(directory) / "sqlite")
        is_kept = measure_postgresql(Path(directory) / "postgresql")
    if not is_kept:
        sys.exit(
            f"promised of PostgreSQL: {MINIMUM_RATE} logins/s, and a p99 of {MAXIMUM_STEADY_P99_MILLISECONDS} ms"
            f" at {STEADY_RATE}/s"
        )


if __name__ == "__main__":
    main()
