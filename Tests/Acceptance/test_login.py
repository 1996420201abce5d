"""Evaluations and their attempts (R5-R11, R33-R36)."""

import grpc
import pytest

from support.caller import COFFEE, all_at_once, new_caller
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone, raw_signature, with_high_s
from support.stubs import evaluation_pb2, types_pb2

PARALLEL_ATTEMPTS = 50

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
FAILED = evaluation_pb2.OUTCOME_FAILED
LOCKED_OUT = evaluation_pb2.OUTCOME_LOCKED_OUT
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED
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


def test_a_login_by_the_device_owner(caller):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    opened = caller.begin(phone)
    assert list(opened.factors) == [BIOMETRY, DEVICE_OWNER]
    assert caller.submit(phone, opened, factor=DEVICE_OWNER).outcome == SUCCEEDED


@pytest.mark.parametrize("form", [raw_signature, with_high_s], ids=["raw", "high s"])
def test_every_form_of_a_signature_is_taken(caller, phone, form):
    opened = caller.begin(phone)
    proof = phone.proof(opened.signing_input)
    proof.signature = form(proof.signature)
    assert caller.submit(phone, opened, key=proof).outcome == SUCCEEDED


def test_the_other_form_of_a_used_signature_is_a_replay(caller, phone):
    opened = caller.begin(phone)
    proof = phone.proof(opened.signing_input)
    assert caller.submit(phone, opened, key=proof).outcome == SUCCEEDED
    proof.signature = raw_signature(with_high_s(proof.signature))
    assert_invalid_context(caller.submit(phone, opened, key=proof))


# An evaluation serves once (R35)


def test_a_success_is_not_repeated(caller, phone):
    opened = caller.begin(phone)
    request = caller.attempt(phone, opened)
    assert caller.evaluations.SubmitAttempt(request).outcome == SUCCEEDED
    assert_invalid_context(caller.evaluations.SubmitAttempt(request))
    assert_invalid_context(caller.submit(phone, opened))


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


def test_of_parallel_attempts_with_signatures_of_their_own_one_succeeds(caller, phone):
    opened = caller.begin(phone)
    requests = [caller.attempt(phone, opened) for _ in range(PARALLEL_ATTEMPTS)]
    answers = all_at_once(caller.evaluations.SubmitAttempt, requests)
    assert sum(answer.outcome == SUCCEEDED for answer in answers) == 1
    assert sum(bool(answer.token) for answer in answers) == 1


def test_other_evaluations_stay_open(caller, phone):
    opened = [caller.begin(phone) for _ in range(8)]
    answers = all_at_once(caller.evaluations.SubmitAttempt, [caller.attempt(phone, each) for each in opened])
    assert [answer.outcome for answer in answers] == [SUCCEEDED] * len(opened)


def test_invalidate_ends_an_evaluation_for_good(caller, phone):
    opened = caller.begin(phone)
    caller.invalidate(opened)
    caller.invalidate(opened)
    assert_invalid_context(caller.submit(phone, opened))


@pytest.mark.parametrize("setting", ["evaluation_lifetime_seconds", "token_lifetime_seconds"])
@pytest.mark.parametrize(("changed", "outcome"), [(False, SUCCEEDED), (True, INVALID_CONTEXT)])
def test_an_evaluation_holds_under_the_settings_it_was_begun_under(start, setting, changed, outcome):
    """R36: whoever shortens a lifetime does not want what was begun before to outlive it."""
    server = start(configuration={setting: 600})
    caller, phone = new_caller(server, "shop"), Phone()
    caller.bind(phone)
    login = caller.begin(phone)
    payment = caller.begin(phone, "payment", transaction=COFFEE)
    server.terminate()

    caller = new_caller(start(configuration={setting: 599 if changed else 600}), "shop")
    assert caller.submit(phone, login).outcome == outcome
    assert caller.submit(phone, payment).outcome == outcome


def test_an_evaluation_is_nothing_to_another_application(phone, caller, other_caller):
    opened = caller.begin(phone)
    assert_invalid_context(other_caller.submit(phone, opened))
    other_caller.invalidate(opened)
    assert caller.submit(phone, opened).outcome == SUCCEEDED


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


def test_a_success_sets_the_count_to_zero(caller, phone):
    opened = caller.begin(phone)
    for _ in range(2):
        assert caller.submit_wrong(phone, opened).outcome == TRY_AGAIN
    assert caller.can_evaluate(phone).biometry_attempts_left == 3
    assert caller.submit(phone, opened).outcome == SUCCEEDED
    assert caller.can_evaluate(phone).biometry_attempts_left == 5


