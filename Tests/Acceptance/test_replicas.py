"""Two processes on one PostgreSQL: whichever one asks, the answer is the same, and what one was told the other knows."""

import json
import shutil
import time

import grpc
import jwt
import pytest

from support.apple import APP_ID, Apple, ApplePhone
from support.caller import Caller, new_caller, new_profile_id, passcode
from support.errors import check_refusal
from support.phone import Phone
from support.replicas import Load, Replicas
from support.server import run, run_to_end
from support.stores import databases
from support.stubs import administration_pb2, evaluation_pb2, tokens_pb2, types_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT

#: Of what only one of two may get.
ROUNDS = 20
#: For so many at once, on a busy machine.
PATIENCE_SECONDS = 90
BUDGET = 5
#: Until then two reloads are done, on a busy machine, too.
CHANGE_OVER = "15s"

RIGHT, WRONG = passcode("2468"), passcode("0001")

STERN = {"purpose": "login", "factors": ["passcode"], "ladder": [{"failures": 2, "lock": "1h"}]}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    """Two that the tests share, each with an application of its own."""
    replicas = Replicas(tmp_path_factory.mktemp("replicas"))
    for _ in range(2):
        replicas.start()
    yield replicas
    replicas.close()


@pytest.fixture
def new_replicas(tmp_path):
    """A test's own, not started yet."""
    replicas = Replicas(tmp_path)
    yield replicas
    replicas.close()


@pytest.fixture
def callers(replicas):
    """One application's, on a connection to each."""
    return on_each(replicas)


def on_each(replicas):
    first = new_caller(replicas.servers[0])
    return [first, *(Caller(each.channel(), first.application_id) for each in replicas.servers[1:])]


def at_once_on_all(calls):
    """Answers, in order: none is awaited before all are sent."""
    sent = [method.future(request, timeout=PATIENCE_SECONDS) for method, request in calls]
    return [call.result() for call in sent]


# What is begun and what is known


def test_what_is_begun_on_one_is_ended_on_the_other(callers):
    for one, other in (callers, callers[::-1]):
        phone = Phone()
        begun = one.begin_binding(phone, new_profile_id())
        phone.binding = other.bindings.CompleteBinding(other.completion(phone, begun)).binding
        answer = other.submit(phone, one.begin(phone))
        assert answer.outcome == SUCCEEDED
        assert one.introspect(answer.token).active


def test_of_one_attempt_on_both_one_succeeds(callers):
    """R35"""
    phone = Phone()
    callers[0].bind(phone)
    for turn in range(ROUNDS):
        opened = callers[turn % 2].begin(phone)
        request = callers[0].attempt(phone, opened)
        answers = at_once_on_all([(each.evaluations.SubmitAttempt, request) for each in callers for _ in range(2)])
        assert [answer.outcome for answer in answers].count(SUCCEEDED) == 1
        assert sum(bool(answer.token) for answer in answers) == 1


