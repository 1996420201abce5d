"""What a phone signs (R28, R33, R38), by an implementation of its own that was written from docs/SIGNING.md."""

import base64
import hashlib
import json
import struct

import jwt
import pytest

from support.apple import client_data_of_attempt, client_data_of_binding, posture_bytes
from support.caller import COFFEE
from support.phone import Phone, raw_signature, with_high_s
from support.stubs import PROTOS, bindings_pb2, evaluation_pb2, types_pb2

VECTORS = json.loads((PROTOS.parent / "Tests" / "Vectors" / "signing.json").read_text(encoding="utf-8"))
CHALLENGE_BYTES = 32
HardwareKey, DevicePosture = bindings_pb2.HardwareKey, types_pb2.DevicePosture
PURPOSES = {"login": b"\x01", "payment": b"\x02"}


def encoded(*fields):
    parts = [field.encode() if isinstance(field, str) else field for field in fields]
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def decoded(message):
    fields = []
    while message:
        (length,) = struct.unpack(">I", message[:4])
        assert len(message) >= 4 + length
        fields.append(message[4 : 4 + length])
        message = message[4 + length :]
    return fields


def transaction_bytes(amount, currency, payee, reference):
    return encoded("touchstone transaction v1", amount, currency, payee, reference)


@pytest.mark.parametrize("vector", VECTORS["bindings"], ids=range(len(VECTORS["bindings"])))
def test_vectors_of_bindings(vector):
    challenge = bytes.fromhex(vector["challenge"])
    signed = encoded(
        "touchstone binding v1", challenge, vector["application_id"], vector["profile_id"], vector["device_id"]
    )
    assert signed.hex() == vector["signing_input"]


@pytest.mark.parametrize("vector", VECTORS["evaluations"], ids=range(len(VECTORS["evaluations"])))
def test_vectors_of_evaluations(vector):
    transaction = b""
    if payment := vector.get("transaction"):
        transaction = transaction_bytes(*(payment[name] for name in ("amount", "currency", "payee", "reference")))
        assert transaction.hex() == payment["canonical_bytes"]
        assert hashlib.sha256(transaction).hexdigest() == payment["sha256"]
    signed = encoded(
        "touchstone evaluation v1",
        bytes.fromhex(vector["challenge"]),
        vector["application_id"],
        vector["binding_id"],
        vector["policy"],
        PURPOSES[vector["purpose"]],
        transaction,
    )
    assert signed.hex() == vector["signing_input"]


def posture(vector):
    fields = dict(vector["posture"])
    canonical_bytes = fields.pop("canonical_bytes")
    message = DevicePosture(**{**fields, "domain_state": bytes.fromhex(fields["domain_state"])})
    assert posture_bytes(message).hex() == canonical_bytes
    return message


@pytest.mark.parametrize("vector", VECTORS["app_attest_bindings"], ids=range(len(VECTORS["app_attest_bindings"])))
def test_vectors_of_what_an_app_vouches_for_in_a_binding(vector):
    keys = [
        HardwareKey(
            public_key=bytes.fromhex(key["public_key"]),
            ml_dsa_65_public_key=bytes.fromhex(key.get("ml_dsa_65_public_key", "")),
            protection=key["protection"],
        )
        for key in vector["keys"]
    ]
    data = client_data_of_binding(bytes.fromhex(vector["signing_input"]), posture(vector), keys)
    assert (data.hex(), hashlib.sha256(data).hexdigest()) == (vector["client_data"], vector["client_data_hash"])


@pytest.mark.parametrize("vector", VECTORS["app_attest_attempts"], ids=range(len(VECTORS["app_attest_attempts"])))
def test_vectors_of_what_an_app_vouches_for_in_an_attempt(vector):
    signatures = {name: bytes.fromhex(vector.get(name, "")) for name in ("signature", "ml_dsa_65_signature")}
    key = evaluation_pb2.KeyProof(**signatures)
    data = client_data_of_attempt(bytes.fromhex(vector["signing_input"]), key, posture(vector))
    assert (data.hex(), hashlib.sha256(data).hexdigest()) == (vector["client_data"], vector["client_data_hash"])


