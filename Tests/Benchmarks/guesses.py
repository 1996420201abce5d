"""What guesses do to other people's passcodes: refusals and times alone, and beside 400 guesses a second.

Two floods are measured. The first one guesses in the application "game", by the same caller that serves the bank. The second one
guesses in 500 applications, by a caller of its own. Both guess at invented profiles, in a process of the lowest priority, as on a
machine of their own. The bank's people log in with right passcodes, five a second, and set new ones. Alone and beside are measured
in turn, on one server, and the medians are compared: single runs on a rented machine differ by more than what is asked for.
"""

import itertools
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import budgets
import grpc
import service  # noqa: F401 -- which binary the tests' support starts, and where that is
from support.caller import CALL_SECONDS, passcode  # noqa: E402
from support.credentials import Key, caller_with  # noqa: E402
from support.phone import Phone  # noqa: E402
from support.server import Server  # noqa: E402
from support.stubs import evaluation_pb2  # noqa: E402

GUESSES_PER_SECOND = int(os.environ.get("GUESSES", "400"))
#: The one second that the first guesses take, and as much as a slow machine may add.
START_SECONDS = 30
LOGINS_PER_SECOND = 5
#: Of the caller that guesses in many.
APPLICATIONS = 500
#: One call in so many sets a new passcode instead.
CHANGE_EVERY = 5
#: Pairs of a run alone and a run beside the guesses.
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "10"))
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


def guess_for_ever(server_address, key, applications, made, refused, has_begun):
    os.nice(19)
    channels = [grpc.insecure_channel(server_address, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(4)]
    callers = [caller_with(channel, "", Key(key)) for channel in channels]

    def ended(call):
        made.value += 1
        # Until the queue is as long as it gets.
        if made.value >= GUESSES_PER_SECOND:
            has_begun.set()
        if call.exception() is not None and call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
            refused.value += 1

    for index in steadily(GUESSES_PER_SECOND):
        caller = callers[index % len(callers)]
        caller.application_id = applications[index % len(applications)]
        change = caller.secret_change(f"ghost-{os.getpid()}-{index}", passcode("1357"), old_secret=passcode("0000"))
        caller.secrets.SetSecret.future(change).add_done_callback(ended)


@contextmanager
def guesses(address, key, applications):
    # gRPC does not survive a fork.
    context = multiprocessing.get_context("spawn")
    made, refused = (context.Value("q", 0) for _ in range(2))
    has_begun = context.Event()
    process = context.Process(
        target=guess_for_ever, args=(address, key.text, applications, made, refused, has_begun), daemon=True
    )
    process.start()
    try:
        if not has_begun.wait(START_SECONDS):
            sys.exit(f"only {made.value} guesses were answered in {START_SECONDS} s")
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

    def __init__(self, server, key):
        self.caller = caller_with(server.channel(), "bank", key)
        self.phone = Phone()
        self.people = [f"person-{index}" for index in range(50)]
        for name in self.people:
            assert self.caller.set_secret(name, RIGHT).accepted

    def measure(self):
        """Times in milliseconds of those that were served, and how many were refused."""
        pending, times, refused, failures = [], [], [], []
        ends = threading.Semaphore(0)

        def ended(call, begin):
            note(call, begin)
            ends.release()

        def note(call, begin):
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
        # Each call has a deadline; its callback comes a moment later.
        if not all(ends.acquire(timeout=2 * CALL_SECONDS) for _ in pending):
            sys.exit("a call did not end")
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


def compare(title, bank, server, key, applications):
    """The part that is refused, and how many times as long the others take."""
    print(f"{title}\n{'':<12}{'calls':>6}{'refused':>9}{'p50 ms':>9}{'p99 ms':>9}")
    alone, beside = [], []
    for _ in range(ROUNDS):
        alone.append(row("alone", *bank.measure()))
        with guesses(server.address, key, applications):
            beside.append(row(f"beside {GUESSES_PER_SECOND}/s", *bank.measure()))
    ratios = [
        statistics.median(run[index] for run in beside) / statistics.median(run[index] for run in alone)
        for index in (0, 1)
    ]
    refused = statistics.fmean(run[2] for run in beside)
    print(f"refused {refused:.1%}, p50 {ratios[0]:.2f} times, p99 {ratios[1]:.2f} times as long as alone")
    return refused, max(ratios)


def measure():
    bank_key, game_key = Key(), Key()
    callers = [
        {"name": name, "applications": "*", "methods": "*", "keys": [key.digest]}
        for name, key in (("bank", bank_key), ("game", game_key))
    ]
    with tempfile.TemporaryDirectory(prefix="touchstone-guesses-") as directory:
        server = Server(Path(directory) / "data", configuration={"callers": callers})
        try:
            bank = Bank(server, bank_key)
            bank.measure()
            many = [f"game-{index}" for index in range(APPLICATIONS)]
            results = [
                compare("another application of the same caller", bank, server, bank_key, ["game"]),
                compare(f"another caller with {APPLICATIONS} applications", bank, server, game_key, many),
            ]
        finally:
            server.close()
    return {
        "guesses_refused": 100 * max(refused for refused, _ in results),
        "guesses_time": max(ratio for _, ratio in results),
    }


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
