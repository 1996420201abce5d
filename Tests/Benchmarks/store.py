"""What durable logins a second each store takes, how late they are at a steady rate, and how many share an fsync.

SQLite's file, and PostgreSQL with fsync on this machine, service and load beside it. A login is one commit. What has a
budget is the time from one login to the next in V, the cost of one P-256 verification by OpenSSL in the same run.
"""

import re
import sys
import tempfile
from pathlib import Path

import budgets
import service
from service import CORES, DATABASE, DURATION, Service, new_postgres, touchstone, verification_microseconds

CONNECTIONS, STREAMS = 8, 25
#: Logins a second while latency is measured.
STEADY_RATE = 1_000


def load(running, *options, **named):
    return service.report(running.load("--connections", CONNECTIONS, "--streams", STREAMS, *options), **named)


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
    fastest = load(running, is_saturating=True)
    written = re.search(r"commits=(\d+) fsyncs=(\d+)", running.stop())
    report("SQLite", fastest, steady, int(written[1]), int(written[2]))
    return fastest, steady


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
        fastest = load(running, is_saturating=True)
        fsyncs = fsyncs_of(database) - fsyncs_before
        running.stop()
    finally:
        database.close()
    report("PostgreSQL", fastest, steady, fastest["succeeded"], fsyncs)
    return fastest, steady


def fsyncs_of(database):
    """Of the write-ahead log; the server's count of them is a second late at most."""
    return int(database.execute("SELECT wal_sync FROM pg_stat_wal")[0])


def measure():
    verification = verification_microseconds()
    print(f"{len(CORES)} cores, {DURATION} each, {CONNECTIONS} × {STREAMS} phones; V = {verification:.1f} µs; times in ms")
    print(
        f"{'store':<12}{'logins/s':>9}{'p50':>9}{'p99':>9}{'commits/fsync':>16}{f'at {STEADY_RATE}/s':>12}{'p50':>9}{'p99':>9}"
    )
    figures = {}
    with tempfile.TemporaryDirectory(prefix="touchstone-store-") as directory:
        for name, measure_store in [("sqlite", measure_sqlite), ("postgresql", measure_postgresql)]:
            (Path(directory) / name).mkdir()
            fastest, steady = measure_store(Path(directory) / name)
            figures[f"{name}_login"] = 1e6 / fastest["rate"] / verification
            figures[f"{name}_steady_p99"] = steady["p99_us"] / 1e3
    return figures


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