def test_of_two_assertions_with_one_counter_one_is_taken(new_replicas, tmp_path):
    """R43: two processes verify both before either is stored. The other is not counted, and the next counter serves."""
    apple = Apple()
    configuration = {
        "attestation": {"roots": {"apple": str(apple.write_roots(tmp_path / "apple.pem"))}},
        "applications": {"shop": {"attestation": "required", "app_ids": [APP_ID]}},
    }
    for _ in range(2):
        new_replicas.start(configuration=configuration)
    callers = [Caller(server.channel(), "shop") for server in new_replicas.servers]
    phone = ApplePhone(apple)
    begun = callers[0].begin_binding(phone, new_profile_id())
    request = callers[0].completion(phone, begun)
    request.app_attest.CopyFrom(phone.attestation(begun, request.keys))
    phone.binding = callers[0].bindings.CompleteBinding(request).binding
    for counter in range(1, ROUNDS + 1):
        calls = []
        for caller in callers:
            opened = caller.begin(phone)
            request = caller.attempt(phone, opened)
            request.app_assertion = phone.word_for_attempt(opened, request, counter=counter)
            calls.append(caller.evaluations.SubmitAttempt.future(request, timeout=PATIENCE_SECONDS))
        errors = [error for error in (call.exception() for call in calls) if error]
        assert len(errors) == 1
        check_refusal(errors[0], grpc.StatusCode.FAILED_PRECONDITION, reason="APP_ASSERTION_NOT_ACCEPTED")
    for caller in callers:
        stored = caller.get_binding(phone.binding.binding_id)
        assert (stored.attestation_level, stored.app_attest.counter) == (types_pb2.ATTESTATION_LEVEL_APP, ROUNDS)
    # Two bindings anew by one counter: the ticket of the other serves again.
    requests = []
    for caller in callers:
        begun = caller.begin_binding(phone, phone.binding.profile_id)
        request = caller.completion(phone, begun)
        request.app_attest.CopyFrom(phone.word_for_binding(begun, request.keys, counter=ROUNDS + 1))
        requests.append((caller.bindings.CompleteBinding, request))
    calls = [method.future(request, timeout=PATIENCE_SECONDS) for method, request in requests]
    errors = [error for error in (call.exception() for call in calls) if error]
    assert len(errors) == 1
    check_refusal(errors[0], grpc.StatusCode.INVALID_ARGUMENT, field="app_attest.assertion")
    assert len(callers[0].list_bindings(phone.binding.profile_id).bindings) == 1


# What is taken away


def test_a_revocation_holds_on_the_other_at_once(callers):
    """R32, R36"""
    for one, other in (callers, callers[::-1]):
        for _ in range(5):
            phone = Phone()
            one.bind(phone)
            opened, token = other.begin(phone), other.login(phone).token
            one.revoke(phone.binding)
            assert not other.introspect(token).active
            assert other.submit(phone, opened).denial.reason == "BINDING_REVOKED"
            assert other.begin(phone).denial.reason == "BINDING_REVOKED"
            assert not other.list_bindings(phone.binding.profile_id).bindings


class Person:
    """With a passcode."""

    def __init__(self, caller, policy="login"):
        self.profile_id, self.phone, self.policy = new_profile_id(), Phone(), policy
        assert caller.set_secret(self.profile_id, RIGHT).accepted

    def begin(self, caller):
        return caller.begin(self.phone, self.policy, profile_id=self.profile_id)

    def attempt(self, caller, secret):
        return caller.submit(self.phone, self.begin(caller), secret=secret).outcome


# Budgets


def test_parallel_attempts_with_a_wrong_finger_on_both_lock_at_the_fifth(callers):
    """R7: however the failures are spread over replicas and evaluations."""
    phone = Phone()
    callers[0].bind(phone)
    opened = [callers[turn % 2].begin(phone) for turn in range(8)]
    requests = [callers[0].attempt(phone, each, key=phone.wrong_proof(each.signing_input)) for each in opened]
    calls = [(callers[turn % 2].evaluations.SubmitAttempt, each) for turn, each in enumerate(requests)]
    outcomes = [answer.outcome for answer in at_once_on_all(calls)]
    assert outcomes.count(TRY_AGAIN) == BUDGET - 1
    assert SUCCEEDED not in outcomes
    assert all(caller.can_evaluate(phone).denial.la_error == -8 for caller in callers)


# The audit log


def test_who_watches_one_sees_what_happens_on_both(callers):
    """R41"""
    one, other = callers
    phone = Phone()
    request = administration_pb2.WatchEventsRequest(
        filter=administration_pb2.EventFilter(application_id=one.application_id)
    )
    watch = one.administration.WatchEvents(request, timeout=60)
    watch.initial_metadata()
    other.bind(phone)
    for turn in range(10):
        callers[turn % 2].login(phone)
    seen = [next(watch).event for _ in range(11)]
    watch.cancel()
    assert [event.kind for event in seen] == ["binding.created"] + ["evaluation.succeeded"] * 10
    assert seen == list(one.events()) == list(other.events())
    assert [event.sequence for event in seen] == sorted({event.sequence for event in seen})


