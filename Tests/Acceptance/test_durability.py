"""What was answered survives kill -9; what was used stays used."""

import pytest

from support.caller import all_at_once, new_caller
from support.phone import Phone
from support.stubs import evaluation_pb2

APPLICATION = "shop"

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


@pytest.fixture
def after_kill(start):
    """Runs a first part on one service and a second one on its successor; kill -9 lies between."""

    def run(first, second):
        server = start()
        state = first(new_caller(server, APPLICATION))
        server.kill()
        return second(new_caller(start(), APPLICATION), state)

    return run


def bound_phone(caller):
    phone = Phone()
    caller.bind(phone, "profile-1")
    return phone


def test_an_open_evaluation_survives(after_kill):
    def first(caller):
        phone = bound_phone(caller)
        return phone, caller.begin(phone)

    def then(caller, state):
        assert caller.submit(*state).outcome == SUCCEEDED

    after_kill(first, then)


def test_an_unused_ticket_still_serves(after_kill):
    def first(caller):
        phone = Phone()
        return phone, caller.begin_binding(phone, "profile-1")

    def then(caller, state):
        assert caller.bindings.CompleteBinding(caller.completion(*state)).binding.profile_id == "profile-1"

    after_kill(first, then)


def test_whatever_was_answered_before_a_kill_under_load_holds(start):
    server = start()
    caller = new_caller(server, APPLICATION)
    phones = [bound_by_its_own(caller, index) for index in range(8)]
    requests = [caller.attempt(phone, caller.begin(phone)) for phone in phones for _ in range(25)]
    calls = [caller.evaluations.SubmitAttempt.future(request) for request in requests]
    answered = [calls[0].result()]
    server.process.kill()
    succeeded = [
        request
        for request, call in zip(requests, calls, strict=True)
        if call.exception() is None and call.result().outcome == SUCCEEDED
    ]
    server.kill()
    assert answered[0].outcome == SUCCEEDED

    caller = new_caller(start(), APPLICATION)
    replies = all_at_once(caller.evaluations.SubmitAttempt, succeeded)
    assert {reply.outcome for reply in replies} == {INVALID_CONTEXT}


def bound_by_its_own(caller, index):
    phone = Phone()
    caller.bind(phone, f"profile-{index}")
    return phone
