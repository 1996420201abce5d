"""How long `touchstone migrate --from sqlite --to postgresql` takes: PROFILES=1000000, with two bindings and four events
each.

From a SQLite file to a PostgreSQL with fsync, both on this machine. Says how many profiles it moves a second, and the most
memory that it had.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from service import DATABASE, TOUCHSTONE, Service, new_postgres
from support import seeding

PROFILES = int(os.environ.get("PROFILES", "1000000"))
EVENTS_PER_PROFILE = 4
#: Of the events; it makes no difference.
AGE_SECONDS = 3600
POLL_SECONDS = 0.05


def seed(directory):
    Service(directory).stop()
    file = directory / "data/touchstone.db"
    seeding.seed_sqlite(file, PROFILES, seeding.keys())
    seeding.log_sqlite(file, PROFILES * EVENTS_PER_PROFILE, PROFILES, AGE_SECONDS)
    return file


def move(directory, uri):
    """Answers its seconds, and the most megabytes that were resident."""
    begin = time.monotonic()
    command = [TOUCHSTONE, "migrate", "--from", directory / "data", "--to", uri]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, peak_megabytes(process))
        time.sleep(POLL_SECONDS)
    if process.returncode != 0:
        sys.exit(f"the move ended with {process.returncode}")
    return time.monotonic() - begin, most


def peak_megabytes(process):
    """Of its own: what wait4(2) says counts what this process had when it forked, too."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0) / 1024


def main():
    print(f"{os.cpu_count()} cores, {PROFILES:,} profiles", flush=True)
    with tempfile.TemporaryDirectory(prefix="touchstone-move-") as directory:
        file = seed(Path(directory))
        print(f"seeded: {file.stat().st_size / 1e6:,.0f} MB", flush=True)
        postgres = new_postgres()
        try:
            seconds, megabytes = move(Path(directory), postgres.create_database(DATABASE))
        finally:
            postgres.close()
    print(f"moved in {seconds:.1f} s: {PROFILES / seconds:,.0f} profiles/s, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
