"""An authenticator in software, and the browser before it: what navigator.credentials returns, right or changed on the way.

PyPI's fido2 makes the structures, so that no line here shares an error with the service.
"""

import base64
import hashlib
import json
import os
import struct

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from fido2 import cbor
from fido2.cose import ES256, ES384, RS256, EdDSA

from .caller import primary_login
from .stubs import bindings_pb2, evaluation_pb2

RP_ID = "shop.example"
ORIGIN = "https://shop.example"

#: authenticatorData's flags (WebAuthn Level 3 §6.1).
UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40


def served(application_id, **settings):
    """The configuration's section: passkeys of `shop.example`."""
    passkeys = {"rp_id": RP_ID, "origins": [ORIGIN], **settings.pop("passkeys", {})}
    return {"applications": {application_id: {"passkeys": passkeys, **settings}}}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def sha256(data):
    return hashlib.sha256(data).digest()


class Algorithm:
    """How a key is made and signs."""

    def __init__(self, make, cose, sign):
        self.make, self.cose, self.sign = make, cose, sign


ALGORITHMS = {
    -7: Algorithm(
        lambda: ec.generate_private_key(ec.SECP256R1()), ES256, lambda key, data: key.sign(data, ec.ECDSA(hashes.SHA256()))
    ),
    -35: Algorithm(
        lambda: ec.generate_private_key(ec.SECP384R1()), ES384, lambda key, data: key.sign(data, ec.ECDSA(hashes.SHA384()))
    ),
    -8: Algorithm(ed25519.Ed25519PrivateKey.generate, EdDSA, lambda key, data: key.sign(data)),
    -257: Algorithm(
        lambda: rsa.generate_private_key(65537, 2048),
        RS256,
        lambda key, data: key.sign(data, padding.PKCS1v15(), hashes.SHA256()),
    ),
}


class Passkey:
    """One credential and its authenticator, which verifies its user and counts. A test changes what it says of itself."""

    def __init__(self, algorithm=-7, *, flags=UP | UV, counts=True, aaguid=bytes(16), origin=ORIGIN):
        self.algorithm = algorithm
        self.flags = flags
        self.counts = counts
        self.aaguid = aaguid
        self.origin = origin
        self.sign_count = 0
        self.credential_id = os.urandom(32)
        self.key = ALGORITHMS[algorithm].make()
        self.rp_id = RP_ID
        self.user_handle = None
        #: Set when it is registered.
        self.binding = None

    def sign(self, data):
        return ALGORITHMS[self.algorithm].sign(self.key, data)

    def public_key(self):
        """In COSE."""
        return cbor.encode(ALGORITHMS[self.algorithm].cose.from_cryptography_key(self.key.public_key()))

    def client_data(self, kind, challenge, changes):
        data = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False} | changes
        # Without white space, as browsers write it.
        return json.dumps(data, separators=(",", ":")).encode()

    def authenticator_data(self, *, flags=None, rp_id=None, sign_count=None, credential=b""):
        if sign_count is None:
            self.sign_count += 1 if self.counts else 0
            sign_count = self.sign_count
        flags = self.flags if flags is None else flags
        return sha256((rp_id or self.rp_id).encode()) + struct.pack(">BI", flags, sign_count) + credential

    # Registering

    def create(self, options, *, client=None, flags=None, sign_count=None, rp_id=None, attestation=None, **changes):
        """What navigator.credentials.create returns for these options; `changes` are of the client data.

        `attestation`: makes format and statement of authenticator data and client data's hash.
        """
        options = json.loads(options)
        assert {"type": "public-key", "alg": self.algorithm} in options["pubKeyCredParams"]
        self.rp_id = options["rp"]["id"]
        self.user_handle = from_base64url(options["user"]["id"])
        client = client or self.client_data("webauthn.create", options["challenge"], changes)
        credential = self.aaguid + struct.pack(">H", len(self.credential_id)) + self.credential_id + self.public_key()
        flags = (self.flags if flags is None else flags) | AT
        data = self.authenticator_data(flags=flags, rp_id=rp_id, sign_count=sign_count, credential=credential)
        fmt, statement = attestation(self, data, sha256(client)) if attestation else ("none", {})
        return bindings_pb2.PasskeyRegistration(
            attestation_object=cbor.encode({"fmt": fmt, "attStmt": statement, "authData": data}),
            client_data_json=client,
            transports=["internal", "hybrid"],
        )

    # Logging in

    def get(self, options, *, client=None, flags=None, sign_count=None, rp_id=None, signed=None, **changes):
        """What navigator.credentials.get returns for these options; `changes` are of the client data."""
        options = json.loads(options)
        client = client or self.client_data("webauthn.get", options["challenge"], changes)
        data = self.authenticator_data(flags=flags, rp_id=rp_id, sign_count=sign_count)
        return evaluation_pb2.PasskeyProof(
            credential_id=self.credential_id,
            authenticator_data=data,
            client_data_json=client,
            signature=self.sign(signed or data + sha256(client)),
            user_handle=self.user_handle,
        )


def self_attested(passkey, data, client_data_hash):
    """The format packed, without certificates."""
    return "packed", {"alg": passkey.algorithm, "sig": passkey.sign(data + client_data_hash)}


class PasskeyCaller:
    """The steps of a relying service whose people have passkeys."""

    def __init__(self, caller):
        self.caller = caller

    def begin_registration(self, profile_id="alice", *, authenticated_at=None, **fields):
        passkey = bindings_pb2.NewPasskey(user_name=f"{profile_id}@shop.example", display_name="Alice")
        return self.caller.bindings.BeginBinding(
            bindings_pb2.BeginBindingRequest(
                application_id=self.caller.application_id,
                profile_id=profile_id,
                primary=primary_login(authenticated_at=authenticated_at),
                **{"passkey": passkey, **fields},
            )
        )

    def complete(self, begun, registration, name="Laptop", **fields):
        return self.caller.bindings.CompleteBinding(
            bindings_pb2.CompleteBindingRequest(
                application_id=self.caller.application_id,
                ticket=begun.ticket,
                device_name=name,
                passkey=registration,
                **fields,
            )
        )

    def register(self, passkey, profile_id="alice", **changes):
        """The whole of it; the passkey remembers its binding."""
        begun = self.begin_registration(profile_id)
        answer = self.complete(begun, passkey.create(begun.passkey_options, **changes))
        passkey.binding = answer.binding
        return answer.binding

    def begin(self, policy="login", **options):
        """For a `binding_id`, a `profile_id`, or nobody yet."""
        return self.caller.evaluations.BeginEvaluation(
            evaluation_pb2.BeginEvaluationRequest(
                application_id=self.caller.application_id, policy=policy, localized_reason="Log in", **options
            )
        )

    def submit(self, opened, proof):
        return self.caller.evaluations.SubmitAttempt(
            evaluation_pb2.SubmitAttemptRequest(
                application_id=self.caller.application_id, evaluation=opened.evaluation, passkey=proof
            )
        )

    def login(self, passkey, policy="login", *, changes=None, **options):
        """`changes`: of the assertion."""
        opened = self.begin(policy, **options)
        return self.submit(opened, passkey.get(opened.passkey_options, **(changes or {})))
