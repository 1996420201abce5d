"""Requests whose fields make no sense: INVALID_ARGUMENT, BadRequest names the field, and nothing is written."""

from functools import reduce

import grpc
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc.error_details_pb2 import LocalizedMessage
from grpc_status import rpc_status

from support.caller import COFFEE, seconds_from_now
from support.errors import noted, refused, violated_fields
from support.phone import new_key
from support.stubs import (
    METHODS,
    administration_pb2,
    bindings_pb2,
    evaluation_pb2,
    secrets_pb2,
    types_pb2,
)

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT

#: A refusal costs microseconds; this much only where the machine is very busy.
PROMPT_SECONDS = 20


def posture():
    return types_pb2.DevicePosture(platform="ios", os_version="17.4", biometry_type=types_pb2.BIOMETRY_TYPE_FACE_ID)


def values():
    """What each field of a request has, by its name, so that the request is right in form; what is named need not exist."""
    point = new_key().public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    key = bindings_pb2.HardwareKey(
        public_key=point, protection=bindings_pb2.KEY_PROTECTION_BIOMETRY_ANY, signature=bytes(64)
    )
    secret = secrets_pb2.Secret(passcode=evaluation_pb2.PasscodeProof(passcode="2468"))
    return {
        "begin": evaluation_pb2.BeginEvaluationRequest(
            policy="login", binding_id="binding", localized_reason="Log in", posture=posture()
        ),
        "binding_id": "binding",
        "confirmation": secret,
        "device_id": "0a6f6a5e-7c1d-4a52-9f0b-2f4d8f1c3b77",
        "domain_state": b"state",
        "evaluation": b"evaluation",
        "filter": administration_pb2.EventFilter(),
        "key": evaluation_pb2.KeyProof(signature=bytes(64), factor=types_pb2.FACTOR_BIOMETRY),
        "keys": [key],
        "kind": secrets_pb2.SECRET_KIND_PASSCODE,
        "localized_reason": "Pay",
        "os_version": "17.4",
        "policy": "payment",
        "posture": posture(),
        "primary": bindings_pb2.PrimaryAuthentication(method="otp", authenticated_at=seconds_from_now(0)),
        "profile_id": "profile",
        "reason": "support",
        "secret": secret,
        "since": seconds_from_now(-60),
        "until": seconds_from_now(0),
        "text": "profile",
        "settings": secrets_pb2.UnlockSettings(biometry_enabled=True),
        "ticket": b"ticket",
        "token": "token",
        "transaction": COFFEE,
    }


#: Fields that a request leaves out, because it has another one instead.
LEFT_OUT = {
    ("AcceptDomainState", "token"),
    ("BeginEvaluation", "profile_id"),
    ("CanEvaluatePolicy", "binding_id"),
    ("CanEvaluatePolicy", "profile_id"),
    ("SubmitAttempt", "primary"),
}

UNARY = {name: method for name, method in METHODS.items() if not method.server_streaming}


def request_of(method):
    """A request that is right in form."""
    message = UNARY[method].input_type
    fields = {field.name for field in message.fields if (method, field.name) not in LEFT_OUT}
    return message._concrete_class(**{name: value for name, value in values().items() if name in fields})


def identifiers(message, prefix=""):
    """The paths of the identifiers in a message, and in the messages that name things for it."""
    for field in message.fields:
        if field.name.endswith("_id") and field.type == field.TYPE_STRING:
            yield prefix + field.name
        elif field.name in ("begin", "filter"):
            yield from identifiers(field.message_type, f"{field.name}.")


#: Where each request names its application.
APPLICATION = {
    method: next((path for path in identifiers(UNARY[method].input_type) if path.endswith("application_id")), None)
    for method in UNARY
}

#: Identifiers that may be empty.
OPTIONAL = {
    ("ListBindings", "page_token"),
    ("CanEvaluatePolicy", "binding_id"),
    ("CanEvaluatePolicy", "profile_id"),
    ("BeginEvaluation", "binding_id"),
    ("BeginEvaluation", "profile_id"),
    ("ExplainEvaluation", "begin.binding_id"),
    ("ExplainEvaluation", "begin.profile_id"),
    ("ListEvents", "filter.application_id"),
    ("ListEvents", "filter.profile_id"),
    ("ListEvents", "filter.device_id"),
    ("ListEvents", "filter.binding_id"),
}

