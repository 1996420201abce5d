"""`touchstone admin`: what support and operators do from a terminal."""

import contextlib
import csv
import functools
import json
import re
import select
import subprocess
import unicodedata
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from google.protobuf.json_format import MessageToDict

from support.addresses import own_host
from support.admin import admin, as_json, done, terminal
from support.caller import gesture, new_caller, new_profile_id, passcode
from support.certificates import Authority
from support.credentials import Key
from support.errors import refused
from support.event_log import lengthen
from support.phone import DEVICE_OWNER, Phone
from support.server import BINARY, run
from support.stubs import evaluation_pb2, types_pb2

REFUSED_BY_STATE = 1
USAGE = 64
NOT_FOUND = 66
UNREACHABLE = 69
NOT_ALLOWED = 77

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

ROOT = Path(__file__).resolve().parents[2]

#: Nothing listens there.
CLOSED = "127.0.0.1:1"

#: RFC 3339 in UTC, as --utc has it.
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.fixture
def application(caller):
    return caller.application_id


@pytest.fixture
def person(caller, phone):
    """With a phone, a passcode and a gesture: the profile's id."""
    profile_id = phone.binding.profile_id
    caller.set_secret(profile_id, passcode("2468"))
    caller.set_secret(profile_id, gesture(0, 1, 2, 5))
    return profile_id


def bind_named(caller, name, *factors, model=None):
    phone = Phone(*factors)
    if model is not None:
        phone.posture = functools.partial(phone.posture, device_model=model)
    request = caller.completion(phone, caller.begin_binding(phone, new_profile_id()))
    request.device_name = name
    phone.binding = caller.bindings.CompleteBinding(request).binding
    return phone


def lines_of(table):
    """Cells by heading, where no cell has two spaces."""
    heading, *rows = [re.split(r" {2,}", line) for line in table.splitlines()]
    return [dict(zip(heading, row, strict=True)) for row in rows]


# Looking


def test_a_profile_is_shown(server, caller, application, phone, person):
    caller.login(phone)
    text = done(server, "profile", "show", application, person, "--utc")
    assert text.startswith(f"profile {person} of application {application}\n")
    for word in [phone.binding.binding_id, phone.device_id, "Phone", "active", "ios-17.4", "iPhone15,2", "passcode"]:
        assert word in text
    assert re.search(TIME, text)
    assert as_json(server, "profile", "show", application, person) == [MessageToDict(caller.get_profile(person))]


