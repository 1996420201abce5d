"""What operators and support staff see and do: settings, profiles, erasure, explanations (R17, R41)."""

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.caller import COFFEE, gesture, new_caller, new_profile_id, passcode, primary_login
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stores import places_with
from support.stubs import administration_pb2, bindings_pb2, evaluation_pb2, secrets_pb2, types_pb2

PASSCODE = types_pb2.FACTOR_PASSCODE
GESTURE = types_pb2.FACTOR_GESTURE

PASSCODE_KIND = secrets_pb2.SECRET_KIND_PASSCODE
GESTURE_KIND = secrets_pb2.SECRET_KIND_GESTURE

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED

TYPED = passcode("2468")
DRAWN = gesture(0, 1, 2, 5)
WRONG = passcode("0001")

ALL_ON = {"biometry_enabled": True, "gesture_enabled": True, "passcode_enabled": True}


@pytest.fixture
def person(caller, phone):
    """With a phone, a passcode and a gesture: the profile's id."""
    profile_id = phone.binding.profile_id
    caller.set_secret(profile_id, TYPED)
    caller.set_secret(profile_id, DRAWN)
    return profile_id


# Settings (R17)


def test_a_new_profile_has_biometry_alone(caller):
    assert caller.get_settings("nobody") == secrets_pb2.UnlockSettings(biometry_enabled=True)


def test_settings_are_what_was_answered(caller, person):
    answered = caller.set_settings(person, **ALL_ON, preferred=GESTURE)
    assert answered.HasField("updated_at")
    assert (answered.gesture_set, answered.passcode_set, answered.preferred) == (True, True, GESTURE)
    assert caller.get_settings(person) == answered
    assert caller.get_profile(person).settings == answered


def test_what_is_off_is_not_offered_and_serves_nobody(caller, phone, person):
    assert list(caller.begin(phone).factors) == [BIOMETRY, GESTURE, PASSCODE]
    caller.set_settings(person, biometry_enabled=True, gesture_enabled=True)
    opened = caller.begin(phone)
    assert list(opened.factors) == [BIOMETRY, GESTURE]
    answer = caller.submit(phone, opened, secret=TYPED)
    assert (answer.outcome, answer.la_error, answer.token) == (FACTOR_REQUIRED, -6, "")
    # A passcode that is off stays.
    caller.set_settings(person, **ALL_ON)
    assert caller.submit(phone, caller.begin(phone), secret=TYPED).outcome == SUCCEEDED


def test_without_biometry_no_finger_serves(caller, phone, person):
    opened = caller.begin(phone)
    caller.set_settings(person, **(ALL_ON | {"biometry_enabled": False}))
    answer = caller.submit(phone, opened)
    assert (answer.outcome, answer.token) == (FACTOR_REQUIRED, "")
    assert list(caller.begin(phone).factors) == [GESTURE, PASSCODE]
    assert caller.submit(phone, opened, secret=TYPED).outcome == SUCCEEDED


def test_switching_the_gesture_off_erases_it(caller, phone, person):
    settings = caller.set_settings(person, biometry_enabled=True, passcode_enabled=True)
    assert not settings.gesture_set
    settings = caller.set_settings(person, **ALL_ON)
    assert not settings.gesture_set
    opened = caller.begin(phone)
    assert GESTURE not in opened.factors
    assert caller.submit(phone, opened, secret=DRAWN).outcome == FACTOR_REQUIRED


@pytest.mark.parametrize(
    ("preferred", "offered"),
    [
        (PASSCODE, [PASSCODE, BIOMETRY, GESTURE]),
        (GESTURE, [GESTURE, BIOMETRY, PASSCODE]),
        (BIOMETRY, [BIOMETRY, GESTURE, PASSCODE]),
        (types_pb2.FACTOR_UNSPECIFIED, [BIOMETRY, GESTURE, PASSCODE]),
    ],
)
def test_the_preferred_one_is_offered_first(caller, phone, person, preferred, offered):
    caller.set_settings(person, **ALL_ON, preferred=preferred)
    assert list(caller.begin(phone).factors) == offered
    assert list(caller.can_evaluate(phone).factors) == offered


