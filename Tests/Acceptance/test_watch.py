"""WatchEvents by a stock client: what happens, as it happens, and on from where one was (R41)."""

import random
import signal
import threading

import grpc
import pytest

from support.caller import from_threads, new_caller
from support.phone import Phone
from support.stubs import administration_pb2

WATCH_SECONDS = 60


def watch(caller, after=0, **event_filter):
    """Returns when the service has taken the call."""
    event_filter.setdefault("application_id", caller.application_id)
    request = administration_pb2.WatchEventsRequest(
        filter=administration_pb2.EventFilter(**event_filter), after_sequence=after
    )
    call = caller.administration.WatchEvents(request, timeout=WATCH_SECONDS)
    call.initial_metadata()
    return call


def take(call, count):
    return [next(call).event for _ in range(count)]


def test_what_is_stored_comes_first_and_then_what_happens(caller, phone):
    caller.login(phone)
    stored = list(caller.events())
    call = watch(caller)
    assert take(call, len(stored)) == stored
    caller.login(phone)
    event = next(call).event
    assert event.kind == "evaluation.succeeded"
    assert [*stored, event] == list(caller.events())
    call.cancel()


def test_nobody_sees_another_applications_events(caller, other_caller, phone):
    calls = watch(caller), watch(other_caller)
    caller.login(phone)
    other_caller.bind(Phone())
    assert {event.application_id for event in take(calls[0], 2)} == {caller.application_id}
    assert next(calls[1]).event.application_id == other_caller.application_id
    for call in calls:
        call.cancel()


def test_watches_that_are_cut_and_resumed_have_every_event_once(start):
    """Hundreds of events by many at once, to watchers that are cut off whenever chance says so."""
    server = start()
    caller = new_caller(server)
    rounds, logins = 8, 40
    total = rounds * (1 + logins)

    def log_in(_):
        mine = new_caller(server, caller.application_id)
        phone = Phone()
        mine.bind(phone)
        for _ in range(logins):
            mine.login(phone)

    def follow(index):
        chance, got = random.Random(index), []
        mine = new_caller(server, caller.application_id)
        while len(got) < total:
            call = watch(mine, after=got[-1] if got else 0)
            for _ in range(chance.choice([1, 10, 100])):
                if len(got) == total:
                    break
                got.append(next(call).event.sequence)
            call.cancel()
        return got

    followed = []
    following = threading.Thread(target=lambda: followed.extend(from_threads(4, follow)))
    following.start()
    from_threads(rounds, log_in)
    following.join(WATCH_SECONDS)
    assert len(followed) == 4
    # Event 1 says that accounts are signed.
    assert followed == [list(range(2, total + 2))] * 4


def test_draining_ends_it_and_says_where_to_go_on(start):
    server = start()
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    call = watch(caller)
    sequence = next(call).event.sequence
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises(grpc.RpcError) as raised:
        next(call)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    assert raised.value.details().endswith(f"resume with after_sequence {sequence}")
    assert server.process.wait(15) == 0


def test_the_age_of_its_connection_ends_it_and_says_where_to_go_on(start):
    server = start(configuration={"limits": {"connection_age": "1s", "connection_age_grace": "1m"}})
    caller = new_caller(server)
    caller.bind(Phone())
    call = watch(caller)
    last = next(call).event.sequence
    with pytest.raises(grpc.RpcError) as raised:
        while True:
            last = next(call).event.sequence
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    assert raised.value.details().endswith(f"resume with after_sequence {last}")


def test_a_deadline_ends_it(caller):
    request = administration_pb2.WatchEventsRequest(
        filter=administration_pb2.EventFilter(application_id=caller.application_id)
    )
    with pytest.raises(grpc.RpcError) as raised:
        list(caller.administration.WatchEvents(request, timeout=0.3))
    assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
