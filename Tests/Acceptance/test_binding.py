"""Which device may speak for which profile (R12, R28, R29, R31)."""

import functools
import os

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from support.caller import all_at_once, new_caller, new_profile_id, passcode, seconds_from_now
from support.errors import check_refusal, refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone, new_key, public_bytes, raw_signature
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT

PARALLEL_USES = 20
MAXIMUM_BINDINGS = 16


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


#: What a device lacks, the denial's reason, and LocalAuthentication's code for it.
DENIALS = [
    ({"os_version": "7.1"}, "OS_TOO_OLD", -6),
    ({"passcode_set": False}, "PASSCODE_NOT_SET", -5),
    ({"biometry_available": False}, "BIOMETRY_NOT_AVAILABLE", -6),
    ({"biometry_enrolled": False}, "BIOMETRY_NOT_ENROLLED", -7),
    ({"biometry_locked_out": True}, "BIOMETRY_LOCKOUT", -8),
    # R24: it could give one.
    ({"domain_state": b""}, "DOMAIN_STATE_REQUIRED", -6),
]


@pytest.mark.parametrize(("posture", "reason", "la_error"), DENIALS)
def test_a_device_that_cannot_is_denied_without_a_ticket(caller, posture, reason, la_error):
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1", posture=phone.posture(**posture))
    assert (begun.denial.reason, begun.denial.la_error) == (reason, la_error)
    assert not begun.ticket
    assert not begun.signing_input


@pytest.mark.parametrize(("posture", "reason", "la_error"), DENIALS)
def test_a_device_that_cannot_any_more_is_not_bound(caller, posture, reason, la_error):
    """Between the ticket and its use the person may have removed the finger, or locked the sensor."""
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason=reason):
        caller.bindings.CompleteBinding(caller.completion(phone, begun, posture=phone.posture(**posture)))
    assert not caller.list_bindings("profile-1", include_revoked=True).bindings


# Tickets (R28)


def test_a_ticket_serves_once(caller):
    phone = Phone()
    request = caller.completion(phone, caller.begin_binding(phone, "profile-1"))
    binding = caller.bindings.CompleteBinding(request).binding
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TICKET_INVALID"):
        caller.bindings.CompleteBinding(request)
    assert [listed.binding_id for listed in caller.list_bindings("profile-1").bindings] == [binding.binding_id]


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


def test_a_tampered_ticket_is_invalid_at_every_byte(caller):
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1")
    requests = []
    for index in range(len(begun.ticket)):
        request = caller.completion(phone, begun)
        request.ticket = flipped(begun.ticket, index)
        requests.append(request)
    for error in all_at_once(caller.bindings.CompleteBinding, requests):
        check_refusal(error, grpc.StatusCode.FAILED_PRECONDITION, reason="TICKET_INVALID")
    assert caller.bindings.CompleteBinding(caller.completion(phone, begun)).binding.binding_id


# Keys (R28, R31)


@pytest.mark.parametrize(
    "public_key",
    [
        lambda key: public_bytes(key, form=PublicFormat.CompressedPoint),
        lambda key: public_bytes(key, Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
    ],
    ids=["compressed", "subject public key info"],
)
def test_every_form_of_a_key_is_taken(caller, public_key):
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1")
    keys = phone.hardware_keys(begun.signing_input)
    keys[0].public_key = public_key(phone.keys[BIOMETRY])
    phone.binding = caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys)).binding
    assert caller.login(phone).profile_id == "profile-1"


def test_possession_may_be_proven_by_a_raw_signature(caller):
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1")
    keys = phone.hardware_keys(begun.signing_input)
    keys[0].signature = raw_signature(keys[0].signature)
    assert caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys)).binding.binding_id


OFF_THE_CURVE = b"\x04" + bytes(31) + b"\x01" + bytes(31) + b"\x01"
P384_KEY = ec.generate_private_key(ec.SECP384R1())


@pytest.mark.parametrize(
    "public_key",
    [
        b"",
        b"\x00",
        b"\x00" * 65,
        OFF_THE_CURVE,
        public_bytes(P384_KEY),
        public_bytes(P384_KEY, Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        public_bytes(new_key())[:-1],
        public_bytes(new_key()) + b"\x00",
        b"\xff" * 4096,
    ],
    ids=["empty", "identity", "zeros", "off the curve", "P-384", "P-384 SPKI", "cut", "longer", "huge"],
)
def test_what_is_no_p256_key_is_refused(caller, public_key):
    phone = Phone()
    begun = caller.begin_binding(phone, "profile-1")
    keys = phone.hardware_keys(begun.signing_input)
    keys[0].public_key = public_key
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="keys[0].public_key"):
        caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys))


# One device, one profile (R29)


def test_a_device_speaks_for_one_profile(caller):
    phone = Phone()
    first = caller.bind(phone, "profile-1")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="DEVICE_BOUND_TO_ANOTHER_PROFILE"):
        caller.bind(phone, "profile-2")
    assert caller.get_binding(first.binding_id).state == bindings_pb2.BINDING_STATE_ACTIVE

    second = caller.bind(phone, "profile-2", replace_existing=True)
    assert caller.get_binding(first.binding_id).state == bindings_pb2.BINDING_STATE_REVOKED
    assert caller.get_binding(second.binding_id).state == bindings_pb2.BINDING_STATE_ACTIVE
    assert caller.login(phone).profile_id == "profile-2"


