"""Passkeys: registered, found by themselves, logging in and paying; and what attackers send in their place (R46, R47)."""

import base64
import hashlib
import json
from concurrent import futures

import fido2.server
import fido2.webauthn
import grpc
import jwt
import pytest
import webauthn
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from fido2 import cbor
from fido2.cose import ES256
from soft_webauthn import SoftWebauthnDevice

from support.caller import COFFEE, new_caller, seconds_from_now
from support.errors import check_refusal, noted, refused, violated_fields
from support.passkeys import (
    AT,
    BE,
    BS,
    ORIGIN,
    RP_ID,
    UP,
    UV,
    Passkey,
    PasskeyCaller,
    base64url,
    from_base64url,
    self_attested,
    served,
    sha256,
)
from support.phone import Phone
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
TRY_AGAIN = evaluation_pb2.OUTCOME_TRY_AGAIN
PASSKEY = types_pb2.FACTOR_PASSKEY
APP = "shop"


@pytest.fixture
def server(start):
    return start(configuration=served(APP))


@pytest.fixture
def caller(server):
    return new_caller(server, APP)


@pytest.fixture
def shop(caller):
    return PasskeyCaller(caller)


@pytest.fixture
def passkey(shop):
    """One of alice's, registered."""
    passkey = Passkey()
    shop.register(passkey)
    return passkey


def serving(start, **settings):
    return PasskeyCaller(new_caller(start(configuration=served(APP, **settings)), APP))


def last_event(shop):
    event = shop.caller.events()[-1]
    return event.kind, event.details.get("reason")


def check_wrong(shop, answer, reason):
    """As any wrong proof; the event alone has the reason."""
    assert (answer.outcome, answer.la_error) == (TRY_AGAIN, types_pb2.LA_ERROR_AUTHENTICATION_FAILED)
    assert (answer.attempts_left, answer.token, answer.profile_id) == (2, "", "")
    assert answer.message.text == "That passkey didn't match. Please try again."
    assert last_event(shop) == ("evaluation.failed", reason)


# Registering


def test_a_passkey_is_a_binding(shop, passkey):
    binding = passkey.binding
    assert (binding.credential, binding.device_name) == (bindings_pb2.CREDENTIAL_KIND_PASSKEY, "Laptop")
    assert binding.device_id == "passkey:" + base64url(hashlib.sha256(passkey.credential_id).digest())
    assert binding.attestation_level == types_pb2.ATTESTATION_LEVEL_NONE
    assert binding.passkey == bindings_pb2.Passkey(
        credential_id=passkey.credential_id,
        algorithm=-7,
        aaguid=bytes(16),
        transports=["internal", "hybrid"],
    )
    assert shop.caller.get_binding(binding.binding_id) == binding
    assert list(shop.caller.list_bindings("alice").bindings) == [binding]
    assert last_event(shop) == ("binding.created", None)


def test_the_options_are_what_browsers_take(shop, passkey):
    begun = shop.begin_registration()
    options = json.loads(begun.passkey_options)
    assert from_base64url(options["challenge"]) == hashlib.sha256(begun.signing_input).digest()
    assert options["rp"] == {"id": RP_ID, "name": RP_ID}
    assert options["user"]["name"] == "alice@shop.example"
    assert options["excludeCredentials"] == [
        {"type": "public-key", "id": base64url(passkey.credential_id), "transports": ["internal", "hybrid"]}
    ]
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert [one["alg"] for one in options["pubKeyCredParams"]] == [-7, -35, -8, -257]
    # By other people's readers.
    fido2.webauthn.PublicKeyCredentialCreationOptions.from_dict(options)
    # It has no number for ES384 on P-384, and refuses what it does not know.
    options["pubKeyCredParams"] = [one for one in options["pubKeyCredParams"] if one["alg"] != -35]
    assert webauthn.helpers.parse_registration_options_json(options).rp.id == RP_ID

    opened = shop.begin()
    assert opened.factors[-1] == PASSKEY
    request = json.loads(opened.passkey_options)
    assert from_base64url(request["challenge"]) == hashlib.sha256(opened.signing_input).digest()
    webauthn.helpers.parse_authentication_options_json(request)
    fido2.webauthn.PublicKeyCredentialRequestOptions.from_dict(request)


def test_names_that_need_escapes(shop):
    name = 'al"ice\\</script> "\u5f20\u4f1f"'
    begun = shop.begin_registration(passkey=bindings_pb2.NewPasskey(user_name=name))
    user = json.loads(begun.passkey_options)["user"]
    assert (user["name"], user["displayName"]) == (name, name)


def test_a_profile_has_many(shop, passkey):
    """They share a user handle, which tells nothing of the profile and is another one for each profile."""
    other, bobs = Passkey(), Passkey()
    shop.register(other)
    shop.register(bobs, "bob")
    assert other.user_handle == passkey.user_handle != bobs.user_handle
    # Wrappers read it as text, or as the other base64.
    assert len(passkey.user_handle) <= 64 and passkey.user_handle.isalnum()
    assert base64.b64encode(passkey.user_handle) == base64.urlsafe_b64encode(passkey.user_handle)
    assert not base64.b64encode(passkey.user_handle).endswith(b"=")
    for held, profile in [(passkey, "alice"), (other, "alice"), (bobs, "bob")]:
        assert shop.login(held).profile_id == profile


