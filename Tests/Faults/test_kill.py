"""kill -9 at random moments under load: what was answered is there afterwards, and nothing else counts twice.

`make soak KILLS=200` kills more often.
"""

import random
import time

import pytest

from faults.extent import kills
from faults.load import Load

KILLS = kills(5, in_ci=10)

#: What customers do between the start of the load and the end of the process; and then there is something under way.
ACTS = (0, 80)
WAIT_SECONDS = (0.0, 0.05)
#: A start takes some 20 ms; a first one, that makes the store and the keys, 100.
START_SECONDS = (0.0, 0.15)
#: The service sweeps for the first time this long after its start, and then again.
SWEEP_SECONDS = 5
#: So early before it and late after it the process may end.
SWEEP_MARGIN_SECONDS = 0.05
#: A configuration file each time: without one, all applications are one vendor, whose counts of failures are others
#: (R8).
USUAL = {"evaluation_lifetime_seconds": 120}
#: What a sweep finds has expired by then; and nobody is so slow.
BRIEF = {"evaluation_lifetime_seconds": 4, "ticket_lifetime_seconds": 4, "token_lifetime_seconds": 4}


@pytest.fixture(params=["disk_site", "postgres_site"], ids=["sqlite", "postgresql"])
def site(request):
    site = request.getfixturevalue(request.param)
    # Otherwise the process alone dies, and what it wrote stays in the kernel's cache.
    site.power_loss_share = 0.5
    return site


def test_what_was_answered_survives_any_kill(site, seed):
    dice = random.Random(seed)
    load = Load(dice.random())
    # Also before there is anything, and in the middle of making it.
    site.start_and_kill(dice.uniform(*START_SECONDS))
    server = site.start(USUAL)
    began = time.monotonic()
    for number, phase in enumerate(_phases(dice), start=2):
        if phase == "sweep":
            server.terminate()
            server = site.start(BRIEF)
            began = time.monotonic()
        elif phase == "start":
            site.kill()
            site.start_and_kill(dice.uniform(*START_SECONDS))
            server = site.start(USUAL)
        before = site.versions()
        run = load.run(server)
        run.await_acts(dice.randint(*ACTS))
        _wait(phase, began, dice)
        site.kill()
        run.end()
        if phase == "sweep":
            load.give_up_retries()
        server = site.start(USUAL)
        _check_versions(before, site.versions(), number)
        load.check(server)
        site.check_log()
        load.renew()


def _phases(dice):
    """Of ten kills one is near a sweep, which is five seconds after a start; one is in a start, and has another before it."""
    phases = ["sweep" if index % 10 == 0 else "start" if index % 10 == 1 else "load" for index in range(KILLS - 1)]
    dice.shuffle(phases)
    return phases


def _wait(phase, began, dice):
    wait = dice.uniform(*WAIT_SECONDS)
    if phase == "sweep":
        left = SWEEP_SECONDS - (time.monotonic() - began)
        wait = max(wait, left + dice.uniform(-1, 1) * SWEEP_MARGIN_SECONDS)
    time.sleep(wait)


def _check_versions(before, after, number):
    back = {key: (before[key], after[key]) for key in before.keys() & after.keys() if after[key] < before[key]}
    assert not back, f"versions went back at kill {number}: {back}"
