"""Requests whose fields make no sense: INVALID_ARGUMENT, BadRequest names the field, and nothing is written."""

from functools import reduce

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from support.caller import COFFEE, seconds_from_now
from support.errors import refused, violated_fields
from support.stubs import METHODS, administration_pb2, bindings_pb2, evaluation_pb2, tokens_pb2, types_pb2

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT

#: A refusal costs microseconds; this much only where the machine is very busy.
PROMPT_SECONDS = 5


def posture():
    return types_pb2.DevicePosture(platform="ios", os_version="17.4", biometry_type=types_pb2.BIOMETRY_TYPE_FACE_ID)


def requests():
    """One request for each method, right in form; what they name need not exist."""
    primary = bindings_pb2.PrimaryAuthentication(method="otp", authenticated_at=seconds_from_now(0))
    key = bindings_pb2.HardwareKey(
        public_key=bytes(65), protection=bindings_pb2.KEY_PROTECTION_BIOMETRY_ANY, signature=bytes(64)
    )
    proof = evaluation_pb2.KeyProof(signature=bytes(64), factor=types_pb2.FACTOR_BIOMETRY)
    return {
        "BeginBinding": bindings_pb2.BeginBindingRequest(
            profile_id="profile", device_id="device", primary=primary, posture=posture()
        ),
        "CompleteBinding": bindings_pb2.CompleteBindingRequest(ticket=b"ticket", keys=[key], posture=posture()),
        "GetBinding": bindings_pb2.GetBindingRequest(binding_id="binding"),
        "ListBindings": bindings_pb2.ListBindingsRequest(profile_id="profile"),
        "RevokeBinding": bindings_pb2.RevokeBindingRequest(binding_id="binding"),
        "CanEvaluatePolicy": evaluation_pb2.CanEvaluatePolicyRequest(policy="login", posture=posture()),
        "BeginEvaluation": evaluation_pb2.BeginEvaluationRequest(
            policy="payment",
            binding_id="binding",
            localized_reason="Pay",
            transaction=COFFEE,
            posture=posture(),
        ),
        "SubmitAttempt": evaluation_pb2.SubmitAttemptRequest(evaluation=b"evaluation", key=proof, posture=posture()),
        "InvalidateEvaluation": evaluation_pb2.InvalidateEvaluationRequest(evaluation=b"evaluation"),
        "IntrospectToken": tokens_pb2.IntrospectTokenRequest(token="token"),
        "ConsumeToken": tokens_pb2.ConsumeTokenRequest(token="token", transaction=COFFEE),
        "RevokeToken": tokens_pb2.RevokeTokenRequest(token="token"),
        "GetProfile": administration_pb2.GetProfileRequest(profile_id="profile"),
        "UnlockDevice": administration_pb2.UnlockDeviceRequest(device_id="device", reason="support"),
        "ListEvents": administration_pb2.ListEventsRequest(filter=administration_pb2.EventFilter()),
    }


#: Where each request names its application.
APPLICATION = dict.fromkeys(requests(), "application_id") | {"ListEvents": "filter.application_id"}

#: All other identifiers, and whether they may be empty.
IDENTIFIERS = [
    ("BeginBinding", "profile_id", False),
    ("BeginBinding", "device_id", False),
    ("GetBinding", "binding_id", False),
    ("ListBindings", "profile_id", False),
    ("ListBindings", "page_token", True),
    ("RevokeBinding", "binding_id", False),
    ("CanEvaluatePolicy", "binding_id", True),
    ("BeginEvaluation", "binding_id", False),
    ("BeginEvaluation", "transaction.reference", False),
    ("ConsumeToken", "transaction.reference", False),
    ("GetProfile", "profile_id", False),
    ("UnlockDevice", "device_id", False),
    ("ListEvents", "filter.profile_id", True),
] + [(method, path, False) for method, path in APPLICATION.items()]

#: 129 bytes; a control character of each kind. NUL is in test_malformed.py.
NO_IDENTIFIERS = ["x" * 129, "é" * 65, "a\nb", "\x1f", "a\x7fb", "a\u0085b"]

ABSENT = object()