def test_every_offered_algorithm(shop):
    for algorithm in (-7, -35, -8, -257):
        passkey = Passkey(algorithm)
        assert shop.register(passkey).passkey.algorithm == algorithm
        assert shop.login(passkey).outcome == SUCCEEDED
        wrong = Passkey(algorithm)
        wrong.credential_id, wrong.user_handle = passkey.credential_id, passkey.user_handle
        check_wrong(shop, shop.login(wrong), "SIGNATURE_INVALID")


def test_it_is_still_known_after_a_restart(start, server, shop, passkey):
    server.terminate()
    again = PasskeyCaller(new_caller(start(configuration=served(APP)), APP))
    assert again.caller.get_binding(passkey.binding.binding_id) == passkey.binding
    assert again.login(passkey).profile_id == "alice"


def test_fields_of_a_beginning(shop):
    for changes, field in [
        ({"device_id": "an id of some device"}, "device_id"),
        ({"passkey": bindings_pb2.NewPasskey()}, "passkey.user_name"),
        ({"passkey": bindings_pb2.NewPasskey(user_name="a" * 257)}, "passkey.user_name"),
        ({"passkey": bindings_pb2.NewPasskey(user_name="a", display_name="a" * 257)}, "passkey.display_name"),
    ]:
        with refused(INVALID_ARGUMENT, field=field):
            shop.begin_registration(**changes)


def test_no_device_has_the_id_of_a_passkey(caller):
    phone = Phone()
    phone.device_id = "passkey:" + base64url(bytes(range(32)))
    with refused(INVALID_ARGUMENT, field="device_id"):
        caller.begin_binding(phone, "alice")


def test_an_application_without_passkeys(server):
    other = PasskeyCaller(new_caller(server, "other"))
    with refused(FAILED_PRECONDITION, reason="PASSKEYS_NOT_SERVED"):
        other.begin_registration()
    assert last_event(other) == ("binding.denied", "PASSKEYS_NOT_SERVED")
    phone = Phone()
    other.caller.bind(phone)
    opened = other.caller.begin(phone)
    assert (PASSKEY in opened.factors, opened.passkey_options) == (False, "")
    # Without passkeys, a posture is required.
    with refused(INVALID_ARGUMENT, field="posture"):
        other.begin()
    stranger = Passkey()
    answer = other.submit(opened, stranger.get(json.dumps({"challenge": "AAAA"})))
    assert answer.outcome == evaluation_pb2.OUTCOME_FACTOR_REQUIRED


def test_tickets_of_the_other_kind(shop, caller):
    passkey, phone = Passkey(), Phone()
    begun = shop.begin_registration()
    with refused(INVALID_ARGUMENT, field="passkey"):
        caller.bindings.CompleteBinding(caller.completion(phone, begun))
    device = caller.begin_binding(phone, "alice")
    with refused(INVALID_ARGUMENT, field="passkey"):
        shop.complete(device, passkey.create(begun.passkey_options))
    with refused(INVALID_ARGUMENT, field="passkey"):
        shop.complete(begun, passkey.create(begun.passkey_options), keys=phone.hardware_keys(b""))


def test_the_authenticators_own_signature_is_a_level(shop):
    passkey = Passkey()
    binding = shop.register(passkey, attestation=self_attested)
    assert binding.attestation_level == types_pb2.ATTESTATION_LEVEL_SELF_ATTESTED
    assert binding.key_attestations[0].facts["format"] == "packed"
    token = shop.login(passkey).token
    assert jwt.decode(token, options={"verify_signature": False})["att"] == "self"
    explained = shop.caller.explain(shop.caller.beginning(Phone(), binding_id=binding.binding_id))
    assert explained.attestation_level == types_pb2.ATTESTATION_LEVEL_SELF_ATTESTED


# Logging in


def test_a_login_without_a_user_name(shop, passkey):
    answer = shop.login(passkey)
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, "alice")
    claims = jwt.decode(answer.token, options={"verify_signature": False})
    assert (claims["sub"], claims["bnd"], claims["amr"]) == ("alice", passkey.binding.binding_id, ["pop", "user", "mfa"])
    assert "att" not in claims
    event = shop.caller.events()[-1]
    assert (event.kind, event.profile_id, event.binding_id) == (
        "evaluation.succeeded",
        "alice",
        passkey.binding.binding_id,
    )
    assert event.details["factor"] == "passkey"
    assert shop.caller.introspect(answer.token).active
    assert shop.caller.get_binding(passkey.binding.binding_id).last_used_at.seconds


def test_a_login_that_names_the_profile_or_the_binding(shop, passkey):
    for named in ({"profile_id": "alice"}, {"binding_id": passkey.binding.binding_id}):
        assert shop.login(passkey, **named).profile_id == "alice"
        passkey.user_handle, handle = b"", passkey.user_handle
        assert shop.login(passkey, **named).outcome == SUCCEEDED
        passkey.user_handle = handle


def test_a_revoked_one_serves_no_more(shop, passkey):
    token = shop.login(passkey).token
    shop.caller.revoke(passkey.binding)
    check_wrong(shop, shop.login(passkey), "PASSKEY_UNKNOWN")
    check_wrong(shop, shop.login(passkey, profile_id="alice"), "PASSKEY_UNKNOWN")
    assert shop.begin(binding_id=passkey.binding.binding_id).denial.reason == "BINDING_REVOKED"
    assert not shop.caller.introspect(token).active
    # Its authenticator may make another, and the same one may be registered again.
    assert json.loads(shop.begin_registration().passkey_options)["excludeCredentials"] == []
    shop.register(passkey)
    assert shop.login(passkey).outcome == SUCCEEDED


