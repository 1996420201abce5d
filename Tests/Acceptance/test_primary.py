"""The calling service's own login as a factor, where a policy takes it."""

import json

import grpc
import pytest

from support.caller import new_caller, primary_login, seconds_from_now
from support.errors import refused
from support.phone import BIOMETRY, Phone
from support.stubs import evaluation_pb2, types_pb2

PRIMARY = types_pb2.FACTOR_PRIMARY

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED

FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION

POLICIES = {
    "vouched": {"purpose": "login", "factors": ["biometry", "primary"], "primary_freshness": "1m"},
    "vouched_alone": {"purpose": "login", "factors": ["primary"]},
}


@pytest.fixture
def voucher(start):
    return new_caller(start(configuration={"policies": json.dumps(POLICIES)}))


@pytest.mark.parametrize(("method", "amr"), [("password", "pwd"), ("otp", "otp"), ("idv", "user")])
def test_a_login_of_the_callers_is_a_factor_where_the_policy_takes_it(voucher, method, amr):
    phone = Phone()
    voucher.bind(phone)
    opened = voucher.begin(phone, "vouched")
    assert list(opened.factors) == [BIOMETRY, PRIMARY]
    answer = voucher.submit(phone, opened, primary=primary_login(method))
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, phone.binding.profile_id)
    assert list(voucher.introspect(answer.token).claims.methods) == [amr]


def test_it_records_the_changed_finger(voucher):
    phone = Phone()
    voucher.bind(phone)
    phone.domain_state = b"another finger"
    opened = voucher.begin(phone, "vouched")
    assert list(opened.factors) == [PRIMARY]
    assert voucher.submit(phone, opened, primary=primary_login()).outcome == SUCCEEDED
    assert voucher.login(phone, "vouched").outcome == SUCCEEDED


def test_it_serves_a_person_without_a_phone(voucher):
    phone = Phone()
    voucher.set_settings("profile-1", biometry_enabled=True)
    opened = voucher.begin(phone, "vouched_alone", profile_id="profile-1")
    assert list(opened.factors) == [PRIMARY]
    answer = voucher.submit(phone, opened, primary=primary_login())
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, "profile-1")


def test_nobody_unknown_is_vouched_for(voucher):
    """Asked as anybody is (R37), and never a success: what was erased stays gone."""
    voucher.set_settings("profile-1", biometry_enabled=True)
    known = voucher.begin(Phone(), "vouched_alone", profile_id="profile-1")
    unknown = voucher.begin(Phone(), "vouched_alone", profile_id="profile-2")
    assert unknown.factors == known.factors
    voucher.erase_profile("profile-1")
    for opened in (known, unknown):
        answer = voucher.submit(Phone(), opened, primary=primary_login())
        assert (answer.outcome, answer.la_error) == (evaluation_pb2.OUTCOME_FAILED, -1)
        assert not answer.token and not answer.profile_id


def test_it_must_be_as_fresh_as_the_policy_says(voucher):
    phone = Phone()
    voucher.bind(phone)
    opened = voucher.begin(phone, "vouched")
    with refused(FAILED_PRECONDITION, reason="PRIMARY_AUTHENTICATION_TOO_OLD"):
        voucher.submit(phone, opened, primary=primary_login(authenticated_at=seconds_from_now(-2 * 60)))
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="primary.authenticated_at"):
        voucher.submit(phone, opened, primary=primary_login(authenticated_at=seconds_from_now(60)))
    assert voucher.submit(phone, opened, primary=primary_login()).outcome == SUCCEEDED


def test_no_other_policy_takes_it(voucher):
    phone = Phone()
    voucher.bind(phone)
    answer = voucher.submit(phone, voucher.begin(phone), primary=primary_login())
    assert (answer.outcome, answer.la_error, answer.token) == (FACTOR_REQUIRED, -6, "")


def test_a_revoked_binding_is_vouched_for_by_nobody(voucher):
    phone = Phone()
    voucher.bind(phone)
    opened = voucher.begin(phone, "vouched")
    voucher.revoke(phone.binding)
    answer = voucher.submit(phone, opened, primary=primary_login())
    assert (answer.outcome, answer.denial.reason) == (evaluation_pb2.OUTCOME_FAILED, "BINDING_REVOKED")
    assert not answer.token and not answer.profile_id
