"""What durable logins a second each store takes, how late they are at a steady rate, and how many share an fsync.

SQLite's file, and PostgreSQL with fsync on this machine, service and load beside it. A login is one commit. Exits with 1
where PostgreSQL's are fewer, or later, than promised.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import service
from service import DATABASE, Service, new_postgres, touchstone

DURATION = os.environ.get("DURATION", "10s")

CONNECTIONS, STREAMS = 8, 25
#: Logins a second while latency is measured.
STEADY_RATE = 1_000

#: Of PostgreSQL.
MINIMUM_RATE = 3_000
MAXIMUM_STEADY_P99_MILLISECONDS = 50


def load(running, *options):
    return service.report(
        running.load("--connections", CONNECTIONS, "--streams", STREAMS, *options, duration=DURATION)
    )


def report(name, fastest, steady, commits, fsyncs):
    print(
        f"{name:<12}{fastest['rate']:>9.0f}{fastest['p50_us'] / 1e3:>9.1f}{fastest['p99_us'] / 1e3:>9.1f}"
        f"{commits / fsyncs:>16.1f}{steady['rate']:>12.0f}{steady['p50_us'] / 1e3:>9.1f}{steady['p99_us'] / 1e3:>9.1f}",
        flush=True,
    )


def measure_sqlite(directory):
    running = Service(directory)
    steady = load(running, "--rate", STEADY_RATE)
    running.stop()
    # Anew, so that what is counted is of the fastest alone.
    running = Service(directory)
    fastest = load(running)
    written = re.search(r"commits=(\d+) fsyncs=(\d+)", running.stop())
    report("SQLite", fastest, steady, int(written[1]), int(written[2]))


def measure_postgresql(directory):
    database = new_postgres()
    try:
        uri = database.create_database(DATABASE)
        touchstone("migrate", store=uri)
        (directory / "data").mkdir(mode=0o700)
        touchstone("keys", "new", directory / "data/keys", store=uri)
        running = Service(directory, uri)
        steady = load(running, "--rate", STEADY_RATE)
        fsyncs_before = fsyncs_of(database)
        fastest = load(running)
        fsyncs = fsyncs_of(database) - fsyncs_before
        running.stop()
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