def test_times_are_local_unless_utc_is_asked_for(server, caller, application, phone):
    arguments = ["admin", "binding", "show", application, phone.binding.binding_id, "--target", server.address]
    local = run(*arguments, environment={"TZ": "EST5"}).stdout
    created = re.search(r"created +(\S+)", local).group(1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d-05:00", created)
    asked = run(*arguments, "--utc", environment={"TZ": "EST5"}).stdout
    moment = phone.binding.created_at.ToDatetime().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert re.search(r"created +(\S+)", asked).group(1) == moment


def test_bindings_are_listed_and_shown(server, caller, application, phone):
    profile_id = phone.binding.profile_id
    other = Phone(DEVICE_OWNER)
    caller.bind(other, profile_id)
    caller.revoke(other.binding)
    assert [row["BINDING"] for row in lines_of(done(server, "binding", "list", application, profile_id))] == [
        phone.binding.binding_id
    ]
    listed = as_json(server, "binding", "list", application, profile_id, "--revoked")
    assert listed == [MessageToDict(it) for it in caller.list_bindings(profile_id, include_revoked=True).bindings]
    assert len(listed) == 2
    shown = done(server, "binding", "show", application, phone.binding.binding_id)
    assert re.search(rf"^device +{re.escape(phone.device_id)}$", shown, re.MULTILINE)
    assert re.search(r"^key 1 +biometry-current-set P-256$", shown, re.MULTILINE)
    found = MessageToDict(caller.get_binding(phone.binding.binding_id))
    assert as_json(server, "binding", "show", application, phone.binding.binding_id) == [found]


def test_settings_are_shown_and_changed(server, caller, application, person):
    rows = {row["SWITCH"]: row["STATE"] for row in lines_of(done(server, "profile", "settings", application, person))}
    assert rows == {"biometry": "on", "gesture": "on", "passcode": "on"}
    switch = ["profile", "settings", application, person]
    changed = as_json(server, *switch, "--passcode", "off", "--preferred", "gesture", "--reason", "ticket 4711")
    assert changed == [MessageToDict(caller.get_settings(person))]
    (event,) = [event for event in caller.events() if event.kind == "settings.changed"]
    assert event.details["stated_reason"] == "ticket 4711"
    settings = caller.get_settings(person)
    assert (settings.biometry_enabled, settings.gesture_enabled, settings.passcode_enabled) == (True, True, False)
    assert settings.preferred == types_pb2.FACTOR_GESTURE
    for arguments, complaint in [
        (["--preferred", "passcode", "--reason", "x"], "settings.preferred"),
        (["--passcode", "on", "--reason", " "], "reason"),
        (["--passcode", "on", "--reason", ""], "--reason"),
        (["--passcode", "on"], "--reason"),
        (["--reason", "x"], "--reason"),
    ]:
        wrong = admin(server, *switch, *arguments)
        assert (wrong.returncode, complaint in wrong.stderr) == (USAGE, True), arguments
    assert caller.get_settings(person) == settings


# Finding


def test_a_person_is_found_by_what_they_read_out(server, caller, application, phone, person):
    found = {"profileId": person, "bindingId": phone.binding.binding_id}
    for text, by, binding in [
        (person, "profile", "-"),
        (phone.binding.binding_id, "binding", found["bindingId"]),
        (f"  {phone.device_id}\n", "device", found["bindingId"]),
    ]:
        (row,) = lines_of(done(server, "profile", "find", application, text))
        assert row == {"PROFILE": person, "FOUND BY": by, "BINDING": binding}
    found["foundBy"] = "FOUND_BY_DEVICE_ID"
    assert as_json(server, "profile", "find", application, phone.device_id) == [found]
    assert [event.profile_id for event in caller.events() if event.kind == "profile.searched"] == [person] * 4


def test_profiles_are_listed_by_the_beginning_of_their_ids(server, caller, application):
    name = new_profile_id()
    for number in range(21):
        caller.set_secret(f"{name}-{number:02}", passcode("2468"))
    for option in [], ["--prefix"]:
        ended = admin(server, "profile", "find", application, name, *option)
        assert [row["PROFILE"] for row in lines_of(ended.stdout)] == [f"{name}-{number:02}" for number in range(20)]
        assert (ended.returncode, "more ids begin so" in ended.stderr) == (0, True)
    assert len(as_json(server, "profile", "find", application, f"{name}-1", "--prefix")) == 10
    script = admin(server, "profile", "find", application, f"{name}-1", "--json")
    assert (script.returncode, script.stdout) == (NOT_FOUND, "")


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        ("nobody", [], NOT_FOUND, "nothing is found by nobody in application"),
        ("nobody", ["--prefix"], NOT_FOUND, "nothing is found by nobody in application"),
        ("a", ["--prefix"], USAGE, "text must be at least 3 characters for a prefix, is 1"),
        (" ", [], USAGE, "text is empty"),
        ("x" * 10_000, [], USAGE, "text is longer than 2048 bytes"),
    ],
)
def test_what_finds_nobody_is_told(server, application, text, options, code, words):
    ended = admin(server, "profile", "find", application, text, *options)
    assert (ended.returncode, ended.stdout, words in ended.stderr) == (code, "", True), ended


# Locks


def test_a_locked_phone_is_explained_and_unlocked(server, caller, application, phone):
    profile_id = phone.binding.profile_id
    possible = r"Phone: A login can succeed now, by biometrics, if the device is as it reported at \S+ \S+ \S+\.\n"
    assert re.fullmatch(possible, done(server, "profile", "explain", application, profile_id))
    caller.fail(phone, 5)
    (device,) = lines_of(done(server, "device", "show", application, profile_id))
    assert (device["DEVICE"], device["BIOMETRY"], device["FAILURES"]) == (phone.device_id, "LOCKED", "5")
    why = (
        "Phone: No login can succeed now. Biometrics: locked by the service, after wrong attempts or the device's own report "
        "of a lock. What helps: an unlock of the device by support or setting the device up after the application's own login.\n"
    )
    assert done(server, "profile", "explain", application, profile_id) == why
    assert why in done(server, "profile", "show", application, profile_id)
    diagnosis, alone = as_json(server, "profile", "explain", application, profile_id)
    assert (diagnosis["bindingId"], diagnosis["answer"]) == (phone.binding.binding_id, "LOGIN_ANSWER_NO")
    assert [obstacle["code"] for obstacle in diagnosis["obstacles"]] == ["BIOMETRY_LOCKOUT"]
    assert [obstacle["code"] for obstacle in alone["obstacles"]] == ["NOT_SET"]
    (explained,) = as_json(server, "profile", "explain", application, profile_id, "--rules")
    assert explained["answer"]["denial"]["reason"] == "BIOMETRY_LOCKOUT"
    assert explained["posture"]["bindingId"] == phone.binding.binding_id
    assert explained["diagnosis"] == diagnosis
    unlock = ("device", "unlock", application, phone.device_id, "--reason")
    assert done(server, *unlock, "ticket 4711").endswith(": unlocked\n")
    assert caller.login(phone).outcome == SUCCEEDED
    (event,) = [event for event in caller.events() if event.kind == "device.unlocked"]
    assert event.details["stated_reason"] == "ticket 4711"
    assert done(server, *unlock, "again").endswith(": was not locked; nothing changed\n")
    assert as_json(server, *unlock, "again") == [{}]
    assert as_json(server, "device", "show", application, profile_id) == [{"deviceId": phone.device_id}]


