"""Tokens: verified offline by PyJWT and the published keys, and asked about online (R32, R40)."""

import base64
import hashlib
import json
import time

import jwt
import pytest

from support.caller import COFFEE, new_caller, passcode
from support.phone import BIOMETRY, DEVICE_OWNER, Phone
from support.stubs import tokens_pb2, types_pb2

LOGIN_TOKEN_SECONDS = 300
PAYMENT_TOKEN_SECONDS = 120
MAXIMUM_ISSUER_BYTES = 256


def key_set(caller):
    response = caller.tokens.GetSigningKeys(tokens_pb2.GetSigningKeysRequest())
    return json.loads(response.jwk_set)


def verified(caller, token, audience=None, typ="JWT"):
    """The claims, as a service sees them that knows the published keys alone."""
    header = jwt.get_unverified_header(token)
    if header["typ"] != typ:
        raise jwt.InvalidTokenError(f"a token of the type {header['typ']}")
    key = jwt.PyJWKSet.from_dict(key_set(caller))[header["kid"]]
    return jwt.decode(
        token,
        key,
        algorithms=["ES256"],
        audience=audience or caller.application_id,
        options={"require": ["iss", "aud", "sub", "iat", "exp", "jti"]},
    )


def verified_payment(caller, token):
    return verified(caller, token, audience=f"{caller.application_id}/payment", typ="payment+jwt")


def test_a_login_token_verifies_offline(caller, phone):
    answer = caller.login(phone)
    header = jwt.get_unverified_header(answer.token)
    assert set(header) == {"typ", "alg", "kid"}
    assert (header["typ"], header["alg"]) == ("JWT", "ES256")

    claims = verified(caller, answer.token)
    assert claims["iss"] == "touchstone"
    assert claims["aud"] == caller.application_id
    assert claims["sub"] == phone.binding.profile_id
    assert claims["acr"] == "login"
    assert claims["amr"] == ["hwk", "fpt"]
    assert claims["bnd"] == phone.binding.binding_id
    assert "txn" not in claims
    assert "single_use" not in claims
    assert abs(claims["iat"] - time.time()) < 30
    assert claims["exp"] == claims["iat"] + LOGIN_TOKEN_SECONDS == answer.token_expires_at.seconds


def test_an_issuer_of_ones_own(start):
    issuer = "https://touchstone.example/" + "x" * 229
    assert len(issuer) == MAXIMUM_ISSUER_BYTES
    caller, phone = new_caller(start(configuration={"issuer": issuer})), Phone()
    caller.bind(phone)
    assert verified(caller, caller.login(phone).token)["iss"] == issuer


def test_a_payment_token_names_its_transaction(caller, phone):
    tea = types_pb2.Transaction(amount="3.10", currency="EUR", payee="Café Touchstone", reference="order-1")
    coffee, coffee_again, other = (
        verified_payment(caller, caller.pay(phone, transaction).token) for transaction in (COFFEE, COFFEE, tea)
    )
    assert len(base64.urlsafe_b64decode(coffee["txn"] + "=")) == hashlib.sha256().digest_size
    assert coffee["txn"] == coffee_again["txn"] != other["txn"]
    assert len({coffee["jti"], coffee_again["jti"], other["jti"]}) == 3
    assert coffee["acr"] == "payment"
    assert coffee["exp"] == coffee["iat"] + PAYMENT_TOKEN_SECONDS


def test_no_verifier_takes_a_token_of_the_other_use_offline(caller, phone):
    """R40: by the type, and by the audience alone, which every JWT library compares; nothing else tells it offline."""
    login = caller.login(phone).token
    with pytest.raises(jwt.InvalidTokenError):
        verified_payment(caller, login)
    with pytest.raises(jwt.InvalidAudienceError):
        verified(caller, login, audience=f"{caller.application_id}/payment")
    token = caller.pay(phone).token
    with pytest.raises(jwt.InvalidTokenError):
        verified(caller, token)
    with pytest.raises(jwt.InvalidAudienceError):
        verified(caller, token, typ="payment+jwt")
    assert verified_payment(caller, token)["single_use"] is True


