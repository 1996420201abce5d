"""ProfileTouchID: an identifier that the device made up, unlocked by its biometrics; who shows it is who it is (R30)."""

import base64
import os

import pytest

from support.caller import new_caller, passcode
from support.phone import BIOMETRY, Phone
from support.stores import places_with
from support.stubs import evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED


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