def test_what_is_not_possible_is_said_of_each_factor(server, caller, application, phone, person):
    caller.fail(phone, 5)
    caller.set_settings(person, biometry_enabled=True, passcode_enabled=True)
    why = done(server, "profile", "explain", application, person)
    assert why.splitlines() == [
        "Phone: A login can succeed now, by passcode. Biometrics: locked by the service, after wrong attempts or the device's own "
        "report of a lock. What helps: one login by passcode on this device, an unlock of the device by support or setting the "
        "device up after the application's own login.",
        "On any device: A login can succeed now, by passcode.",
    ]


def test_what_changed_or_was_revoked_is_said_and_phones_of_one_name_are_told_apart(server, caller, application, phone):
    person = phone.binding.profile_id
    other = Phone(model="iPhone17,1")
    caller.bind(other, profile_id=person)
    phone.domain_state = b"a finger more"
    assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_FACTOR_REQUIRED
    lines = done(server, "profile", "explain", application, person).splitlines()
    assert [line for line in lines if "Phone (iPhone17,1, never used, …" in line and "by biometrics, if" in line]
    (changed,) = [line for line in lines if f"…{phone.binding.binding_id[-4:]})" in line]
    assert "No login can succeed now. Biometrics: the device's fingers or faces are not those that the service" in changed
    assert re.search(r"\(as it reported at 20\d\d-\d\d-\d\d \d\d:\d\d \S+\)\. What helps: the application's own login", changed)
    for binding in (phone.binding, other.binding):
        caller.revoke(binding)
    revoked = done(server, "profile", "explain", application, person)
    assert revoked.count("The binding of this device is revoked.") == 2
    assert "A login can succeed" not in revoked
    begin = evaluation_pb2.BeginEvaluationRequest(
        application_id=application, policy="login", binding_id=phone.binding.binding_id
    )
    assert caller.explain(begin).answer.denial.reason == "BINDING_REVOKED"


def test_a_locked_passcode_is_explained_and_unlocked(server, caller, application, phone, person):
    for _ in range(5):
        caller.submit(phone, caller.begin(phone), secret=passcode("0001"))
    profile = done(server, "profile", "show", application, person)
    assert re.search(r"^passcode +LOCKED +5 +20", profile, re.MULTILINE)
    assert "Passcode: locked after wrong attempts, until 20" in profile
    unlocked = as_json(server, "secret", "unlock", application, person, "passcode", "--reason", "ticket 4712")
    assert unlocked == [{"changed": True}]
    assert caller.submit(phone, caller.begin(phone), secret=passcode("2468")).outcome == SUCCEEDED
    again = done(server, "secret", "unlock", application, person, "gesture", "--reason", "x")
    assert again.endswith(": was not locked; nothing changed\n")
    person = new_profile_id()
    unknown = admin(server, "secret", "unlock", application, person, "gesture", "--reason", "x")
    assert unknown.returncode == NOT_FOUND


def test_a_profile_without_a_device_is_explained(server, caller, application):
    person = new_profile_id()
    caller.set_secret(person, passcode("2468"))
    explained = done(server, "profile", "explain", application, person)
    assert explained == "On any device: A login can succeed now, by passcode.\n"


def test_a_policy_for_payments_is_explained_by_its_rules(server, application, phone):
    person = phone.binding.profile_id
    text = done(server, "profile", "explain", application, person, "--policy", "payment", "--rules")
    assert text.startswith("Phone: A login can succeed now, by biometrics, if the device is as it reported at ")
    assert re.search(r"^R2 +yes +\S", text, re.MULTILINE)
    wrong = admin(server, "profile", "explain", application, person, "--policy", "nosuch")
    assert (wrong.returncode, "policy" in wrong.stderr) == (USAGE, True)
    other = admin(server, "profile", "explain", application, person, "--binding", "none")
    assert other.returncode == NOT_FOUND


