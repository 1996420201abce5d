"""The log: a line for each decision, as text or as JSON, at the level that the configuration names."""

import datetime
import json
import os
import re
import subprocess
from concurrent import futures

import pytest

from support.caller import Caller, new_caller
from support.phone import Phone
from support.server import BINARY
from support.stubs import evaluation_pb2

#: Their lines take three times as much as a pipe.
DECISIONS = 1_000
#: RFC 3339, in UTC, with milliseconds.
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def lines_of(server):
    """All lines, once the process has ended: it writes what waits before it exits."""
    server.terminate()
    return server.errors.splitlines()


def story(server):
    """Decisions of several kinds. Returns the log's words for them."""
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_SUCCEEDED
    token = caller.pay(phone).token
    caller.consume(token)
    caller.fail(phone, 5)
    caller.begin(phone)
    caller.unlock_device(phone.device_id)
    caller.revoke(phone.binding)
    caller.erase_profile(phone.binding.profile_id)
    return [
        "binding.created",
        "evaluation.succeeded",
        "evaluation.succeeded",
        "token.consumed",
        *["evaluation.failed"] * 4,
        "evaluation.locked_out",
        "lock.began",
        "evaluation.denied",
        "device.unlocked",
        "binding.revoked",
        "profile.erased",
    ]


def test_a_line_for_each_decision(start):
    server = start()
    words = story(server)
    found = [re.fullmatch(rf"({TIME}) info ([a-z_]+\.[a-z_]+) (.*)", line) for line in lines_of(server)]
    found = [match for match in found if match]
    assert [match[2] for match in found] == words
    login = found[1]
    assert re.search(r"\bpolicy=login\b", login[3]) and re.search(r"\bfactor=biometry\b", login[3])
    assert "rpc=/touchstone.v1.EvaluationService/SubmitAttempt" in login[3]
    assert "caller=local" in login[3] and re.search(r"\bduration_ms=\d+(\.\d+)?\b", login[3])
    now = datetime.datetime.now(datetime.UTC)
    assert abs(datetime.datetime.fromisoformat(login[1]) - now) < datetime.timedelta(minutes=5)


def test_json_lines(start):
    server = start(configuration={"log": {"format": "json"}})
    words = story(server)
    lines = [json.loads(line) for line in lines_of(server)]
    assert all(re.fullmatch(TIME, line["time"]) and line["level"] and line["message"] for line in lines)
    decisions = [line for line in lines if line["level"] == "info" and line["message"] in words]
    assert [line["message"] for line in decisions] == words
    assert isinstance(decisions[1]["duration_ms"], (int, float))
    assert decisions[1]["policy"] == "login" and decisions[1]["factor"] == "biometry"


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_first_line_names_the_version(start, form):
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    first = lines_of(start(configuration={"log": {"format": form}}))[0]
    if form == "text":
        assert re.fullmatch(rf"{TIME} notice starting version={re.escape(version)}", first)
    else:
        line = json.loads(first)
        assert (line["level"], line["message"], line["version"]) == ("notice", "starting", version)


def test_a_level_and_its_reload(start):
    server = start(configuration={"log": {"level": "notice"}})
    words = story(server)
    server.reload({"log": {"level": "info", "format": "json"}})
    Caller(server.channel(), "shop").bind(Phone())
    lines = lines_of(server)
    assert sum(any(word in line for word in words) for line in lines) == 1
    assert json.loads(next(line for line in lines if "binding.created" in line))["application"] == "shop"


def test_a_reader_that_stops_delays_no_call(start):
    """Some 200 bytes for each decision: the pipe is full long before the end, and the service keeps the rest."""
    read, write = os.pipe()
    server = start(stderr=write)
    os.close(write)
    caller, phone = Caller(server.channel(), "shop"), Phone()
    caller.bind(phone)
    for _ in range(DECISIONS):
        caller.login(phone)
    with os.fdopen(read) as stream, futures.ThreadPoolExecutor(1) as pool:
        lines = pool.submit(list, stream)
        server.terminate()
        assert sum("evaluation.succeeded" in line for line in lines.result()) == DECISIONS
