"""What an abuser does to everybody else: the 99th percentile of calls alone, and beside a peer that abuses HTTP/2 without pause.

The abuser goes through all that Tests/Acceptance/test_abuse.py knows; as often as it is sent away it comes again, on a new
connection. It runs at the lowest priority, as it would on a machine of its own: what is measured is the service, not who gets the
cores. Alone and beside are measured in turn, on one server, and the medians are compared: single runs on a rented machine differ
by more than what is asked for.

Exits with 1 where the percentile doubles.
"""

import itertools
import multiprocessing
import os
import signal
import statistics
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import measure

sys.path.insert(0, str(Path(__file__).parents[1] / "Acceptance"))

from support.abuse import Abuser  # noqa: E402
from test_abuse import ABUSES  # noqa: E402

#: Pairs of a run alone and a run beside the abuser.
ROUNDS = 5
MAXIMUM_RATIO = 2.0
LOAD = measure.Load("preflight", connections=4, streams=1, is_pinned=False)


def abuse_for_ever(address, count):
    os.nice(19)
    for abuse in itertools.cycle(ABUSES):
        abuser = Abuser(address, acknowledges=abuse.acknowledges)
        abuser.flood(abuse.frames(), abuse.limit)
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


def p99_microseconds(server, address):
    report = measure.run_load(LOAD, server, address, measure.DURATION).report
    if report["errors"]:
        sys.exit(f"{LOAD.name}: {report}")
    return report["p99_us"]


def main():
    alone, beside = [], []
    count = multiprocessing.Value("L", 0, lock=False)
    with tempfile.TemporaryDirectory(prefix="touchstone-abuse-") as directory:
        server = measure.start_server(LOAD, Path(directory) / "data")
        try:
            address = server.stdout.readline().removeprefix("listening on ").strip()
            for _ in range(ROUNDS):
                alone.append(p99_microseconds(server, address))
                with abuser(address, count):
                    beside.append(p99_microseconds(server, address))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
    ratio = statistics.median(beside) / statistics.median(alone)
    is_kept = ratio < MAXIMUM_RATIO
    print(f"{len(measure.CORES)} cores, {ROUNDS} times {measure.DURATION} each, {LOAD.name}")
    print(f"p99 alone {statistics.median(alone):.0f} µs, beside {count.value} abusers {statistics.median(beside):.0f} µs")
    print(f"ratio {ratio:.2f} (less than {MAXIMUM_RATIO:.1f}): {'kept' if is_kept else 'NOT KEPT'}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
