"""ProfileTouchID: an identifier that the device made up, unlocked by its biometrics; who shows it is who it is (R30)."""

import base64
import os

import pytest

from support.caller import COFFEE, new_caller, passcode
from support.phone import BIOMETRY, Phone
from support.stores import places_with
from support.stubs import bindings_pb2, evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
FAILED = evaluation_pb2.OUTCOME_FAILED
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED


@pytest.fixture
def touch_id():
    return os.urandom(32)


@pytest.fixture
def phone(caller, touch_id):
    phone = Phone()
    caller.bind(phone, touch_id=touch_id)
    return phone


def begin_for_nobody(caller, phone, policy="login", **options):
    return caller.begin(phone, policy, binding_id="", **options)


def test_a_binding_by_it_has_no_keys(caller, phone):
    assert phone.binding.credential == bindings_pb2.CREDENTIAL_KIND_PROFILE_TOUCH_ID
    assert not phone.binding.protections
    assert phone.binding.domain_state_recorded
    assert caller.get_binding(phone.binding.binding_id) == phone.binding


def test_whoever_shows_it_is_who_it_is(caller, phone, touch_id):
    opened = begin_for_nobody(caller, phone)
    assert list(opened.factors) == [BIOMETRY]
    answer = caller.submit(phone, opened, profile_touch_id=touch_id)
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, phone.binding.profile_id)
    claims = caller.introspect(answer.token).claims
    assert (claims.profile_id, claims.binding_id) == (phone.binding.profile_id, phone.binding.binding_id)
    # A bearer identifier is no key.
    assert list(claims.methods) == ["fpt"]
    caller.revoke(phone.binding)
    assert not caller.introspect(answer.token).active


def test_it_serves_with_its_binding_named_too(caller, phone, touch_id):
    answer = caller.submit(phone, caller.begin(phone), profile_touch_id=touch_id)
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, phone.binding.profile_id)


def test_an_evaluation_of_nobody_serves_once(caller, phone, touch_id):
    opened = begin_for_nobody(caller, phone)
    assert caller.submit(phone, opened, profile_touch_id=touch_id).outcome == SUCCEEDED
    again = caller.submit(phone, opened, profile_touch_id=touch_id)
    assert again.outcome == evaluation_pb2.OUTCOME_INVALID_CONTEXT


def test_three_wrong_ones_end_an_evaluation_of_nobody(caller, phone, touch_id):
    opened = begin_for_nobody(caller, phone)
    answers = [caller.submit(phone, opened, profile_touch_id=os.urandom(32)) for _ in range(3)]
    assert [answer.outcome for answer in answers] == [TRY_AGAIN, TRY_AGAIN, FAILED]
    assert not any(answer.profile_id or answer.token for answer in answers)
    # Nobody's device is the worse for it (R10).
    assert caller.can_evaluate(phone).biometry_attempts_left == 5
    answer = caller.submit(phone, begin_for_nobody(caller, phone), profile_touch_id=touch_id)
    assert answer.outcome == SUCCEEDED


def test_a_wrong_one_is_a_failure_of_the_device_that_is_named(caller, phone):
    answer = caller.submit(phone, caller.begin(phone), profile_touch_id=os.urandom(32))
    assert (answer.outcome, answer.la_error, answer.attempts_left) == (TRY_AGAIN, -1, 4)
    assert caller.can_evaluate(phone).biometry_attempts_left == 4


def test_somebody_elses_is_a_wrong_one(caller, phone):
    other, others_id = Phone(), os.urandom(32)
    caller.bind(other, touch_id=others_id)
    answer = caller.submit(phone, caller.begin(phone), profile_touch_id=others_id)
    assert (answer.outcome, answer.profile_id) == (TRY_AGAIN, "")


@pytest.mark.parametrize("change", [lambda value: value[:-1], lambda value: value + b"\0", lambda value: value[::-1]])
def test_it_is_compared_by_all_its_bytes(caller, phone, touch_id, change):
    opened = begin_for_nobody(caller, phone)
    assert caller.submit(phone, opened, profile_touch_id=change(touch_id)).outcome == TRY_AGAIN


