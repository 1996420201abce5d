"""A backend's first login by the installed wheel alone: binds a phone, which this program plays, and logs it in, in the caller's trace.

    python first_login.py TARGET TRACEPARENT        prints the profile and the token
"""

import os
import sys
import time
import uuid

import grpc
import touchstone
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from touchstone.v1 import bindings_pb2, evaluation_pb2, types_pb2


class Traced(grpc.UnaryUnaryClientInterceptor):
    def __init__(self, traceparent):
        self._header = ("traceparent", traceparent)

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(details._replace(metadata=[*(details.metadata or []), self._header]), request)


class Phone:
    def __init__(self):
        self.device_id = str(uuid.uuid4())
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.posture = types_pb2.DevicePosture(
            platform="ios",
            os_version="17.4",
            biometry_type="BIOMETRY_TYPE_TOUCH_ID",
            biometry_available=True,
            biometry_enrolled=True,
            passcode_set=True,
            domain_state=os.urandom(32),
        )

    def sign(self, signing_input):
        return self._key.sign(signing_input, ec.ECDSA(hashes.SHA256()))

    def hardware_key(self, signing_input):
        formats = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        return {
            "public_key": self._key.public_key().public_bytes(*formats),
            "protection": "KEY_PROTECTION_BIOMETRY_CURRENT_SET",
            "signature": self.sign(signing_input),
        }


def bind(client, phone):
    """After the backend verified the person's password."""
    password = bindings_pb2.PrimaryAuthentication(method="password")
    password.authenticated_at.FromNanoseconds(time.time_ns())
    begun = client.begin_binding(profile_id="alice", device_id=phone.device_id, primary=password, posture=phone.posture)
    keys = [phone.hardware_key(begun.signing_input)]
    return client.complete_binding(ticket=begun.ticket, device_name="Phone", keys=keys, posture=phone.posture).binding


def log_in(client, phone, binding):
    begun = client.begin_evaluation(
        policy="login", binding_id=binding.binding_id, localized_reason="Log in to the shop", posture=phone.posture
    )
    proof = {"signature": phone.sign(begun.signing_input), "factor": "FACTOR_BIOMETRY"}
    answer = client.submit_attempt(evaluation=begun.evaluation, posture=phone.posture, key=proof)
    if answer.outcome != evaluation_pb2.OUTCOME_SUCCEEDED:
        sys.exit(answer.message.text)
    return answer


def main(target, traceparent):
    phone = Phone()
    with touchstone.Client(target, application_id="shop", interceptors=[Traced(traceparent)]) as client:
        answer = log_in(client, phone, bind(client, phone))
    print(answer.profile_id, answer.token)


main(*sys.argv[1:])
