"""Evaluations and their attempts (R5-R11, R33-R36)."""

import pytest

from support.caller import COFFEE, new_caller, primary_login
from support.phone import BIOMETRY, Phone, raw_signature, with_high_s
from support.stubs import evaluation_pb2, types_pb2

PARALLEL_ATTEMPTS = 50

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
FAILED = evaluation_pb2.OUTCOME_FAILED
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT
INVALID_CONTEXT = evaluation_pb2.OUTCOME_INVALID_CONTEXT


def test_a_login(caller, phone):
    opened = caller.begin(phone)
    assert opened.signing_input != caller.begin(phone).signing_input
    assert list(opened.factors) == [BIOMETRY]
    assert opened.domain_state == types_pb2.DOMAIN_STATE_VERDICT_UNCHANGED
    assert opened.presentation.localized_reason == "Log in to the acceptance test"
    assert not opened.HasField("denial")

    answer = caller.submit(phone, opened)
    assert answer.outcome == SUCCEEDED
    assert answer.la_error == types_pb2.LA_ERROR_UNSPECIFIED
    assert answer.result == evaluation_pb2.RESULT_SUCCESS
    assert answer.profile_id == phone.binding.profile_id
    assert answer.token
    assert caller.get_binding(phone.binding.binding_id).HasField("last_used_at")


def test_the_other_form_of_a_used_signature_is_a_replay(caller, phone):
    opened = caller.begin(phone)
    proof = phone.proof(opened.signing_input)
    assert caller.submit(phone, opened, key=proof).outcome == SUCCEEDED
    proof.signature = raw_signature(with_high_s(proof.signature))
    assert_invalid_context(caller.submit(phone, opened, key=proof))


# An evaluation serves once (R35)


def test_of_parallel_identical_attempts_one_succeeds(server, caller, phone):
    request = caller.attempt(phone, caller.begin(phone))
    callers = [caller, *(new_caller(server, caller.application_id) for _ in range(3))]
    calls = [
        callers[index % len(callers)].evaluations.SubmitAttempt.future(request) for index in range(PARALLEL_ATTEMPTS)
    ]
    answers = [call.result() for call in calls]
    assert sum(answer.outcome == SUCCEEDED for answer in answers) == 1
    for answer in answers:
        if answer.outcome != SUCCEEDED:
            assert_invalid_context(answer)


@pytest.mark.parametrize("setting", ["evaluation_lifetime_seconds", "token_lifetime_seconds"])
def test_an_evaluation_holds_under_the_settings_it_was_begun_under_alone(start, setting):
    """R36: whoever shortens a lifetime does not want what was begun before to outlive it."""
    server = start(configuration={setting: 600})
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    login = caller.begin(phone)
    payment = caller.begin(phone, "payment", transaction=COFFEE)
    server.terminate()

    caller = new_caller(start(configuration={setting: 599}), "shop")
    assert_invalid_context(caller.submit(phone, login))
    assert_invalid_context(caller.submit(phone, payment))


# Failures and lockout (R4, R7, R8, R10)


def test_three_wrong_proofs_end_an_evaluation_and_five_lock_the_device(caller, phone):
    opened = caller.begin(phone)
    answers = [caller.submit_wrong(phone, opened) for _ in range(3)]
    assert [(answer.outcome, answer.la_error, answer.attempts_left) for answer in answers] == [
        (TRY_AGAIN, -1, 4),
        (TRY_AGAIN, -1, 3),
        (FAILED, -1, 2),
    ]
    assert all(answer.result == evaluation_pb2.RESULT_FAILED for answer in answers)
    assert_invalid_context(caller.submit(phone, opened))

    opened = caller.begin(phone)
    answers = [caller.submit_wrong(phone, opened) for _ in range(2)]
    assert [(answer.outcome, answer.la_error, answer.attempts_left) for answer in answers] == [
        (TRY_AGAIN, -1, 1),
        (LOCKED_OUT, -8, 0),
    ]
    assert not any(answer.token or answer.profile_id for answer in answers)

    denial = caller.begin(phone).denial
    assert (denial.la_error, denial.reason) == (-8, "BIOMETRY_LOCKOUT")
    assert not caller.can_evaluate(phone).can_evaluate


def test_the_count_is_the_devices_in_all_applications(caller, other_caller):
    phone, same_phone = Phone(), Phone()
    same_phone.device_id = phone.device_id
    caller.bind(phone)
    other_caller.bind(same_phone)
    opened = caller.begin(phone)
    for _ in range(3):
        caller.submit_wrong(phone, opened)
    assert other_caller.can_evaluate(same_phone).biometry_attempts_left == 2


# Preconditions (R1, R6)


def test_can_evaluate_says_what_begin_does(caller, phone):
    answer = caller.can_evaluate(phone)
    assert answer.can_evaluate
    assert list(answer.factors) == [BIOMETRY]
    assert answer.biometry_attempts_left == 5
    denied = caller.can_evaluate(phone, passcode_set=False)
    assert not denied.can_evaluate
    assert denied.denial == caller.begin(phone, posture=phone.posture(passcode_set=False)).denial


def test_a_login_of_the_callers_is_a_factor_where_the_policy_takes_it(start):
    policy = {"purpose": "login", "factors": ["biometry", "primary"], "primary_freshness": "1m"}
    caller, phone = new_caller(start(configuration={"policies": {"vouched": policy}})), Phone()
    caller.bind(phone)
    opened = caller.begin(phone, "vouched")
    assert list(opened.factors) == [BIOMETRY, types_pb2.FACTOR_PRIMARY]
    answer = caller.submit(phone, opened, primary=primary_login("password"))
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, phone.binding.profile_id)
    assert list(caller.introspect(answer.token).claims.methods) == ["pwd"]


def assert_invalid_context(answer):
    assert (answer.outcome, answer.la_error) == (INVALID_CONTEXT, types_pb2.LA_ERROR_INVALID_CONTEXT)
    assert not answer.token
    assert not answer.profile_id