def test_an_erased_profile_has_none(shop, passkey):
    shop.caller.erase_profile("alice")
    check_wrong(shop, shop.login(passkey), "PASSKEY_UNKNOWN")


def test_three_wrong_ones_end_the_evaluation_and_lock_nothing(shop, passkey):
    for _ in range(3):
        opened = shop.begin(binding_id=passkey.binding.binding_id)
        for outcome in [TRY_AGAIN, TRY_AGAIN, evaluation_pb2.OUTCOME_FAILED, evaluation_pb2.OUTCOME_INVALID_CONTEXT]:
            answer = shop.submit(opened, passkey.get(opened.passkey_options, signed=b"another"))
            assert answer.outcome == outcome
    assert shop.login(passkey).outcome == SUCCEEDED


# Paying


def test_a_payment(shop, passkey):
    answer = shop.login(passkey, "payment", transaction=COFFEE)
    assert answer.outcome == SUCCEEDED
    assert shop.caller.consume(answer.token).consumed
    claims = jwt.decode(answer.token, options={"verify_signature": False})
    assert claims["aud"] == f"{APP}/payment"


def test_a_payment_requires_verification_whatever_the_setting_says(start):
    shop = serving(start, passkeys={"user_verification": "preferred"})
    passkey = Passkey(flags=UP)
    shop.register(passkey)
    assert shop.login(passkey).outcome == SUCCEEDED
    opened = shop.begin("payment", transaction=COFFEE)
    assert json.loads(opened.passkey_options)["userVerification"] == "required"
    check_wrong(shop, shop.submit(opened, passkey.get(opened.passkey_options)), "USER_NOT_VERIFIED")
    assert shop.login(passkey, "payment", transaction=COFFEE, changes={"flags": UP | UV}).outcome == SUCCEEDED


def test_the_proof_is_of_its_transaction(shop, passkey):
    dear = type(COFFEE)()
    dear.CopyFrom(COFFEE)
    dear.amount = "4200"
    cheap, opened = shop.begin("payment", transaction=COFFEE), shop.begin("payment", transaction=dear)
    check_wrong(shop, shop.submit(opened, passkey.get(cheap.passkey_options)), "CHALLENGE_DIFFERS")


# Attacks on a login


#: What the client or the authenticator sends, and the event's reason.
WRONG_ASSERTIONS = [
    ({"origin": "https://shop.example.evil.example"}, "ORIGIN_DIFFERS"),
    ({"origin": "http://shop.example"}, "ORIGIN_DIFFERS"),
    ({"origin": "https://shop.example:8443"}, "ORIGIN_DIFFERS"),
    ({"origin": "android:apk-key-hash:AAAA"}, "ORIGIN_DIFFERS"),
    ({"crossOrigin": True}, "CROSS_ORIGIN"),
    ({"topOrigin": "https://evil.example"}, "CROSS_ORIGIN"),
    ({"type": "webauthn.create"}, "TYPE_DIFFERS"),
    ({"challenge": base64url(bytes(32))}, "CHALLENGE_DIFFERS"),
    ({"rp_id": "evil.example"}, "APPLICATION_DIFFERS"),
    ({"flags": UV}, "USER_NOT_PRESENT"),
    ({"flags": UP}, "USER_NOT_VERIFIED"),
    ({"flags": UP | UV | BE}, "BACKUP_FLAGS_CONTRADICT"),
    ({"flags": UP | UV | BS}, "BACKUP_FLAGS_CONTRADICT"),
    ({"flags": UP | UV | AT}, "MALFORMED_AUTHENTICATOR_DATA"),
    ({"signed": b"something else"}, "SIGNATURE_INVALID"),
    ({"client": b"{}"}, "MALFORMED_CLIENT_DATA"),
    ({"client": b"[" * 4_000}, "MALFORMED_CLIENT_DATA"),
]


def test_an_assertion_that_is_wrong(shop, passkey):
    for changes, reason in WRONG_ASSERTIONS:
        with noted(f"{changes}"):
            check_wrong(shop, shop.login(passkey, changes=changes), reason)
    assert shop.login(passkey).outcome == SUCCEEDED


def test_a_synced_passkey_stays_one(shop):
    """BE never changes; BS may."""
    passkey = Passkey(flags=UP | UV | BE)
    assert shop.register(passkey).passkey.backup_eligible
    check_wrong(shop, shop.login(passkey, changes={"flags": UP | UV}), "BACKUP_FLAGS_CONTRADICT")
    assert shop.login(passkey, changes={"flags": UP | UV | BE | BS}).outcome == SUCCEEDED


def test_whether_there_is_a_copy_is_as_of_the_latest_login(shop):
    passkey = Passkey(flags=UP | UV | BE | BS)
    binding = shop.register(passkey)

    def backed_up():
        return shop.caller.get_binding(binding.binding_id).passkey.backed_up

    assert binding.passkey.backed_up and backed_up()
    assert shop.login(passkey, changes={"flags": UP | UV | BE}).outcome == SUCCEEDED
    assert not backed_up()
    # A wrong one says nothing.
    check_wrong(shop, shop.login(passkey, changes={"signed": b"other"}), "SIGNATURE_INVALID")
    assert not backed_up()
    assert shop.login(passkey).outcome == SUCCEEDED
    assert backed_up()
    # It is written beside the sign count.
    assert shop.login(passkey, binding_id=binding.binding_id).outcome == SUCCEEDED
    check_wrong(shop, shop.login(passkey, changes={"sign_count": passkey.sign_count}), "COUNTER_NOT_GROWN")


