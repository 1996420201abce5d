"""What one call costs, and how many there are in a second: the service under touchstone-load on this machine.

Prints one line for each load. CPU is the server's own, user and system, over all its threads, divided by the calls
that were answered; "server cores" is the same by the second. "CPU used" is what server and load together took of all
cores. Two of the loads pin the server to one core and the load to the others.

Each load runs twice on one server, briefly and for DURATION, and only what the longer run has more is counted: both
bind as many phones and make as many connections, so that neither is part of what a call costs. (Rate and latencies
are the longer run's, whose clock starts when all is bound.)

The speed of a machine drifts, more so where it is rented. Beside each load stands what one P-256 verification by
OpenSSL cost just before: compare rows, and days, by it.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(__file__).parents[2] / ".build/release"
DURATION = os.environ.get("DURATION", "10s")
#: Long enough that every phone is in its stride.
BRIEF_DURATION = "1s"
CORES = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Load:
    scenario: str
    connections: int
    streams: int
    #: The server on one core and one shard, the load on the rest; otherwise both share them all.
    is_pinned: bool
    #: Typed a second beside the scenario.
    passcodes: int = 0

    @property
    def name(self):
        place = "server on one core" if self.is_pinned else "on all cores"
        return f"{self.scenario}, {self.connections} × {self.streams}, {place}"


LOADS = [
    Load("preflight", connections=8, streams=10, is_pinned=True),
    Load("login", connections=8, streams=10, is_pinned=True),
    Load("preflight", connections=8, streams=10, is_pinned=False),
    Load("login", connections=8, streams=10, is_pinned=False),
    Load("login", connections=1, streams=100, is_pinned=False),
    Load("login", connections=64, streams=2, is_pinned=False),
]


@dataclass(frozen=True)
class Run:
    #: What touchstone-load says of it.
    report: dict
    #: CPU seconds of the two processes, from before the first connection to after the last answer.
    server_cpu: float
    load_cpu: float


def measure(load):
    """A brief run and a long one, on one server."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory:
        server = start_server(load, Path(directory) / "data")
        try:
            address = server.stdout.readline().removeprefix("listening on ").strip()
            runs = [run_load(load, server, address, duration) for duration in (BRIEF_DURATION, DURATION)]
        finally:
            server.send_signal(signal.SIGTERM)
            exit_code = server.wait()
    if exit_code != 0 or any(run.report["errors"] for run in runs):
        sys.exit(f"{load.name}: {[run.report for run in runs]}, server's exit code {exit_code}")
    return runs


def start_server(load, data_directory):
    command = [BUILD / "touchstone", "serve", "--listen", "127.0.0.1:0", "--data-dir", data_directory]
    if load.is_pinned:
        command = [*pinned_to(CORES[:1]), *command, "--shards", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run_load(load, server, address, duration):
    command = [BUILD / "touchstone-load", "--target", address, "--scenario", load.scenario]
    command += ["--connections", str(load.connections), "--streams", str(load.streams)]
    # Without warm-up: every call that costs CPU is counted.
    command += ["--duration", duration, "--warmup", "0s", "--json", "--passcodes", str(load.passcodes)]
    if load.is_pinned:
        command = [*pinned_to(CORES[1:]), *command]
    server_before, load_before = server_cpu_seconds(server.pid), load_cpu_seconds()
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{load.name}: touchstone-load ended with {ended.returncode}: {ended.stdout}")
    return Run(
        json.loads(ended.stdout), server_cpu_seconds(server.pid) - server_before, load_cpu_seconds() - load_before
    )


def pinned_to(cores):
    return ["taskset", "--cpu-list", ",".join(map(str, cores or CORES))]


def server_cpu_seconds(pid):
    """User and system time of all threads (proc(5), fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load_cpu_seconds():
    """Of the processes that have ended: the loads, not the server that runs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def verification_microseconds():
    """One core's cost of one ECDSA verification on P-256, by the machine's OpenSSL; None where there is none."""
    if shutil.which("openssl") is None:
        return None
    command = ["openssl", "speed", "-seconds", "1", "ecdsap256"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    # "256 bits ecdsa (nistp256)   0.0000s   0.0001s  27382.8   7802.9": signatures and verifications in a second.
    return 1e6 / float(ended.stdout.split()[-1])


def row(load):
    verification = verification_microseconds()
    brief, long = measure(load)
    calls = long.report["completed"] - brief.report["completed"]
    seconds = long.report["seconds"] - brief.report["seconds"]
    server_cpu, load_cpu = long.server_cpu - brief.server_cpu, long.load_cpu - brief.load_cpu
    return [
        f"{load.name:<40}",
        f"{long.report['rate']:>9.0f}",
        f"{server_cpu / calls * 1e6:>12.1f}",
        f"{server_cpu / seconds:>13.2f}",
        f"{(server_cpu + load_cpu) / seconds / len(CORES):>10.0%}",
        f"{long.report['p50_us']:>9.0f}",
        f"{long.report['p99_us']:>9.0f}",
        f"{verification:>11.1f}" if verification else f"{'-':>11}",
    ]


def main():
    print(f"{len(CORES)} cores, {DURATION} each")
    print(
        f"{'load':<40}{'calls/s':>9}{'CPU µs/call':>12}{'server cores':>13}{'CPU used':>10}"
        f"{'p50 µs':>9}{'p99 µs':>9}{'P-256 µs':>11}"
    )
    for load in LOADS:
        print("".join(row(load)), flush=True)


if __name__ == "__main__":
    main()