#: With the fields of another name that are one, too.
IDENTIFIERS = [(method, path) for method in UNARY for path in identifiers(UNARY[method].input_type)] + [
    ("ListBindings", "page_token"),
    ("BeginEvaluation", "transaction.reference"),
    ("ConsumeToken", "transaction.reference"),
]

#: 129 bytes; a control character of each kind. NUL is in test_malformed.py.
NO_IDENTIFIERS = ["x" * 129, "é" * 64 + "x", "🔑" * 32 + "x", "a\nb", "\x1f", "a\x7fb", "a\u0085b"]

#: The field is not there.
ABSENT = "absent"
#: A time that has not come.
TOMORROW = "tomorrow"

POSTURES = ["BeginBinding", "CompleteBinding", "CanEvaluatePolicy", "BeginEvaluation", "SubmitAttempt"]

BAD_POSTURES = [
    ("platform", "symbian"),
    ("platform", ""),
    ("platform", "ios "),
    ("platform", "ＩＯＳ"),
    ("os_version", ""),
    ("os_version", "seventeen"),
    ("os_version", ".17"),
    ("os_version", "17\0"),
    ("os_version", "-1"),
    ("os_version", "99999999999999999999"),
    ("device_model", "x" * 1000),
    ("biometry_type", 99),
    ("biometry_type", -1),
    ("domain_state", bytes(257)),
]

BAD_TRANSACTIONS = [
    ("amount", ""),
    ("amount", "-1"),
    ("amount", "+1"),
    ("amount", "1e3"),
    ("amount", "1,50"),
    ("amount", "1."),
    ("amount", ".5"),
    ("amount", "1.2.3"),
    ("amount", "0x10"),
    ("amount", "١٢"),
    ("amount", "1234567890123456789"),
    ("currency", ""),
    ("currency", "eur"),
    ("currency", "EURO"),
    ("currency", "€"),
    ("payee", ""),
    ("payee", "x" * 257),
    ("payee", "Shop\u0007"),
    ("reference", ""),
]