def test_a_policy_takes_device_bound_ones_alone(start):
    policies = {"bound": {"purpose": "login", "factors": ["passkey"], "passkeys": "device_bound"}}
    shop = PasskeyCaller(new_caller(start(configuration=served(APP) | {"policies": policies}), APP))
    copied, bound = Passkey(flags=UP | UV | BE), Passkey()
    shop.register(copied)
    shop.register(bound)
    assert shop.login(bound, "bound").outcome == SUCCEEDED
    assert shop.login(bound, "bound", binding_id=bound.binding.binding_id).outcome == SUCCEEDED

    denial = shop.begin("bound", binding_id=copied.binding.binding_id).denial
    assert (denial.reason, denial.la_error) == ("KEY_NOT_DEVICE_BOUND", types_pb2.LA_ERROR_BIOMETRY_NOT_AVAILABLE)
    assert denial.message.text.startswith("For this, you need a passkey that stays on one device")
    answer = shop.login(copied, "bound", profile_id="alice")
    assert (answer.outcome, answer.token) == (evaluation_pb2.OUTCOME_FACTOR_REQUIRED, "")
    assert last_event(shop) == ("evaluation.factor_required", "KEY_NOT_DEVICE_BOUND")
    # One that says of itself that it cannot be copied is a wrong proof.
    check_wrong(shop, shop.login(copied, "bound", changes={"flags": UP | UV}), "BACKUP_FLAGS_CONTRADICT")
    assert shop.login(copied).outcome == SUCCEEDED

    explained = shop.caller.explain(
        evaluation_pb2.BeginEvaluationRequest(
            application_id=APP, policy="bound", binding_id=copied.binding.binding_id
        )
    )
    assert explained.answer.denial.reason == "KEY_NOT_DEVICE_BOUND"
    assert any(row.rule == "R46" and not row.passed and "copied" in row.detail for row in explained.trace)


def test_the_token_says_whether_the_person_was_verified(start):
    shop = serving(start, passkeys={"user_verification": "preferred"})
    passkey = Passkey(flags=UP)
    shop.register(passkey)
    for flags, methods in [(UP, ["pop", "user"]), (UP | UV, ["pop", "user", "mfa"])]:
        answer = shop.login(passkey, changes={"flags": flags})
        assert list(shop.caller.introspect(answer.token).claims.methods) == methods


def test_device_bound_ones_alone(start):
    shop = serving(start, passkeys={"device_bound": True})
    begun = shop.begin_registration()
    with refused(INVALID_ARGUMENT, field="passkey"):
        shop.complete(begun, Passkey(flags=UP | UV | BE).create(begun.passkey_options))
    assert last_event(shop) == ("binding.refused", "KEY_NOT_DEVICE_BOUND")
    shop.register(Passkey())


def test_an_unknown_one_looks_like_a_wrong_one(shop, passkey):
    """To whoever asks without a name, with a profile's, with a binding's; the events differ."""
    stranger = Passkey()
    stranger.user_handle = passkey.user_handle
    for named in ({}, {"profile_id": "alice"}, {"profile_id": "nobody"}, {"binding_id": passkey.binding.binding_id}):
        wrong, unknown = shop.begin(**named), shop.begin(**named)
        for opened in (wrong, unknown):
            # The challenge is another one each time.
            options = json.loads(opened.passkey_options)
            del options["challenge"]
            assert options == {
                "timeout": 120_000,
                "rpId": RP_ID,
                "allowCredentials": [],
                "userVerification": "required",
            }
        answers = [
            shop.submit(wrong, passkey.get(wrong.passkey_options, signed=b"wrong")),
            shop.submit(unknown, stranger.get(unknown.passkey_options)),
        ]
        assert answers[0] == answers[1]


def test_the_credential_of_another_profile(shop, passkey):
    bobs = Passkey()
    shop.register(bobs, "bob")
    check_wrong(shop, shop.login(bobs, profile_id="alice"), "PASSKEY_OF_ANOTHER")
    check_wrong(shop, shop.login(bobs, binding_id=passkey.binding.binding_id), "PASSKEY_OF_ANOTHER")
    bobs.user_handle = passkey.user_handle
    check_wrong(shop, shop.login(bobs), "USER_HANDLE_DIFFERS")
    bobs.user_handle = b""
    check_wrong(shop, shop.login(bobs), "USER_HANDLE_DIFFERS")


def test_a_phones_binding_is_no_passkey(shop, caller, passkey):
    phone = Phone()
    caller.bind(phone, "alice")
    opened = caller.begin(phone)
    assert PASSKEY not in opened.factors
    proof = passkey.get(json.dumps({"challenge": base64url(sha256(opened.signing_input))}))
    assert shop.submit(opened, proof).outcome == TRY_AGAIN


def test_another_applications_passkey(start):
    configuration = {"applications": {**served(APP)["applications"], **served("bank")["applications"]}}
    server = start(configuration=configuration)
    shop, bank = (PasskeyCaller(new_caller(server, name)) for name in (APP, "bank"))
    passkey = Passkey()
    shop.register(passkey)
    check_wrong(bank, bank.login(passkey), "PASSKEY_UNKNOWN")
    assert shop.login(passkey).outcome == SUCCEEDED


