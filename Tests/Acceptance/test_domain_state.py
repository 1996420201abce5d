"""AcceptDomainState: a changed finger is taken for the person's own on evidence of a login by other means (R26)."""

import os

import grpc
import pytest

from support.caller import COFFEE, gesture, new_caller, passcode, primary_login
from support.errors import check_refusal, refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import bindings_pb2, evaluation_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED

FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION

SECRETS = {"passcode": passcode("2468"), "gesture": gesture(0, 3, 6, 7)}


@pytest.fixture
def changed(caller, phone):
    """A phone with another finger than it was bound with."""
    phone.domain_state = os.urandom(32)
    assert caller.login(phone).outcome == FACTOR_REQUIRED
    return phone


def secret_token(caller, phone, secret=SECRETS["passcode"], profile_id=None):
    """Of a login with the phone's profile, but without the phone: its state is changed by that evidence alone."""
    profile_id = profile_id or phone.binding.profile_id
    caller.set_secret(profile_id, secret)
    return caller.submit(phone, caller.begin(phone, profile_id=profile_id), secret=secret).token


def test_a_fresh_login_of_the_callers_is_evidence(caller, changed):
    binding = caller.accept_domain_state(changed.binding, changed.domain_state, primary=primary_login())
    assert binding.binding_id == changed.binding.binding_id
    assert binding.domain_state_recorded
    assert caller.login(changed).outcome == SUCCEEDED


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_token_by_a_secret_is_evidence(caller, changed, secret):
    caller.accept_domain_state(changed.binding, changed.domain_state, token=secret_token(caller, changed, secret))
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


def test_what_was_accepted_survives_a_kill(start):
    server = start()
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone, "profile-1")
    phone.domain_state = b"another finger"
    caller.accept_domain_state(phone.binding, phone.domain_state, primary=primary_login())
    server.kill()
    assert new_caller(start(), "shop").login(phone).outcome == SUCCEEDED


STATEFUL = """
policies:
  stateful:
    purpose: login
    factors: [biometry, device_owner, passcode]
    domain_state: required
"""

MADE_UP = b"made-up bytes"


@pytest.fixture
def stateful(start):
    """A caller of a service whose policy "stateful" requires a domain state."""
    return new_caller(start(configuration=STATEFUL))


@pytest.mark.parametrize(
    ("platform", "os_version", "reason"),
    [
        ("android", "14", "PLATFORM_NOT_SERVED"),
        ("web", "17", "PLATFORM_NOT_SERVED"),
        ("ios", "8.4", "DOMAIN_STATE_REQUIRED"),
    ],
)
def test_made_up_bytes_are_no_domain_state_where_the_system_has_none(stateful, platform, os_version, reason):
    """R27: a login that requires one refuses them, by each factor of the binding, and nothing records them."""
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    phone.platform, phone.os_version, phone.domain_state = platform, os_version, MADE_UP
    assert not stateful.bind(phone).domain_state_recorded
    request = stateful.beginning(phone, "stateful")
    for answer in (stateful.begin(phone, "stateful"), stateful.explain(request).answer):
        assert (answer.denial.reason, answer.denial.la_error) == (reason, -6)
        assert not answer.evaluation
    with pytest.raises(grpc.RpcError, match="domain_state: ") as refusal:
        stateful.accept_domain_state(phone.binding, MADE_UP, os_version=os_version, primary=primary_login())
    check_refusal(refusal.value, FAILED_PRECONDITION, reason="DOMAIN_STATE_REQUIRED")
    # Where none is required, it logs in.
    assert stateful.login(phone).outcome == SUCCEEDED


@pytest.mark.parametrize("domain_state", [b"", MADE_UP], ids=["none", "made up"])
def test_a_profile_alone_goes_on_with_its_secrets_on_the_web(stateful, domain_state):
    """R27: without a binding there is nothing to compare."""
    browser = Phone()
    browser.platform, browser.domain_state = "web", domain_state
    stateful.set_secret("profile-1", passcode("2468"))
    opened = stateful.begin(browser, "stateful", profile_id="profile-1")
    assert stateful.submit(browser, opened, secret=passcode("2468")).outcome == SUCCEEDED
