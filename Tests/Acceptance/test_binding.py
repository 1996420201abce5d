"""Which device may speak for which profile (R12, R28, R29, R31)."""

import functools
import os

import grpc
import pytest

from support.caller import new_caller, new_profile_id, passcode, seconds_from_now
from support.errors import check_refusal, refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT

PARALLEL_USES = 20


def test_a_binding_tells_what_was_bound(caller):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    binding = caller.bind(phone, "profile-1")
    assert binding.application_id == caller.application_id
    assert (binding.profile_id, binding.device_id, binding.device_name) == ("profile-1", phone.device_id, "Phone")
    assert binding.credential == bindings_pb2.CREDENTIAL_KIND_HARDWARE_KEY
    assert list(binding.protections) == [
        bindings_pb2.KEY_PROTECTION_BIOMETRY_CURRENT_SET,
        bindings_pb2.KEY_PROTECTION_USER_PRESENCE,
    ]
    assert binding.state == bindings_pb2.BINDING_STATE_ACTIVE
    assert binding.domain_state_recorded
    assert binding.biometry_type == types_pb2.BIOMETRY_TYPE_TOUCH_ID
    assert not binding.HasField("last_used_at")
    assert caller.get_binding(binding.binding_id) == binding


def test_a_ticket_has_a_challenge_and_an_end(caller):
    before = seconds_from_now(0).seconds
    begun = caller.begin_binding(Phone(), "profile-1")
    assert len(begun.challenge) == 32
    assert begun.challenge in begun.signing_input
    assert before + 119 <= begun.expires_at.seconds <= seconds_from_now(121).seconds
    assert not begun.HasField("denial")


def test_a_device_that_cannot_is_not_bound(caller):
    """Between the ticket and its use the person may have removed the finger. Bindings.md has the other reasons."""
    phone = Phone()
    without_finger = phone.posture(biometry_enrolled=False)
    denied = caller.begin_binding(phone, "profile-1", posture=without_finger)
    assert (denied.denial.reason, denied.denial.la_error) == ("BIOMETRY_NOT_ENROLLED", -7)
    assert not denied.ticket and not denied.signing_input
    begun = caller.begin_binding(phone, "profile-1")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="BIOMETRY_NOT_ENROLLED"):
        caller.bindings.CompleteBinding(caller.completion(phone, begun, posture=without_finger))
    assert not caller.list_bindings("profile-1", include_revoked=True).bindings


# Tickets (R28)


def test_of_parallel_uses_of_a_ticket_one_wins(server, caller):
    phone = Phone()
    request = caller.completion(phone, caller.begin_binding(phone, "profile-1"))
    second = new_caller(server, caller.application_id)
    calls = [
        (caller if index % 2 else second).bindings.CompleteBinding.future(request) for index in range(PARALLEL_USES)
    ]
    errors = [error for call in calls if (error := call.exception())]
    assert len(errors) == PARALLEL_USES - 1
    for error in errors:
        check_refusal(error, grpc.StatusCode.FAILED_PRECONDITION, reason="TICKET_INVALID")
    assert len(caller.list_bindings("profile-1", include_revoked=True).bindings) == 1


def test_bindings_are_listed_page_by_page(caller):
    bound = {caller.bind(Phone(), "profile-1").binding_id for _ in range(5)}
    listed, token = [], ""
    while True:
        page = caller.list_bindings("profile-1", page_size=2, page_token=token)
        assert len(page.bindings) <= 2
        listed += [binding.binding_id for binding in page.bindings]
        token = page.next_page_token
        if not token:
            break
    assert len(listed) == 5
    assert set(listed) == bound


# A phone bound anew (R12)


def locked_out(caller, *factors):
    """A phone that its owner, or somebody who found it, has locked."""
    phone = Phone(*factors)
    caller.bind(phone)
    lock_out(caller, phone)
    return phone


def lock_out(caller, phone):
    opened = caller.begin(phone)
    assert caller.submit(phone, opened, report=types_pb2.LA_ERROR_BIOMETRY_LOCKOUT).outcome == LOCKED_OUT


def attempts_left(caller, phone):
    return caller.can_evaluate(phone).biometry_attempts_left


