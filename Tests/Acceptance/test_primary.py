"""The calling service's own login as a factor, where a policy takes it."""

import json

import pytest

from support.caller import new_caller, primary_login
from support.phone import BIOMETRY, Phone
from support.stubs import evaluation_pb2, types_pb2

PRIMARY = types_pb2.FACTOR_PRIMARY

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

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


def test_a_revoked_binding_is_vouched_for_by_nobody(voucher):
    phone = Phone()
    voucher.bind(phone)
    opened = voucher.begin(phone, "vouched")
    voucher.revoke(phone.binding)
    answer = voucher.submit(phone, opened, primary=primary_login())
    assert (answer.outcome, answer.denial.reason) == (evaluation_pb2.OUTCOME_FAILED, "BINDING_REVOKED")
    assert not answer.token and not answer.profile_id