# Keys


UNUSABLE_KEYS = 77
ALL_THAT_OPENING_COULD_CHANGE = "SELECT value, (SELECT version FROM touchstone_schema) FROM key_check"


def published(caller):
    answer = caller.tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest())
    return {key["kid"] for key in json.loads(answer.jwk_set)["keys"]}


def test_a_replica_with_other_keys_is_refused_and_writes_nothing(replicas, tmp_path):
    assert run("keys", "new", tmp_path / "other").returncode == 0
    before = databases().execute(ALL_THAT_OPENING_COULD_CHANGE, replicas.store)
    ended = run_to_end(tmp_path / "data", arguments=["--store", replicas.store, "--keys", tmp_path / "other"])
    assert ended.returncode == UNUSABLE_KEYS
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"touchstone: {tmp_path}/other: these are not the keys that the database was begun with")
    assert databases().execute(ALL_THAT_OPENING_COULD_CHANGE, replicas.store) == before
    assert not (tmp_path / "data").exists()


def test_a_replica_without_keys_makes_none(replicas, tmp_path):
    ended = run_to_end(tmp_path / "data", arguments=["--store", replicas.store])
    assert ended.returncode == UNUSABLE_KEYS
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"touchstone: {tmp_path}/data/keys: is missing")
    assert "touchstone keys new" in line
    assert not (tmp_path / "data").exists()


def test_keys_are_rotated_under_load_and_nothing_is_refused(new_replicas):
    """R34, R40: begun on one is ended on the other, and a token of one is good on the other, before, amid and after."""
    for _ in range(2):
        new_replicas.start()
    callers = on_each(new_replicas)
    phones = [Phone() for _ in range(2)]
    for phone in phones:
        callers[0].bind(phone)
    (first,) = published(callers[0])
    used = set()

    def log_in(phone, one, other):
        answer = other.submit(phone, one.begin(phone))
        assert answer.outcome == SUCCEEDED
        used.add(jwt.get_unverified_header(answer.token)["kid"])
        # The one that did not sign it.
        assert one.introspect(answer.token).active

    work = [
        lambda phone=phone, turn=turn: log_in(phone, callers[turn % 2], callers[1 - turn % 2])
        for turn, phone in enumerate(phones)
    ]
    kept = [callers[turn % 2].begin(phone) for turn, phone in enumerate(phones)]
    token = callers[0].login(phones[0]).token
    with Load(*work) as load:
        load.wait_for_rounds(5)
        for kind in ("sealing", "signing"):
            new_replicas.rotate(kind, after=CHANGE_OVER)
        for server in new_replicas.servers:
            server.reload()
            load.wait_for_rounds(1)
        assert used == {first}
        assert all(len(published(caller)) == 2 for caller in callers)
        end = time.monotonic() + PATIENCE_SECONDS
        while len(used) < 2:
            assert time.monotonic() < end, "the new key was never used"
            load.wait_for_rounds(1)
        load.wait_for_rounds(5)
    assert used == published(callers[1])
    # What the old keys made serves on.
    for turn, (phone, opened) in enumerate(zip(phones, kept, strict=True)):
        assert callers[1 - turn % 2].submit(phone, opened).outcome == SUCCEEDED
    assert all(caller.introspect(token).active for caller in callers)
    assert all(jwt.get_unverified_header(caller.login(phones[0]).token)["kid"] != first for caller in callers)


# Clocks

#: As far as clocks may be apart.
SKEW_SECONDS = 30
#: Further than that: nobody set it. A start takes it, and warns.
WRONG_SECONDS = 100
#: So far off that a start refuses.
REFUSED_SECONDS = 600
#: Between two calls, on a busy machine.
LATENESS_SECONDS = 15