def test_binding_ones_phone_anew_ends_its_lockout(caller, other_caller):
    phone = locked_out(caller)
    elsewhere = Phone()
    elsewhere.device_id = phone.device_id
    other_caller.bind(elsewhere)
    assert attempts_left(other_caller, elsewhere) == 0
    # The service counts it locked; the phone itself is not, or its passcode has unlocked it.
    caller.bind(phone, phone.binding.profile_id)
    assert caller.login(phone).outcome == SUCCEEDED
    assert attempts_left(other_caller, elsewhere) == 5
    unlocked = [event for event in caller.events() if event.kind == "device.unlocked"]
    assert [(event.device_id, event.details["reason"]) for event in unlocked] == [(phone.device_id, "BOUND_ANEW")]
    # Once more: the binding that was made during that lock was active when the next one began.
    lock_out(caller, phone)
    caller.bind(phone, phone.binding.profile_id)
    assert attempts_left(caller, phone) == 5


def test_a_binding_that_was_made_during_a_lockout_does_not_end_it(caller, other_caller):
    """Who found the phone has an account, too, and binds the phone to it: twice."""
    phone = locked_out(caller)
    finder = Phone()
    finder.device_id = phone.device_id
    for _ in range(3):
        other_caller.bind(finder, "finder")
        assert attempts_left(other_caller, finder) == 0
    for _ in range(3):
        caller.bind(finder, "finder", replace_existing=True)
        assert attempts_left(caller, finder) == 0


def test_an_identifier_in_between_does_not_strand_the_owner(caller):
    """The phone is bound by a ProfileTouchID while it is locked, and by keys after that."""
    phone = locked_out(caller)
    profile_id = phone.binding.profile_id
    for _ in range(2):
        caller.bind(phone, profile_id, touch_id=os.urandom(32))
    assert attempts_left(caller, phone) == 0
    caller.bind(phone, profile_id)
    assert attempts_left(caller, phone) == 5


def test_an_identifier_in_between_does_not_help_the_finder(caller, other_caller):
    phone = locked_out(caller)
    finder = Phone()
    finder.device_id = phone.device_id
    other_caller.bind(finder, "finder")
    other_caller.bind(finder, "finder", touch_id=os.urandom(32))
    other_caller.bind(finder, "finder")
    assert attempts_left(other_caller, finder) == 0


def test_after_a_revocation_the_new_binding_ends_the_lockout_by_another_factor(caller):
    """As BindingService says of RevokeBinding: nothing was active when the lock began."""
    phone = locked_out(caller)
    profile_id = phone.binding.profile_id
    caller.revoke(phone.binding)
    anew = Phone(BIOMETRY, DEVICE_OWNER)
    anew.device_id = phone.device_id
    for _ in range(2):
        caller.bind(anew, profile_id)
        assert attempts_left(caller, anew) == 0
    assert caller.submit(anew, caller.begin(anew), factor=DEVICE_OWNER).outcome == SUCCEEDED
    assert attempts_left(caller, anew) == 5
    # The next lock begins while that binding is active.
    lock_out(caller, anew)
    caller.bind(anew, profile_id)
    assert attempts_left(caller, anew) == 5


def test_who_has_one_key_is_told_so_until_there_is_something_else(caller):
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1")
    completed = caller.bindings.CompleteBinding(caller.completion(phone, begun))
    assert list(completed.advisories) == ["NO_RECOVERY_FACTOR"]
    assert list(caller.get_profile("profile-1").advisories) == ["NO_RECOVERY_FACTOR"]
    caller.set_secret("profile-1", passcode("2468"))
    assert not caller.get_profile("profile-1").advisories
    begun = caller.begin_binding(phone, "profile-1")
    assert not caller.bindings.CompleteBinding(caller.completion(phone, begun)).advisories

    caller.set_settings("profile-1", biometry_enabled=True)
    assert list(caller.get_profile("profile-1").advisories) == ["NO_RECOVERY_FACTOR"]


@pytest.mark.parametrize(("model", "is_told"), [("iPhone17,1", True), ("iPhone15,2", False)])
def test_a_device_id_that_came_along_to_another_phone_is_told(caller, model, is_told):
    """By a keychain that is synchronised, or a restored backup: the first phone cannot log in any more."""
    first, second = Phone(), Phone()
    second.device_id = first.device_id
    second.posture = functools.partial(second.posture, device_model=model)
    profile = new_profile_id()
    for phone in (first, second):
        completed = caller.bindings.CompleteBinding(caller.completion(phone, caller.begin_binding(phone, profile)))
    assert ("DEVICE_REPLACED" in completed.advisories) == is_told
    # The flag says that another profile's binding may go, and nothing of the profile's own.
    for owner, is_told_again in [(profile, is_told), (new_profile_id(), False)]:
        completed = caller.bindings.CompleteBinding(
            caller.completion(first, caller.begin_binding(first, owner), replace_existing=True)
        )
        assert ("DEVICE_REPLACED" in completed.advisories) == is_told_again