def test_a_revoked_one_is_a_wrong_one(caller, phone, touch_id):
    opened = begin_for_nobody(caller, phone)
    caller.revoke(phone.binding)
    revoked = caller.submit(phone, opened, profile_touch_id=touch_id)
    wrong = caller.submit(phone, begin_for_nobody(caller, phone), profile_touch_id=os.urandom(32))
    assert revoked == wrong


def test_it_pays_nothing(caller, phone, touch_id):
    """R38: with its binding named and with nobody named."""
    denial = begin_for_nobody(caller, phone, "payment", transaction=COFFEE).denial
    assert denial.reason == "NO_USABLE_FACTOR"
    assert caller.begin(phone, "payment", transaction=COFFEE).denial.reason == "NO_USABLE_FACTOR"


def test_a_payment_that_a_key_may_approve_is_not_approved_by_it(caller, touch_id):
    phone, keyless = Phone(), Phone()
    caller.bind(phone)
    caller.bind(keyless, touch_id=touch_id)
    opened = caller.begin(phone, "payment", transaction=COFFEE)
    answer = caller.submit(phone, opened, profile_touch_id=touch_id)
    assert (answer.outcome, answer.token) == (FACTOR_REQUIRED, "")
    assert caller.can_evaluate(phone).biometry_attempts_left == 5
    assert caller.submit(phone, opened).outcome == SUCCEEDED


def test_a_changed_finger_unlocks_none(caller, phone, touch_id):
    """R25"""
    phone.domain_state = b"another finger"
    for opened in (caller.begin(phone), begin_for_nobody(caller, phone)):
        answer = caller.submit(phone, opened, profile_touch_id=touch_id)
        assert (answer.outcome, answer.token) == (FACTOR_REQUIRED, "")
    assert caller.can_evaluate(phone).biometry_attempts_left == 5


def test_where_biometrics_are_switched_off_it_serves_nobody(caller, phone, touch_id):
    """R17"""
    caller.set_secret(phone.binding.profile_id, passcode("2468"))
    caller.set_settings(phone.binding.profile_id, biometry_enabled=False, passcode_enabled=True)
    answer = caller.submit(phone, begin_for_nobody(caller, phone), profile_touch_id=touch_id)
    assert answer.outcome != SUCCEEDED
    assert not answer.token


def test_a_passcode_proves_nobody_where_nobody_is_named(caller, phone):
    caller.set_secret(phone.binding.profile_id, passcode("2468"))
    answer = caller.submit(phone, begin_for_nobody(caller, phone), secret=passcode("2468"))
    assert (answer.outcome, answer.token) == (FACTOR_REQUIRED, "")


# What may be one, and who has it (R30)

@pytest.mark.parametrize("length", [16, 128])
def test_the_longest_and_the_shortest_serve(caller, length):
    phone, value = Phone(), os.urandom(length)
    caller.bind(phone, touch_id=value)
    answer = caller.submit(phone, begin_for_nobody(caller, phone), profile_touch_id=value)
    assert answer.profile_id == phone.binding.profile_id


def test_neither_it_nor_a_secret_is_in_any_file_nor_in_the_log(start):
    """As bytes, as hexadecimal digits, or in base64."""
    server = start()
    caller, phone, touch_id = new_caller(server, "shop"), Phone(), os.urandom(32)
    secret = "correct horse battery"
    caller.bind(phone, "profile-1", touch_id=touch_id)
    caller.set_secret("profile-1", passcode(secret))
    opened = begin_for_nobody(caller, phone)
    token = caller.submit(phone, opened, profile_touch_id=touch_id).token
    caller.submit(phone, caller.begin(phone), secret=passcode(secret))
    told = [str(event) for event in caller.events()]
    server.terminate()

    # What must be found is: the search works.
    assert places_with(server, b"profile-1")
    for hidden in (touch_id, secret.encode(), token.encode()):
        encodings = (base64.b64encode(hidden), base64.urlsafe_b64encode(hidden))
        for form in (hidden, hidden.hex().encode(), *(each.rstrip(b"=")[:-1] for each in encodings)):
            assert not places_with(server, form)
            assert form.decode("latin-1") not in server.errors
            assert not any(form.decode("latin-1") in each for each in told)
