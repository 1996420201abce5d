"""Hybrid keys (R48): ML-DSA-65, here by OpenSSL's implementation, beside P-256."""

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import mldsa

from support.errors import refused
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import bindings_pb2, evaluation_pb2


class HybridPhone(Phone):
    """Each of its keys has another half."""

    def __init__(self, *factors):
        super().__init__(*factors)
        self.other_halves = {factor: mldsa.MLDSA65PrivateKey.generate() for factor in self.keys}

    def hardware_keys(self, signing_input):
        keys = super().hardware_keys(signing_input)
        for key, other_half in zip(keys, self.other_halves.values(), strict=True):
            key.ml_dsa_65_public_key = other_half.public_key().public_bytes_raw()
            key.ml_dsa_65_signature = other_half.sign(signing_input)
        return keys

    def proof(self, signing_input, factor=BIOMETRY):
        proof = super().proof(signing_input, factor)
        proof.ml_dsa_65_signature = self.other_halves[factor].sign(signing_input)
        return proof


@pytest.fixture
def phone(caller):
    phone = HybridPhone(BIOMETRY, DEVICE_OWNER)
    caller.bind(phone)
    return phone


def test_either_key_logs_in(caller, phone):
    hybrid = bindings_pb2.KEY_ALGORITHM_P256_ML_DSA_65
    assert list(phone.binding.key_algorithms) == [hybrid, hybrid]
    for factor in (BIOMETRY, DEVICE_OWNER):
        answer = caller.submit(phone, caller.begin(phone), factor=factor)
        assert answer.outcome == evaluation_pb2.OUTCOME_SUCCEEDED


def test_a_hybrid_binding_never_falls_back_to_p256(caller, phone):
    opened = caller.begin(phone)
    alone = Phone.proof(phone, opened.signing_input)
    assert caller.submit(phone, opened, key=alone).outcome == evaluation_pb2.OUTCOME_TRY_AGAIN
    replayed = phone.proof(caller.begin(phone).signing_input)
    replayed.signature = alone.signature
    assert caller.submit(phone, opened, key=replayed).outcome == evaluation_pb2.OUTCOME_TRY_AGAIN
    # Nor by its other factor.
    opened = caller.begin(phone)
    by_owner = Phone.proof(phone, opened.signing_input, DEVICE_OWNER)
    assert caller.submit(phone, opened, key=by_owner).outcome == evaluation_pb2.OUTCOME_TRY_AGAIN


def test_a_signature_of_another_length_is_refused_by_name(caller, phone):
    opened = caller.begin(phone)
    proof = phone.proof(opened.signing_input)
    proof.ml_dsa_65_signature += b"\0"
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="key.ml_dsa_65_signature"):
        caller.submit(phone, opened, key=proof)
