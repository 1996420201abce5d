"""kill -9 of whoever archives, at random moments: the log and its files are one whole chain each time, with every event
that was answered.

`make soak KILLS=200` kills more often.
"""

import json
import random
import shutil
import threading
import time
from collections import Counter

import grpc
import pytest

from faults.commands import Killing
from faults.extent import kills
from faults.seeded import SeededDatabase, SeededDirectory, seeding
from faults.site import await_end_of_sessions, forget_claim
from faults.watching import PATIENCE_SECONDS
from support.caller import from_threads, new_caller
from support.phone import Phone
from support.server import run
from support.stubs import evaluation_pb2

KILLS = kills(2, in_ci=4)

#: A service that archives what is a second old looks every second. Once there is a file, in whatever state, it is
#: killed within the time that all of archiving takes, and some more.
SECONDS = (0.0, 0.1)
CUSTOMERS = 4
#: Between the ages of what is seeded: each is archived to a file of its own.
AGES = ("60h", "36h", "12h")

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED


@pytest.fixture
def dice(seed):
    return random.Random(seed)


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    return SeededDirectory(tmp_path_factory.mktemp("seeded") / "data")


@pytest.fixture(scope="module")
def seeded_database(seeded, tmp_path_factory, shared_postgres):
    return SeededDatabase(seeded.copy(tmp_path_factory.mktemp("moved") / "data"), shared_postgres)


# The service itself


@pytest.mark.parametrize("kind", ["sqlite_site", "postgres_site"], ids=["sqlite", "postgresql"])
def test_no_event_is_lost_where_a_service_that_archives_is_killed(kind, archive, dice, request):
    site = request.getfixturevalue(kind)
    customers = [Customer() for _ in range(CUSTOMERS)]
    for number in range(KILLS):
        # At last when there is something in the archive.
        pattern = "events-*.jsonl" if number == KILLS - 1 else "events-*"
        server = site.start({"retention": {"events": "1s", "archive": str(archive)}})
        killer = threading.Thread(target=kill_as_it_archives, args=(site, archive, pattern, dice))
        killer.start()
        from_threads(CUSTOMERS, lambda index: customers[index].use(server))
        killer.join()
        site.check_log("--archive", archive)
        site.forget_claim()
    files = archived(archive)
    assert files
    events = {**files, **logged(new_caller(site.start(), ""))}
    assert sorted(events) == list(range(1, len(events) + 1))
    for customer in customers:
        customer.check(list(events.values()))


def kill_as_it_archives(site, archive, pattern, dice):
    before = set(archive.glob(pattern))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while set(archive.glob(pattern)) == before and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(dice.uniform(*SECONDS))
    site.kill()


class Customer:
    """Logs in until it is left without an answer; knows how often it was answered."""

    def __init__(self):
        self._phone, self._profile = None, None
        self._answered, self._unanswered = 0, 0

    def use(self, server):
        caller = new_caller(server, "shop")
        with pytest.raises(grpc.RpcError) as ended:
            if self._profile is None:
                phone = Phone()
                self._phone, self._profile = phone, caller.bind(phone).profile_id
            while True:
                self._unanswered += 1
                assert caller.login(self._phone).outcome == SUCCEEDED
                self._unanswered -= 1
                self._answered += 1
        assert ended.value.code() == grpc.StatusCode.UNAVAILABLE, ended.value

    def check(self, events):
        """One for each answer; what was not answered may have been done."""
        found = events.count(("evaluation.succeeded", self._profile))
        assert self._answered <= found <= self._answered + self._unanswered


def archived(archive):
    """Of each event in the files, by its number: kind and profile."""
    found = {}
    for file in sorted(archive.glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found |= {line["sequence"]: (line["kind"], line["profile_id"]) for line in lines if "sequence" in line}
    return found


def logged(caller):
    """The same of what is still in the log."""
    return {event.sequence: (event.kind, event.profile_id) for event in caller.list_events()}


# Commands


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_archiving_is_finished_by_the_next(kind, places, tmp_path, dice):
    killing = Killing(dice)
    whole = tmp_path / "whole"
    place = places[kind](tmp_path / "first")
    for age in AGES:
        killing.whole(*archiving(place, whole, age))
    expected = files(whole)
    assert len(expected) == len(AGES)
    for number in range(KILLS):
        archive = tmp_path / str(number)
        place = places[kind](tmp_path / f"data-{number}")
        # In one of the steps; and the first of all makes the directory.
        killed = dice.choice(AGES)
        for age in AGES:
            if age == killed:
                killing.kill(*archiving(place, archive, age))
                place.was_killed()
                if archive.exists():
                    check(place, archive)
            killing.whole(*archiving(place, archive, age))
        check(place, archive)
        assert files(archive) == expected


def test_a_killed_erasure_in_the_archive_is_finished_by_the_next(places, tmp_path, dice):
    killing = Killing(dice)
    place, whole = places["sqlite"](tmp_path / "data"), tmp_path / "whole"
    for age in AGES:
        killing.whole(*archiving(place, whole, age))
    [(profile, _)] = Counter(name for _, name in archived(whole).values()).most_common(1)
    for number in range(KILLS):
        shutil.copytree(whole, tmp_path / str(number))
    killing.whole(*erasing(whole, profile))
    expected = files(whole)
    for number in range(KILLS):
        archive = tmp_path / str(number)
        killing.kill(*erasing(archive, profile))
        check(place, archive)
        killing.whole(*erasing(archive, profile))
        check(place, archive)
        assert files(archive) == expected


def archiving(place, archive, age):
    return ("audit", "archive", *place.location, "--older-than", age, "--archive", archive)


def erasing(archive, profile):
    return ("audit", "erase", "--archive", archive, "--application", seeding.APPLICATION, "--profile", profile)


def check(place, archive):
    """Log and files are one chain."""
    verified = run("audit", "verify", *place.location, "--archive", archive)
    assert verified.returncode == 0, verified.stderr


def files(archive):
    """Whole ones."""
    return {path.name: path.read_bytes() for path in archive.glob("*.jsonl")}


class Directory:
    def __init__(self, path):
        self.location = ("--data-dir", path)

    def was_killed(self):
        pass


class Database:
    def __init__(self, postgres, uri):
        self._postgres, self._uri = postgres, uri
        self.location = ("--store", uri)

    def was_killed(self):
        await_end_of_sessions(self._postgres, self._uri)
        forget_claim(self._postgres, self._uri)


@pytest.fixture
def places(seeded, seeded_database, shared_postgres):
    """A place of the test's own with the seeded log, by the kind of store."""
    return {
        "sqlite": lambda path: Directory(seeded.copy(path)),
        "postgresql": lambda path: Database(shared_postgres, seeded_database.copy()),
    }