def test_a_replayed_assertion(shop, passkey):
    opened = shop.begin()
    proof = passkey.get(opened.passkey_options)
    assert shop.submit(opened, proof).outcome == SUCCEEDED
    assert shop.submit(opened, proof).outcome == evaluation_pb2.OUTCOME_INVALID_CONTEXT
    check_wrong(shop, shop.submit(shop.begin(), proof), "CHALLENGE_DIFFERS")


def test_a_cloned_authenticator(shop, passkey):
    """Its count is behind the real one's."""
    shop.login(passkey)
    for count in (passkey.sign_count, passkey.sign_count - 1, 0):
        check_wrong(shop, shop.login(passkey, changes={"sign_count": count}), "COUNTER_NOT_GROWN")
    assert shop.login(passkey, changes={"sign_count": 1_000}).outcome == SUCCEEDED
    check_wrong(shop, shop.login(passkey, changes={"sign_count": 999}), "COUNTER_NOT_GROWN")
    assert shop.login(passkey, changes={"sign_count": 0xFFFF_FFFF}).outcome == SUCCEEDED


def test_a_count_that_goes_back_is_reported_of_passkeys_that_may_be_copied(start):
    shop = serving(start, passkeys={"sign_count": "report"})
    copied, bound = Passkey(flags=UP | UV | BE), Passkey()
    for passkey in (copied, bound):
        shop.register(passkey)
        assert shop.login(passkey).outcome == SUCCEEDED
    assert "sign_count" not in shop.caller.events()[-1].details
    for count in (copied.sign_count, 1, 0):
        assert shop.login(copied, changes={"sign_count": count}).outcome == SUCCEEDED
        event = shop.caller.events()[-1]
        assert (event.kind, event.details["sign_count"]) == ("evaluation.succeeded", "not_grown")
    # The greatest count stays.
    assert shop.login(copied, changes={"sign_count": 7}).outcome == SUCCEEDED
    assert "sign_count" not in shop.caller.events()[-1].details
    assert shop.login(copied, changes={"sign_count": 6}).outcome == SUCCEEDED
    assert shop.caller.events()[-1].details["sign_count"] == "not_grown"
    check_wrong(shop, shop.login(bound, changes={"sign_count": 1}), "COUNTER_NOT_GROWN")
    # It says nothing for the flags.
    check_wrong(shop, shop.login(copied, changes={"sign_count": 6, "flags": UP | UV}), "BACKUP_FLAGS_CONTRADICT")


def test_one_that_does_not_count(shop):
    passkey = Passkey(counts=False)
    shop.register(passkey)
    assert [shop.login(passkey).outcome for _ in range(2)] == [SUCCEEDED, SUCCEEDED]
    assert shop.login(passkey, changes={"sign_count": 5}).outcome == SUCCEEDED
    check_wrong(shop, shop.login(passkey), "COUNTER_NOT_GROWN")


def test_of_clones_at_one_time_one_logs_in(start, server):
    """On two connections, each with an evaluation of its own and the same count."""
    shops = [PasskeyCaller(new_caller(server, APP)) for _ in range(2)]
    passkey = Passkey()
    shops[0].register(passkey)
    with futures.ThreadPoolExecutor(len(shops)) as pool:
        for round in range(10):
            opened = [shop.begin() for shop in shops]
            proofs = [passkey.get(one.passkey_options, sign_count=100 + round) for one in opened]
            answers = list(pool.map(PasskeyCaller.submit, shops, opened, proofs))
            assert sorted(answer.outcome for answer in answers) == [SUCCEEDED, TRY_AGAIN]
            assert last_event(shops[0])[1] in (None, "COUNTER_NOT_GROWN")


def test_fields_of_an_assertion(shop, passkey):
    opened = shop.begin()
    for field, value in [
        ("credential_id", b""),
        ("credential_id", bytes(1_024)),
        ("authenticator_data", bytes(36)),
        ("authenticator_data", bytes(4_097)),
        ("client_data_json", b""),
        ("client_data_json", bytes(4_097)),
        ("signature", bytes(7)),
        ("signature", bytes(1_025)),
        ("user_handle", bytes(65)),
    ]:
        proof = passkey.get(opened.passkey_options)
        setattr(proof, field, value)
        with refused(INVALID_ARGUMENT, field=f"passkey.{field}"):
            shop.submit(opened, proof)


# Attacks on a registration


WRONG_REGISTRATIONS = [
    ({"origin": "https://evil.example"}, "ORIGIN_DIFFERS"),
    ({"crossOrigin": True}, "CROSS_ORIGIN"),
    ({"type": "webauthn.get"}, "TYPE_DIFFERS"),
    ({"challenge": base64url(bytes(32))}, "CHALLENGE_DIFFERS"),
    ({"rp_id": "evil.example"}, "APPLICATION_DIFFERS"),
    ({"flags": UV}, "USER_NOT_PRESENT"),
    ({"flags": UP}, "USER_NOT_VERIFIED"),
    ({"flags": UP | UV | BS}, "BACKUP_FLAGS_CONTRADICT"),
    ({"attestation": lambda p, d, h: ("packed", {"alg": -7, "sig": p.sign(b"other")})}, "SIGNATURE_INVALID"),
    ({"attestation": lambda p, d, h: ("packed", {"alg": -257, "sig": p.sign(d + h)})}, "ALGORITHM_DIFFERS"),
]


