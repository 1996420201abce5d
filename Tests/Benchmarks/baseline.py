"""Touchstone beside what a Go team would write instead (baseline/service), by the same touchstone-load, in turns, on one core each.

The server has the first core and the load the second one. PostgreSQL has both. CPU is the server's own over the measured part; written
bytes, write calls, thread switches and the database's CPU are counted in that part, too. Each figure is a median of ROUNDS (3) loads of
SECONDS (6). The baseline has BoringSSL's P-256 (a build flag of Go's); on PostgreSQL it has Go's own.

PARTS="closed steady postgres statements memory hog": some of it.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import budgets
from service import (
    CORES,
    ROOT,
    Listening,
    Measured,
    Service,
    cpu_nanoseconds,
    new_postgres,
    pinned,
    report,
    touchstone,
    verification_microseconds,
)

BUILD = ROOT / ".build-baseline"
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = int(os.environ.get("SECONDS", "6"))
RATES = [500, 1_000, 2_000]
#: At which p50, bytes, write calls and thread switches are compared, and PostgreSQL.
LOW_RATE = 500
#: At which the statements of a login are counted.
STATEMENT_RATES = [100, 500, 5_000]
#: Of all databases but the one that is asked.
COUNT_STATEMENTS = """
SELECT sum(calls) FROM pg_stat_statements WHERE dbid <> (SELECT oid FROM pg_database WHERE datname = current_database())
"""
#: The load has so many connections, and so many streams on each.
LOAD = ["--connections", 8, "--streams", 10, "--warmup", "1s"]
#: Where they are counted, or where a rate may be more than a system can do.
ERRORS_ALLOWED = ["--allow-errors"]
MEMORY_SECONDS = 60
#: Two Ps on the one core, so that the writer's fsync blocks no other goroutine, and as much memory as the service has: the best of what
#: was tried.
GO_SETTINGS = {"GOMAXPROCS": "2", "GOGC": "400"}
TICKS = os.sysconf("SC_CLK_TCK")


def build_baseline():
    if len(CORES) < 2:
        sys.exit("needs two cores: one for the server, one for the load")
    subprocess.run([ROOT / "Tests/Benchmarks/baseline/build", BUILD, sys.executable], check=True)


class GoService(Measured, Listening):
    """The baseline on the first core."""

    def __init__(self, directory, program, store):
        options = ["-store", store] if store else []
        log = self._prepare(directory, is_on_one_core=True)
        command = [BUILD / program, "-listen", "127.0.0.1:0", "-data", directory / "data", *options]
        super().__init__(pinned(command, CORES[:1]), 1, environment=os.environ | GO_SETTINGS, stderr=log)


@contextmanager
def started(system, store=None):
    """A new server, with nothing in its store."""
    with tempfile.TemporaryDirectory(prefix="touchstone-baseline-") as name:
        directory = Path(name)
        if system != "touchstone":
            running = GoService(directory, system, store)
        elif store:
            (directory / "data").mkdir(mode=0o700)
            touchstone("migrate", store=store)
            touchstone("keys", "new", directory / "data/keys", store=store)
            running = Service(directory, store, is_on_one_core=True)
        else:
            running = Service(directory, is_on_one_core=True)
        with running:
            yield running


@dataclass
class Counters:
    """Of a process, and what another source counts beside it."""

    time: float
    #: Nanoseconds of CPU. The kernel's ticks, which others count, differ by a fifth from run to run at low rates.
    cpu: int
    switches: int
    write_calls: int
    written_bytes: int
    beside: float

    @classmethod
    def read(cls, pid, beside):
        """proc(5)."""
        switches = 0
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            lines = status.read_text().splitlines()
            switches += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
        io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        return cls(time.monotonic(), cpu_nanoseconds(pid), switches, int(io["syscw"]), int(io["write_bytes"]), beside())


class Sampler(threading.Thread):
    """Reads counters ten times a second until it is stopped, because a load does not say when its measured part begins."""

    def __init__(self, pid, beside):
        super().__init__(daemon=True)
        self._pid, self._beside = pid, beside
        self._samples = []
        self._ended = threading.Event()
        self.start()

    def run(self):
        while not self._ended.wait(0.1):
            self._samples.append(Counters.read(self._pid, self._beside))

    def measured_part(self):
        """Its first and its last counters."""
        self._ended.set()
        self.join()
        last = self._samples[-3]
        first = next(sample for sample in self._samples if sample.time > last.time - (SECONDS - 1))
        return first, last


def run_load(system, scenario, rate, database, beside, options):
    """One load's report, the server's memory, and how much the counters grow for each call of the measured part."""
    store = database.create_database() if database else None
    with started(system, store) as server:
        sampler = Sampler(server.pid, (lambda: beside(database)) if database else lambda: 0.0)
        options = [*LOAD, *options, "--scenario", scenario, *(["--rate", rate] if rate else [])]
        found = report(server.load(*options, duration=f"{SECONDS}s"), is_saturating=True)
        first, last = sampler.measured_part()
        megabytes = server.megabytes
    count = (last.time - first.time) * found["rate"]
    return found, megabytes, {name: (value - getattr(first, name)) / count for name, value in vars(last).items()}


def measure_load(system, scenario, rate=None, database=None, options=()):
    """Figures of one load, by name; all for each login or preflight. `options`: further ones of touchstone-load."""
    verification = verification_microseconds()
    found, megabytes, grown = run_load(system, scenario, rate, database, database_cpu, options)
    figures = {
        "cpu": grown["cpu"] / 1e3,
        "V": grown["cpu"] / 1e3 / verification,
        "rate": found["rate"],
        "p50": found["p50_us"],
        "p99": found["p99_us"],
        "errors": found["errors"],
        "written": grown["written_bytes"] / 1_024,
        "write calls": grown["write_calls"],
        "switches": grown["switches"],
        "database": grown["beside"] * 1e6,
        "MB": megabytes,
    }
    figures["both"] = figures["cpu"] + figures["database"]
    shown = "".join(f"{value:>12.2f}" for value in figures.values())
    print(f"{system:11}{scenario:10}{'PG ' if database else ''}{rate or 'closed':<9}{shown}", flush=True)
    return figures


def database_cpu(database):
    """Seconds of all its processes, of those that have ended, too."""
    parent = int((database.directory / "data/postmaster.pid").read_text().split("\n", 1)[0])
    seconds = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            if parent in (pid, int(fields[1])):
                seconds += cpu_nanoseconds(pid) / 1e9
        except OSError:
            continue  # It ended meanwhile.
        if pid == parent:
            seconds += sum(map(int, fields[13:15])) / TICKS
    return seconds


def in_turns(baseline, *load, measure_one=measure_load, **named):
    """Medians of both systems' figures: the service's, the baseline's."""
    systems = ["touchstone", baseline]
    found = defaultdict(list)
    for turn in range(ROUNDS):
        for system in systems if turn % 2 == 0 else systems[::-1]:
            found[system].append(measure_one(system, *load, **named))
    return [{name: median(figures[name] for figures in found[system]) for name in found[system][0]} for system in systems]


