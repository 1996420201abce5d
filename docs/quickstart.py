"""Binds a phone, logs in, pays and recovers, as a backend does. Run it in the repository, beside `make run`:
    python3 -m venv .build-quickstart && . .build-quickstart/bin/activate  # Debian: needs python3-venv
    pip install grpcio-tools cryptography
    python -m grpc_tools.protoc -IProtos --python_out=$VIRTUAL_ENV --grpc_python_out=$VIRTUAL_ENV Protos/touchstone/v1/*.proto
    PYTHONPATH=$VIRTUAL_ENV python docs/quickstart.py
"""
import os, sys, time, uuid  # noqa: E401
import grpc
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from touchstone.v1 import bindings_pb2, bindings_pb2_grpc, evaluation_pb2, evaluation_pb2_grpc
from touchstone.v1 import secrets_pb2, secrets_pb2_grpc, tokens_pb2, tokens_pb2_grpc, types_pb2

target = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7443"
channel = grpc.insecure_channel(target, [("grpc.enable_http_proxy", 0)])  # no proxy gets a call in plaintext
bindings, evaluations = bindings_pb2_grpc.BindingServiceStub(channel), evaluation_pb2_grpc.EvaluationServiceStub(channel)
secrets, tokens = secrets_pb2_grpc.SecretServiceStub(channel), tokens_pb2_grpc.TokenServiceStub(channel)

# The phone's part. In an app the key lives in the Secure Enclave, and a finger unlocks each signature.
key = ec.generate_private_key(ec.SECP256R1())
public_key = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
posture = types_pb2.DevicePosture(  # what the app reads from LAContext
    platform="ios", os_version="17.4", biometry_type="BIOMETRY_TYPE_TOUCH_ID", biometry_available=True,
    biometry_enrolled=True, passcode_set=True, domain_state=os.urandom(32))
def sign(message): return key.sign(message, ec.ECDSA(hashes.SHA256()))
def finger(message): return {"key": evaluation_pb2.KeyProof(signature=sign(message), factor="FACTOR_BIOMETRY")}

# Your backend's part. It has just checked Alice's password, and binds her phone.
shop, alice = {"application_id": "shop", "posture": posture}, f"alice-{uuid.uuid4()}"
primary = bindings_pb2.PrimaryAuthentication(method="password")
primary.authenticated_at.FromNanoseconds(time.time_ns())
begun = bindings.BeginBinding(bindings_pb2.BeginBindingRequest(
    **shop, profile_id=alice, device_id=str(uuid.uuid4()), primary=primary))
proof_of_possession = bindings_pb2.HardwareKey(
    public_key=public_key, protection="KEY_PROTECTION_BIOMETRY_CURRENT_SET", signature=sign(begun.signing_input))
binding_id = bindings.CompleteBinding(bindings_pb2.CompleteBindingRequest(
    **shop, ticket=begun.ticket, device_name="Alice's phone", keys=[proof_of_possession])).binding.binding_id
passcode = evaluation_pb2.PasscodeProof(passcode="271828")  # with it Alice can recover later
secret = secrets_pb2.Secret(passcode=passcode)
secrets.SetSecret(secrets_pb2.SetSecretRequest(
    application_id="shop", profile_id=alice, secret=secret, confirmation=secret, primary=primary))

def evaluate(policy, prove=finger, **terms):
    begun = evaluations.BeginEvaluation(evaluation_pb2.BeginEvaluationRequest(
        **shop, policy=policy, binding_id=binding_id, localized_reason="Continue in the shop", **terms))
    answer = evaluations.SubmitAttempt(evaluation_pb2.SubmitAttemptRequest(
        **shop, evaluation=begun.evaluation, **prove(begun.signing_input)))  # from the phone
    print(policy, evaluation_pb2.Outcome.Name(answer.outcome))
    return answer.token

evaluate("login")
# A payment's token serves once, for this transaction alone.
coffee = types_pb2.Transaction(amount="3.20", currency="EUR", payee="Coffee Bar", reference=str(uuid.uuid4()))
token = evaluate("payment", transaction=coffee)
payment = tokens_pb2.ConsumeTokenRequest(application_id="shop", token=token, transaction=coffee)
print("paid", tokens.ConsumeToken(payment).consumed, "and again", tokens.ConsumeToken(payment).consumed)
for _ in range(5):  # wrong signatures, until biometrics are locked
    evaluate("login", lambda signing_input: finger(b"something else"))
evaluate("login", lambda signing_input: {"passcode": passcode})  # unlocks them
evaluate("login")