# The decoder, by which the tests below read what the service writes


def kit_cases(name, **fields):
    cases = json.loads((PROTOS.parent / "Tests" / "Vectors" / "kit" / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["name"]) for case in cases if fields.items() <= case.items()]


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.parametrize("case", [case for case in kit_cases("signing_inputs") if "expect" in case.values[0]])
def test_the_kits_vectors_are_taken_apart(case):
    tag, challenge, application, *names = decoded(from_base64url(case["signing_input"]))
    expected = case["expect"]
    assert tag.decode() == f"touchstone {case['kind']} v1"
    assert (challenge, application.decode()) == (from_base64url(expected["challenge"]), expected["application_id"])
    if case["kind"] == "binding":
        assert [name.decode() for name in names] == [expected["profile_id"], expected["device_id"]]
        return
    binding, policy, purpose, transaction = names
    assert (binding.decode(), policy.decode()) == (expected["binding_id"], expected["policy"])
    assert purpose == PURPOSES[expected["purpose"]]
    if shown := case.get("shown"):
        assert transaction == transaction_bytes(**shown)
        assert hashlib.sha256(transaction).digest() == from_base64url(expected["transaction_sha256"])
    else:
        assert transaction == b""


# The phone of these tests, beside the kits


def test_the_phones_posture_is_the_kits():
    (case,) = (case.values[0] for case in kit_cases("postures") if case.values[0]["name"] == "Touch ID")
    expected = {**case["expect"], "domain_state": from_base64url(case["expect"]["domain_state"])}
    phone = Phone(model=case["model"])
    phone.domain_state = expected["domain_state"]
    assert phone.posture() == DevicePosture(**expected)


def test_the_phones_signatures_have_the_kits_forms():
    cases = {case.values[0]["name"]: case.values[0] for case in kit_cases("signatures", algorithm="P256")}
    der, high = cases["DER, as SecKeyCreateSignature returns it"], cases["the larger s in DER"]
    for case in (der, high):
        assert raw_signature(from_base64url(case["signature"])) == from_base64url(case["expect"]["raw"])
    assert with_high_s(from_base64url(der["signature"])) == from_base64url(high["signature"])


# What the service gives to a phone


def test_an_app_takes_a_bindings_signing_input_apart(caller):
    phone = Phone()
    begun = caller.begin_binding(phone, "alice")
    tag, challenge, application, profile, device = decoded(begun.signing_input)
    assert (tag, len(challenge)) == (b"touchstone binding v1", CHALLENGE_BYTES)
    assert (application.decode(), profile.decode(), device.decode()) == (caller.application_id, "alice", phone.device_id)


def test_an_app_takes_a_logins_signing_input_apart(caller, phone):
    tag, challenge, application, binding, policy, purpose, transaction = decoded(caller.begin(phone).signing_input)
    assert (tag, len(challenge)) == (b"touchstone evaluation v1", CHALLENGE_BYTES)
    assert (application.decode(), binding.decode()) == (caller.application_id, phone.binding.binding_id)
    assert (policy, purpose, transaction) == (b"login", PURPOSES["login"], b"")


def test_an_app_finds_the_payment_that_it_shows_in_what_it_signs(caller, phone):
    begun = caller.begin(phone, policy="payment", transaction=COFFEE)
    *_, policy, purpose, transaction = decoded(begun.signing_input)
    assert (policy, purpose) == (b"payment", PURPOSES["payment"])
    shown = transaction_bytes(COFFEE.amount, COFFEE.currency, COFFEE.payee, COFFEE.reference)
    assert transaction == shown

    token = caller.submit(phone, begun).token
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["txn"] == base64.urlsafe_b64encode(hashlib.sha256(shown).digest()).rstrip(b"=").decode()
