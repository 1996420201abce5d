"""A phone in software: keys in place of its Secure Enclave, and a posture as LocalAuthentication would report it."""

import os
import uuid

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .stubs import bindings_pb2, evaluation_pb2, types_pb2

BIOMETRY = types_pb2.FACTOR_BIOMETRY
DEVICE_OWNER = types_pb2.FACTOR_DEVICE_OWNER

#: The order of P-256's group (FIPS 186-5, SP 800-186 section 3.2.1.3).
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_PROTECTION = {
    BIOMETRY: bindings_pb2.KEY_PROTECTION_BIOMETRY_CURRENT_SET,
    DEVICE_OWNER: bindings_pb2.KEY_PROTECTION_USER_PRESENCE,
}


class Phone:
    """An iPhone with Touch ID, an enrolled finger, and one key for each factor it was made with."""

    def __init__(self, *factors, model="iPhone15,2"):
        self.device_id = f"phone-{uuid.uuid4()}"
        self.keys = {factor: new_key() for factor in factors or (BIOMETRY,)}
        self.platform = "ios"
        self.model = model
        self.os_version = "17.4"
        self.biometry_type = types_pb2.BIOMETRY_TYPE_TOUCH_ID
        self.domain_state = os.urandom(32)
        #: Set when it is bound.
        self.binding = None

    def posture(self, **changes):
        posture = types_pb2.DevicePosture(
            platform=self.platform,
            os_version=self.os_version,
            device_model=self.model,
            biometry_type=self.biometry_type,
            biometry_available=True,
            biometry_enrolled=True,
            passcode_set=True,
            domain_state=self.domain_state,
        )
        for field, value in changes.items():
            setattr(posture, field, value)
        return posture

    def hardware_keys(self, signing_input):
        """The keys to bind, each with its proof of possession."""
        return [
            bindings_pb2.HardwareKey(
                public_key=public_bytes(key), protection=_PROTECTION[factor], signature=sign(key, signing_input)
            )
            for factor, key in self.keys.items()
        ]

    def proof(self, signing_input, factor=BIOMETRY):
        """What the phone sends after its owner touched the sensor, or typed the device's passcode."""
        return evaluation_pb2.KeyProof(signature=sign(self.keys[factor], signing_input), factor=factor)

    def wrong_proof(self, signing_input, factor=BIOMETRY):
        """What somebody else's key makes of it."""
        return evaluation_pb2.KeyProof(signature=sign(new_key(), signing_input), factor=factor)


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def sign(key, message):
    """ECDSA with SHA-256, DER."""
    return key.sign(message, ec.ECDSA(hashes.SHA256()))


def public_bytes(key, encoding=Encoding.X962, form=PublicFormat.UncompressedPoint):
    return key.public_key().public_bytes(encoding, form)


def raw_signature(der):
    """r‖s in 64 bytes."""
    r, s = decode_dss_signature(der)
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def with_high_s(der):
    """The same signature with the larger of its two possible s."""
    r, s = decode_dss_signature(der)
    return encode_dss_signature(r, max(s, P256_ORDER - s))
