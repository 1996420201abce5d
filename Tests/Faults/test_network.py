"""A network that fails between the service and PostgreSQL: calls end in time, and the service is back right after it."""

import time

import grpc
import pytest

from faults.load import APPLICATION, Load
from support.proxy import BLACK_HOLE, DRIPS, OPEN, REFUSES
from faults.watching import NOT_SERVING, SERVING, await_status, seconds_until_it_serves
from support.caller import all_at_once, new_caller
from support.phone import Phone
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

#: The store's own bound of a call, and as much more as a busy machine may take; less than the calls' own deadline.
ANSWER_SECONDS = 4 + 11
#: A second or so; on a busy machine more.
RETURN_SECONDS = 10
#: Calls at once while it lasts.
CALLS = 200
#: A process' connections to its database, with those that are being replaced, and its requests to cancel.
CONNECTIONS = 2 * 12 + 16
DELAY_SECONDS = 0.1


def stands_still(proxy):
    proxy.mode = BLACK_HOLE


def drips(proxy):
    proxy.mode = DRIPS
    proxy.cut()


def refuses(proxy):
    proxy.mode = REFUSES
    proxy.cut()


@pytest.mark.parametrize("fault", [stands_still, drips, refuses])
def test_calls_end_in_time_and_the_service_is_back_right_after(distant_site, proxy, seed, fault):
    load = Load(seed, customers=8)
    server = distant_site.start()
    caller = new_caller(server, APPLICATION)
    phone = Phone()
    caller.bind(phone)
    requests = [caller.attempt(phone, caller.begin(phone)) for _ in range(CALLS)]
    run = load.run(server)
    time.sleep(0.3)
    fault(proxy)
    began = time.monotonic()
    answers = all_at_once(caller.evaluations.SubmitAttempt, requests)
    assert time.monotonic() - began < ANSWER_SECONDS
    check_answers(answers)
    await_status(server, NOT_SERVING)
    run.end()
    proxy.mode = OPEN
    assert seconds_until_it_serves(caller) < RETURN_SECONDS
    await_status(server, SERVING)
    load.check(server)
    distant_site.check_log()
    # Each that succeeded did so once, and each that was refused can still be sent, once.
    again = all_at_once(caller.evaluations.SubmitAttempt, requests)
    for first, second in zip(answers, again, strict=True):
        assert not isinstance(second, grpc.RpcError), second
        if not isinstance(first, grpc.RpcError):
            assert second.outcome != SUCCEEDED
    assert proxy.peak <= CONNECTIONS


def test_calls_on_a_slow_way_succeed(distant_site, proxy, seed):
    load = Load(seed, customers=8)
    server = distant_site.start()
    proxy.delay_seconds = DELAY_SECONDS
    run = load.run(server)
    time.sleep(2)
    run.end()
    assert not run.errors
    proxy.delay_seconds = 0
    load.check(server)
    assert proxy.peak <= CONNECTIONS


def check_answers(answers):
    for answer in answers:
        if isinstance(answer, grpc.RpcError):
            assert answer.code() == grpc.StatusCode.UNAVAILABLE, answer
        else:
            assert answer.outcome == SUCCEEDED, answer