CASES = [
    *[(method, path, value) for method, path in IDENTIFIERS for value in NO_IDENTIFIERS],
    *[(method, path, "") for method, path in IDENTIFIERS if (method, path) not in OPTIONAL],
    *[(method, f"posture.{field}", value) for method in POSTURES for field, value in BAD_POSTURES],
    *[(method, "posture", ABSENT) for method in POSTURES],
    *[
        (method, f"transaction.{field}", value)
        for method in ("BeginEvaluation", "ConsumeToken")
        for field, value in BAD_TRANSACTIONS
    ],
    ("BeginBinding", "primary", ABSENT),
    ("BeginBinding", "primary.method", ""),
    ("BeginBinding", "primary.method", "x" * 1000),
    ("BeginBinding", "primary.authenticated_at", ABSENT),
    ("BeginBinding", "primary.authenticated_at", Timestamp(seconds=1 << 62)),
    ("BeginBinding", "primary.authenticated_at", Timestamp(seconds=-(1 << 62))),
    ("BeginBinding", "primary.authenticated_at", Timestamp(seconds=1, nanos=-1)),
    ("BeginBinding", "primary.authenticated_at", Timestamp(seconds=1, nanos=1_000_000_000)),
    ("CompleteBinding", "ticket", b""),
    ("CompleteBinding", "ticket", bytes(60_000)),
    ("CompleteBinding", "device_name", "x" * 1000),
    ("CompleteBinding", "keys", ABSENT),
    ("ListBindings", "page_size", 101),
    ("ListBindings", "page_size", (1 << 32) - 1),
    ("RevokeBinding", "reason", "x" * 10_000),
    ("RevokeBinding", "reason", ""),
    ("UnlockDevice", "reason", ""),
    ("UnlockSecret", "reason", ""),
    ("EraseProfile", "reason", ""),
    ("EraseProfile", "reason", "x" * 257),
    ("EraseProfile", "reason", "the profile asked"),
    ("EraseProfile", "reason", "\u3000"),
    ("RevokeBinding", "reason", "\n"),
    ("UnlockDevice", "reason", " "),
    ("UnlockSecret", "reason", "ticket\t4711"),
    ("SetUnlockSettings", "reason", " "),
    ("SetUnlockSettings", "reason", "x" * 257),
    ("CanEvaluatePolicy", "policy", ""),
    ("CanEvaluatePolicy", "policy", "x" * 60_000),
    ("BeginEvaluation", "policy", "Login"),
    ("BeginEvaluation", "localized_reason", ""),
    ("BeginEvaluation", "localized_reason", "x" * 513),
    ("BeginEvaluation", "fallback_title.text", "x" * 1000),
    ("BeginEvaluation", "cancel_title.text", "x" * 1000),
    ("BeginEvaluation", "transaction", ABSENT),
    ("BeginEvaluation", "profile_id", "profile"),
    ("SubmitAttempt", "evaluation", b""),
    ("SubmitAttempt", "evaluation", bytes(60_000)),
    ("SubmitAttempt", "key.signature", b""),
    ("SubmitAttempt", "key.signature", bytes(513)),
    ("SubmitAttempt", "key.signature_form", types_pb2.SIGNATURE_FORM_BASE64URL_TEXT),
    ("SubmitAttempt", "key.signature_form", 4711),
    ("SubmitAttempt", "app_assertion", bytes(4_097)),
    ("CompleteBinding", "app_attest.key_id", bytes(31)),
    ("CompleteBinding", "app_attest.attestation", bytes(32_769)),
    ("CompleteBinding", "app_attest.assertion", bytes(4_097)),
    ("SubmitAttempt", "key.factor", types_pb2.FACTOR_UNSPECIFIED),
    ("SubmitAttempt", "key.factor", types_pb2.FACTOR_PASSCODE),
    ("SubmitAttempt", "key.factor", 4711),
    ("SubmitAttempt", "report.la_error", 0),
    ("InvalidateEvaluation", "evaluation", b""),
    ("InvalidateEvaluation", "evaluation", bytes(60_000)),
    ("IntrospectToken", "token", ""),
    ("IntrospectToken", "token", "x" * 60_000),
    ("ConsumeToken", "token", ""),
    ("RevokeToken", "token", ""),
    ("ListEvents", "page_size", 1001),
    ("ListEvents", "filter.caller", "a\nb"),
    ("ListEvents", "filter.reason", "x" * 129),
    ("ListEvents", "since", Timestamp(seconds=1 << 62)),
    ("ListEvents", "until", Timestamp(seconds=1)),
    ("FindProfiles", "text", ""),
    ("FindProfiles", "text", " \u200b\n"),
    ("FindProfiles", "text", "a\nb"),
    ("FindProfiles", "text", "x" * 10_000),
    ("SubmitAttempt", "profile_touch_id.profile_touch_id", bytes(15)),
    ("SubmitAttempt", "profile_touch_id.profile_touch_id", bytes(129)),
    ("SubmitAttempt", "passcode.passcode", "123"),
    ("SubmitAttempt", "passcode.passcode", "x" * 65),
    ("SubmitAttempt", "primary.method", ""),
    ("SubmitAttempt", "primary.authenticated_at", TOMORROW),
    ("AcceptDomainState", "domain_state", b""),
    ("AcceptDomainState", "domain_state", bytes(257)),
    ("AcceptDomainState", "os_version", "seventeen"),
    ("AcceptDomainState", "os_version", ""),
    ("AcceptDomainState", "token", ""),
    ("AcceptDomainState", "token", "x" * 5_000),
    ("AcceptDomainState", "primary.method", ""),
    ("AcceptDomainState", "primary.authenticated_at", TOMORROW),
    ("SetSecret", "secret", ABSENT),
    ("SetSecret", "secret.passcode.passcode", "123"),
    ("SetSecret", "secret.passcode.passcode", "1111"),
    ("SetSecret", "secret.passcode.passcode", "ab" * 33),
    ("SetSecret", "confirmation", ABSENT),
    ("SetSecret", "confirmation.passcode.passcode", "x" * 65),
    ("SetSecret", "old_secret.passcode.passcode", ""),
    ("SetSecret", "primary.method", "x" * 33),
    ("SetSecret", "primary.authenticated_at", TOMORROW),
    ("RemoveSecret", "kind", 0),
    ("RemoveSecret", "kind", 3),
    ("RemoveSecret", "old_secret.passcode.passcode", "123"),
    ("SetUnlockSettings", "settings", ABSENT),
    ("SetUnlockSettings", "settings.preferred", types_pb2.FACTOR_GESTURE),
    ("SetUnlockSettings", "settings.preferred", types_pb2.FACTOR_PRIMARY),
    ("SetUnlockSettings", "settings.preferred", 4711),
    ("UnlockSecret", "kind", 0),
    ("UnlockSecret", "reason", "x" * 257),
    ("ExplainEvaluation", "begin", ABSENT),
    ("ExplainEvaluation", "begin.policy", "none"),
    ("ExplainEvaluation", "begin.localized_reason", "x" * 513),
    ("ExplainEvaluation", "begin.posture.platform", "symbian"),
    ("ExplainEvaluation", "begin.profile_id", "beside a binding"),
    ("ExplainEvaluation", "at", Timestamp(seconds=1, nanos=-1)),
]


