"""What a flood of passcodes does to logins by hardware keys: their 99th percentile alone and beside 20 passcodes a second.

Each passcode costs an Argon2id of 19 MiB, on threads that give way to all others. The promise is that the 99th
percentile of the logins at most doubles. Alone and beside are measured in turn, on one server, and the medians are
compared: single runs on a rented machine differ by more than what is asked for.

Exits with 1 where the promise is not kept.
"""

import signal
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import measure

PASSCODES_PER_SECOND = 20
#: Pairs of a run alone and a run beside the flood.
ROUNDS = 5
MAXIMUM_RATIO = 2.0

LOADS = [
    # People log in now and then, and the machine is mostly idle.
    measure.Load("login", connections=4, streams=1, is_pinned=False),
    # As many at one time as the machine can serve.
    measure.Load("login", connections=8, streams=10, is_pinned=False),
]


def p99_milliseconds(load, server, address, passcodes):
    report = measure.run_load(replace(load, passcodes=passcodes), server, address, measure.DURATION).report
    if report["errors"] or report["passcode_errors"] or (passcodes > 0) != (report["passcodes"] > 0):
        sys.exit(f"{load.name}: {report}")
    return report["p99_us"] / 1_000


def compare(load):
    """The medians alone and beside the flood."""
    alone, beside = [], []
    with tempfile.TemporaryDirectory(prefix="touchstone-flood-") as directory:
        server = measure.start_server(load, Path(directory) / "data")
        try:
            address = server.stdout.readline().removeprefix("listening on ").strip()
            for _ in range(ROUNDS):
                alone.append(p99_milliseconds(load, server, address, 0))
                beside.append(p99_milliseconds(load, server, address, PASSCODES_PER_SECOND))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    return statistics.median(alone), statistics.median(beside)


def main():
    print(f"{len(measure.CORES)} cores, {ROUNDS} times {measure.DURATION} each, p99 of logins in ms")
    print(f"{'load':<40}{'alone':>9}{f'beside {PASSCODES_PER_SECOND}/s':>14}{'ratio':>8}")
    is_kept = True
    for load in LOADS:
        alone, beside = compare(load)
        print(f"{load.name:<40}{alone:>9.2f}{beside:>14.2f}{beside / alone:>8.2f}", flush=True)
        is_kept &= beside <= MAXIMUM_RATIO * alone
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