def test_a_binding_is_revoked(server, caller, application, phone):
    binding_id = phone.binding.binding_id
    without_reason = admin(server, "binding", "revoke", application, binding_id)
    assert (without_reason.returncode, "--reason" in without_reason.stderr) == (USAGE, True)
    empty = admin(server, "binding", "revoke", application, binding_id, "--reason", "")
    assert (empty.returncode, empty.stderr.startswith("touchstone: --reason ")) == (USAGE, True)
    assert caller.login(phone).outcome == SUCCEEDED
    assert "revoked" in done(server, "binding", "revoke", application, binding_id, "--reason", "phone stolen")
    assert caller.begin(phone).denial.reason == "BINDING_REVOKED"
    (event,) = [event for event in caller.events() if event.kind == "binding.revoked"]
    assert event.details["stated_reason"] == "phone stolen"


# Erasing


def test_a_profile_is_erased_only_after_its_id_was_typed(server, caller, application, person):
    arguments = ["profile", "erase", application, person, "--reason", "ticket 4711"]
    for line in ["", "yes", person[:-1], person.upper()]:
        with terminal(server, *arguments) as operator:
            assert "with 1 active binding (Phone) and 2 secrets" in operator.read_until("to erase it:")
            operator.type(line)
            code, text = operator.end()
        assert (code, "nothing was erased" in text) == (REFUSED_BY_STATE, True)
    assert len(caller.get_profile(person).bindings) == 1
    with terminal(server, *arguments) as operator:
        operator.read_until("to erase it:")
        operator.type(person)
        code, text = operator.end()
    assert (code, ": erased" in text) == (0, True), text
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_profile(person)
    assert [event.details["stated_reason"] for event in caller.events() if event.kind == "profile.erased"] == [
        "ticket 4711"
    ]


def test_without_a_terminal_erasing_needs_a_word(server, caller, application, person):
    arguments = ["profile", "erase", application, person, "--reason", "ticket 4711"]
    # What stands on stdin is nobody's confirmation.
    ended = admin(server, *arguments, stdin=f"{person}\n")
    assert (ended.returncode, "--yes" in ended.stderr) == (USAGE, True)
    assert len(caller.get_profile(person).bindings) == 1
    assert as_json(server, *arguments, "--yes") == [{}]
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_profile(person)
    named = admin(server, "profile", "erase", application, person, "--reason", f"for {person}", "--yes")
    assert (named.returncode, "reason" in named.stderr) == (USAGE, True)


# Events


def test_events_are_listed_with_filters(server, caller, application, phone):
    person = phone.binding.profile_id
    caller.bind(Phone())
    caller.login(phone)
    all_events = [MessageToDict(event) for event in caller.events()]
    assert as_json(server, "events", application) == all_events
    own = [event for event in all_events if event.get("profileId") == person]
    assert as_json(server, "events", application, person) == own
    assert as_json(server, "profile", "events", application, person) == own
    created = as_json(server, "events", application, "--kind", "binding.", "--kind", "token.")
    assert {event["kind"] for event in created} == {"binding.created"}
    assert as_json(server, "events", application, "--last", "2") == all_events[-2:]
    after = all_events[0]["sequence"]
    assert as_json(server, "events", application, "--after", after) == all_events[1:]
    line = done(server, "events", application, person, "--last", "1", "--utc")
    assert re.fullmatch(
        rf"\d+  {TIME}  evaluation\.succeeded  {application}/{person}  device={phone.device_id}  "
        rf"binding={phone.binding.binding_id}  caller=local  .*factor=biometry.*\n",
        line,
    )


def test_events_are_listed_by_time_device_binding_caller_and_reason(server, caller, application, phone):
    other = Phone()
    caller.bind(other)
    caller.fail(phone, 5)
    events = [MessageToDict(event) for event in caller.events()]

    def listed(*options):
        return as_json(server, "events", application, *options)

    assert listed("--since", "1h") == listed("--since", "1h", "--until", "2999-01-01") == events
    assert listed("--until", "1h") == listed("--since", "2999-01-01T00:00:00+01:00") == []
    assert listed("--device", other.device_id) == listed("--binding", other.binding.binding_id)
    assert [event["kind"] for event in listed("--device", other.device_id)] == ["binding.created"]
    assert len(listed("--reason", "SIGNATURE_INVALID")) == 5
    assert listed("--reason", "SIGNATURE_INVALID", "--caller", "local", "--last", "1") == events[-1:]
    assert listed("--caller", "operator:anna") == []


