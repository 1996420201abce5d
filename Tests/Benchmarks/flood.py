"""What a flood of passcodes does to logins by hardware keys: their 99th percentile alone and beside 20 passcodes a second.

Each passcode costs an Argon2id of 19 MiB, on threads that give way to all others. The promise is that the 99th
percentile of the logins at most doubles. Alone and beside are measured in turn, on one server, and the medians are
compared: single runs on a rented machine differ by more than what is asked for.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import budgets
import service
from service import CORES, DURATION, Service

PASSCODES_PER_SECOND = 20
#: Pairs of a run alone and a run beside the flood.
ROUNDS = 5

#: By the name of their budget: connections and streams.
LOADS = {
    # People log in now and then, and the machine is mostly idle.
    "flood_idle": (4, 1),
    # As many at one time as the machine can serve.
    "flood_busy": (8, 10),
}


def p99_milliseconds(running, connections, streams, passcodes):
    load = running.load("--connections", connections, "--streams", streams, "--passcodes", passcodes)
    report = service.report(load, is_saturating=True)
    if report["passcode_errors"] or (passcodes > 0) != (report["passcodes"] > 0):
        sys.exit(f"{connections} × {streams} beside {passcodes} passcodes/s: {report}")
    return report["p99_us"] / 1_000


def compare(connections, streams):
    """The medians alone and beside the flood."""
    alone, beside = [], []
    with tempfile.TemporaryDirectory(prefix="touchstone-flood-") as directory, Service(Path(directory)) as running:
        for _ in range(ROUNDS):
            alone.append(p99_milliseconds(running, connections, streams, 0))
            beside.append(p99_milliseconds(running, connections, streams, PASSCODES_PER_SECOND))
    return statistics.median(alone), statistics.median(beside)


def measure():
    print(f"{len(CORES)} cores, {ROUNDS} times {DURATION} each, p99 of logins in ms")
    print(f"{'connections × streams':<24}{'alone':>9}{f'beside {PASSCODES_PER_SECOND}/s':>14}{'ratio':>8}")
    figures = {}
    for name, (connections, streams) in LOADS.items():
        alone, beside = compare(connections, streams)
        figures[name] = beside / alone
        print(f"{f'{connections} × {streams}':<24}{alone:>9.2f}{beside:>14.2f}{figures[name]:>8.2f}", flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
