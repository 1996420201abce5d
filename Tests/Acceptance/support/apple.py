"""An iPhone whose app vouches for its keys by App Attest, under an authority of the test's own.

Written from docs/SIGNING.md and from Apple's "Validating apps that connect to your server".
"""

import dataclasses
import hashlib
import struct

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from .android import certificate, common_name, octets, sequence, tagged
from .phone import Phone, new_key, public_bytes, sign
from .stubs import bindings_pb2

NONCE = x509.ObjectIdentifier("1.2.840.113635.100.8.2")
APP_ID = "A1B2C3D4E5.org.example.shop"
PRODUCTION, DEVELOPMENT = b"appattest" + bytes(7), b"appattestdevelop"
ATTESTED = 0x40


def cbor(value):
    """Of unsigned numbers, bytes, texts, lists and dicts."""
    match value:
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case list():
            return _head(4, len(value)) + b"".join(map(cbor, value))
        case dict():
            return _head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())
    raise TypeError(value)


def _head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    size = next(size for size in range(4) if argument < 1 << 8 * (1 << size))
    return bytes([major << 5 | 24 + size]) + argument.to_bytes(1 << size)


# What an app vouches for (docs/SIGNING.md)


def encoded(*fields):
    parts = [field.encode() if isinstance(field, str) else bytes(field) for field in fields]
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def posture_bytes(posture):
    flags = posture.biometry_available, posture.biometry_enrolled, posture.biometry_locked_out, posture.passcode_set
    return encoded(
        "touchstone posture v1",
        posture.platform,
        posture.os_version,
        posture.device_model,
        [posture.biometry_type],
        *([flag] for flag in flags),
        posture.domain_state,
    )


def client_data_of_binding(signing_input, posture, keys):
    fields = [field for key in keys for field in (key.public_key, key.ml_dsa_65_public_key, [key.protection])]
    return encoded("touchstone app attest binding v1", signing_input, posture_bytes(posture), *fields)


def client_data_of_attempt(signing_input, key, posture):
    signatures = key.signature, key.ml_dsa_65_signature
    return encoded("touchstone app attest attempt v1", signing_input, *signatures, posture_bytes(posture))


# Apple


class Apple:
    """Who certifies App Attest keys: a root, and the authority below it."""

    def __init__(self, name="App Attestation", new_key=new_key):
        self._root_key, self.authority_key = new_key(), new_key()
        self._root_name, self.authority_name = common_name(f"{name} Root CA"), common_name(f"{name} CA 1")
        self.root = certificate(self._root_name, self._root_name, self._root_key, self._root_key, is_authority=True)
        self.authority = self.authority_until(3650)

    def authority_until(self, days):
        return certificate(
            self.authority_name, self._root_name, self.authority_key, self._root_key, is_authority=True, days=days
        )

    def leaf(self, key, nonce, **options):
        extensions = [] if nonce is None else [(NONCE, sequence(tagged(1, octets(nonce))))]
        return certificate(
            common_name("App Attest key"), self.authority_name, key, self.authority_key, extensions=extensions, **options
        )

    def write_roots(self, path):
        path.write_bytes(self.root.public_bytes(Encoding.PEM))
        return path


@dataclasses.dataclass
class Attestation:
    """What a key's attestation says: right, unless said otherwise."""

    key: object
    client_data: bytes
    app_id: str = APP_ID
    aaguid: bytes = PRODUCTION
    counter: int = 0
    #: Of the certificate.
    leaf_key: object = None
    nonce: bytes | None = None
    days: int = 3
    authority: object = None
    receipt: bytes = bytes(4_000)
    credential_id: bytes | None = None

    def bytes(self, apple):
        credential_id = self.credential_id or key_id(self.key)
        point = public_bytes(self.key)
        cose = cbor({1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
        data = authenticator_data(self.app_id, self.counter)
        data += self.aaguid + struct.pack(">H", len(credential_id)) + credential_id + cose
        nonce = self.nonce or hashlib.sha256(data + hashlib.sha256(self.client_data).digest()).digest()
        leaf = apple.leaf(self.leaf_key or self.key, nonce, days=self.days)
        chain = [c.public_bytes(Encoding.DER) for c in (leaf, self.authority or apple.authority)]
        statement = {"x5c": chain, "receipt": self.receipt}
        return cbor({"fmt": "apple-appattest", "attStmt": statement, "authData": data})


def key_id(key):
    return hashlib.sha256(public_bytes(key)).digest()


def authenticator_data(app_id, counter):
    return hashlib.sha256(app_id.encode()).digest() + bytes([ATTESTED]) + struct.pack(">I", counter)


def assertion(key, client_data, *, counter, app_id=APP_ID):
    data = authenticator_data(app_id, counter)
    nonce = hashlib.sha256(data + hashlib.sha256(client_data).digest()).digest()
    return cbor({"signature": sign(key, nonce), "authenticatorData": data})


class ApplePhone(Phone):
    """An iPhone with an app that has an App Attest key."""

    def __init__(self, apple, *factors):
        super().__init__(*factors)
        self.apple = apple
        self.app_key = new_key()
        #: Of the last assertion.
        self.counter = 0

    def attestation(self, begun, keys, posture=None, **changes):
        """The message for new keys, by a new App Attest key."""
        client_data = client_data_of_binding(begun.signing_input, posture or self.posture(), keys)
        attested = dataclasses.replace(Attestation(self.app_key, client_data), **changes)
        return bindings_pb2.AppAttest(key_id=key_id(self.app_key), attestation=attested.bytes(self.apple))

    def word_for_binding(self, begun, keys, posture=None, **changes):
        """The message for new keys, by the App Attest key that the phone has."""
        client_data = client_data_of_binding(begun.signing_input, posture or self.posture(), keys)
        return bindings_pb2.AppAttest(key_id=key_id(self.app_key), assertion=self.asserted(client_data, **changes))

    def word_for_attempt(self, opened, request, posture=None, **changes):
        client_data = client_data_of_attempt(
            opened.signing_input, request.key, posture or request.posture
        )
        return self.asserted(client_data, **changes)

    def asserted(self, client_data, *, key=None, counter=None, **changes):
        if counter is None:
            counter = self.counter = self.counter + 1
        return assertion(key or self.app_key, client_data, counter=counter, **changes)