def test_the_count_is_the_devices_in_all_applications(caller, other_caller):
    phone, same_phone = Phone(), Phone()
    same_phone.device_id = phone.device_id
    caller.bind(phone)
    other_caller.bind(same_phone)
    opened = caller.begin(phone)
    for _ in range(3):
        caller.submit_wrong(phone, opened)
    assert other_caller.can_evaluate(same_phone).biometry_attempts_left == 2


@pytest.mark.parametrize(
    "signature",
    [
        bytes(64),
        b"\xff" * 64,
        b"\x30\x06\x02\x01\x01\x02\x01\x01",
        b"\x30\x06\x02\x01\x00\x02\x01\x00",
        b"\x30\x80\x02\x01\x01\x02\x01\x01\x00\x00",
    ],
    ids=["zeros", "over the order", "one and one", "zero and zero", "indefinite length"],
)
def test_a_signature_that_is_none_is_a_wrong_one(caller, phone, signature):
    opened = caller.begin(phone)
    proof = evaluation_pb2.KeyProof(signature=signature, factor=BIOMETRY)
    answer = caller.submit(phone, opened, key=proof)
    assert (answer.outcome, answer.la_error) == (TRY_AGAIN, -1)


# Domain state (R22-R25)


@pytest.mark.parametrize("domain_state", [b"another finger", b""], ids=["other", "none"])
def test_a_changed_domain_state_needs_another_factor(caller, domain_state):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    opened = caller.begin(phone)
    answer = caller.submit(phone, opened, posture=phone.posture(domain_state=domain_state))
    assert answer.outcome == FACTOR_REQUIRED
    assert answer.domain_state == types_pb2.DOMAIN_STATE_VERDICT_CHANGED
    assert not answer.token
    assert caller.can_evaluate(phone).biometry_attempts_left == 5


def test_a_lock_that_the_phone_claims_hides_no_changed_finger(caller):
    """R22, R25: a key of user presence, unlocked by a new finger, under a policy that requires no domain state."""
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    locked = phone.posture(biometry_locked_out=True, domain_state=b"")
    opened = caller.begin(phone, posture=locked)
    assert opened.domain_state == types_pb2.DOMAIN_STATE_VERDICT_UNKNOWN_WHILE_LOCKED
    assert not opened.factors
    answer = caller.submit(phone, opened, factor=DEVICE_OWNER, posture=locked)
    assert (answer.outcome, answer.la_error) == (FACTOR_REQUIRED, -6)
    assert answer.message.text.startswith("Touch ID is turned off here after several tries.")
    # The phone's passcode ended the lock, and it has a domain state again: its owner loses nothing.
    assert caller.submit(phone, opened, factor=DEVICE_OWNER).outcome == SUCCEEDED


def test_a_change_that_was_undone_is_none(caller, phone):
    changed = caller.can_evaluate(phone, domain_state=b"another finger")
    assert changed.domain_state == types_pb2.DOMAIN_STATE_VERDICT_CHANGED
    assert caller.login(phone).outcome == SUCCEEDED


# What the person is shown (R18)


@pytest.mark.parametrize(("os_version", "shown"), [("9.3.5", ""), ("10.0", "Not now"), ("17.4", "Not now")])
def test_a_title_of_ones_own_for_cancel_needs_ios_10(caller, phone, os_version, shown):
    posture = phone.posture(os_version=os_version)
    opened = caller.begin(phone, cancel_title="Not now", posture=posture)
    assert opened.presentation.cancel_title == shown
    assert caller.submit_wrong(phone, opened, posture=posture).presentation.cancel_title == shown


# Preconditions (R1, R6)


def test_can_evaluate_says_what_begin_does(caller, phone):
    answer = caller.can_evaluate(phone)
    assert answer.can_evaluate
    assert list(answer.factors) == [BIOMETRY]
    assert answer.biometry_attempts_left == 5
    denied = caller.can_evaluate(phone, passcode_set=False)
    assert not denied.can_evaluate
    assert denied.denial == caller.begin(phone, posture=phone.posture(passcode_set=False)).denial


@pytest.mark.parametrize("policy", ["deviceOwnerAuthenticationWithBiometrics", "deviceOwnerAuthentication", "login"])
def test_a_policy_can_be_asked_for_before_a_binding_exists(caller, policy):
    assert caller.can_evaluate(Phone(), policy).can_evaluate


def test_an_unknown_policy_is_refused(caller, phone):
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="policy"):
        caller.begin(phone, "logon")


def assert_invalid_context(answer):
    assert (answer.outcome, answer.la_error) == (INVALID_CONTEXT, types_pb2.LA_ERROR_INVALID_CONTEXT)
    assert not answer.token
    assert not answer.profile_id