# Profiles


def test_a_profile_that_nobody_knows_is_not_found(caller, other_caller, person):
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_profile("nobody")
    with refused(grpc.StatusCode.NOT_FOUND):
        other_caller.get_profile(person)


def test_asking_for_nobody_makes_nobody(caller):
    """What is counted for strangers is nobody's profile (R37)."""
    profile_id, phone = new_profile_id(), Phone()
    caller.submit(phone, caller.begin(phone, profile_id=profile_id), secret=WRONG)
    caller.set_secret(profile_id, TYPED, old_secret=WRONG)
    caller.get_settings(profile_id)
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_profile(profile_id)


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


def test_support_ends_the_lockout_of_a_device(caller, phone):
    opened = caller.begin(phone)
    for _ in range(2):
        caller.submit_wrong(phone, opened)
    caller.submit(phone, opened, report=types_pb2.LA_ERROR_BIOMETRY_LOCKOUT)
    assert caller.begin(phone).denial.reason == "BIOMETRY_LOCKOUT"
    for _ in range(2):
        caller.unlock_device(phone.device_id)
    assert caller.can_evaluate(phone).biometry_attempts_left == 5
    assert caller.login(phone).outcome == SUCCEEDED


# Erasure


def test_an_erased_profile_is_unknown(caller, other_caller, phone, person):
    login, opened = caller.login(phone).token, caller.begin(phone)
    caller.erase_profile(person)
    caller.erase_profile(person)
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_profile(person)
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_binding(phone.binding.binding_id)
    assert not caller.list_bindings(person, include_revoked=True).bindings
    assert not caller.introspect(login).active
    assert caller.get_settings(person) == secrets_pb2.UnlockSettings(biometry_enabled=True)
    for answer in (caller.submit(phone, opened), caller.submit(phone, opened, secret=TYPED)):
        assert answer.outcome != SUCCEEDED
        assert not answer.token and not answer.profile_id


def test_who_was_erased_may_begin_anew(caller, phone, person):
    before = phone.binding
    caller.erase_profile(person)
    caller.bind(phone, person)
    assert phone.binding.binding_id != before.binding_id
    opened = caller.begin(phone)
    assert list(opened.factors) == [BIOMETRY]
    assert caller.submit(phone, opened).profile_id == person


@pytest.mark.parametrize("is_proven", [True, False])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_ticket_of_before_an_erasure_binds_nobody(caller, is_new, is_proven):
    """R28, R41"""
    profile, phone = new_profile_id(), Phone()
    if not is_new:
        caller.bind(Phone(), profile)
    begun = caller.begin_binding(phone, profile)
    if is_new:
        caller.set_secret(profile, TYPED)
    caller.erase_profile(profile)
    keys = None if is_proven else Phone().hardware_keys(b"something else")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TICKET_INVALID"):
        caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys))
    assert not caller.list_bindings(profile, include_revoked=True).bindings
    assert not [event for event in caller.events() if phone.device_id == event.device_id or profile == event.profile_id]
    caller.bind(phone, profile)
    assert caller.login(phone).outcome == SUCCEEDED


def test_of_an_erased_profiles_events_sequence_and_hash_are_left(caller, phone, person):
    other = Phone()
    caller.bind(other)
    caller.login(phone)
    before = list(caller.events())
    caller.erase_profile(person)

    kept = [event for event in caller.events() if event.kind]
    assert [event.kind for event in kept if event.kind != "profile.erased"] == ["binding.created"]
    assert kept[0] in before
    assert (kept[-1].kind, kept[-1].details["stated_reason"]) == ("profile.erased", "ticket 4711")
    assert person not in "".join(map(str, caller.events()))
    assert phone.device_id not in "".join(map(str, caller.events()))


