"""What one call costs, and how many there are in a second: the service under touchstone-load on this machine.

Prints one line for each load. CPU is the server's own, user and system, over all its threads, divided by the calls
that were answered. Two of the loads pin the server to one core and the load to the others.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(__file__).parents[2] / ".build/release"
DURATION = os.environ.get("DURATION", "10s")
CORES = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Load:
    scenario: str
    connections: int
    streams: int
    #: The server on one core and one shard, the load on the rest; otherwise both share them all.
    is_pinned: bool


LOADS = [
    Load("preflight", connections=8, streams=10, is_pinned=True),
    Load("login", connections=8, streams=10, is_pinned=True),
    Load("preflight", connections=8, streams=10, is_pinned=False),
    Load("login", connections=8, streams=10, is_pinned=False),
    Load("login", connections=1, streams=100, is_pinned=False),
    Load("login", connections=64, streams=2, is_pinned=False),
]


def measure(load):
    """The load's own numbers, and the server's CPU for each call in microseconds."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as directory:
        server = start_server(load, Path(directory) / "data")
        try:
            address = server.stdout.readline().removeprefix("listening on ").strip()
            before = cpu_seconds(server.pid)
            result = run_load(load, address)
            cpu = cpu_seconds(server.pid) - before
        finally:
            server.send_signal(signal.SIGTERM)
            exit_code = server.wait()
    if exit_code != 0 or result["errors"] or not result["completed"]:
        sys.exit(f"{load}: {result}, server's exit code {exit_code}")
    return result | {"cpu_us": cpu / result["completed"] * 1e6}


def start_server(load, data_directory):
    command = [BUILD / "touchstone", "serve", "--listen", "127.0.0.1:0", "--data-dir", data_directory]
    if load.is_pinned:
        command = [*pinned_to(CORES[:1]), *command, "--shards", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run_load(load, address):
    command = [BUILD / "touchstone-load", "--target", address, "--scenario", load.scenario]
    command += ["--connections", str(load.connections), "--streams", str(load.streams)]
    # Without warm-up: every call that costs the server CPU is counted.
    command += ["--duration", DURATION, "--warmup", "0s", "--json"]
    if load.is_pinned:
        command = [*pinned_to(CORES[1:]), *command]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def pinned_to(cores):
    return ["taskset", "--cpu-list", ",".join(map(str, cores or CORES))]


def cpu_seconds(pid):
    """User and system time of all threads (proc(5), fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    print(f"{len(CORES)} cores, {DURATION} each")
    print(f"{'load':<44}{'calls/s':>10}{'CPU µs/call':>13}{'p50 µs':>10}{'p99 µs':>10}")
    for load in LOADS:
        result = measure(load)
        place = "server on one core" if load.is_pinned else "on all cores"
        name = f"{load.scenario}, {load.connections} × {load.streams}, {place}"
        print(
            f"{name:<44}{result['rate']:>10.0f}{result['cpu_us']:>13.1f}{result['p50_us']:>10.0f}{result['p99_us']:>10.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
