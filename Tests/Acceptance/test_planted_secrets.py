"""Secrets that are planted in calls and settings stay out of everything that operators read: log, metrics, traces."""

import base64
import json
import secrets

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from support.caller import gesture, passcode, primary_login
from support.collector import Collector
from support.credentials import Key, caller_with
from support.http import request
from support.phone import BIOMETRY, Phone
from support.server import make_keys, run
from support.stores import databases
from support.stubs import evaluation_pb2, types_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED


class Planted:
    """Texts and bytes by which a secret would be recognised, whatever form it is shown in."""

    def __init__(self):
        self._forms = {}

    def text(self, name):
        """A new one. No part of it is a word of anything else."""
        text = f"planted{secrets.token_hex(8)}"
        self.add(name, text.encode())
        return text

    def add(self, name, secret):
        """Bytes that the service knows or makes."""
        assert len(secret) >= 6
        coded = [base64.b64encode(secret), base64.urlsafe_b64encode(secret)]
        forms = [secret, secret.hex().encode(), secret.hex().upper().encode(), str(list(secret)).encode()]
        self._forms[name] = forms + [each.rstrip(b"=") for each in coded]

    def check(self, place, found):
        """`found`: the bytes that an operator sees there."""
        for name, forms in self._forms.items():
            for form in forms:
                assert form not in found, f"{place} shows {name}: {form!r}"


def keys_in(directory):
    """The content of each key file, without the names of its fields."""
    return [path.read_bytes().strip() for path in directory.rglob("*") if path.is_file()]


def raw(private_key):
    return private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def play(server, planted, known):
    """Binds, logs in, pays, guesses, changes secrets, makes mistakes: with something planted wherever a caller may write."""
    key = Key()
    planted.add("the caller's key", key.text.encode())
    caller = caller_with(server.channel(), "shop", known)
    stranger = caller_with(server.channel(), "shop", key)
    phone = Phone()
    planted.add("the phone's private key", raw(phone.keys[BIOMETRY]))
    profile = planted.text("the profile")
    planted.add("the device", phone.device_id.encode())
    begun = caller.begin_binding(phone, profile)
    planted.add("the ticket", begun.ticket)
    request = caller.completion(phone, begun)
    request.device_name = planted.text("the phone's name")
    phone.binding = caller.bindings.CompleteBinding(request).binding
    planted.add("the binding", phone.binding.binding_id.encode())

    login = caller.login(phone)
    assert login.outcome == SUCCEEDED
    plant_token(planted, "the login's token", login.token)
    payment = types_pb2.Transaction(
        amount="4.20", currency="EUR", payee=planted.text("the payee"), reference=planted.text("the reference")
    )
    opened = caller.begin(phone, "payment", transaction=payment)
    planted.add("the evaluation", opened.evaluation)
    attempt = caller.attempt(phone, opened)
    planted.add("the signature", attempt.key.signature)
    paid = caller.evaluations.SubmitAttempt(attempt)
    plant_token(planted, "the payment's token", paid.token)
    caller.consume(paid.token, payment)
    caller.consume(paid.token, payment)
    caller.introspect(login.token)
    caller.revoke_token(login.token)

    right, wrong = planted.text("the passcode"), planted.text("the wrong passcode")
    assert caller.set_secret(profile, passcode(right)).accepted
    points = [0, 1, 2, 5, 8, 7]
    planted.add("the gesture", bytes(points))
    assert caller.set_secret(profile, gesture(*points)).accepted
    for each in (passcode(wrong), passcode(right), gesture(*points)):
        caller.submit(phone, caller.begin(phone, profile_id=profile, policy="secrets"), secret=each)
    caller.set_secret(profile, passcode(planted.text("the new passcode")), old_secret=passcode(wrong))
    caller.fail(phone, 5)
    caller.unlock_device(phone.device_id, reason=planted.text("the reason of an unlocking"))

    for mistake in (
        lambda: stranger.login(phone),
        lambda: caller.begin(phone, planted.text("a policy")),
        lambda: caller.begin(phone, cancel_title=planted.text("a title") * 20),
        lambda: caller.get_binding(planted.text("an unknown binding")),
        lambda: caller.bindings.CompleteBinding(request),
        lambda: caller.set_secret(planted.text("another profile"), passcode("1"), primary=primary_login()),
    ):
        with pytest.raises(grpc.RpcError):
            mistake()
    caller.submit(phone, opened, evaluation=planted.text("no evaluation").encode())
    caller.introspect(planted.text("no token"))
    caller.revoke(phone.binding, reason=planted.text("the reason of a revocation"))
    caller.erase_profile(profile, reason=planted.text("the reason of an erasure"))


def plant_token(planted, name, token):
    planted.add(name, token.encode())
    for part, text in zip(["head", "claims", "signature"], token.split("."), strict=True):
        if part != "head":
            planted.add(f"{name}: {part}", text.encode())
    planted.add(f"{name}: jti", jwt.decode(token, options={"verify_signature": False})["jti"].encode())


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_no_secret_is_shown(start, tmp_path, log_format, store):
    planted, collector, known = Planted(), Collector(), Key()
    environment = {}
    if store == "postgresql":
        uri = databases().create_database(f"planted_{log_format}")
        uri += f"&password={planted.text('the password of the store')}"
        environment["TOUCHSTONE_STORE"] = uri
        assert run("migrate", environment=environment).returncode == 0
    make_keys(tmp_path / "data/keys")
    for number, content in enumerate(keys_in(tmp_path / "data/keys")):
        planted.add(f"key file {number}", content)
    planted.add("the known caller's key", known.text.encode())
    configuration = {
        "log": {"level": "trace", "format": log_format},
        "traces": {"endpoint": collector.endpoint, "sample": 1},
        "callers": [
            {"name": "shop", "keys": [known.digest], "applications": ["shop"], "methods": ["*"]},
        ],
        "policies": {"secrets": {"purpose": "login", "factors": ["passcode", "gesture"]}},
    }
    try:
        server = start(
            configuration=configuration,
            environment=environment,
            store="" if store == "postgresql" else None,
            arguments=["--http", "127.0.0.1:0"],
            http=1,
        )
        play(server, planted, known)
        metrics = request(server.urls[0], "/metrics").body
        server.terminate()
        log = server.errors
        assert log.count("evaluation.succeeded") >= 2 and "call.refused" in log
        if log_format == "json":
            assert all(json.loads(line) for line in log.splitlines())
        text, message = collector.text
        assert "SubmitAttempt" in text and b"touchstone_attempts_total" in metrics
        for place, found in [
            ("the log", log.encode()),
            ("/metrics", metrics),
            ("a span", text.encode()),
            ("a span's bytes", message),
        ]:
            planted.check(place, found)
    finally:
        collector.close()


def test_a_search_that_finds_nothing_would_find_it():
    planted = Planted()
    secret = planted.text("a secret")
    for form in (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode()):
        with pytest.raises(AssertionError, match="the log shows a secret"):
            planted.check("the log", f"info login {form}\n".encode())
