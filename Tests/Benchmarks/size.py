"""What a million profiles with two bindings each take: PROFILES=1000000, or ten million.

For SQLite's file, and for PostgreSQL with fsync on this machine: how large the database is, how long a service takes from
its start to serving, how much memory it has then and with 1,000 connections, how late logins of random phones are at a
steady rate, with nothing of the database in the machine's memory and with all that fits. And how late the latest of them
are while the service sweeps expired rows (EXPIRED) and archives old events (ARCHIVED), beside how late they are while it
does neither: medians of several windows, since a machine has moments of its own.

STORES=postgresql MEASURES=cold (of: cold, warm, sweeping) measures less, and RATE another rate than the budget's 300/s.
"""

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import budgets
from service import CORES, DATABASE, DURATION, Service, new_postgres, report, touchstone
from support import seeding

PROFILES = int(os.environ.get("PROFILES", "1000000"))
EXPIRED = int(os.environ.get("EXPIRED", "1000000"))
ARCHIVED = int(os.environ.get("ARCHIVED", "200000"))
STORES = os.environ.get("STORES", "sqlite postgresql").split()
MEASURES = os.environ.get("MEASURES", "cold warm sweeping").split()

#: Both stores, on two cores, estimated: what does not depend on the number of profiles, and what a million more take.
EXPECTED_MINUTES, EXPECTED_MINUTES_PER_MILLION = 6, 5

#: Logins a second; far below what the machine can do, so that latency is that of one login and not of a queue.
RATE = int(os.environ.get("RATE", "300"))
CONNECTIONS = 1_000

#: Windows of each kind.
RUNS = 3
#: So long that the latest login in a thousand is one of several: a service that stands still for 20 ms delays six.
WINDOW = "10s"
#: A service sweeps for the first time five seconds after its start, and with this setting archives after three.
RETENTION_SECONDS = 30
WARMUP = ["--warmup", "3s"]
#: Of what is seeded to be archived: much older than that.
EVENT_AGE_SECONDS = 3_600
#: After the last window, as long as the rest takes.
SWEEP_PATIENCE_SECONDS = 300


@dataclass
class SQLite:
    directory: Path
    name, uri = "SQLite", "sqlite"

    def __post_init__(self):
        Service(self.directory).stop()

    @property
    def _file(self):
        return self.directory / "data/touchstone.db"

    @property
    def size(self):
        return self._file.stat().st_size

    def seed(self, keys):
        seeding.seed_sqlite(self._file, PROFILES, keys)

    def expire(self, count):
        seeding.expire_sqlite(self._file, count)

    def log(self, count):
        seeding.log_sqlite(self._file, count, PROFILES, EVENT_AGE_SECONDS)

    def rows(self):
        return seeding.rows_sqlite(self._file)

    def forget(self):
        """What the machine's memory has of it."""
        with self._file.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self):
        pass


class PostgreSQL:
    name = "PostgreSQL"

    def __init__(self, directory):
        self._server = new_postgres()
        self.uri = self._server.create_database(DATABASE)
        self.directory = directory
        (directory / "data").mkdir()
        touchstone("migrate", store=self.uri)
        touchstone("keys", "new", directory / "data/keys", store=self.uri)
        Service(directory, self.uri).stop()

    @property
    def size(self):
        return int(seeding.execute(self.uri, "SELECT pg_database_size(current_database())"))

    def seed(self, keys):
        seeding.seed_postgresql(self.uri, PROFILES, keys)

    def expire(self, count):
        seeding.expire_postgresql(self.uri, count)

    def log(self, count):
        seeding.log_postgresql(self.uri, count, PROFILES, EVENT_AGE_SECONDS)

    def rows(self):
        return seeding.rows_postgresql(self.uri)

    def forget(self):
        """What the server's and the machine's memory have of it."""
        self._server.stop()
        for path in (self._server.directory / "data").rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self._server.start()

    def close(self):
        self._server.close()


def load(service, *options, duration=DURATION):
    """touchstone-load, begun: with phones that were seeded."""
    return service.load("--seeded", PROFILES * seeding.BINDINGS_PER_PROFILE, *options, duration=duration)


def logins(service, *options, **named):
    return report(load(service, "--connections", 8, "--streams", 10, "--rate", RATE, *options, **named))


def milliseconds(found):
    keys = {"p50": "p50_us", "p99": "p99_us", "p99.9": "p999_us", "max": "max_us"}
    return ", ".join(f"{name} {found[key] / 1e3:.1f}" for name, key in keys.items()) + " ms"