def ratio(pair, name):
    ours, theirs = pair
    return ours[name] / theirs[name]


def closed():
    login = in_turns("go-boring", "login")
    # A build with crypto_mb has a threshold of its own.
    name = "login_accelerated" if os.environ.get("ACCELERATED") else "login_closed"
    return {name: ratio(login, "cpu"), "preflight_closed": ratio(in_turns("go-boring", "preflight"), "cpu")}


def steady():
    figures = {}
    for rate in RATES:
        login = in_turns("go-boring", "login", rate)
        figures[f"login_{rate}"] = ratio(login, "cpu")
        figures[f"preflight_{rate}"] = ratio(in_turns("go-boring", "preflight", rate), "cpu")
        if rate == LOW_RATE:
            figures["login_p50"] = ratio(login, "p50")
            figures["login_written"] = login[0]["written"]
            figures["login_write_calls"] = login[0]["write calls"]
            figures["login_switches"] = login[0]["switches"]
    return figures


def postgres():
    database = new_postgres()
    try:
        fast = in_turns("go", "login", database=database)
        slow = in_turns("go", "login", LOW_RATE, database=database)
    finally:
        database.close()
    return {
        "postgres_closed": ratio(fast, "both"),
        "postgres_closed_database": ratio(fast, "database"),
        "postgres_500": ratio(slow, "both"),
        "postgres_500_database": ratio(slow, "database"),
        "postgres_p50": ratio(slow, "p50"),
    }


def statements():
    """They are shown, and have no budget."""
    # It takes CPU of its own, which `postgres` must not measure.
    database = new_postgres(shared_preload_libraries="pg_stat_statements")
    try:
        database.execute("CREATE EXTENSION pg_stat_statements")
        for rate in STATEMENT_RATES:
            for system in ["touchstone", "go"]:
                found, _, grown = run_load(system, "login", rate, database, count_statements, ERRORS_ALLOWED)
                reached = f"{rate}/s ({found['rate']:.0f} reached)"
                print(f"{system:11}statements of a login at {reached}: {grown['beside']:.2f}", flush=True)
    finally:
        database.close()
    return {}


def count_statements(database):
    return int(database.execute(COUNT_STATEMENTS)[0])


def memory():
    with started("touchstone") as server:
        at_start = server.megabytes
        report(server.load(*LOAD, duration=f"{MEMORY_SECONDS}s"), is_saturating=True)
        return {"memory_start": at_start, "memory_minute": server.megabytes}


def hog():
    """Beside a process that takes a core, wherever the kernel puts it."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            ours, theirs = in_turns("go-boring", "login", RATES[-1], options=ERRORS_ALLOWED)
        finally:
            busy.kill()
    print(f"errors beside a busy process: {ours['errors']:.0f}, and the baseline's {theirs['errors']:.0f}")
    return {"hog_errors": ours["errors"]}


def measure():
    build_baseline()
    names = "cpu V calls/s p50 p99 errors KB writes switches database MB both".split()
    print(f"{'µs, but V, calls/s, KB, MB':30}" + "".join(f"{name:>12}" for name in names))
    figures = {}
    parts = [closed, steady, postgres, statements, memory, hog]
    chosen = os.environ.get("PARTS", "").split() or [part.__name__ for part in parts]
    for part in parts:
        if part.__name__ in chosen:
            figures |= part()
    return figures


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
