"""What a service's upkeep does to its slowest calls: logins over TLS at half of the steady capacity, quiet and with upkeep beside them.

The quiet service has nothing to sweep or to archive. The other one sweeps what expires after seconds, moves its events into the
archive, and meanwhile gets two backups, a rotated key and a new certificate. The steady capacity is the quiet service's: the highest
rate at which it met OBJECTIVES for a minute. Quiet and with upkeep take turns, each ROUNDS (3) times for MINUTES (0.6); medians count.

RATE=2000: logins a second, without looking for the capacity.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import budgets
import service
from service import TOUCHSTONE, Encryption, Service

DURATION_MINUTES = float(os.environ.get("MINUTES", "0.6"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
CONNECTIONS, STREAMS = 8, 25
OBJECTIVES = "p99<50ms,errors<=0"
#: Where the search begins.
FIRST_RATE = 1_000
#: Of each trial.
TRIAL_SECONDS = 5
#: A moment's noise ends a search too low; the higher result counts, because a minute has to confirm it.
SEARCHES = 2
CONFIRMATION_SECONDS = 60
#: A rate that is not confirmed falls to this part of it; so many are tried.
STEP_DOWN, MOST_CONFIRMATIONS = 0.9, 6
PART_OF_CAPACITY = 0.5

#: So that nothing expires in a run, and nothing is old enough for the archive; or within seconds.
QUIET = {"lifetime": 3_600, "events": "1d"}
BUSY = {"lifetime": 10, "events": "10s"}


class Site:
    """A service over TLS, in a directory, and what an operator does to it."""

    def __init__(self, directory, *, lifetime, events):
        directory.mkdir()
        self._directory = directory
        self._encryption = Encryption(directory)
        configuration = f"""
retention: {{events: {events}, archive: {directory}/archive}}
evaluation_lifetime_seconds: {lifetime}
token_lifetime_seconds: {lifetime}
ticket_lifetime_seconds: {lifetime}
"""
        (directory / "archive").mkdir(mode=0o700)
        self._service = Service(directory, configuration=self._encryption.configuration + configuration)
        self._options = [*self._encryption.load_options, "--connections", CONNECTIONS, "--streams", STREAMS]

    def load(self, *options, seconds):
        return self._service.load(*self._options, *options, duration=f"{seconds:.0f}s")

    def renew_certificate(self):
        self._encryption.identity.renew()
        self._service.begin_reload()

    def rotate_key(self):
        self._run("keys", "rotate", self._directory / "data/keys", "signing", "--after", "1s")
        self._service.begin_reload()

    def back_up(self):
        (self._directory / "backups").mkdir(exist_ok=True)
        self._run("backup", "--data-dir", self._directory / "data", "--to", self._directory / "backups")

    def archived(self):
        return sum(file.stat().st_size for file in (self._directory / "archive").iterdir())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Once; answers what the service logged."""
        running, self._service = self._service, None
        return running.stop() if running else ""

    @staticmethod
    def _run(*arguments):
        subprocess.run([TOUCHSTONE, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def steady_capacity(directory):
    with Site(directory, **QUIET) as site:
        highest = max(search(site) for _ in range(SEARCHES))
        for rate in [highest * STEP_DOWN**step for step in range(MOST_CONFIRMATIONS)] if highest else []:
            load = site.load("--rate", f"{rate:.0f}", "--slo", OBJECTIVES, seconds=CONFIRMATION_SECONDS)
            found = service.report(load, may_miss=True)
            show("capacity?", found)
            if all(objective["met"] for objective in found["objectives"]):
                return rate
    sys.exit(f"no minute met {OBJECTIVES}, from {highest:.0f} logins/s down")


def search(site):
    """The highest rate of short trials."""
    load = site.load("--find-max", "--slo", OBJECTIVES, "--rate", FIRST_RATE, seconds=TRIAL_SECONDS)
    return service.report(load, is_saturating=True, may_miss=True)["search"].get("max_rate") or 0


def quiet(directory, rate, seconds):
    with Site(directory, **QUIET) as site:
        return service.report(site.load("--rate", f"{rate:.0f}", seconds=seconds))


def busy(directory, rate, seconds):
    with Site(directory, **BUSY) as site:
        load = site.load("--rate", f"{rate:.0f}", seconds=seconds)
        failures = []
        operator = threading.Thread(target=operate, args=(site, seconds, failures))
        operator.start()
        report = service.report(load)
        operator.join()
        log, archived = site.stop(), site.archived()
    if failures or log.count("configuration reloaded") != 2 or not archived:
        sys.exit(f"the upkeep was not done: {failures}, {archived} bytes archived; the log:\n{log}")
    return report


def operate(site, seconds, failures):
    """What an operator does, at these parts of the run."""
    begin = time.monotonic()
    for part, act in [(0.2, site.back_up), (0.4, site.rotate_key), (0.6, site.renew_certificate), (0.8, site.back_up)]:
        time.sleep(max(0.0, begin + part * seconds - time.monotonic()))
        try:
            act()
        except (OSError, subprocess.CalledProcessError) as failure:
            failures.append(f"{act.__name__}: {failure}")


def show(name, report):
    times = "".join(f"{report[key] / 1e3:>9.1f}" for key in ["p50_us", "p99_us", "p999_us", "max_us"])
    stalls = json.dumps([[round(stall["start"], 1), round(stall["seconds"], 2)] for stall in report["stalls"]])
    print(f"{name:<12}{report['rate']:>9.0f}{times}   stalls {stalls}", flush=True)


def measure():
    seconds = DURATION_MINUTES * 60
    p999 = {quiet: [], busy: []}
    print(f"logins over TLS, {DURATION_MINUTES:g} minutes each, at half of the steady capacity; times in ms")
    print(f"{'upkeep':<12}{'logins/s':>9}{'p50':>9}{'p99':>9}{'p99.9':>9}{'max':>9}")
    with tempfile.TemporaryDirectory(prefix="touchstone-tail-") as name:
        directory = Path(name)
        rate = float(os.environ.get("RATE", 0)) or steady_capacity(directory / "capacity") * PART_OF_CAPACITY
        for turn in range(ROUNDS):
            for kind, found in p999.items():
                report = kind(directory / f"{kind.__name__}-{turn}", rate, seconds)
                show(kind.__name__, report)
                found.append(report["p999_us"] / 1e3)
    return {"tail": median(p999[busy]) - median(p999[quiet])}


if __name__ == "__main__":
    sys.exit(budgets.judge(measure()))
