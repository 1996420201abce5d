"""What guesses in one application do to another one's passcodes: refusals and times alone, and beside 400 guesses a second.

The guesses are at invented profiles of the application "game", by a process of its own at the lowest priority, as on a machine of
its own. The bank's people log in with right passcodes, five a second, and set new ones. Alone and beside are measured in turn, on
one server, and the medians are compared: single runs on a rented machine differ by more than what is asked for.

Exits with 1 if more than one of 100 is refused, or the median or the 99th percentile doubles. TOUCHSTONE_BINARY: another binary
than the release.
"""

import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "Acceptance"))

import grpc  # noqa: E402
from support.caller import Caller, new_caller, passcode  # noqa: E402
from support.phone import Phone  # noqa: E402
from support.server import Server  # noqa: E402
from support.stubs import evaluation_pb2  # noqa: E402

GUESSES_PER_SECOND = int(os.environ.get("GUESSES", "400"))
LOGINS_PER_SECOND = 5
#: One call in so many sets a new passcode instead.
CHANGE_EVERY = 5
#: Pairs of a run alone and a run beside the guesses.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "10"))
MAXIMUM_REFUSED = 0.01
MAXIMUM_RATIO = 2.0
RIGHT = passcode("2468")
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED


def steadily(per_second, until=None):
    """Yields when each is due, whatever became of the one before."""
    begin = time.monotonic()
    for index in itertools.count():
        due = begin + index / per_second
        if until is not None and due - begin >= until:
            return
        time.sleep(max(0.0, due - time.monotonic()))
        yield index


def guess_for_ever(server_address, made, refused):
    os.nice(19)
    channels = [grpc.insecure_channel(server_address, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(4)]
    callers = [Caller(channel, "game") for channel in channels]

    def ended(call):
        made.value += 1
        if call.exception() is not None and call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
            refused.value += 1

    for index in steadily(GUESSES_PER_SECOND):
        caller = callers[index % len(callers)]
        change = caller.secret_change(f"ghost-{os.getpid()}-{index}", passcode("1357"), old_secret=passcode("0000"))
        caller.secrets.SetSecret.future(change).add_done_callback(ended)


@contextmanager
def guesses(address):
    # gRPC does not survive a fork.
    context = multiprocessing.get_context("spawn")
    made, refused = (context.Value("q", 0) for _ in range(2))
    process = context.Process(target=guess_for_ever, args=(address, made, refused), daemon=True)
    process.start()
    try:
        # Until the queue is as long as it gets.
        while made.value < GUESSES_PER_SECOND:
            time.sleep(0.1)
        before, begin = (made.value, refused.value), time.monotonic()
        yield
        seconds = time.monotonic() - begin
        print(
            f"  guesses: {(made.value - before[0]) / seconds:.0f}/s, "
            f"{(refused.value - before[1]) / max(1, made.value - before[0]):.0%} refused"
        )
    finally:
        process.terminate()
        process.join()


class Bank:
    """Its people, and what they were answered."""

    def __init__(self, server):
        self.caller = new_caller(server, "bank")
        self.phone = Phone()
        self.people = [f"person-{index}" for index in range(50)]
        for name in self.people:
            assert self.caller.set_secret(name, RIGHT).accepted

    def measure(self):
        """Times in milliseconds of those that were served, and how many were refused."""
        pending, times, refused, failures = [], [], [], []

        def ended(call, begin):
            if call.exception() is None:
                if getattr(call.result(), "outcome", SUCCEEDED) != SUCCEEDED:
                    failures.append(str(call.result()))
                times.append((time.monotonic() - begin) * 1e3)
            elif call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
                refused.append(call)
            else:
                failures.append(f"{call.code()}: {call.details()}")

        for index in steadily(LOGINS_PER_SECOND, until=SECONDS):
            name = self.people[index % len(self.people)]
            if index % CHANGE_EVERY == 0:
                method, request = self.caller.secrets.SetSecret, self.caller.secret_change(name, RIGHT)
            else:
                opened = self.caller.begin(self.phone, profile_id=name)
                method, request = self.caller.evaluations.SubmitAttempt, self.caller.attempt(
                    self.phone, opened, secret=RIGHT
                )
            begin = time.monotonic()
            call = method.future(request)
            call.add_done_callback(lambda call, begin=begin: ended(call, begin))
            pending.append(call)
        for call in pending:
            call.exception()
        while len(times) + len(refused) + len(failures) < len(pending):
            time.sleep(0.01)
        if failures:
            sys.exit(failures[0])
        return times, len(refused)


def percentile(values, percent):
    return sorted(values)[(len(values) - 1) * percent // 100]


def row(title, times, refused):
    count = len(times) + refused
    print(
        f"{title:<12}{count:>6}{refused:>9}{percentile(times, 50):>9.1f}{percentile(times, 99):>9.1f}", flush=True
    )
    return percentile(times, 50), percentile(times, 99), refused / count


def main():
    with tempfile.TemporaryDirectory(prefix="touchstone-guesses-") as directory:
        server = Server(Path(directory) / "data")
        try:
            bank = Bank(server)
            bank.measure()
            print(f"{'':<12}{'calls':>6}{'refused':>9}{'p50 ms':>9}{'p99 ms':>9}")
            alone, beside = [], []
            for _ in range(ROUNDS):
                alone.append(row("alone", *bank.measure()))
                with guesses(server.address):
                    beside.append(row(f"beside {GUESSES_PER_SECOND}/s", *bank.measure()))
        finally:
            server.close()
    ratios = [
        statistics.median(run[index] for run in beside) / statistics.median(run[index] for run in alone)
        for index in (0, 1)
    ]
    refused = statistics.fmean(run[2] for run in beside)
    print(f"refused {refused:.1%}, p50 {ratios[0]:.2f} times, p99 {ratios[1]:.2f} times as long as alone")
    return 0 if refused <= MAXIMUM_REFUSED and max(ratios) <= MAXIMUM_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