def test_the_reason_of_an_erasure_names_nobody(caller, phone, person):
    """It stays in the log when everything else is gone."""
    for reason in (person, f"{person.upper()} asked for it"):
        with refused(grpc.StatusCode.INVALID_ARGUMENT, field="reason"):
            caller.erase_profile(person, reason=reason)
    assert caller.login(phone).outcome == SUCCEEDED


def test_erasing_somebody_in_another_application_erases_nobody_here(caller, other_caller, phone, person):
    other_caller.erase_profile(person)
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


def without_evaluation(answer):
    """What is said of a beginning that was none."""
    for field in ("evaluation", "signing_input", "expires_at"):
        answer.ClearField(field)
    return answer


POSTURES = {
    "healthy": {},
    "without passcode": {"passcode_set": False},
    "old": {"os_version": "7.1"},
    "another finger": {"domain_state": b"another"},
    "locked": {"biometry_locked_out": True},
}


@pytest.mark.parametrize("posture", POSTURES.values(), ids=POSTURES)
@pytest.mark.parametrize("policy", ["login", "deviceOwnerAuthentication", "deviceOwnerAuthenticationWithBiometrics"])
def test_an_explanation_answers_what_begin_does(caller, phone, policy, posture):
    beginning = caller.beginning(phone, policy, posture=phone.posture(**posture))
    explained = caller.explain(beginning)
    assert explained.answer == without_evaluation(caller.evaluations.BeginEvaluation(beginning))
    assert explained.trace
    # No prompt is shown, so none needs a text.
    beginning.localized_reason = ""
    assert caller.explain(beginning).trace == explained.trace
    assert all(trace.rule.startswith("R") and trace.detail for trace in explained.trace)


def test_the_rule_that_refused_is_named(caller, phone):
    old = caller.beginning(
        phone, "deviceOwnerAuthenticationWithBiometrics", posture=phone.posture(os_version="7.1")
    )
    explained = caller.explain(old)
    assert explained.answer.denial.reason == "OS_TOO_OLD"
    assert "R2" in [trace.rule for trace in explained.trace if not trace.passed]


def test_a_lock_is_over_at_a_later_time(caller, phone, person):
    opened = caller.begin(phone, profile_id=person)
    for _ in range(5):
        locked = caller.submit(phone, opened, secret=WRONG)
    assert locked.outcome == LOCKED_OUT
    caller.set_settings(person, passcode_enabled=True)
    beginning = caller.beginning(phone, profile_id=person)
    assert caller.explain(beginning).answer.denial.reason == "PASSCODE_LOCKED"
    [standing] = caller.get_profile(person).secrets
    later = Timestamp(seconds=standing.locked_until.seconds + 1)
    assert list(caller.explain(beginning, later).answer.factors) == [PASSCODE]


def test_an_explanation_changes_and_opens_nothing(caller, phone):
    before = list(caller.events())
    explained = caller.explain(caller.beginning(phone, "payment", transaction=COFFEE))
    assert not explained.answer.evaluation
    assert not explained.answer.signing_input
    caller.explain(caller.beginning(phone, posture=phone.posture(passcode_set=False)))
    assert list(caller.events()) == before


def test_an_explanation_holds_no_secret(caller, phone, person):
    text = caller.explain(caller.beginning(phone)).SerializeToString()
    for hidden in (b"2468", phone.domain_state):
        assert hidden not in text


def test_a_login_of_the_callers_leaves_its_authority_in_the_log(caller, person):
    caller.set_secret(person, WRONG, old_secret=TYPED)
    caller.set_secret(person, TYPED, primary=primary_login("otp"))
    authorities = [event.details["authority"] for event in caller.events() if event.kind == "secret.set"]
    assert len(set(authorities)) == 2


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
    assert caller.list_events(administration_pb2.EventFilter(kinds=["never"])) == []