POSTURES = ["BeginBinding", "CompleteBinding", "CanEvaluatePolicy", "BeginEvaluation", "SubmitAttempt"]

BAD_POSTURES = [
    ("platform", "symbian"),
    ("platform", "iOS"),
    ("os_version", "seventeen"),
    ("os_version", "17."),
    ("os_version", "17.4.1.2.3"),
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
    *[(method, path, value) for method, path, optional in IDENTIFIERS for value in NO_IDENTIFIERS],
    *[(method, path, "") for method, path, optional in IDENTIFIERS if not optional],
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
    ("SubmitAttempt", "key.signature", bytes(73)),
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
]


@pytest.mark.parametrize(("method", "path", "value"), CASES, ids=lambda value: repr(value)[:40])
def test_a_field_that_makes_no_sense(caller, method, path, value):
    request = request_for(caller, method)
    put(request, path, value)
    with refused(INVALID_ARGUMENT, field=path):
        call(caller, method, request)
    assert not caller.events()


def test_an_attempt_is_required(caller):
    request = request_for(caller, "SubmitAttempt")
    request.ClearField("key")
    with refused(INVALID_ARGUMENT, field="attempt"):
        call(caller, "SubmitAttempt", request)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda keys: keys.add(protection=99), "keys[1].protection"),
        (lambda keys: keys.extend([keys[0], keys[0]]), "keys"),
        (lambda keys: setattr(keys[0], "signature", b""), "keys[0].signature"),
        (lambda keys: setattr(keys[0], "signature", bytes(1000)), "keys[0].signature"),
        (lambda keys: setattr(keys[0], "protection", 0), "keys[0].protection"),
    ],
    ids=["unknown protection", "three keys", "no signature", "huge signature", "no protection"],
)
def test_keys_that_make_no_sense(caller, change, field):
    request = request_for(caller, "CompleteBinding")
    change(request.keys)
    with refused(INVALID_ARGUMENT, field=field):
        call(caller, "CompleteBinding", request)


def test_too_many_kinds_of_events(caller):
    request = request_for(caller, "ListEvents")
    request.filter.kinds.extend(["evaluation."] * 33)
    with refused(INVALID_ARGUMENT, field="filter.kinds"):
        call(caller, "ListEvents", request)


def test_a_person_without_a_device_is_not_served_yet(caller):
    request = request_for(caller, "BeginEvaluation")
    request.binding_id, request.profile_id = "", "profile"
    with refused(grpc.StatusCode.UNIMPLEMENTED):
        call(caller, "BeginEvaluation", request)


def test_five_hundred_kinds_that_are_none(caller):
    request = request_for(caller, "ListEvents")
    request.filter.kinds.extend(["\x1f"] * 500)
    with refused(INVALID_ARGUMENT, field="filter.kinds"):
        call(caller, "ListEvents", request, timeout=PROMPT_SECONDS)


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


def test_every_wrong_field_is_named_at_once(caller):
    request = request_for(caller, "BeginEvaluation")
    for path, value in {"binding_id": "", "localized_reason": "", "posture.os_version": "x"}.items():
        put(request, path, value)
    with pytest.raises(grpc.RpcError) as raised:
        call(caller, "BeginEvaluation", request)
    assert set(violated_fields(raised.value)) == {"binding_id", "localized_reason", "posture.os_version"}


def request_for(caller, method):
    request = requests()[method]
    put(request, APPLICATION[method], caller.application_id)
    return request


def put(request, path, value):
    """Sets the field at a dotted path, or clears it."""
    *messages, field = path.split(".")
    message = reduce(getattr, messages, request)
    if value is ABSENT:
        message.ClearField(field)
    elif isinstance(value, Timestamp):
        getattr(message, field).CopyFrom(value)
    else:
        setattr(message, field, value)


def call(caller, method, request, **options):
    stubs = {
        "BindingService": caller.bindings,
        "EvaluationService": caller.evaluations,
        "TokenService": caller.tokens,
        "AdministrationService": caller.administration,
    }
    return getattr(stubs[METHODS[method].containing_service.name], method)(request, **options)
