"""What a login costs, by how many bindings there are, by connections and by cores. Writes curves.json, which charts.py draws.

Every cost is the server's CPU for a login, in V: the cost of one P-256 verification by OpenSSL just before. Phones are random ones
of a store that was seeded; 80 logins are in flight at a time. The service has one core, but for the curve of cores. Each point is
the median of ROUNDS (3).

POINTS="bindings 10000000", "connections 1 10", "cores 1 2": these points alone, added to those of the file. Without it, all three
curves; the bindings are 10^2 to 10^6 (10^7 need 4 GB of disk).

OUTPUT: another directory for the file, as for a trial.
"""

import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from service import (
    CORES,
    ROOT,
    Service,
    allow_most_connections,
    connection_limits,
    report,
    server_microseconds,
    verification_microseconds,
)
from support import seeding

OUTPUT = Path(os.environ.get("OUTPUT") or ROOT / "docs/charts") / "curves.json"
DURATION = os.environ.get("DURATION", "5s")
ROUNDS = int(os.environ.get("ROUNDS", "3"))

CALLERS = 80
#: Where the number of connections does not vary.
CONNECTIONS = 8
#: Where the number of bindings does not vary: few, so that the service soon has all of them in its cache.
BINDINGS = 1_000
#: As fast as a client connects at least. All connections are made before the measured part.
CONNECTED_PER_SECOND = 2_000

BINDING_COUNTS = [100, 1_000, 10_000, 100_000, 1_000_000]
CONNECTION_COUNTS = [1, 10, 100, 1_000, 10_000]
CORE_COUNTS = [1, 2]


class Seeded:
    """A directory with a store of so many bindings."""

    def __init__(self, directory, bindings):
        self._directory = directory
        self._bindings = bindings
        Service(directory).stop()
        self._file = directory / "data/touchstone.db"
        seeding.seed_sqlite(self._file, bindings // seeding.BINDINGS_PER_PROFILE, seeding.keys())
        self.bytes = self._file.stat().st_size

    def cost(self, connections=CONNECTIONS, cores=1):
        """The medians of a login's costs."""
        rounds = [self._round(connections, cores) for _ in range(ROUNDS)]
        return {key: round(statistics.median(found[key] for found in rounds), 3) for key in rounds[0]}

    def _round(self, connections, cores):
        verification = verification_microseconds()
        options = ["--seeded", self._bindings, "--connections", connections, "--streams", 1, "--callers", CALLERS]
        options += ["--warmup", f"{1 + connections // CONNECTED_PER_SECOND}s"]
        with Service(self._directory, configuration=connection_limits(connections), is_on_one_core=cores == 1) as running:
            found = report(running.load(*options, duration=DURATION), is_saturating=True)
        cost = server_microseconds(found)
        return {
            "v": cost / verification,
            "us": cost,
            "v_us": verification,
            "per_second": found["rate"],
            "p50_ms": found["p50_us"] / 1e3,
            "p99_ms": found["p99_us"] / 1e3,
            "megabytes": found["service"]["max_megabytes"],
        }


def with_seeded(bindings, points):
    """What `points` makes of a new store."""
    with tempfile.TemporaryDirectory(prefix="touchstone-curves-") as directory:
        return points(Seeded(Path(directory), bindings))


def by_bindings(counts):
    """How many there are is what varies."""

    def point(seeded):
        return {**seeded.cost(), "store_megabytes": round(seeded.bytes / 1e6, 1)}

    return {count: with_seeded(count, point) for count in counts}


def by_connections(counts):
    return with_seeded(BINDINGS, lambda seeded: {count: seeded.cost(connections=count) for count in counts})


def by_cores(counts):
    return with_seeded(BINDINGS, lambda seeded: {count: seeded.cost(cores=count) for count in counts})


CURVES = {"bindings": by_bindings, "connections": by_connections, "cores": by_cores}


def machine():
    model = next(
        line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    )
    return f"{model}, {len(CORES)} cores, {platform.freedesktop_os_release()['PRETTY_NAME']}"


def add(curve, counts):
    """To the file, each point with where and when it was measured."""
    begin = time.monotonic()
    origin = {"machine": machine(), "date": time.strftime("%Y-%m-%d", time.gmtime()), "duration": DURATION, "rounds": ROUNDS}
    found = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    points = found.setdefault(curve, {})
    for count, cost in CURVES[curve](counts).items():
        points[str(count)] = cost | origin
        print(f"{curve:<12}{count:>10,}" + "".join(f"  {key} {value:g}" for key, value in cost.items()), flush=True)
    found[curve] = dict(sorted(points.items(), key=lambda point: int(point[0])))
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    print(f"({time.monotonic() - begin:.0f} s)", flush=True)


def main():
    if not shutil.which("openssl"):
        sys.exit("needs openssl")
    most_connections = allow_most_connections()
    if points := os.environ.get("POINTS", "").split():
        add(points[0], [int(count) for count in points[1:]])
        return
    counts = [count for count in CONNECTION_COUNTS if count < most_connections] + [most_connections]
    OUTPUT.unlink(missing_ok=True)
    for curve, points in [("bindings", BINDING_COUNTS), ("connections", counts), ("cores", CORE_COUNTS)]:
        add(curve, points)


if __name__ == "__main__":
    main()