@pytest.fixture(scope="module")
def unlike_clocks(tmp_path_factory):
    """The second one's is ahead."""
    assert shutil.which("faketime"), "no faketime: run deploy/install-packages test"
    replicas = Replicas(tmp_path_factory.mktemp("clocks"))
    configuration = {"policies": json.dumps({"stern": STERN})}
    replicas.start(configuration=configuration)
    replicas.start(configuration=configuration, seconds_ahead=SKEW_SECONDS)
    yield replicas
    replicas.close()


def test_logins_and_payments_go_on_where_clocks_differ(unlike_clocks):
    callers = on_each(unlike_clocks)
    expiry = {}
    for turn, (one, other) in enumerate((callers, callers[::-1])):
        phone = Phone()
        begun = one.begin_binding(phone, new_profile_id())
        phone.binding = other.bindings.CompleteBinding(other.completion(phone, begun)).binding
        opened = one.begin(phone)
        expiry[turn] = opened.expires_at.seconds
        answer = other.submit(phone, opened)
        assert answer.outcome == SUCCEEDED
        assert all(caller.introspect(answer.token).active for caller in callers)
        token = other.pay(phone).token
        assert one.consume(token).consumed
        assert not other.consume(token).consumed
    # The clocks do differ.
    assert expiry[1] - expiry[0] >= SKEW_SECONDS


def test_locks_hold_where_clocks_differ(unlike_clocks):
    """R13, R15: a lock ends by the clock of whoever is asked, so that much earlier or later."""
    callers = on_each(unlike_clocks)
    for one, other in (callers, callers[::-1]):
        person = Person(one, policy="stern")
        opened = person.begin(other)
        assert [person.attempt(one, WRONG) for _ in range(2)] == [TRY_AGAIN, LOCKED_OUT]
        assert other.submit(person.phone, opened, secret=RIGHT).outcome == LOCKED_OUT
        denials = [person.begin(caller).denial for caller in callers]
        assert {denial.reason for denial in denials} == {"PASSCODE_LOCKED"}
        slow, fast = (denial.retry_after.ToSeconds() for denial in denials)
        assert abs(slow - fast - SKEW_SECONDS) <= LATENESS_SECONDS


def test_evidence_from_a_clock_ahead_is_taken(unlike_clocks):
    """R26: a token of the one that is ahead is from the future on the other."""
    slow, fast = on_each(unlike_clocks)
    phone = Phone()
    profile = slow.bind(phone).profile_id
    assert slow.set_secret(profile, RIGHT).accepted
    answer = fast.submit(phone, fast.begin(phone), secret=RIGHT)
    assert answer.outcome == SUCCEEDED
    assert slow.introspect(answer.token).claims.issued_at.seconds > 0
    assert slow.accept_domain_state(phone.binding, b"another state", token=answer.token).binding_id


def sweep_mark(replicas):
    return int(databases().execute("SELECT swept_before FROM sweep_mark", replicas.store)[0]) / 1_000_000


def test_a_clock_that_is_wrong_voids_nothing_of_the_others(new_replicas):
    """What expired before the mark counts as used everywhere, and for good: no process raises it by its own clock alone."""
    wrong = new_replicas.start(seconds_ahead=WRONG_SECONDS)
    assert "set both by NTP" in wrong.next_error("this machine's clock and the database's differ")
    databases().await_answer("SELECT swept_before > 0 FROM sweep_mark", ["t"], new_replicas.store)
    assert sweep_mark(new_replicas) <= time.time() - SKEW_SECONDS
    right = new_caller(new_replicas.start())
    phone = Phone()
    right.bind(phone)
    assert right.login(phone).outcome == SUCCEEDED
    assert right.introspect(right.login(phone).token).active
    assert wrong.process.poll() is None


def test_a_start_refuses_a_clock_that_is_minutes_off(new_replicas):
    with pytest.raises(AssertionError, match="clock is .* s ahead of the server's, where 120 s are the most: set both by NTP"):
        new_replicas.start(seconds_ahead=REFUSED_SECONDS)