def test_a_registration_that_is_wrong(shop):
    begun = shop.begin_registration()
    for changes, reason in WRONG_REGISTRATIONS:
        with noted(reason):
            with pytest.raises(grpc.RpcError) as raised:
                shop.complete(begun, Passkey().create(begun.passkey_options, **changes))
            check_refusal(raised.value, INVALID_ARGUMENT, field="passkey")
            assert violated_fields(raised.value) == ["passkey"]
            assert reason not in raised.value.details()
            assert last_event(shop) == ("binding.refused", reason)
    assert not shop.caller.list_bindings("alice", include_revoked=True).bindings
    # The ticket serves still.
    shop.complete(begun, Passkey().create(begun.passkey_options))


def deep(depth):
    return b"\x81" * depth + b"\x00"


def test_what_cannot_be_read_or_is_not_served_is_named(shop):
    begun = shop.begin_registration()
    registration = Passkey().create(begun.passkey_options)
    for attestation_object, reason in [
        (deep(1_000), "MALFORMED_CBOR"),
        (b"\x9a\xff\xff\xff\xff", "MALFORMED_CBOR"),
        (b"\xa1\x63fmt\x64none" + bytes(10_000), "MALFORMED_CBOR"),
        (cbor.encode({"fmt": "none", "attStmt": {}, "authData": bytes(10)}), "MALFORMED_AUTHENTICATOR_DATA"),
        (cbor.encode({"fmt": "none", "authData": bytes(100)}), "MALFORMED_STATEMENT"),
    ]:
        registration.attestation_object = attestation_object
        with refused(INVALID_ARGUMENT, field="passkey", reason=reason):
            shop.complete(begun, registration)
        assert last_event(shop) == ("binding.refused", reason)
    registration = Passkey().create(begun.passkey_options, attestation=lambda *_: ("android-safetynet", {}))
    with refused(INVALID_ARGUMENT, field="passkey", reason="UNSUPPORTED_FORMAT"):
        shop.complete(begun, registration)


def test_fields_of_a_registration(shop):
    begun = shop.begin_registration()
    for name, value, field in [
        ("attestation_object", b"", "passkey.attestation_object"),
        ("client_data_json", b"", "passkey.client_data_json"),
        ("client_data_json", bytes(4_097), "passkey.client_data_json"),
        ("transports", ["usb"] * 9, "passkey.transports"),
        ("transports", ["u s b"], "passkey.transports[0]"),
    ]:
        registration = Passkey().create(begun.passkey_options)
        registration.ClearField(name)
        registration.MergeFrom(bindings_pb2.PasskeyRegistration(**{name: value}))
        with refused(INVALID_ARGUMENT, field=field):
            shop.complete(begun, registration)


def test_a_registration_serves_for_no_other_ticket(shop):
    passkey = Passkey()
    begun = shop.begin_registration()
    registration = passkey.create(begun.passkey_options)
    shop.complete(begun, registration)
    for profile in ("alice", "mallory"):
        with refused(INVALID_ARGUMENT, field="passkey"):
            shop.complete(shop.begin_registration(profile), registration)
        assert last_event(shop) == ("binding.refused", "CHALLENGE_DIFFERS")


def test_a_credential_is_of_one_account(shop, passkey):
    """Whoever knows the id makes a credential with it; the answer is that to any wrong proof."""
    copy = Passkey()
    copy.credential_id = passkey.credential_id
    for profile in ("alice", "mallory"):
        begun = shop.begin_registration(profile)
        with refused(INVALID_ARGUMENT, field="passkey"):
            shop.complete(begun, copy.create(begun.passkey_options), replace_existing=True)
        assert last_event(shop) == ("binding.refused", "PASSKEY_IN_USE")
    assert shop.login(passkey).profile_id == "alice"


def test_of_parallel_registrations_of_one_credential_one_is_bound(shop):
    passkey = Passkey()
    begun = [shop.begin_registration(f"profile-{number}") for number in range(4)]
    registrations = [passkey.create(one.passkey_options) for one in begun]

    def complete(one, registration):
        try:
            return shop.complete(one, registration).binding.profile_id
        except grpc.RpcError as error:
            assert error.code() == INVALID_ARGUMENT
            return None

    with futures.ThreadPoolExecutor(len(begun)) as pool:
        bound = [profile for profile in pool.map(complete, begun, registrations) if profile]
    assert len(bound) == 1


# What an application demands