def test_a_time_without_a_zone_is_that_of_the_machine(server, caller, application, phone):
    created = phone.binding.created_at.ToDatetime()

    def count(zone, since, *options):
        arguments = ["admin", "events", application, "--since", since, "--target", server.address, "--json", *options]
        ended = run(*arguments, environment={"TZ": zone})
        assert ended.returncode == 0, ended.stderr
        return len(ended.stdout.splitlines())

    local = (created - timedelta(hours=5)).strftime("%Y-%m-%d %H:%M")
    later = (created + timedelta(minutes=2)).strftime("%Y-%m-%d %H:%M")
    assert count("EST5", local) == count("EST5", f"{created:%Y-%m-%d %H:%M}", "--utc") == 1
    assert count("EST5", later, "--utc") == count("UTC", later) == 0


def test_the_hour_that_clocks_show_twice_is_searched_whole(server, application):
    def searched(time):
        arguments = ["admin", "events", application, "--since", time, "--until", time, "--target", server.address]
        return run(*arguments, environment={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}).returncode

    assert (searched("2026-10-25 02:30"), searched("2026-10-25 03:30")) == (0, USAGE)


def test_sentences_have_the_times_of_the_machine(server, caller, application, phone):
    def explained(zone, *options):
        arguments = ["admin", "profile", "explain", application, phone.binding.profile_id, "--target", server.address]
        return run(*arguments, *options, environment={"TZ": zone}).stdout

    assert re.search(r"reported at \S+ \d\d:\d\d \+05:30\.", explained("IST-5:30"))
    assert re.search(r"reported at \S+ \d\d:\d\d UTC\.", explained("IST-5:30", "--utc"))


@pytest.mark.parametrize("options", [["--reason", "WRONG_SECRT"], ["--last", "1", "--device", "none"]])
def test_a_search_that_finds_no_events_says_so(server, application, phone, options):
    ended = admin(server, "events", application, *options)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "touchstone: there are no such events\n")


def test_events_are_counted(server, caller, application, phone):
    caller.bind(other := Phone())
    caller.fail(phone, 5)
    person = phone.binding.profile_id
    rows = lines_of(done(server, "events", application, "--count-by", "profile"))
    assert rows == [{"EVENTS": "6", "PROFILE": person}, {"EVENTS": "1", "PROFILE": other.binding.profile_id}]
    counted = as_json(server, "events", application, "--kind", "evaluation.", "--count-by", "reason")
    assert counted == [{"reason": "SIGNATURE_INVALID", "events": 5}]
    assert as_json(server, "events", application, "--count-by", "caller") == [{"caller": "local", "events": 7}]
    kinds = {row["kind"]: row["events"] for row in as_json(server, "events", application, "--count-by", "kind")}
    assert kinds == {"binding.created": 2, "evaluation.failed": 4, "evaluation.locked_out": 1}
    everywhere = lines_of(done(server, "events", "--since", "1h", "--count-by", "profile"))
    assert {"EVENTS": "6", "PROFILE": f"{application}/{person}"} in everywhere


def test_events_are_exported_for_a_spreadsheet(server, caller, application):
    caller.set_secret('=1+2,"x"', passcode("2468"))
    text = done(server, "events", application, "--csv")
    heading, row = csv.reader(text.splitlines())
    assert heading == "sequence,time,kind,application,profile,device,binding,caller,reason,details".split(",")
    (event,) = caller.events()
    assert row[:5] == [str(event.sequence), event.time.ToJsonString(), "secret.set", application, "'=1+2,\"x\""]
    assert "factor=passcode" in row[9]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--since", "2026-02-30"], USAGE, "--since: 2026-02-30 is no time: say 2h, 2026-11-29"),
        (["--until", "soon"], USAGE, "--until: soon is no time"),
        (["--since", "99999999999999h"], USAGE, "is no time"),
        (["--since", "1h", "--until", "2h"], USAGE, "--until (20"),
        (["--kind", "evaluation.suceeded"], USAGE, 'did you mean "evaluation.succeeded"?'),
        (["--device", "x" * 129], USAGE, "touchstone: --device is longer than 128 bytes"),
        (["--count-by", "device"], USAGE, "--count-by"),
        (["--csv", "--json"], USAGE, "--csv and --json exclude each other"),
        (["--follow", "--until", "1h"], USAGE, "--follow excludes"),
        (["--limit", "0"], USAGE, "--limit must be at least 1"),
    ],
)
def test_a_wrong_search_for_events_is_told(server, application, options, code, words):
    ended = admin(server, "events", application, *options)
    assert (ended.returncode, ended.stdout, words in ended.stderr) == (code, "", True), ended


def test_more_events_than_the_limit_are_told(server, caller, application, phone):
    caller.login(phone)
    ended = admin(server, "events", application, "--limit", "1")
    assert (ended.returncode, len(ended.stdout.splitlines())) == (REFUSED_BY_STATE, 1)
    assert "there are more than 1 events: narrow --since and --until, or raise --limit" in ended.stderr
    assert len(done(server, "events", application, "--limit", "2").splitlines()) == 2


