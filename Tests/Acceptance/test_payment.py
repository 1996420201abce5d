"""Payments: what was approved is what is paid, once (R38, R39)."""

import base64
import hashlib
import threading

import grpc
import jwt
import pytest

from support.caller import COFFEE, all_at_once, from_threads, new_caller, primary_login
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import evaluation_pb2, types_pb2

PARALLEL_CONSUMPTIONS = 50

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED


def changed(**fields):
    transaction = types_pb2.Transaction()
    transaction.CopyFrom(COFFEE)
    for field, value in fields.items():
        setattr(transaction, field, value)
    return transaction


OTHER_TRANSACTIONS = [
    changed(amount="4.2"),
    changed(amount="42.0"),
    changed(currency="USD"),
    changed(payee="Cafe Touchstone"),
    # The same to the eye, other bytes: e and a combining accent.
    changed(payee="Cafe\u0301 Touchstone"),
    changed(reference="order-2"),
]


def test_a_payment(caller, phone):
    answer = caller.pay(phone)
    assert answer.outcome == SUCCEEDED
    assert answer.profile_id == phone.binding.profile_id

    claims = caller.introspect(answer.token).claims
    assert claims.transaction == COFFEE
    assert claims.single_use

    consumed = caller.consume(answer.token)
    assert (consumed.consumed, consumed.reason) == (True, "")
    assert consumed.claims == claims
    assert not caller.introspect(answer.token).active


def test_a_payment_needs_a_device_with_domain_state(caller, phone):
    posture = phone.posture(os_version="8.4", domain_state=b"")
    opened = caller.begin(phone, "payment", transaction=COFFEE, posture=posture)
    assert opened.denial.la_error == types_pb2.LA_ERROR_BIOMETRY_NOT_AVAILABLE
    assert not opened.evaluation


# R22, R25, R27: whose fingers they are must be shown.


def bound_before_domain_state(caller, *factors):
    """A phone that got its iOS 17 after it was bound: it has no baseline."""
    phone = Phone(*factors)
    phone.os_version, state, phone.domain_state = "8.4", phone.domain_state, b""
    assert not caller.bind(phone).domain_state_recorded
    phone.os_version, phone.domain_state = "17.4", state
    return phone


@pytest.mark.parametrize("has_baseline", [True, False], ids=["recorded", "never recorded"])
def test_a_phone_that_says_it_is_locked_pays_by_no_key_that_fingers_unlock(caller, has_baseline):
    if has_baseline:
        phone = Phone(BIOMETRY, DEVICE_OWNER)
        caller.bind(phone)
    else:
        phone = bound_before_domain_state(caller, BIOMETRY, DEVICE_OWNER)
    locked = phone.posture(biometry_locked_out=True, domain_state=b"")
    for posture in (phone.posture(), locked):
        opened = caller.begin(phone, "payment", transaction=COFFEE, posture=posture)
        answer = caller.submit(phone, opened, factor=DEVICE_OWNER, posture=locked)
        assert (answer.outcome, answer.la_error) == (FACTOR_REQUIRED, -6)
        assert answer.domain_state == types_pb2.DOMAIN_STATE_VERDICT_UNKNOWN_WHILE_LOCKED
        assert not answer.next_factors
        assert not answer.token


@pytest.mark.parametrize("factor", [BIOMETRY, DEVICE_OWNER])
def test_a_phone_that_the_service_locked_pays_by_no_key_while_it_is_silent(caller, factor):
    """Its own reports lock it, so that its silence could pass for the lock's."""
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    opened = caller.begin(phone, "payment", transaction=COFFEE)
    caller.submit(phone, opened, report=types_pb2.LA_ERROR_BIOMETRY_LOCKOUT)
    answer = caller.submit(phone, opened, factor=factor, posture=phone.posture(domain_state=b""))
    assert answer.outcome != SUCCEEDED
    assert not answer.token


def test_without_a_baseline_no_finger_pays_until_there_is_one(caller):
    phone = bound_before_domain_state(caller, BIOMETRY, DEVICE_OWNER)
    for state in (phone.domain_state, b"another finger"):
        phone.domain_state = state
        opened = caller.begin(phone, "payment", transaction=COFFEE)
        assert opened.domain_state == types_pb2.DOMAIN_STATE_VERDICT_NEVER_RECORDED
        assert not opened.denial.reason
        for factor in (BIOMETRY, DEVICE_OWNER):
            answer = caller.submit(phone, opened, factor=factor)
            assert (answer.outcome, answer.token) == (FACTOR_REQUIRED, "")
    # It logs in where no domain state is required, and that proves nothing of its fingers.
    token = caller.login(phone).token
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TOKEN_BY_BIOMETRICS"):
        caller.accept_domain_state(phone.binding, phone.domain_state, token=token)
    caller.accept_domain_state(phone.binding, phone.domain_state, primary=primary_login())
    assert caller.pay(phone).outcome == SUCCEEDED
    phone.domain_state = b"and another one"
    assert caller.pay(phone).outcome == FACTOR_REQUIRED