def test_where_a_proof_is_required_a_bare_one_is_refused(start):
    shop = serving(start, attestation="required", minimum_level="self")
    begun = shop.begin_registration()
    assert json.loads(begun.passkey_options)["attestation"] == "direct"
    with refused(FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
        shop.complete(begun, Passkey().create(begun.passkey_options))
    assert last_event(shop) == ("binding.refused", "ATTESTATION_REQUIRED")
    passkey = Passkey()
    shop.complete(begun, passkey.create(begun.passkey_options, attestation=self_attested))
    assert shop.login(passkey).outcome == SUCCEEDED


def test_another_origin_after_a_reload(server, shop, passkey):
    """An app of the same relying party; what was registered before logs in from both."""
    app = "android:apk-key-hash:" + base64url(bytes(range(32)))
    server.reload(served(APP, passkeys={"origins": [ORIGIN, app]}))
    passkey.origin = app
    assert shop.login(passkey).outcome == SUCCEEDED


def test_related_origins_are_those_that_are_listed(start):
    """WebAuthn Level 3 §5.11: a site of another domain, for the same relying party. The list decides; nothing is fetched."""
    related = "https://shop.example.de"
    shop = serving(start, passkeys={"origins": [ORIGIN, related]})
    passkey = Passkey(origin=related)
    shop.register(passkey)
    for origin in (related, ORIGIN):
        passkey.origin = origin
        assert shop.login(passkey).outcome == SUCCEEDED
    # Not what is below a listed one, above it, on another port, or spelled otherwise.
    for origin in [
        "https://www.shop.example.de",
        "https://example.de",
        f"{related}:444",
        f"{related}/",
        related.replace("https", "http"),
        related.upper(),
    ]:
        passkey.origin = origin
        check_wrong(shop, shop.login(passkey), "ORIGIN_DIFFERS")


def test_a_frame_of_a_listed_page(start):
    """A bank's payment in a shop's page; the page around it is one of those that are listed."""
    top = "https://market.example"
    shop = serving(start, passkeys={"top_origins": [top]})
    passkey, framed = Passkey(), {"crossOrigin": True, "topOrigin": top}
    shop.register(passkey, **framed)
    assert shop.login(passkey, changes=framed).outcome == SUCCEEDED
    assert shop.login(passkey).outcome == SUCCEEDED
    for changes in [
        {"crossOrigin": True},
        {"topOrigin": top},
        framed | {"topOrigin": ORIGIN},
        framed | {"topOrigin": f"{top}:444"},
        framed | {"topOrigin": [top]},
    ]:
        reason = "MALFORMED_CLIENT_DATA" if changes.get("topOrigin") == [top] else "CROSS_ORIGIN"
        check_wrong(shop, shop.login(passkey, changes=changes), reason)
    passkey.origin = top
    check_wrong(shop, shop.login(passkey), "ORIGIN_DIFFERS")


# Conditional create: a password manager makes the passkey after a login by password


def conditional(shop, **fields):
    return shop.begin_registration(passkey=bindings_pb2.NewPasskey(user_name="alice", conditional=True), **fields)


@pytest.mark.parametrize("user_verification", ["required", "preferred"])
def test_a_password_manager_makes_a_passkey_of_itself(start, user_verification):
    """Nobody was present. It serves as any other: with presence, and with verification where it is required."""
    shop = serving(start, passkeys={"user_verification": user_verification})
    begun = conditional(shop)
    assert json.loads(begun.passkey_options)["authenticatorSelection"]["userVerification"] == "preferred"
    passkey = Passkey(flags=BE | BS)
    shop.complete(begun, passkey.create(begun.passkey_options))
    assert shop.login(passkey, changes={"flags": UP | UV | BE | BS}).outcome == SUCCEEDED
    check_wrong(shop, shop.login(passkey), "USER_NOT_PRESENT")
    answer = shop.login(passkey, changes={"flags": UP | BE | BS})
    if user_verification == "required":
        check_wrong(shop, answer, "USER_NOT_VERIFIED")
    else:
        assert answer.outcome == SUCCEEDED


def test_conditional_create_is_of_its_ticket_alone(shop):
    """The ticket before it, and the one after it, ask for the person."""
    absent = {"flags": BE | BS}
    before, begun, after = shop.begin_registration(), conditional(shop), shop.begin_registration()
    for other in (before, after):
        with refused(INVALID_ARGUMENT, field="passkey"):
            shop.complete(other, Passkey().create(other.passkey_options, **absent))
        assert last_event(shop) == ("binding.refused", "USER_NOT_PRESENT")
    # The registration by the conditional ticket's challenge is worth nothing with another ticket.
    with refused(INVALID_ARGUMENT, field="passkey"):
        shop.complete(before, Passkey().create(begun.passkey_options, **absent))
    shop.complete(begun, Passkey().create(begun.passkey_options, **absent))
    with refused(FAILED_PRECONDITION, reason="TICKET_INVALID"):
        shop.complete(begun, Passkey().create(begun.passkey_options, **absent))


def test_conditional_create_demands_the_rest(start):
    """A fresh login, flags that do not contradict each other, and a key that stays on its device where that is asked for."""
    shop = serving(start, passkeys={"device_bound": True})
    with refused(FAILED_PRECONDITION, reason="PRIMARY_AUTHENTICATION_TOO_OLD"):
        conditional(shop, authenticated_at=seconds_from_now(-301))
    begun = conditional(shop)
    for flags, reason in [(BS, "BACKUP_FLAGS_CONTRADICT"), (BE | BS, "KEY_NOT_DEVICE_BOUND")]:
        with refused(INVALID_ARGUMENT, field="passkey"):
            shop.complete(begun, Passkey().create(begun.passkey_options, flags=flags))
        assert last_event(shop) == ("binding.refused", reason)


# What other verifiers take, and WebAuthn does not allow


def test_a_signature_that_is_not_der(shop, passkey):
    """Phones' own keys may send 64 bytes (R33)."""
    opened = shop.begin()
    proof = passkey.get(opened.passkey_options)
    r, s = decode_dss_signature(proof.signature)
    proof.signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    check_wrong(shop, shop.submit(opened, proof), "SIGNATURE_INVALID")
    # A length in two bytes.
    proof = passkey.get(opened.passkey_options)
    proof.signature = proof.signature[:1] + b"\x81" + proof.signature[1:]
    assert shop.submit(opened, proof).outcome == TRY_AGAIN


def rewritten(passkey, options, change):
    """A registration whose COSE key is encoded otherwise."""
    registration = passkey.create(options)
    key = cbor.encode(ES256.from_cryptography_key(passkey.key.public_key()))
    object_ = cbor.decode(registration.attestation_object)
    assert object_["authData"].endswith(key)
    object_["authData"] = object_["authData"][: -len(key)] + change(key)
    registration.attestation_object = cbor.encode(object_)
    return registration


def test_a_key_that_is_not_canonical(shop):
    """CTAP 2.1 §8: a credential's key has one encoding."""
    begun, passkey = shop.begin_registration(), Passkey()
    for change in [
        # An indefinite length, a longer head, another order, a label that is a float, a tag.
        lambda key: b"\xbf" + key[1:] + b"\xff",
        lambda key: b"\xb8\x05" + key[1:],
        lambda key: key[:1] + b"\x18\x01" + key[2:],
        lambda key: key[:1] + key[3:5] + key[1:3] + key[5:],
        lambda key: b"\xa6" + key[1:] + b"\xf9\x3c\x00\x01",
        lambda key: b"\xc0" + key,
    ]:
        with refused(INVALID_ARGUMENT, field="passkey"):
            shop.complete(begun, rewritten(passkey, begun.passkey_options, change))
        assert last_event(shop)[1] in ("MALFORMED_CBOR", "MALFORMED_KEY", "MALFORMED_AUTHENTICATOR_DATA")
    shop.complete(begun, rewritten(passkey, begun.passkey_options, lambda key: key))


# Other people's authenticators and verifiers


def test_soft_webauthn_registers_and_logs_in(start):
    """It verifies no user."""
    shop = serving(start, passkeys={"user_verification": "preferred"})
    device = SoftWebauthnDevice()
    begun = shop.begin_registration()
    options = fido2.webauthn.PublicKeyCredentialCreationOptions.from_dict(json.loads(begun.passkey_options))
    created = device.create(
        {
            "publicKey": {
                "rp": {"id": options.rp.id},
                "user": {"id": options.user.id},
                "challenge": options.challenge,
                "pubKeyCredParams": [{"alg": p.alg, "type": "public-key"} for p in options.pub_key_cred_params],
            }
        },
        ORIGIN,
    )
    response = created["response"]
    shop.complete(
        begun,
        bindings_pb2.PasskeyRegistration(
            attestation_object=response["attestationObject"], client_data_json=response["clientDataJSON"]
        ),
    )
    opened = shop.begin()
    challenge = from_base64url(json.loads(opened.passkey_options)["challenge"])
    got = device.get({"publicKey": {"rpId": RP_ID, "challenge": challenge}}, ORIGIN)
    answer = shop.submit(
        opened,
        evaluation_pb2.PasskeyProof(
            credential_id=got["rawId"],
            authenticator_data=got["response"]["authenticatorData"],
            client_data_json=got["response"]["clientDataJSON"],
            signature=got["response"]["signature"],
            user_handle=got["response"]["userHandle"],
        ),
    )
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, "alice")


