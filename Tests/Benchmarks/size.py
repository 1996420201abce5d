"""What a million profiles with two bindings each take: PROFILES=1000000, or ten million.

For SQLite's file, and for PostgreSQL with fsync on this machine: how large the database is, how long a service takes from
its start to serving, how much memory it has then and with 1,000 connections, how late logins of random phones are at a
steady rate, with nothing of the database in the machine's memory and with all that fits; and how late they are while a
million expired rows (EXPIRED) are swept. Exits with 1 where what was promised is not kept.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "Tests/Acceptance"))

import seeding  # noqa: E402
from support.postgres import PostgresServer  # noqa: E402

BUILD = ROOT / ".build/release"
PROFILES = int(os.environ.get("PROFILES", "1000000"))
EXPIRED = int(os.environ.get("EXPIRED", "1000000"))
DURATION = os.environ.get("DURATION", "10s")
STORES = os.environ.get("STORES", "sqlite postgresql").split()

#: Logins a second; far below what the machine can do, so that latency is that of one login and not of a queue.
RATE = 300
CONNECTIONS = 1_000
#: A service sweeps each five seconds: what is measured begins shortly before its first sweep.
BEFORE_SWEEP, SWEEP = ["--warmup", "4s"], "10s"
#: After that, as long as the rest takes.
SWEEP_PATIENCE_SECONDS = 300

#: Of a million bindings; see the README.
MAXIMUM_START_SECONDS = 0.3
MAXIMUM_MEGABYTES = 150
MAXIMUM_BUMP_MILLISECONDS = 20

POSTGRES_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB"}


class Service:
    """`touchstone serve`, until it is stopped."""

    def __init__(self, directory, environment):
        command = [BUILD / "touchstone", "serve", "--listen", "127.0.0.1:0", "--data-dir", directory / "data"]
        begin = time.monotonic()
        self._process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.address = self._process.stdout.readline().removeprefix("listening on ").strip()
        self.start_seconds = time.monotonic() - begin

    @property
    def megabytes(self):
        """Resident (proc(5))."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def load(self, *options, duration=DURATION):
        """touchstone-load, begun."""
        command = [BUILD / "touchstone-load", "--target", self.address, "--json", "--duration", duration]
        command += ["--seeded", str(PROFILES * seeding.BINDINGS_PER_PROFILE), *map(str, options)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def logins(self, *options, **named):
        return report(self.load("--connections", 8, "--streams", 10, "--rate", RATE, *options, **named))

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait() != 0:
            sys.exit(f"the service ended with {self._process.returncode}")


def report(load, *, may_refuse=False):
    output = load.communicate()[0]
    if load.returncode != 0:
        sys.exit(f"touchstone-load ended with {load.returncode}: {output}")
    found = json.loads(output)
    if found["errors"] and not may_refuse:
        sys.exit(f"logins failed: {found}")
    return found


@dataclass
class SQLite:
    directory: Path
    name = "SQLite"
    environment = {"TOUCHSTONE_STORE": "sqlite"}

    def __post_init__(self):
        Service(self.directory, self.environment).stop()

    @property
    def _file(self):
        return self.directory / "data/touchstone.db"

    @property
    def size(self):
        return self._file.stat().st_size

    def seed(self, keys):
        seeding.seed_sqlite(self._file, PROFILES, keys)

    def expire(self):
        seeding.expire_sqlite(self._file, EXPIRED)

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
        self._server = PostgresServer(POSTGRES_SETTINGS, fsync=True)
        self._uri = self._server.create_database("touchstone")
        self.directory = directory
        self.environment = {"TOUCHSTONE_STORE": self._uri}
        touchstone = BUILD / "touchstone"
        environment = {**os.environ, **self.environment}
        (directory / "data").mkdir()
        for command in (["migrate"], ["keys", "new", directory / "data/keys"]):
            subprocess.run([touchstone, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
        Service(directory, self.environment).stop()

    @property
    def size(self):
        return int(seeding.execute(self._uri, "SELECT pg_database_size('touchstone')"))

    def seed(self, keys):
        seeding.seed_postgresql(self._uri, PROFILES, keys)

    def expire(self):
        seeding.expire_postgresql(self._uri, EXPIRED)

    def rows(self):
        return seeding.rows_postgresql(self._uri)

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


def milliseconds(found):
    return f"p50 {found['p50_us'] / 1e3:.1f}, p99 {found['p99_us'] / 1e3:.1f}, max {found['max_us'] / 1e3:.1f} ms"


def measure(store, keys):
    """Answers what is not as promised."""
    broken = []
    begin = time.monotonic()
    store.seed(keys)
    print(f"{store.name}: seeded in {time.monotonic() - begin:.0f} s, {store.size / 1e6:,.0f} MB", flush=True)

    store.forget()
    service = Service(store.directory, store.environment)
    print(f"  start, cold: {service.start_seconds:.3f} s", flush=True)
    print(f"  logins, cold: {milliseconds(service.logins('--warmup', '0s'))}", flush=True)
    print(f"  logins, warm: {milliseconds(service.logins())}", flush=True)
    service.stop()

    service = Service(store.directory, store.environment)
    print(f"  start, warm: {service.start_seconds:.3f} s, {service.megabytes:.0f} MB then", flush=True)
    if service.start_seconds > MAXIMUM_START_SECONDS:
        broken.append(f"{store.name}: a start takes {service.start_seconds:.3f} s")
    load = service.load("--connections", CONNECTIONS, "--streams", 1)
    most = 0
    while load.poll() is None:
        most = max(most, service.megabytes)
        time.sleep(0.05)
    # As many as ever come at once: a busy machine refuses some, early.
    found = report(load, may_refuse=True)
    print(
        f"  {CONNECTIONS} connections: {found['rate']:.0f} logins/s, {found['errors']} refused, {most:.0f} MB", flush=True
    )
    if most > MAXIMUM_MEGABYTES:
        broken.append(f"{store.name}: {most:.0f} MB")
    service.stop()
    return broken + measure_sweep(store)


def measure_sweep(store):
    """Begun with the service, whose first sweep comes some seconds later."""
    service = Service(store.directory, store.environment)
    quiet = service.logins(*BEFORE_SWEEP, duration=SWEEP)
    print(f"  logins, quiet: {milliseconds(quiet)}", flush=True)
    service.stop()
    store.expire()
    service = Service(store.directory, store.environment)
    swept = service.logins(*BEFORE_SWEEP, duration=SWEEP)
    left = store.rows()
    print(f"  logins while {EXPIRED - left:,} rows were swept: {milliseconds(swept)}", flush=True)
    deadline = time.monotonic() + SWEEP_PATIENCE_SECONDS
    while store.rows() > 0:
        if time.monotonic() > deadline:
            sys.exit(f"{store.name}: {store.rows():,} rows are not swept")
        time.sleep(1)
    service.stop()
    bump = (swept["p99_us"] - quiet["p99_us"]) / 1e3
    return [f"{store.name}: sweeping makes logins {bump:.0f} ms late"] if bump > MAXIMUM_BUMP_MILLISECONDS else []


def main():
    print(f"{os.cpu_count()} cores, {PROFILES:,} profiles, {RATE} logins a second for {DURATION} each")
    listing = subprocess.run(
        [BUILD / "touchstone-load", "--print-seeded-keys"], stdout=subprocess.PIPE, text=True, check=True
    )
    keys = [bytes.fromhex(line) for line in listing.stdout.split()]
    broken = []
    for kind in [SQLite, PostgreSQL]:
        if kind.name.lower() not in STORES:
            continue
        with tempfile.TemporaryDirectory(prefix="touchstone-size-") as directory:
            store = kind(Path(directory))
            try:
                broken += measure(store, keys)
            finally:
                store.close()
    if broken:
        sys.exit("not as promised: " + "; ".join(broken))


if __name__ == "__main__":
    main()