@pytest.mark.parametrize(("platform", "reason"), [("android", "LEVEL_TOO_LOW"), ("web", "PLATFORM_NOT_SERVED")])
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_a_platform_without_domain_state_is_refused_by_name(caller, platform, reason, language):
    """R38: for what is true, and not because an update may help; logging in is something else."""
    phone = Phone()
    phone.platform, phone.domain_state = platform, b""
    caller.bind(phone)
    request = caller.beginning(phone, "payment", transaction=COFFEE)
    denial = caller.evaluations.BeginEvaluation(request, metadata=[("accept-language", language)]).denial
    assert (denial.reason, denial.la_error) == (reason, -6)
    assert "domain state" in denial.detail
    assert "update" not in denial.message.text and "更新" not in denial.message.text
    assert denial.message.locale == ("en" if language == "en" else "zh-Hans")
    assert caller.login(phone).outcome == SUCCEEDED


@pytest.mark.parametrize("platform", ["android", "web", "macos"])
def test_a_stolen_key_does_not_choose_its_platform(caller, phone, platform):
    """R38: its holder says that it is another phone, on which no domain state is asked for."""
    opened = caller.begin(phone, "payment", transaction=COFFEE)
    login = caller.begin(phone)
    stolen = phone.posture(platform=platform, domain_state=b"")
    for attempt in (opened, login):
        answer = caller.submit(phone, attempt, posture=stolen)
        assert (answer.outcome, answer.token) == (evaluation_pb2.OUTCOME_FAILED, "")
    for policy, options in (("login", {}), ("payment", {"transaction": COFFEE})):
        assert caller.begin(phone, policy, posture=stolen, **options).denial.reason == "PLATFORM_DIFFERS"
    assert caller.submit(phone, login).outcome == SUCCEEDED


def test_a_phone_may_log_in_and_pay_at_once(caller, phone):
    login = caller.begin(phone)
    payment = caller.begin(phone, "payment", transaction=COFFEE)
    attempts = [caller.attempt(phone, login), caller.attempt(phone, payment)]
    answers = all_at_once(caller.evaluations.SubmitAttempt, attempts)
    assert [answer.outcome for answer in answers] == [SUCCEEDED, SUCCEEDED]


# Consumption


def test_an_approval_and_its_consumption_are_one_story_in_the_log(caller, phone):
    """R41: the token's id and the transaction's digest stand in the events of both, and of what was refused."""
    opened = caller.begin(phone, "payment", transaction=COFFEE)
    wrong = phone.wrong_proof(opened.signing_input)
    assert caller.submit(phone, opened, key=wrong).outcome == evaluation_pb2.OUTCOME_TRY_AGAIN
    token = caller.submit(phone, opened).token
    caller.consume(token, OTHER_TRANSACTIONS[0])
    assert caller.consume(token).consumed

    canonical = b"".join(
        len(field).to_bytes(4) + field
        for field in (
            b"touchstone transaction v1",
            *(text.encode() for text in (COFFEE.amount, COFFEE.currency, COFFEE.payee, COFFEE.reference)),
        )
    )
    digest = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).rstrip(b"=").decode()
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["txn"] == digest
    events = {event.kind: event.details for event in caller.events() if event.kind != "binding.created"}
    assert list(events) == ["evaluation.failed", "evaluation.succeeded", "token.refused", "token.consumed"]
    assert {details["transaction"] for details in events.values()} == {digest}
    assert "token_id" not in events.pop("evaluation.failed")
    assert {details["token_id"] for details in events.values()} == {claims["jti"]}


def test_of_parallel_consumptions_one_succeeds(server, caller, phone):
    request = caller.consumption(caller.pay(phone).token)
    callers = [caller, *(new_caller(server, caller.application_id) for _ in range(3))]
    calls = [
        callers[index % len(callers)].tokens.ConsumeToken.future(request) for index in range(PARALLEL_CONSUMPTIONS)
    ]
    reasons = [call.result().reason for call in calls]
    assert sorted(reasons) == ["", *["ALREADY_CONSUMED"] * (PARALLEL_CONSUMPTIONS - 1)]


def test_nothing_is_consumed_once_a_revocation_was_answered(server, caller, phone):
    """Four relying services consume while the device is revoked: before the answer either may win, after it none."""
    first_consumed, revoked = threading.Event(), threading.Event()
    tokens = [[caller.pay(phone).token for _ in range(16)] for _ in range(4)]
    spare = caller.pay(phone).token

    def consume_or_revoke(index):
        if index == len(tokens):
            assert first_consumed.wait(30)
            caller.revoke(phone.binding)
            revoked.set()
            return []
        own = new_caller(server, caller.application_id)
        answers = []
        for token in tokens[index]:
            was_revoked = revoked.is_set()
            answers.append((was_revoked, own.consume(token)))
            first_consumed.set()
        return answers

    answers = [answer for each in from_threads(len(tokens) + 1, consume_or_revoke) for answer in each]
    assert {(answer.consumed, answer.reason) for _, answer in answers} <= {(True, ""), (False, "REVOKED")}
    assert not any(answer.consumed for was_revoked, answer in answers if was_revoked)
    assert caller.consume(spare).reason == "REVOKED"
