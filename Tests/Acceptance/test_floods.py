"""One application's flood of lists, profiles or erasures: no other one is refused, nor waits for it (R41)."""

import itertools
import os
import threading

import grpc
import pytest
from google.rpc import error_details_pb2

from support.caller import new_caller, new_profile_id, passcode
from support.errors import check_refusal, detail
from support.phone import Phone
from support.stubs import administration_pb2, bindings_pb2

#: More than an application may have waiting.
OPEN_CALLS = 400
ROUNDS = 10


def list_bindings(caller, profile_id):
    request = bindings_pb2.ListBindingsRequest(
        application_id=caller.application_id, profile_id=profile_id, include_revoked=True
    )
    return caller.bindings.ListBindings.future(request)


def get_profile(caller, profile_id):
    request = administration_pb2.GetProfileRequest(application_id=caller.application_id, profile_id=profile_id)
    return caller.administration.GetProfile.future(request)


def erase_profile(caller, _):
    request = administration_pb2.EraseProfileRequest(
        application_id=caller.application_id, profile_id=new_profile_id(), reason="asked for it"
    )
    return caller.administration.EraseProfile.future(request)


def bind_again(caller, profile_id, times):
    """One device, whose bindings before the last are revoked."""
    phone = Phone()
    for _ in range(times):
        caller.bind(phone, profile_id, touch_id=os.urandom(32))


@pytest.mark.parametrize("call", [list_bindings, get_profile, erase_profile])
def test_a_flood_in_one_application_refuses_nobody_in_another(start, call):
    server = start()
    game, bank = new_caller(server, "game"), new_caller(server, "bank")
    busy = new_profile_id()
    bind_again(game, busy, 60)
    phone = Phone()
    mine = bank.bind(phone).profile_id
    flood = [call(game, busy) for _ in range(OPEN_CALLS)]
    ended = []
    for _ in range(ROUNDS):
        assert len(bank.list_bindings(mine).bindings) == 1
        assert len(bank.get_profile(mine).bindings) == 1
        bank.erase_profile(new_profile_id())
        assert bank.list_events(administration_pb2.EventFilter(application_id="bank"), page_size=10)
        bank.login(phone)
        # As many are open again.
        ended += [one for one in flood if one.done()]
        flood = [one for one in flood if not one.done()]
        flood += [call(game, busy) for _ in range(OPEN_CALLS - len(flood))]
    for one in ended + flood:
        if (error := one.exception()) is None:
            continue
        check_refusal(error, grpc.StatusCode.RESOURCE_EXHAUSTED)
        [violation] = detail(error, error_details_pb2.QuotaFailure).violations
        assert violation.subject == "caller:local"


#: More calls than one event loop runs if its handlers are slow, and more than one connection has.
WAITING_CALLS = 900
CONNECTIONS = 10
#: So many of one application's calls ended before another application's first one comes: some seconds of waiting.
ENDED_CALLS = 600
#: Only a few guesses at a secret are verified at one time. The others wait.
GUESSES_PER_PROFILE = 40
LOGINS = 20
WAIT_SECONDS = 60


def guess(caller, number):
    name = f"ghost-{number // GUESSES_PER_PROFILE}"
    change = caller.secret_change(name, passcode("1357"), old_secret=passcode("0000"))
    return caller.secrets.SetSecret.future(change)


class Waiting:
    """Keeps so many calls open, whatever becomes of them."""

    def __init__(self, call):
        self._call = call
        self._numbers = itertools.count()
        self._goes_on = True
        self._lock = threading.Lock()
        self._ended = 0
        self._has_waited = threading.Event()

    def __enter__(self):
        for _ in range(WAITING_CALLS):
            self._send()
        assert self._has_waited.wait(WAIT_SECONDS)
        return self

    def __exit__(self, *_):
        self._goes_on = False

    def _send(self):
        self._call(next(self._numbers)).add_done_callback(self._note_end)

    def _note_end(self, _):
        with self._lock:
            self._ended += 1
        if self._ended >= ENDED_CALLS:
            self._has_waited.set()
        if self._goes_on:
            self._send()


@pytest.mark.parametrize("call", [guess, erase_profile])
def test_calls_of_one_application_that_wait_refuse_nobody_in_another(start, call):
    server = start(arguments=("--shards", "1"))
    callers = [new_caller(server, "game") for _ in range(CONNECTIONS)]
    bank, phone = new_caller(server, "bank"), Phone()
    bank.bind(phone)
    with Waiting(lambda number: call(callers[number % CONNECTIONS], number)):
        for _ in range(LOGINS):
            bank.login(phone)
    # The calls that are still open would delay its end.
    server.kill()
