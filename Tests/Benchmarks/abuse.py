"""What an abuser does to everybody else: the 99th percentile of calls alone, and beside a peer that abuses HTTP/2 without pause.

The abuser goes through all that Tests/Acceptance/test_abuse.py knows; as often as it is sent away it comes again, on a new
connection. It runs at the lowest priority, as it would on a machine of its own: what is measured is the service, not who gets the
cores. Alone and beside are measured in turn, on one server, and the medians are compared: single runs on a rented machine differ
by more than what is asked for.
"""

import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import budgets
import service
from service import CORES, DURATION, Service

from support.abuse import Abuser  # noqa: E402
from test_abuse import ABUSES, FRAMES_PER_SECOND  # noqa: E402

#: Pairs of a run alone and a run beside the abuser.
ROUNDS = 5
LOAD = ["--scenario", "preflight", "--connections", 4, "--streams", 1]


def abuse_for_ever(address, count):
    os.nice(19)
    for abuse in itertools.cycle(ABUSES):
        abuser = Abuser(address, acknowledges=abuse.acknowledges)
        abuser.flood(abuse.frames(), abuse.limit, FRAMES_PER_SECOND)
        abuser.close()
        count.value += 1


@contextmanager
def abuser(address, count):
    process = multiprocessing.Process(target=abuse_for_ever, args=(address, count), daemon=True)
    process.start()
    try:
        yield
        if not process.is_alive():
            sys.exit("the abuser gave up")
    finally:
        process.terminate()
        process.join()


def p99_microseconds(running):
    return service.report(running.load(*LOAD), is_saturating=True)["p99_us"]


def measure():
    print(f"{len(CORES)} cores, {ROUNDS} times {DURATION} each, preflight, 4 × 1")
    alone, beside = [], []
    count = multiprocessing.Value("L", 0, lock=False)
    with tempfile.TemporaryDirectory(prefix="touchstone-abuse-") as directory, Service(Path(directory)) as running:
        for _ in range(ROUNDS):
            alone.append(p99_microseconds(running))
            with abuser(running.address, count):
                beside.append(p99_microseconds(running))
    print(f"p99 alone {statistics.median(alone):.0f} µs, beside {count.value} abusers {statistics.median(beside):.0f} µs")
    return {"abuse": statistics.median(beside) / statistics.median(alone)}


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