def test_a_long_log_is_listed_page_by_page(start):
    server = start()
    server.terminate()
    lengthen(server, 1_001)
    server = start()
    caller = new_caller(server)
    caller.bind(Phone())
    events = [MessageToDict(event) for event in caller.list_events()]
    assert len(events) > 1_000
    assert as_json(server, "events") == events
    assert as_json(server, "events", "--last", "3") == events[-3:]


@contextlib.contextmanager
def following(server, *arguments):
    command = [BINARY, "admin", "events", *arguments, "--follow", "--json", "--target", server.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_events_are_followed_across_a_restart(start):
    server = start(listen=[f"{own_host()}:0"])
    caller, phone = new_caller(server), Phone()
    binding = caller.bind(phone)
    first = caller.events()[-1].sequence
    with following(server, caller.application_id, "--after", str(first)) as process:
        caller.login(phone)
        assert json.loads(process.stdout.readline())["kind"] == "evaluation.succeeded"
        address = server.address
        server.terminate()
        told = process.stderr.readline()
        assert re.fullmatch(r"touchstone: the watch ended \(.*\); going on after event \d+\n", told)
        again = start(listen=(address,))
        caller = new_caller(again, caller.application_id)
        phone.binding = binding
        caller.login(phone)
        caller.revoke(binding)
        kinds = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [event["kind"] for event in kinds] == ["evaluation.succeeded", "binding.revoked"]
    assert kinds == [MessageToDict(event) for event in caller.events()[-2:]]


def test_without_a_number_only_new_events_are_followed(start):
    server = start()
    caller, phone = new_caller(server), Phone()
    caller.bind(phone)
    with following(server) as process:
        # The log's end is read a moment after the start: log in until the first event comes.
        while not select.select([process.stdout], [], [], 0.1)[0]:
            caller.login(phone)
        assert json.loads(process.stdout.readline())["kind"] == "evaluation.succeeded"


def test_long_events_are_wrapped_and_lose_nothing(server, caller, application, phone):
    caller.login(phone)
    with terminal(server, "events", application, "--last", "1", columns=60) as operator:
        code, text = operator.end()
    assert code == 0
    lines = text.splitlines()
    assert len(lines) > 1
    assert all(line.startswith("    ") for line in lines[1:])
    assert text.split() == done(server, "events", application, "--last", "1").split()


# Hostile names


def test_a_hostile_name_does_not_reach_the_terminal(server, caller, application):
    """A model is what a phone says; names, which people see, are refused with such characters."""
    name = "\x1b]0;owned\x07\x1b[2J\r\u009b31m\u202eeman\u2066\n| revoked"
    with pytest.raises(grpc.RpcError, match="device_name"):
        bind_named(caller, name)
    phone = bind_named(caller, "phone", model=name)
    person = phone.binding.profile_id
    caller.fail(phone, 5)
    caller.unlock_device(phone.device_id, reason="ticket")
    for command in [
        ["profile", "show", application, person],
        ["profile", "explain", application, person],
        ["device", "show", application, person],
        ["binding", "list", application, person],
        ["binding", "show", application, phone.binding.binding_id],
        ["events", application],
    ]:
        for form in [[], ["--json"]]:
            text = done(server, *command, *form)
            assert not [it for it in text if it != "\n" and unicodedata.category(it) in ("Cc", "Cf", "Zl", "Zp")], text
    # JSON's own escapes keep it whole.
    texts = []
    lines = done(server, "profile", "show", application, person, "--json").splitlines()
    [json.loads(line, object_hook=lambda found: texts.extend(found.values())) for line in lines]
    assert name in texts
    with terminal(server, "profile", "erase", application, person, "--reason", "x") as operator:
        assert "\x1b" not in operator.read_until("to erase it:")


def test_a_name_in_chinese_keeps_the_columns(server, caller, application):
    phone = bind_named(caller, "安娜的手机")
    assert "安娜的手机" in done(server, "binding", "list", application, phone.binding.profile_id)


def test_a_narrow_terminal_loses_nothing(server, caller, application, phone):
    with terminal(server, "binding", "list", application, phone.binding.profile_id, columns=40) as operator:
        code, text = operator.end()
    assert code == 0
    assert re.search(rf"^BINDING +{re.escape(phone.binding.binding_id)}\r?$", text, re.MULTILINE), text
    assert re.search(r"^STATE +active\r?$", text, re.MULTILINE)


# Refusals


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["profile", "show", "APP", "nobody"], NOT_FOUND, "NOT_FOUND"),
        (["profile", "show", "APP", ""], USAGE, "profile_id"),
        (["binding", "show", "APP", "none"], NOT_FOUND, "NOT_FOUND"),
        (["binding", "revoke", "APP", "none", "--reason", "x"], NOT_FOUND, "NOT_FOUND"),
        (["device", "unlock", "APP", "none", "--reason", "x"], NOT_FOUND, "NOT_FOUND"),
        (["device", "unlock", "APP", "none", "--reason", "x" * 257], USAGE, "reason"),
        (["events", "APP", "--after", str(1 << 40)], NOT_FOUND, "BEYOND_LOG_END"),
        (["events", "APP", "--follow", "--after", str(1 << 40)], NOT_FOUND, "BEYOND_LOG_END"),
        (["events", "APP", "--last", "0"], USAGE, "--last"),
        (["events", "--kind", "a\nb"], USAGE, "--kind "),
        (["secret", "unlock", "APP", "nobody", "password", "--reason", "x"], USAGE, "passcode"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(server, application, arguments, code, line):
    ended = admin(server, *[application if it == "APP" else it for it in arguments])
    assert (ended.returncode, ended.stdout) == (code, "")
    first = ended.stderr.splitlines()[0]
    assert line in first
    assert first.startswith(("touchstone: ", "Error: "))


def test_an_address_without_a_service_is_unreachable(application):
    for command in [["profile", "show", application, "anna"], ["events"], ["events", "--follow", "--after", "1"]]:
        ended = admin(CLOSED, *command)
        assert (ended.returncode, ended.stdout) == (UNREACHABLE, "")
        assert ended.stderr.startswith(f"touchstone: {CLOSED} does not answer: ")
        assert len(ended.stderr.splitlines()) == 1
    assert admin("nonsense", "events").returncode == USAGE


@pytest.fixture
def guarded(start):
    """A service with a desk, which may read and unlock in one application."""
    key = Key()
    methods = ["AdministrationService/GetProfile", "AdministrationService/UnlockDevice"]
    desk = {"name": "desk", "applications": ["shop"], "methods": methods, "keys": [key.digest]}
    server = start(configuration={"callers": [desk]})
    return server, key


def test_a_caller_shows_its_key(guarded, tmp_path):
    server, key = guarded
    file = tmp_path / "desk.key"
    file.write_text(f"{key.text}\n  - name: desk\n")
    known = admin(server, "profile", "show", "shop", "anna", "--key-file", file)
    assert known.returncode == NOT_FOUND
    by_environment = run(
        "admin", "profile", "show", "shop", "anna",
        environment={"TOUCHSTONE_ADMIN_TARGET": server.address, "TOUCHSTONE_ADMIN_KEY_FILE": str(file)},
    )  # fmt: skip
    assert by_environment.returncode == NOT_FOUND
    for arguments, reason in [
        (["profile", "show", "bank", "anna"], "APPLICATION_NOT_GRANTED"),
        (["profile", "erase", "shop", "anna", "--reason", "x", "--yes"], "METHOD_NOT_GRANTED"),
        (["events", "--follow"], "METHOD_NOT_GRANTED"),
    ]:
        ended = admin(server, *arguments, "--key-file", file)
        assert (ended.returncode, ended.stdout, reason in ended.stderr) == (NOT_ALLOWED, "", True), ended


def test_a_wrong_key_is_refused_and_not_shown(guarded, tmp_path):
    server, _ = guarded
    wrong = Key()
    file = tmp_path / "wrong.key"
    for text, reason in [(wrong.text, "KEY_UNKNOWN"), ("secret", "KEY_MALFORMED")]:
        file.write_text(text)
        ended = admin(server, "profile", "show", "shop", "anna", "--key-file", file)
        assert (ended.returncode, reason in ended.stderr, "--key-file" in ended.stderr) == (NOT_ALLOWED, True, True)
        assert text not in ended.stderr + ended.stdout
    none = admin(server, "profile", "show", "shop", "anna")
    assert (none.returncode, "CREDENTIALS_MISSING" in none.stderr) == (NOT_ALLOWED, True)
    file.write_text("\n")
    empty = admin(server, "profile", "show", "shop", "anna", "--key-file", file)
    assert (empty.returncode, "no key" in empty.stderr) == (USAGE, True)
    absent = admin(server, "profile", "show", "shop", "anna", "--key-file", tmp_path / "absent")
    assert absent.returncode == NOT_FOUND
    assert "No such file" in absent.stderr


def test_it_calls_over_tls_with_a_certificate(start, tmp_path):
    authority = Authority(tmp_path)
    certificate = authority.issue_server()
    desk = authority.issue("desk", hosts=["desk.example.org"])
    server = start(
        configuration={
            "tls": {
                "certificate": str(certificate.file),
                "key": str(certificate.key_file),
                "client_authorities": str(authority.file),
            },
            "callers": [
                {"name": "desk", "dns": "desk.example.org", "applications": ["shop"], "methods": ["AdministrationService/*"]}
            ],
        }
    )
    trust = ["--tls-authorities", authority.file]
    identity = ["--tls-certificate", desk.file, "--tls-key", desk.key_file]
    assert admin(server, "profile", "show", "shop", "anna", *trust, *identity).returncode == NOT_FOUND
    assert admin(server, "profile", "show", "shop", "anna", *trust).returncode == NOT_ALLOWED
    assert [row["VERSION"] for row in lines_of(done(server, "health", *trust))] == ["-"]
    (row,) = lines_of(done(server, "health", *trust, *identity))
    assert (row["STATUS"], row["VERSION"]) == ("serving", run("--version").stdout.strip())
    for untrusted in [[], ["--tls"], [*trust, "--tls-server-name", "other.example.org"]]:
        assert admin(server, "profile", "show", "shop", "anna", *untrusted).returncode == UNREACHABLE
    assert admin(server, "events", *identity).returncode == USAGE
    assert admin(server, "events", "--tls-authorities", tmp_path / "absent").returncode == 78


def test_a_service_starts_in_an_operators_shell(start):
    """Other variables of the prefix are settings of the service, and unknown ones are refused."""
    server = start(environment={"TOUCHSTONE_ADMIN_TARGET": "127.0.0.1:1", "TOUCHSTONE_ADMIN_KEY_FILE": "absent"})
    assert "serving" in done(server, "health")


def test_health_names_each_replica(start):
    one, other = start("one"), start("other")
    targets = f"{one.address},{other.address}"
    version = run("--version").stdout.strip()
    rows = lines_of(done(targets, "health"))
    assert [(row["STATUS"], row["VERSION"]) for row in rows] == [("serving", version)] * 2
    address = other.address
    other.terminate()
    ended = admin(targets, "health", "--json")
    assert ended.returncode == UNREACHABLE
    assert [json.loads(line) for line in ended.stdout.splitlines()] == [
        {"target": one.address, "status": "SERVING", "version": version},
        {"target": address, "status": "UNREACHABLE"},
    ]


# The grants of docs/SUPPORT.md


def grants_of_the_page():
    """The YAML below "A caller that only looks" and "Support", as an operator copies it."""
    page = (ROOT / "docs" / "SUPPORT.md").read_text(encoding="utf-8")
    looking, supporting = re.findall(r"```yaml\n(    applications: .*?)```", page, re.DOTALL)
    return {"looks": looking, "supports": supporting}


def test_the_grants_of_the_page_allow_what_it_says_and_no_erasure(start, tmp_path):
    keys = {name: Key() for name in grants_of_the_page()}
    lines = [f"  - name: {name}\n    keys: [{keys[name].digest}]\n{grant}" for name, grant in grants_of_the_page().items()]
    file = tmp_path / "admin.yaml"
    file.write_text("callers:\n  - name: local\n    applications: [shop]\n    methods: \"*\"\n" + "".join(lines))
    file.chmod(0o600)
    server = start(arguments=["--config", file])
    shop = new_caller(server, "shop")
    phone = Phone()
    shop.bind(phone)
    profile = phone.binding.profile_id
    shop.set_secret(profile, passcode("2468"))

    def status(name, *arguments):
        key_file = tmp_path / f"{name}.key"
        key_file.write_text(keys[name].text)
        key_file.chmod(0o600)
        return admin(server, *arguments, "--key-file", key_file).returncode

    looking = [
        ("profile", "show", "shop", profile),
        ("profile", "explain", "shop", profile),
        ("profile", "events", "shop", profile),
        ("binding", "list", "shop", profile),
        ("binding", "show", "shop", phone.binding.binding_id),
        ("events", "shop"),
    ]
    reason = ("--reason", "ticket 4711")
    changing = [
        ("profile", "find", "shop", profile),
        ("device", "unlock", "shop", phone.device_id, *reason),
        ("secret", "unlock", "shop", profile, "passcode", *reason),
        ("profile", "settings", "shop", profile, "--biometry", "on", *reason),
        ("binding", "revoke", "shop", phone.binding.binding_id, *reason),
    ]
    erasing = ("profile", "erase", "shop", profile, *reason, "--yes")
    assert [status("looks", *command) for command in looking] == [0] * len(looking)
    assert [status("looks", *command) for command in changing + [erasing]] == [NOT_ALLOWED] * (len(changing) + 1)
    assert [status("supports", *command) for command in looking + changing] == [0] * len(looking + changing)
    assert status("supports", *erasing) == NOT_ALLOWED