def test_others_judge_the_same(shop):
    """What the service takes, PyPI's fido2 and webauthn take, and the other way round."""
    passkey = Passkey()
    rp = fido2.server.Fido2Server(fido2.webauthn.PublicKeyCredentialRpEntity(name=RP_ID, id=RP_ID))
    begun = shop.begin_registration()
    challenge = json.loads(begun.passkey_options)["challenge"]
    registration = passkey.create(begun.passkey_options)
    shop.complete(begun, registration)
    state = {"challenge": challenge, "user_verification": "required"}
    created = {
        "id": base64url(passkey.credential_id),
        "rawId": base64url(passkey.credential_id),
        "type": "public-key",
        "response": {
            "clientDataJSON": base64url(registration.client_data_json),
            "attestationObject": base64url(registration.attestation_object),
        },
    }
    data = rp.register_complete(state, created)
    verified = webauthn.verify_registration_response(
        credential=created,
        expected_challenge=from_base64url(challenge),
        expected_rp_id=RP_ID,
        expected_origin=ORIGIN,
        require_user_verification=True,
    )
    assert verified.credential_id == passkey.credential_id

    for changes, is_right in [({}, True), ({"signed": b"other"}, False), ({"origin": "https://evil.example"}, False)]:
        opened = shop.begin()
        proof = passkey.get(opened.passkey_options, **changes)
        assert (shop.submit(opened, proof).outcome == SUCCEEDED) == is_right
        got = {
            "id": base64url(proof.credential_id),
            "rawId": base64url(proof.credential_id),
            "type": "public-key",
            "response": {
                "clientDataJSON": base64url(proof.client_data_json),
                "authenticatorData": base64url(proof.authenticator_data),
                "signature": base64url(proof.signature),
                "userHandle": base64url(proof.user_handle),
            },
        }
        state = {"challenge": json.loads(opened.passkey_options)["challenge"], "user_verification": "required"}
        judges = [
            lambda: rp.authenticate_complete(state, [data.credential_data], got),
            lambda: webauthn.verify_authentication_response(
                credential=got,
                expected_challenge=from_base64url(state["challenge"]),
                expected_rp_id=RP_ID,
                expected_origin=ORIGIN,
                credential_public_key=verified.credential_public_key,
                credential_current_sign_count=proof.authenticator_data[36] - 1,
                require_user_verification=True,
            ),
        ]
        for judge in judges:
            if is_right:
                judge()
            else:
                with pytest.raises(Exception):  # noqa: B017, PT011: each has errors of its own
                    judge()
