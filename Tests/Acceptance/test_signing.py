"""What a phone signs (R28, R33, R38), by an implementation of its own that was written from docs/SIGNING.md."""

import base64
import hashlib
import json
import struct

import jwt
import pytest

from support.apple import client_data_of_attempt, client_data_of_binding, posture_bytes
from support.caller import COFFEE
from support.phone import Phone
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
