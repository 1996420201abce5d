"""Payments: what was approved is what is paid, once (R38, R39)."""

import base64
import hashlib
import threading

import grpc
import jwt

from support.caller import COFFEE, all_at_once, from_threads, new_caller, primary_login
from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import evaluation_pb2, types_pb2

PARALLEL_CONSUMPTIONS = 50

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED


TEA = types_pb2.Transaction(amount="3.10", currency="EUR", payee="Café Touchstone", reference="order-2")


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


# R22, R25, R27: whose fingers they are must be shown.


def bound_before_domain_state(caller, *factors):
    """A phone that got its iOS 17 after it was bound: it has no baseline."""
    phone = Phone(*factors)
    phone.os_version, state, phone.domain_state = "8.4", phone.domain_state, b""
    assert not caller.bind(phone).domain_state_recorded
    phone.os_version, phone.domain_state = "17.4", state
    return phone


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
    caller.consume(token, TEA)
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
