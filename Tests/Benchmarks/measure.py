"""What one call costs, and how many there are in a second: the service under touchstone-load on this machine.

Prints one line for each load. CPU is the server's own, user and system, over all its threads, for each call of the measured
part: neither binding nor connecting is in it. "Server cores" is the same by the second. "CPU used" is what server and load
together took of all cores. Two of the loads pin the server to one core and the load to the others.

The speed of a machine drifts, more so where it is rented. Beside each load stands V, the cost of one P-256 verification
by OpenSSL just before: compare rows, and days, by it.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import budgets
from service import CORES, DURATION, Service, report, server_microseconds, verification_microseconds


@dataclass(frozen=True)
class Load:
    scenario: str
    connections: int
    streams: int
    #: The server on one core and one event loop, the load on the rest; otherwise both share them all.
    is_pinned: bool

    @property
    def name(self):
        place = "server on one core" if self.is_pinned else "on all cores"
        return f"{self.scenario}, {self.connections} × {self.streams}, {place}"

    @property
    def options(self):
        return ["--scenario", self.scenario, "--connections", self.connections, "--streams", self.streams]


PREFLIGHT = Load("preflight", connections=8, streams=10, is_pinned=True)
LOGIN = Load("login", connections=8, streams=10, is_pinned=True)

LOADS = [
    PREFLIGHT,
    LOGIN,
    Load("preflight", connections=8, streams=10, is_pinned=False),
    Load("login", connections=8, streams=10, is_pinned=False),
    Load("login", connections=1, streams=100, is_pinned=False),
    Load("login", connections=64, streams=2, is_pinned=False),
]


def run(load):
    """The report of a load on a new service."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory:
        with Service(Path(directory), is_on_one_core=load.is_pinned) as running:
            return report(running.load(*load.options), is_saturating=True)


def row(load, verification, found):
    cost = server_microseconds(found)
    server_cores = cost * found["rate"] / 1e6
    load_cores = found["client"]["cpu_us_per_call"] * found["rate"] / 1e6
    return (
        f"{load.name:<40}{found['rate']:>9.0f}{cost:>12.1f}{cost / verification:>7.2f}{server_cores:>13.2f}"
        f"{(server_cores + load_cores) / len(CORES):>10.0%}{found['p50_us']:>9.0f}{found['p99_us']:>9.0f}"
        f"{verification:>8.1f}"
    )


def measure():
    print(f"{len(CORES)} cores, {DURATION} each")
    print(
        f"{'load':<40}{'calls/s':>9}{'CPU µs/call':>12}{'in V':>7}{'server cores':>13}{'CPU used':>10}"
        f"{'p50 µs':>9}{'p99 µs':>9}{'V µs':>8}"
    )
    figures = {}
    for load in LOADS:
        verification = verification_microseconds()
        found = run(load)
        print(row(load, verification, found), flush=True)
        if load == LOGIN:
            figures["login_cpu"] = server_microseconds(found) / verification
        elif load == PREFLIGHT:
            figures["load_client_cpu"] = found["client"]["cpu_us_per_call"] / verification
    return figures


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