@pytest.mark.parametrize("method", UNARY)
def test_a_request_is_right_in_form(caller, method):
    """Otherwise add the values of its fields above: the other tests here change one field of it."""
    try:
        call(caller, method, request_for(caller, method))
    except grpc.RpcError as error:
        assert error.code() != INVALID_ARGUMENT, error.details()


@pytest.mark.parametrize("method", UNARY)
def test_fields_that_make_no_sense(caller, method):
    for path, value in [row[1:] for row in CASES if row[0] == method]:
        request = request_for(caller, method)
        put(request, path, value)
        with noted(f"{path}: {value!r}"[:60]), refused(INVALID_ARGUMENT, field=path):
            call(caller, method, request)
    assert not caller.events()


def test_an_attempt_is_required(caller):
    request = request_for(caller, "SubmitAttempt")
    request.ClearField("key")
    with refused(INVALID_ARGUMENT, field="attempt"):
        call(caller, "SubmitAttempt", request)


def test_a_preflight_names_a_binding_or_a_profile(caller):
    request = request_for(caller, "CanEvaluatePolicy")
    request.binding_id, request.profile_id = "binding", "profile"
    with refused(INVALID_ARGUMENT, field="profile_id"):
        call(caller, "CanEvaluatePolicy", request)


def test_too_many_kinds_of_events(caller):
    request = request_for(caller, "ListEvents")
    request.filter.kinds.extend(["evaluation."] * 33)
    with refused(INVALID_ARGUMENT, field="filter.kinds"):
        call(caller, "ListEvents", request)


def test_everything_wrong_at_once(caller):
    """More than the trailers of an answer can name: some fields are, and the answer comes."""
    request = bindings_pb2.CompleteBindingRequest(device_name="x" * 1000)
    for field, value in BAD_POSTURES:
        setattr(request.posture, field, value)
    for _ in range(100):
        request.keys.add(public_key=b"none", protection=99)
    with pytest.raises(grpc.RpcError) as raised:
        call(caller, "CompleteBinding", request, timeout=PROMPT_SECONDS)
    assert raised.value.code() == INVALID_ARGUMENT
    assert "application_id" in violated_fields(raised.value)


def test_what_is_missing_is_a_developers_fault_and_never_the_persons(caller):
    """R2: no text for the person, who can mend nothing of it."""
    request = request_for(caller, "BeginEvaluation")
    request.posture.ClearField("os_version")
    request.posture.ClearField("platform")
    with pytest.raises(grpc.RpcError) as raised:
        call(caller, "BeginEvaluation", request)
    assert set(violated_fields(raised.value)) == {"posture.platform", "posture.os_version"}
    assert "posture.os_version: is required" in raised.value.details()
    assert not any(each.Is(LocalizedMessage.DESCRIPTOR) for each in rpc_status.from_call(raised.value).details)


def test_a_policy_that_is_not_there_hides_nothing_else(caller):
    request = request_for(caller, "BeginEvaluation")
    put(request, "policy", "none")
    put(request, "transaction.amount", "1,50")
    put(request, "posture.os_version", "x")
    with pytest.raises(grpc.RpcError) as raised:
        call(caller, "BeginEvaluation", request)
    assert set(violated_fields(raised.value)) == {"policy", "transaction.amount", "posture.os_version"}


def request_for(caller, method):
    request = request_of(method)
    if APPLICATION[method]:
        put(request, APPLICATION[method], caller.application_id)
    return request


def put(request, path, value):
    """Sets the field at a dotted path, or clears it."""
    *messages, field = path.split(".")
    message = reduce(getattr, messages, request)
    if value is ABSENT:
        message.ClearField(field)
    elif value is TOMORROW:
        getattr(message, field).CopyFrom(seconds_from_now(86_400))
    elif isinstance(value, Timestamp):
        getattr(message, field).CopyFrom(value)
    else:
        setattr(message, field, value)


def call(caller, method, request, **options):
    stubs = {
        "BindingService": caller.bindings,
        "EvaluationService": caller.evaluations,
        "SecretService": caller.secrets,
        "TokenService": caller.tokens,
        "AdministrationService": caller.administration,
    }
    return getattr(stubs[METHODS[method].containing_service.name], method)(request, **options)