def measure_store(store, keys):
    """The figures, by the names of their budgets without the store's."""
    begin = time.monotonic()
    store.seed(keys)
    print(f"{store.name}: seeded in {time.monotonic() - begin:.0f} s, {store.size / 1e6:,.0f} MB", flush=True)
    figures = {}
    if "cold" in MEASURES:
        figures["cold_p99"] = measure_cold(store)
    if "warm" in MEASURES:
        figures |= measure_warm(store)
    if "sweeping" in MEASURES:
        figures["sweeping"] = measure_sweeping(store)
    return figures


def measure_cold(store):
    store.forget()
    service = Service(store.directory, store.uri)
    print(f"  start, cold: {service.start_seconds:.3f} s", flush=True)
    cold = logins(service, "--warmup", "0s")
    print(f"  logins, cold: {milliseconds(cold)}", flush=True)
    print(f"  logins, warm: {milliseconds(logins(service))}", flush=True)
    service.stop()
    return cold["p99_us"] / 1e3


def measure_warm(store):
    service = Service(store.directory, store.uri)
    print(f"  start, warm: {service.start_seconds:.3f} s, {service.megabytes:.0f} MB then", flush=True)
    # As many as ever come at once: a busy machine refuses some, early.
    crowd = load(service, "--connections", CONNECTIONS, "--streams", 1, "--allow-errors")
    most = 0
    while crowd.poll() is None:
        most = max(most, service.megabytes)
        time.sleep(0.05)
    found = report(crowd)
    print(
        f"  {CONNECTIONS} connections: {found['rate']:.0f} logins/s, {found['errors']} refused, {most:.0f} MB", flush=True
    )
    service.stop()
    return {"start": service.start_seconds, "megabytes": most}


# Sweeping and archiving


def measure_sweeping(store):
    """Compares the latest login in a thousand: whoever comes while the service stands still is among them."""
    quiet = [measure_quiet_window(store) for _ in range(RUNS)]
    swept = [measure_swept_window(store) for _ in range(RUNS)]
    await_end_of_sweeping(store)
    bump = (latest(swept) - latest(quiet)) / 1e3
    print(f"  sweeping and archiving delay the latest login in a thousand by {bump:.1f} ms", flush=True)
    return bump


def latest(windows):
    return statistics.median(found["p999_us"] for found in windows)


def measure_quiet_window(store):
    service = Service(store.directory, store.uri)
    found = logins(service, *WARMUP, duration=WINDOW)
    service.stop()
    print(f"  logins, quiet: {milliseconds(found)}", flush=True)
    return found


def measure_swept_window(store):
    last_login = time.monotonic()
    store.expire(max(0, EXPIRED - store.rows()))
    store.log(ARCHIVED)
    # Younger events would stand before those, and archiving ends at the first one that is too young.
    time.sleep(max(0, RETENTION_SECONDS - (time.monotonic() - last_login)))
    rows, events = store.rows(), archived_events(store)
    service = Service(store.directory, store.uri, retention(store))
    found = logins(service, *WARMUP, duration=WINDOW)
    left = store.rows()
    service.stop()
    events = archived_events(store) - events
    print(f"  logins while {rows - left:,} rows were swept and {events:,} events archived: {milliseconds(found)}", flush=True)
    if rows == left or events == 0:
        sys.exit(f"{store.name}: nothing was swept, or nothing archived")
    return found


def retention(store):
    return f"retention: {{events: {RETENTION_SECONDS}s, archive: {archive(store)}}}\n"


def archive(store):
    return store.directory / "archive"


def archived_events(store):
    """By the files' names: events-FIRST-LAST.jsonl."""
    spans = (path.stem.split("-")[1:] for path in archive(store).glob("events-*.jsonl"))
    return sum(int(last) - int(first) + 1 for first, last in spans)


def await_end_of_sweeping(store):
    """Of what the windows left."""
    service = Service(store.directory, store.uri)
    deadline = time.monotonic() + SWEEP_PATIENCE_SECONDS
    while (rows := store.rows()) > 0:
        if time.monotonic() > deadline:
            sys.exit(f"{store.name}: {rows:,} rows are not swept")
        time.sleep(1)
    service.stop()


def measure():
    expected = EXPECTED_MINUTES + EXPECTED_MINUTES_PER_MILLION * PROFILES / 1e6
    print(
        f"{len(CORES)} cores, {PROFILES:,} profiles, {RATE} logins a second for {DURATION} each; about"
        f" {expected:.0f} minutes for both stores",
        flush=True,
    )
    keys = seeding.keys()
    figures = {}
    for kind in [SQLite, PostgreSQL]:
        name = kind.name.lower()
        if name not in STORES:
            continue
        with tempfile.TemporaryDirectory(prefix="touchstone-size-") as directory:
            store = kind(Path(directory))
            try:
                found = measure_store(store, keys)
            finally:
                store.close()
        figures |= {f"{name}_{figure}": value for figure, value in found.items()}
    return figures


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
