"""AcceptDomainState: a changed finger is taken for the person's own on evidence of a login by other means (R26)."""

import os

import grpc
import pytest

from support.caller import COFFEE, passcode, primary_login
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import bindings_pb2, evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED

FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


@pytest.fixture
def changed(caller, phone):
    """A phone with another finger than it was bound with."""
    phone.domain_state = os.urandom(32)
    assert caller.login(phone).outcome == FACTOR_REQUIRED
    return phone


def test_a_fresh_login_of_the_callers_is_evidence(caller, changed):
    binding = caller.accept_domain_state(changed.binding, changed.domain_state, primary=primary_login())
    assert binding.binding_id == changed.binding.binding_id
    assert binding.domain_state_recorded
    assert caller.login(changed).outcome == SUCCEEDED


def test_a_token_by_a_secret_is_evidence(caller, changed):
    """Of a login without the phone: its state is changed by that evidence alone."""
    profile_id, secret = changed.binding.profile_id, passcode("2468")
    caller.set_secret(profile_id, secret)
    token = caller.submit(changed, caller.begin(changed, profile_id=profile_id), secret=secret).token
    caller.accept_domain_state(changed.binding, changed.domain_state, token=token)
    assert caller.login(changed).outcome == SUCCEEDED


def test_a_payments_token_is_evidence_until_it_is_consumed(caller):
    """It serves the payment afterwards, too."""
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    begun = caller.begin_binding(phone, "profile-1")
    keys = phone.hardware_keys(begun.signing_input)
    keys[1].protection = bindings_pb2.KEY_PROTECTION_DEVICE_PASSCODE
    phone.binding = caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys)).binding
    opened = caller.begin(phone, "payment", transaction=COFFEE)
    token = caller.submit(phone, opened, factor=DEVICE_OWNER).token
    for domain_state in [b"another finger", b"a third finger"]:
        caller.accept_domain_state(phone.binding, domain_state, token=token)
    assert caller.consume(token).consumed
    with refused(FAILED_PRECONDITION, reason="TOKEN_INVALID"):
        caller.accept_domain_state(phone.binding, b"a fourth finger", token=token)
    phone.domain_state = b"a third finger"
    assert caller.login(phone).outcome == SUCCEEDED
