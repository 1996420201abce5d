"""What operators and support staff see and do: settings, profiles, erasure, explanations (R17, R41)."""

import grpc
import pytest

from support.caller import gesture, new_caller, passcode
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stores import places_with
from support.stubs import administration_pb2, bindings_pb2, evaluation_pb2, secrets_pb2, types_pb2

PASSCODE = types_pb2.FACTOR_PASSCODE
GESTURE = types_pb2.FACTOR_GESTURE

PASSCODE_KIND = secrets_pb2.SECRET_KIND_PASSCODE
GESTURE_KIND = secrets_pb2.SECRET_KIND_GESTURE

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

TYPED = passcode("2468")
DRAWN = gesture(0, 1, 2, 5)
WRONG = passcode("0001")


@pytest.fixture
def person(caller, phone):
    """With a phone, a passcode and a gesture: the profile's id."""
    profile_id = phone.binding.profile_id
    caller.set_secret(profile_id, TYPED)
    caller.set_secret(profile_id, DRAWN)
    return profile_id


# Settings (R17)


def test_settings_are_what_was_answered(caller, phone, person):
    answered = caller.set_settings(
        person, biometry_enabled=True, gesture_enabled=True, passcode_enabled=True, preferred=GESTURE
    )
    assert answered.HasField("updated_at")
    assert (answered.gesture_set, answered.passcode_set, answered.preferred) == (True, True, GESTURE)
    assert caller.get_settings(person) == answered
    assert caller.get_profile(person).settings == answered
    assert list(caller.begin(phone).factors) == [GESTURE, BIOMETRY, PASSCODE]


# Profiles


def test_all_that_is_known_of_a_profile(caller, phone, person):
    caller.submit_wrong(phone, caller.begin(phone))
    caller.submit(phone, caller.begin(phone), secret=WRONG)
    revoked = Phone()
    caller.bind(revoked, person)
    caller.revoke(revoked.binding)

    profile = caller.get_profile(person)
    assert [binding.state for binding in profile.bindings] == [
        bindings_pb2.BINDING_STATE_ACTIVE,
        bindings_pb2.BINDING_STATE_REVOKED,
    ]
    assert profile.bindings[0].binding_id == phone.binding.binding_id
    [device] = [each for each in profile.devices if each.device_id == phone.device_id]
    assert (device.biometry_failures, device.biometry_locked_out) == (1, False)
    assert {standing.kind: standing.failures for standing in profile.secrets} == {PASSCODE_KIND: 1, GESTURE_KIND: 0}
    assert not any(standing.disabled or standing.HasField("locked_until") for standing in profile.secrets)
    for hidden in (b"2468", b"0001", phone.domain_state):
        assert hidden not in profile.SerializeToString()


# Erasure


def test_the_reason_of_an_erasure_names_nobody(caller, phone, person):
    """It stays in the log when everything else is gone."""
    for reason in (person, f"{person.upper()} asked for it"):
        with refused(grpc.StatusCode.INVALID_ARGUMENT, field="reason"):
            caller.erase_profile(person, reason=reason)
    assert caller.login(phone).outcome == SUCCEEDED


def test_after_an_erasure_the_chain_verifies_and_no_file_names_anybody(start):
    """Also while the service runs, and though its log was written before."""
    server = start()
    caller, phone, neighbour = new_caller(server, "shop"), Phone(BIOMETRY, DEVICE_OWNER), Phone()
    caller.bind(phone, "profile-to-be-erased")
    caller.bind(neighbour, "profile-that-stays")
    caller.set_secret("profile-to-be-erased", TYPED)
    caller.login(phone)
    caller.submit_wrong(phone, caller.begin(phone))
    caller.submit(phone, caller.begin(phone, profile_id="profile-to-be-erased"), secret=WRONG)
    caller.pay(phone)
    before = caller.events()
    # The phone's own id stays with its count of failures, which is every application's (R8).
    names = [b"profile-to-be-erased", phone.binding.binding_id.encode()]
    assert all(places_with(server, name) for name in names)

    caller.erase_profile("profile-to-be-erased")
    event_filter = administration_pb2.EventFilter(application_id="shop")
    request = administration_pb2.ListEventsRequest(filter=event_filter, page_size=1000)
    left = caller.administration.ListEvents(request).events
    hashes = {event.sequence: event.hash for event in before}
    assert all(hashes[event.sequence] == event.hash for event in left if event.sequence in hashes)
    running = server.verify_audit()
    assert (running.returncode, running.stderr) == (0, "")
    server.terminate()

    verified = server.verify_audit()
    assert (verified.returncode, verified.stderr) == (0, "")
    # And that accounts are signed, which is of no application.
    assert verified.stdout.startswith(f"{len(before) + 2} events")
    assert [name for name in names if places_with(server, name)] == []
    assert not any(name.decode() in server.errors for name in names)
    assert places_with(server, b"profile-that-stays")
    caller = new_caller(start(), "shop")
    assert caller.login(neighbour).outcome == SUCCEEDED
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_profile("profile-to-be-erased")


# Explanations


# R41
def test_events_are_listed_page_by_page(caller, phone):
    for _ in range(5):
        caller.login(phone)
    event_filter = administration_pb2.EventFilter(application_id=caller.application_id)
    whole = caller.list_events(event_filter)
    assert len(whole) > 5
    assert caller.list_events(event_filter, page_size=1) == whole
    assert caller.list_events(event_filter, page_size=4) == whole
    # A full page at the log's end, and a list that finds nothing.
    assert caller.list_events(event_filter, page_size=len(whole)) == whole
    assert caller.list_events(administration_pb2.EventFilter(kinds=["log.broken"])) == []