ONCE = {"policies": {"step_up": {"purpose": "login", "factors": ["biometry"], "token": {"single_use": True}}}}


def test_a_login_token_that_serves_once_has_an_audience_of_its_own(start):
    caller, phone = new_caller(start(configuration=ONCE)), Phone()
    caller.bind(phone)
    token = caller.submit(phone, caller.begin(phone, "step_up")).token
    with pytest.raises(jwt.InvalidAudienceError):
        verified(caller, token, typ="once+jwt")
    claims = verified(caller, token, audience=f"{caller.application_id}/once", typ="once+jwt")
    assert claims["single_use"] is True
    assert "txn" not in claims
    assert caller.introspect(token).claims.single_use
    assert caller.consume(token, None).consumed
    assert caller.consume(token, None).reason == "ALREADY_CONSUMED"


# Introspection


def test_introspection_tells_what_the_token_holds(caller, phone):
    token = caller.login(phone).token
    offline = verified(caller, token)
    answer = caller.introspect(token)
    assert answer.active
    claims = answer.claims
    assert claims.token_id == offline["jti"]
    assert claims.application_id == offline["aud"]
    assert claims.profile_id == offline["sub"]
    assert claims.binding_id == offline["bnd"]
    assert claims.policy == offline["acr"]
    assert list(claims.methods) == offline["amr"]
    assert (claims.issued_at.seconds, claims.expires_at.seconds) == (offline["iat"], offline["exp"])
    assert not claims.HasField("transaction")
    assert not claims.single_use


def assert_inactive(answer):
    assert answer == tokens_pb2.IntrospectTokenResponse()


def test_another_application_revokes_nothing(caller, other_caller, phone):
    token = caller.login(phone).token
    other_caller.revoke_token(token)
    assert caller.introspect(token).active


# What was shown (RFC 8176), and what the token ends with

METHODS = {
    "touch id": (types_pb2.BIOMETRY_TYPE_TOUCH_ID, BIOMETRY, ["hwk", "fpt"]),
    "face id": (types_pb2.BIOMETRY_TYPE_FACE_ID, BIOMETRY, ["hwk", "face"]),
    "optic id": (types_pb2.BIOMETRY_TYPE_OPTIC_ID, BIOMETRY, ["hwk", "iris"]),
    "voice": (types_pb2.BIOMETRY_TYPE_VOICE, BIOMETRY, ["hwk", "vbm"]),
    "device owner": (types_pb2.BIOMETRY_TYPE_TOUCH_ID, DEVICE_OWNER, ["hwk", "user"]),
}


@pytest.mark.parametrize(("biometry_type", "factor", "methods"), METHODS.values(), ids=METHODS)
def test_a_token_says_what_was_shown_and_what_unlocked_it(caller, biometry_type, factor, methods):
    phone = Phone(BIOMETRY, DEVICE_OWNER)
    phone.biometry_type = biometry_type
    caller.bind(phone)
    answer = caller.submit(phone, caller.begin(phone), factor=factor)
    assert verified(caller, answer.token)["amr"] == methods
    assert list(caller.introspect(answer.token).claims.methods) == methods


def test_a_token_with_a_binding_ends_with_that_alone(caller, phone):
    profile_id = phone.binding.profile_id
    caller.set_secret(profile_id, passcode("2468"))
    token = caller.submit(phone, caller.begin(phone), secret=passcode("2468")).token
    claims = verified(caller, token)
    assert (claims["amr"], claims["bnd"]) == (["pin"], phone.binding.binding_id)
    caller.set_secret(profile_id, passcode("1357"))
    assert caller.introspect(token).active
    caller.revoke(phone.binding)
    assert_inactive(caller.introspect(token))


def test_a_token_signed_by_a_stranger_is_inactive(caller, phone):
    token = caller.login(phone).token
    claims = jwt.decode(token, options={"verify_signature": False})
    forged = jwt.encode(claims, Phone().keys[BIOMETRY], "ES256", headers=jwt.get_unverified_header(token))
    assert_inactive(caller.introspect(forged))