def test_a_device_may_speak_for_somebody_else_in_another_application(caller, other_caller):
    phone = Phone()
    caller.bind(phone, "profile-1")
    assert other_caller.bind(phone, "profile-2").profile_id == "profile-2"


def test_a_profile_has_sixteen_devices_at_most(caller):
    bindings = [caller.bind(Phone(), "profile-1") for _ in range(MAXIMUM_BINDINGS)]
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TOO_MANY_BINDINGS"):
        caller.bind(Phone(), "profile-1")
    caller.revoke(bindings[0])
    assert caller.bind(Phone(), "profile-1").binding_id


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


# Revocation


def test_revoking_twice_is_revoking(caller, phone):
    caller.revoke(phone.binding)
    caller.revoke(phone.binding)
    assert caller.get_binding(phone.binding.binding_id).state == bindings_pb2.BINDING_STATE_REVOKED
    assert not caller.list_bindings(phone.binding.profile_id).bindings


def test_an_unknown_binding_is_not_found(caller):
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.get_binding("nobody")
    with refused(grpc.StatusCode.NOT_FOUND):
        caller.revoke(bindings_pb2.Binding(binding_id="nobody"))


def test_another_applications_binding_is_not_found(phone, other_caller):
    with refused(grpc.StatusCode.NOT_FOUND):
        other_caller.get_binding(phone.binding.binding_id)
    with refused(grpc.StatusCode.NOT_FOUND):
        other_caller.revoke(phone.binding)


def flipped(content, index):
    return content[:index] + bytes([content[index] ^ 1]) + content[index + 1 :]


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


def test_a_changed_finger_is_the_owners_own_after_binding_anew(caller):
    phone = Phone()
    caller.bind(phone)
    phone.domain_state = b"another finger"
    assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_FACTOR_REQUIRED
    caller.bind(phone, phone.binding.profile_id)
    assert caller.login(phone).outcome == SUCCEEDED


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


def test_an_identifier_that_proves_no_phone_ends_no_lockout(caller):
    phone = locked_out(caller)
    caller.bind(phone, phone.binding.profile_id, touch_id=os.urandom(32))
    assert attempts_left(caller, phone) == 0


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


@pytest.mark.parametrize("way", ["device owner", "passcode", "operator"])
def test_after_a_revocation_the_new_binding_ends_the_lockout_by_another_factor(caller, way):
    """As BindingService says of RevokeBinding: nothing was active when the lock began."""
    phone = locked_out(caller)
    profile_id = phone.binding.profile_id
    caller.revoke(phone.binding)
    anew = Phone(BIOMETRY, DEVICE_OWNER)
    anew.device_id = phone.device_id
    for _ in range(2):
        caller.bind(anew, profile_id)
        assert attempts_left(caller, anew) == 0
    if way == "device owner":
        assert caller.submit(anew, caller.begin(anew), factor=DEVICE_OWNER).outcome == SUCCEEDED
    elif way == "passcode":
        caller.set_secret(profile_id, passcode("2468"))
        assert caller.submit(anew, caller.begin(anew), secret=passcode("2468")).outcome == SUCCEEDED
    else:
        caller.unlock_device(anew.device_id)
    assert attempts_left(caller, anew) == 5
    # The next lock begins while that binding is active.
    lock_out(caller, anew)
    caller.bind(anew, profile_id)
    assert attempts_left(caller, anew) == 5


def test_a_lockout_is_not_ended_by_what_is_refused(caller):
    phone = locked_out(caller)
    profile_id = phone.binding.profile_id
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="PRIMARY_AUTHENTICATION_TOO_OLD"):
        caller.begin_binding(phone, profile_id, authenticated_at=seconds_from_now(-6 * 60))
    begun = caller.begin_binding(phone, profile_id)
    other = Phone()
    keys = other.hardware_keys(begun.signing_input + b"?")
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="keys[0].signature"):
        caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys))
    # A phone that is locked itself is unlocked by its own passcode first.
    locked = phone.posture(biometry_locked_out=True, domain_state=b"")
    assert caller.begin_binding(phone, profile_id, posture=locked).denial.reason == "BIOMETRY_LOCKOUT"
    assert attempts_left(caller, phone) == 0


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


@pytest.mark.parametrize(
    ("protection", "advisories"),
    [
        # A changed finger may unlock it: it is suspended with the other key.
        (bindings_pb2.KEY_PROTECTION_USER_PRESENCE, ["NO_RECOVERY_FACTOR"]),
        (bindings_pb2.KEY_PROTECTION_DEVICE_PASSCODE, []),
    ],
    ids=["user presence", "device passcode"],
)
def test_a_second_key_is_a_way_back_if_fingers_do_not_unlock_it(caller, protection, advisories):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    begun = caller.begin_binding(phone, "profile-1")
    keys = phone.hardware_keys(begun.signing_input)
    keys[1].protection = protection
    completed = caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys))
    assert list(completed.advisories) == advisories
    assert list(caller.get_profile("profile-1").advisories) == advisories
    phone.binding = completed.binding
    phone.domain_state = os.urandom(32)
    assert caller.login(phone).outcome == evaluation_pb2.OUTCOME_FACTOR_REQUIRED
    answer = caller.submit(phone, caller.begin(phone), factor=DEVICE_OWNER)
    assert (answer.outcome == SUCCEEDED) == (not advisories)


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
