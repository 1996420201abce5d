"""Keys for which a genuine app vouches by App Attest, and what attackers send in its place (R42, R43)."""

import signal

import fido2.cbor
import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from google.rpc import error_details_pb2

from support.android import AndroidPhone, Maker
from support.apple import (
    APP_ID,
    DEVELOPMENT,
    Apple,
    ApplePhone,
    assertion,
    cbor,
    client_data_of_attempt,
    client_data_of_binding,
    key_id,
)
from support.caller import new_caller, passcode
from support.errors import check_refusal, detail, refused, violated_fields
from support.phone import BIOMETRY, DEVICE_OWNER, Phone, new_key
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
APP, NONE = types_pb2.ATTESTATION_LEVEL_APP, types_pb2.ATTESTATION_LEVEL_NONE
ATTESTATION, ASSERTION = "app_attest.attestation", "app_attest.assertion"
ANOTHER_APP = "A1B2C3D4E5.org.example.other"


@pytest.fixture(scope="module")
def apple():
    return Apple()


@pytest.fixture
def server(start, apple, tmp_path):
    """One that trusts this authority, and no longer Apple."""
    return start(configuration=configured(apple, tmp_path, attestation="accepted"))


def configured(apple, tmp_path, **settings):
    """The application `shop` with these settings, and `game`, which names no app."""
    return {
        "attestation": {"roots": {"apple": str(apple.write_roots(tmp_path / "apple.pem"))}},
        "applications": {"shop": {"app_ids": [APP_ID], **settings}, "game": {"attestation": "accepted"}},
    }


@pytest.fixture
def shop(server):
    return new_caller(server, "shop")


@pytest.fixture
def phone(apple):
    return ApplePhone(apple)


def complete(caller, phone, begun, keys, word, posture=None, **options):
    request = caller.completion(phone, begun, keys=keys, posture=posture, **options)
    if word is not None:
        request.app_attest.CopyFrom(word)
    phone.binding = caller.bindings.CompleteBinding(request).binding
    return phone.binding


def bind(caller, phone, begun=None, profile_id="alice"):
    begun = begun or caller.begin_binding(phone, profile_id)
    keys = phone.hardware_keys(begun.signing_input)
    return complete(caller, phone, begun, keys, phone.attestation(begun, keys))


def last_event(caller):
    event = caller.events()[-1]
    return event.kind, dict(event.details)


def check_refused_and_ticket_still_serves(caller, phone, begun, keys, word, reason, *, field=ATTESTATION, **options):
    """As a wrong proof: the answer names the field alone, the event the reason. Nothing of it stays."""
    before = list(caller.list_bindings("alice", include_revoked=True).bindings)
    with pytest.raises(grpc.RpcError) as raised:
        complete(caller, phone, begun, keys, word, **options)
    check_refusal(raised.value, INVALID_ARGUMENT, field=field)
    assert violated_fields(raised.value) == [field]
    assert detail(raised.value, error_details_pb2.BadRequest).field_violations[0].description == "does not prove the key"
    assert last_event(caller) == ("binding.refused", {"reason": reason})
    assert list(caller.list_bindings("alice", include_revoked=True).bindings) == before
    phone.app_key, phone.counter = new_key(), 0
    assert bind(caller, phone, begun).attestation_level == APP


# Bindings by an attestation


def test_a_vouched_key_shows_its_level_everywhere(shop, apple):
    phone = ApplePhone(apple, BIOMETRY, DEVICE_OWNER)
    binding = bind(shop, phone)
    assert binding.attestation_level == APP
    assert [proven.level for proven in binding.key_attestations] == [APP, APP]
    facts = binding.key_attestations[0].facts
    assert (facts["app_id"], facts["environment"], facts["receipt_bytes"]) == (APP_ID, "production", "4000")
    key = bindings_pb2.AppAttestKey(key_id=key_id(phone.app_key), app_id=APP_ID, environment="production")
    assert binding.app_attest == key
    assert last_event(shop) == ("binding.created", {"attestation": "app"})
    assert list(shop.list_bindings("alice").bindings) == [binding]
    # The receipt is in its own answer alone.
    key.receipt = bytes(4_000)
    assert shop.get_binding(binding.binding_id).app_attest == key

    token = shop.login(phone).token
    assert jwt.decode(token, options={"verify_signature": False})["att"] == "app"
    assert shop.introspect(token).claims.attestation_level == APP


def test_where_a_proof_is_required_an_iphone_is_bound_by_its_apps_word_alone(start, apple, tmp_path):
    maker = Maker()
    configuration = configured(apple, tmp_path, attestation="required")
    configuration["attestation"]["roots"]["android"] = str(maker.write_roots(tmp_path / "android.pem"))
    shop = new_caller(start(configuration=configuration), "shop")
    phone = ApplePhone(apple)
    begun = shop.begin_binding(phone, "alice")
    with refused(FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
        complete(shop, phone, begun, phone.hardware_keys(begun.signing_input), None)
    with refused(FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
        shop.bind(Phone(), touch_id=bytes(range(7, 250, 11)))
    assert bind(shop, phone, begun).attestation_level == APP
    assert shop.login(phone).outcome == SUCCEEDED
    android = AndroidPhone(maker)
    begun = shop.begin_binding(android, "alice")
    request = shop.completion(android, begun, keys=android.attested_keys(begun.signing_input))
    assert shop.bindings.CompleteBinding(request).binding.attestation_level == types_pb2.ATTESTATION_LEVEL_TEE


def test_it_is_still_vouched_for_after_a_restart(start, server, shop, phone, apple, tmp_path):
    binding = bind(shop, phone)
    server.terminate()
    again = new_caller(start(configuration=configured(apple, tmp_path)), "shop")
    stored = again.get_binding(binding.binding_id)
    assert (stored.app_attest.key_id, len(stored.app_attest.receipt)) == (key_id(phone.app_key), 4_000)
    assert attempt(again, phone).outcome == SUCCEEDED


#: What the attestation says, and the event's reason.
NOT_TO_BE_BOUND = [
    ({"app_id": ANOTHER_APP}, "APPLICATION_DIFFERS"),
    ({"aaguid": DEVELOPMENT}, "ENVIRONMENT_DIFFERS"),
    ({"aaguid": bytes(16)}, "ENVIRONMENT_DIFFERS"),
    ({"counter": 1}, "COUNTER_NOT_ZERO"),
    ({"nonce": bytes(32)}, "CHALLENGE_DIFFERS"),
    ({"client_data": b"another request"}, "CHALLENGE_DIFFERS"),
    ({"leaf_key": new_key()}, "KEY_DIFFERS"),
    ({"key": new_key()}, "KEY_DIFFERS"),
    ({"credential_id": bytes(32)}, "KEY_DIFFERS"),
    ({"days": -1}, "CERTIFICATE_EXPIRED"),
]


@pytest.mark.parametrize(("changes", "reason"), NOT_TO_BE_BOUND, ids=lambda value: str(value)[:40])
def test_an_attestation_that_vouches_for_nothing(shop, phone, changes, reason):
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.attestation(begun, keys, **changes)
    check_refused_and_ticket_still_serves(shop, phone, begun, keys, word, reason)


def test_certificates_of_another_authority(shop, apple, phone):
    """Its own root, and an expired or a foreign certificate between leaf and root."""
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    stranger = Apple()
    phone.apple = stranger
    foreign = phone.attestation(begun, keys)
    spliced = phone.attestation(begun, keys, authority=apple.authority)
    phone.apple = apple
    expired = phone.attestation(begun, keys, authority=apple.authority_until(-1))
    for word, reason in [(foreign, "ROOT_UNKNOWN"), (spliced, "CHAIN_BROKEN"), (expired, "CERTIFICATE_EXPIRED")]:
        with refused(INVALID_ARGUMENT, field=ATTESTATION):
            complete(shop, phone, begun, keys, word)
        assert last_event(shop) == ("binding.refused", {"reason": reason})
    assert bind(shop, phone, begun).attestation_level == APP


def test_an_attestation_serves_its_own_ticket_alone(shop, phone):
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.attestation(begun, keys)
    complete(shop, phone, begun, keys, word)
    for profile_id in ("alice", "mallory"):
        begun = shop.begin_binding(phone, profile_id)
        with refused(INVALID_ARGUMENT, field=ATTESTATION):
            complete(shop, phone, begun, phone.hardware_keys(begun.signing_input), word)
        assert last_event(shop) == ("binding.refused", {"reason": "CHALLENGE_DIFFERS"})


def test_what_was_changed_after_the_app_vouched(shop, apple):
    """The key, its protection, the order of two, or the posture: by a backend, or whoever stands before it."""
    phone = ApplePhone(apple, BIOMETRY, DEVICE_OWNER)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.attestation(begun, keys)
    stranger = Phone(BIOMETRY, DEVICE_OWNER).hardware_keys(begun.signing_input)
    claimed = [bindings_pb2.HardwareKey.FromString(key.SerializeToString()) for key in keys]
    claimed[1].protection = bindings_pb2.KEY_PROTECTION_DEVICE_PASSCODE
    for others in (stranger, [keys[0], stranger[1]], claimed, keys[::-1], keys[:1]):
        with refused(INVALID_ARGUMENT, field=ATTESTATION):
            complete(shop, phone, begun, others, word)
        assert last_event(shop) == ("binding.refused", {"reason": "CHALLENGE_DIFFERS"})
    changes = [
        {"domain_state": b"other fingers"},
        {"os_version": "17.5"},
        {"os_version": "17.4.0"},
        {"platform": "iOS"},
        {"device_model": "iPhone16,1"},
        {"biometry_type": types_pb2.BIOMETRY_TYPE_FACE_ID},
    ]
    for change in changes:
        with refused(INVALID_ARGUMENT, field=ATTESTATION):
            complete(shop, phone, begun, keys, word, posture=phone.posture(**change))
    assert complete(shop, phone, begun, keys, word).attestation_level == APP


def test_the_possession_comes_first(shop, phone):
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    keys[0].signature = Phone().hardware_keys(begun.signing_input)[0].signature
    with refused(INVALID_ARGUMENT, field="keys[0].signature"):
        complete(shop, phone, begun, keys, phone.attestation(begun, keys, counter=1))
    assert last_event(shop) == ("binding.refused", {"reason": "POSSESSION_NOT_PROVEN"})


def test_an_application_that_names_no_app_takes_none(server, phone):
    game = new_caller(server, "game")
    begun = game.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    with refused(INVALID_ARGUMENT, field=ATTESTATION):
        complete(game, phone, begun, keys, phone.attestation(begun, keys))
    assert last_event(game) == ("binding.refused", {"reason": "APPLICATION_DIFFERS"})
    assert complete(game, phone, begun, keys, None).attestation_level == NONE


def test_where_proofs_are_not_looked_at_they_vouch_for_nothing(start, apple, tmp_path, phone):
    configuration = configured(apple, tmp_path)
    configuration["applications"]["shop"] = {"attestation": "none"}
    shop = new_caller(start(configuration=configuration), "shop")
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    binding = complete(shop, phone, begun, keys, phone.attestation(begun, keys, counter=1))
    assert (binding.attestation_level, binding.HasField("app_attest")) == (NONE, False)
    assert attempt(shop, phone).outcome == SUCCEEDED


def nested(depth):
    return b"\x81" * depth + b"\x00"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda proof: b"", None),
        (lambda proof: proof + bytes(32_769 - len(proof)), None),
        (lambda proof: proof + b"\x00", "MALFORMED_CBOR"),
        (lambda proof: cbor({"fmt": "apple-appattest"}), "MALFORMED_STATEMENT"),
        (lambda proof: proof.replace(b"apple-appattest", b"apple-appattesu"), "UNSUPPORTED_FORMAT"),
    ],
)
def test_bytes_that_cannot_be_read_are_named(shop, phone, change, reason):
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.attestation(begun, keys)
    word.attestation = change(word.attestation)
    field = ATTESTATION if word.attestation else "app_attest"
    with refused(INVALID_ARGUMENT, field=field, reason=reason):
        complete(shop, phone, begun, keys, word)
    assert bind(shop, phone, begun).attestation_level == APP


def test_app_attest_is_apples(shop, phone):
    for platform in ("android", "web"):
        phone.platform, phone.domain_state = platform, b""
        begun = shop.begin_binding(phone, "alice")
        keys = phone.hardware_keys(begun.signing_input)
        with refused(INVALID_ARGUMENT, field="app_attest"):
            complete(shop, phone, begun, keys, phone.attestation(begun, keys))


def test_one_word_for_keys(shop, phone):
    """Not two, none for a ProfileTouchID, and a key's id has 32 bytes."""
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    both = phone.attestation(begun, keys)
    both.assertion = b"\xa0"
    short = phone.attestation(begun, keys)
    short.key_id = short.key_id[:31]
    for word, field in [(both, "app_attest"), (short, "app_attest.key_id")]:
        with refused(INVALID_ARGUMENT, field=field):
            complete(shop, phone, begun, keys, word)
    with refused(INVALID_ARGUMENT, field="app_attest"):
        complete(shop, phone, begun, None, phone.attestation(begun, []), touch_id=bytes(range(7, 250, 11)))


# Bindings by an assertion


def bind_anew(caller, phone, *, profile_id="alice", begun=None, keys=None, **changes):
    begun = begun or caller.begin_binding(phone, profile_id)
    keys = keys or phone.hardware_keys(begun.signing_input)
    word = phone.word_for_binding(begun, keys, **changes)
    return complete(caller, phone, begun, keys, word, replace_existing=True)


def test_a_key_once_attested_vouches_for_later_keys(shop, phone):
    first = shop.get_binding(bind(shop, phone).binding_id)
    phone.keys = {BIOMETRY: new_key(), DEVICE_OWNER: new_key()}
    second = bind_anew(shop, phone)
    assert [proven.level for proven in second.key_attestations] == [APP, APP]
    assert dict(second.key_attestations[0].facts)["key_id"] == dict(first.key_attestations[0].facts)["key_id"]
    stored = shop.get_binding(second.binding_id).app_attest
    # The revoked one has it no more.
    assert shop.get_binding(first.binding_id).app_attest.receipt == b""
    assert (stored.counter, stored.receipt, stored.key_id) == (1, first.app_attest.receipt, first.app_attest.key_id)
    assert [event.kind for event in shop.events()][-2:] == ["binding.revoked", "binding.created"]
    # Also for another person's, on the same phone; and the counter goes on.
    third = bind_anew(shop, phone, profile_id="bob")
    assert (third.attestation_level, third.app_attest.counter) == (APP, 2)
    assert attempt(shop, phone).outcome == SUCCEEDED


def test_an_assertion_serves_once(shop, phone):
    bind(shop, phone)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.word_for_binding(begun, keys)
    complete(shop, phone, begun, keys, word)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    check_refused_and_ticket_still_serves(shop, phone, begun, keys, word, "SIGNATURE_INVALID", field=ASSERTION)


def test_a_counter_that_did_not_grow(shop, phone):
    """A copy of the key, or a phone whose counter was set back."""
    bind(shop, phone)
    bind_anew(shop, phone)
    attempt(shop, phone)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.word_for_binding(begun, keys, counter=2)
    check_refused_and_ticket_still_serves(shop, phone, begun, keys, word, "COUNTER_NOT_GROWN", field=ASSERTION)


def test_an_assertion_by_a_key_that_is_not_known(shop, phone, apple):
    """Of no binding, of another phone's, of a revoked one, and of another id."""
    other = ApplePhone(apple)
    bind(shop, other, profile_id="bob")
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    for key in (phone.app_key, other.app_key):
        phone.app_key = key
        with refused(INVALID_ARGUMENT, field=ASSERTION):
            complete(shop, phone, begun, keys, phone.word_for_binding(begun, keys))
        assert last_event(shop) == ("binding.refused", {"reason": "APP_ATTEST_KEY_UNKNOWN"})
    phone.app_key = new_key()
    shop.revoke(bind(shop, phone, begun))
    begun = shop.begin_binding(phone, "alice")
    word = phone.word_for_binding(begun, keys)
    keys = phone.hardware_keys(begun.signing_input)
    check_refused_and_ticket_still_serves(shop, phone, begun, keys, word, "APP_ATTEST_KEY_UNKNOWN", field=ASSERTION)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.word_for_binding(begun, keys)
    word.key_id = bytes(32)
    check_refused_and_ticket_still_serves(shop, phone, begun, keys, word, "APP_ATTEST_KEY_UNKNOWN", field=ASSERTION)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"app_id": ANOTHER_APP}, "APPLICATION_DIFFERS"), ({"key": new_key()}, "SIGNATURE_INVALID")],
    ids=["app", "key"],
)
def test_an_assertion_that_vouches_for_nothing(shop, phone, changes, reason):
    bind(shop, phone)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    word = phone.word_for_binding(begun, keys, **changes)
    check_refused_and_ticket_still_serves(shop, phone, begun, keys, word, reason, field=ASSERTION)


def test_an_app_or_environment_that_is_not_named_any_more(server, shop, phone, apple, tmp_path):
    server.reload(configured(apple, tmp_path, environments=["production", "development"]))
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    complete(shop, phone, begun, keys, phone.attestation(begun, keys, aaguid=DEVELOPMENT))
    assert attempt(shop, phone).outcome == SUCCEEDED
    for settings, reason in [
        ({"environments": ["production"]}, "ENVIRONMENT_DIFFERS"),
        ({"app_ids": [ANOTHER_APP], "environments": ["development"]}, "APPLICATION_DIFFERS"),
    ]:
        server.reload(configured(apple, tmp_path, **settings))
        with refused(INVALID_ARGUMENT, field=ASSERTION):
            bind_anew(shop, phone)
        assert last_event(shop) == ("binding.refused", {"reason": reason})
        with refused(FAILED_PRECONDITION, reason="APP_ASSERTION_NOT_ACCEPTED"):
            attempt(shop, phone)
        assert last_event(shop)[1]["reason"] == reason


def test_the_roots_are_replaced_without_a_restart(server, shop, phone, apple, tmp_path):
    other = Apple("Other")
    other.write_roots(tmp_path / "apple.pem")
    server.reload()
    with refused(INVALID_ARGUMENT, field=ATTESTATION):
        bind(shop, phone)
    phone.apple = other
    bind(shop, phone)


def test_roots_that_are_gone_from_the_configuration_are_refused(server, shop, phone, apple, tmp_path):
    """A file that was cut off must not bring back a root that was replaced."""
    configuration = configured(apple, tmp_path)
    server.write_configuration({"applications": configuration["applications"]})
    server.process.send_signal(signal.SIGHUP)
    assert "attestation.roots.apple" in server.next_error("any more")
    bind(shop, phone)


def test_apples_root_is_the_default(start, phone):
    shop = new_caller(start(configuration={"applications": {"shop": {"app_ids": [APP_ID]}}}), "shop")
    with refused(INVALID_ARGUMENT, field=ATTESTATION):
        bind(shop, phone)
    assert last_event(shop) == ("binding.refused", {"reason": "ROOT_UNKNOWN"})


# Attempts


def vouched(caller, phone, opened, *, posture=None, **changes):
    """The request for an attempt for which the app vouches."""
    request = caller.attempt(phone, opened, posture=posture)
    request.app_assertion = phone.word_for_attempt(opened, request, **changes)
    return request


def attempt(caller, phone, **changes):
    return caller.evaluations.SubmitAttempt(vouched(caller, phone, caller.begin(phone), **changes))


def check_not_accepted(caller, request, reason):
    """Alike for all reasons; nothing is counted, and the evaluation stays open."""
    with pytest.raises(grpc.RpcError) as raised:
        caller.evaluations.SubmitAttempt(request)
    check_refusal(raised.value, FAILED_PRECONDITION, reason="APP_ASSERTION_NOT_ACCEPTED")
    assert raised.value.details() == "app_assertion: send the attempt again with a new assertion"
    kind, details = last_event(caller)
    assert (kind, details) == (
        "evaluation.refused",
        {"policy": "login", "factor": "biometry", "reason": reason},
    )


def test_an_app_vouches_for_an_attempt(shop, phone):
    binding = bind(shop, phone)
    assert attempt(shop, phone).outcome == SUCCEEDED
    kind, details = last_event(shop)
    assert (kind, details["app_assertion"]) == ("evaluation.succeeded", "verified")
    assert shop.get_binding(binding.binding_id).app_attest.counter == 1
    # A counter may leave numbers out, and an attempt may go without the app's word.
    assert attempt(shop, phone, counter=7).outcome == SUCCEEDED
    assert shop.login(phone).outcome == SUCCEEDED
    assert "app_assertion" not in last_event(shop)[1]
    assert shop.get_binding(binding.binding_id).app_attest.counter == 7


def test_a_wrong_proof_beside_a_right_assertion_counts(shop, phone):
    bind(shop, phone)
    opened = shop.begin(phone)
    request = shop.attempt(phone, opened, key=phone.wrong_proof(opened.signing_input))
    request.app_assertion = phone.word_for_attempt(opened, request)
    answer = shop.evaluations.SubmitAttempt(request)
    assert (answer.outcome, answer.attempts_left) == (evaluation_pb2.OUTCOME_TRY_AGAIN, 4)


def changed_posture(caller, phone, opened):
    request = vouched(caller, phone, opened)
    request.posture.domain_state = b"other fingers"
    return request, "SIGNATURE_INVALID"


def another_signature(caller, phone, opened):
    """The app's word of one attempt, beside a signature of another."""
    request = vouched(caller, phone, opened)
    request.key.CopyFrom(phone.proof(opened.signing_input))
    return request, "SIGNATURE_INVALID"


def of_another_evaluation(caller, phone, opened):
    request = caller.attempt(phone, opened)
    request.app_assertion = vouched(caller, phone, caller.begin(phone)).app_assertion
    return request, "SIGNATURE_INVALID"


def of_a_binding(caller, phone, opened):
    request = caller.attempt(phone, opened)
    client_data = client_data_of_binding(opened.signing_input, request.posture, [])
    request.app_assertion = phone.asserted(client_data)
    return request, "SIGNATURE_INVALID"


def by_another_key(caller, phone, opened):
    return vouched(caller, phone, opened, key=new_key()), "SIGNATURE_INVALID"


def with_a_signature_that_is_not_der(caller, phone, opened):
    """Right, in 64 bytes: keys of apps may sign so, and Apple's do not."""
    request = vouched(caller, phone, opened)
    word = fido2.cbor.decode(request.app_assertion)
    r, s = decode_dss_signature(word["signature"])
    request.app_assertion = fido2.cbor.encode(word | {"signature": r.to_bytes(32, "big") + s.to_bytes(32, "big")})
    return request, "SIGNATURE_INVALID"


def of_another_app(caller, phone, opened):
    return vouched(caller, phone, opened, app_id=ANOTHER_APP), "APPLICATION_DIFFERS"


def with_an_old_counter(caller, phone, opened):
    return vouched(caller, phone, opened, counter=1), "COUNTER_NOT_GROWN"


@pytest.mark.parametrize(
    "attack",
    [
        changed_posture,
        another_signature,
        of_another_evaluation,
        of_a_binding,
        by_another_key,
        with_a_signature_that_is_not_der,
        of_another_app,
        with_an_old_counter,
    ],
)
def test_an_assertion_that_is_not_accepted_may_be_sent_anew(shop, phone, attack):
    bind(shop, phone)
    attempt(shop, phone)
    opened = shop.begin(phone)
    request, reason = attack(shop, phone, opened)
    check_not_accepted(shop, request, reason)
    assert shop.evaluations.SubmitAttempt(vouched(shop, phone, opened, counter=50)).outcome == SUCCEEDED


def test_a_missing_app_attest_key_is_named_and_nothing_is_counted(shop, phone, apple):
    """R37: unknown and revoked bindings are told so, and a wrong signature stays wrong."""
    bind(shop, phone)
    bare, revoked = Phone(), ApplePhone(apple)
    shop.bind(bare, "bob")
    shop.revoke(bind(shop, revoked, profile_id="carol"))
    assert shop.begin(phone, binding_id=revoked.binding.binding_id).denial.reason == "BINDING_REVOKED"
    assert shop.begin(phone, binding_id="unknown").denial.reason == "BINDING_UNKNOWN"
    for binding_id, reason in [
        (phone.binding.binding_id, "SIGNATURE_INVALID"),
        (bare.binding.binding_id, "APP_ATTEST_KEY_UNKNOWN"),
    ]:
        opened = shop.begin(phone, binding_id=binding_id)
        for _ in range(6):
            request = shop.attempt(phone, opened, key=phone.wrong_proof(opened.signing_input))
            client_data = client_data_of_attempt(opened.signing_input, request.key, request.posture)
            request.app_assertion = assertion(new_key(), client_data, counter=90)
            check_not_accepted(shop, request, reason)
    assert shop.login(phone).outcome == SUCCEEDED


@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (b"\xa0", "MALFORMED_STATEMENT"),
        (nested(4_000), "MALFORMED_CBOR"),
        (cbor({"signature": bytes(70), "authenticatorData": bytes(36)}), "MALFORMED_AUTHENTICATOR_DATA"),
        (bytes(4_097), None),
    ],
)
def test_an_assertion_that_cannot_be_read(shop, phone, bytes_, reason):
    bind(shop, phone)
    request = shop.attempt(phone, shop.begin(phone))
    request.app_assertion = bytes_
    with refused(INVALID_ARGUMENT, field="app_assertion", reason=reason):
        shop.evaluations.SubmitAttempt(request)


def test_an_assertion_is_taken_beside_a_key_on_apples_platforms(shop, phone):
    bind(shop, phone)
    opened = shop.begin(phone)
    report = shop.attempt(phone, opened, report=types_pb2.LA_ERROR_USER_CANCEL)
    android = vouched(shop, phone, opened, posture=phone.posture(platform="android", domain_state=b""))
    report.app_assertion = android.app_assertion
    for request in (report, android):
        with refused(INVALID_ARGUMENT, field="app_assertion"):
            shop.evaluations.SubmitAttempt(request)


def test_of_many_assertions_with_one_counter_one_is_taken(shop, phone):
    bind(shop, phone)
    for counter in range(1, 6):
        requests = [vouched(shop, phone, shop.begin(phone), counter=counter) for _ in range(6)]
        calls = [shop.evaluations.SubmitAttempt.future(request) for request in requests]
        errors = [error for error in (call.exception() for call in calls) if error]
        assert len(errors) == len(requests) - 1
        for error in errors:
            check_refusal(error, FAILED_PRECONDITION, reason="APP_ASSERTION_NOT_ACCEPTED")
    assert shop.get_binding(phone.binding.binding_id).app_attest.counter == 5


def test_a_policy_may_require_the_apps_word(start, apple, tmp_path):
    """Of keys on Apple's platforms alone."""
    configuration = configured(apple, tmp_path)
    configuration["policies"] = {
        "vouched": {"purpose": "login", "factors": ["biometry", "passcode"], "app_assertion": "required"}
    }
    shop = new_caller(start(configuration=configuration), "shop")
    phone, bare = ApplePhone(apple), Phone()
    bind(shop, phone)
    shop.bind(bare, "bob")
    for binding_id in (phone.binding.binding_id, bare.binding.binding_id):
        opened = shop.begin(phone, "vouched", binding_id=binding_id)
        for _ in range(6):
            with refused(FAILED_PRECONDITION, reason="APP_ASSERTION_REQUIRED"):
                shop.submit_wrong(phone, opened)
        assert last_event(shop) == (
            "evaluation.refused",
            {"policy": "vouched", "factor": "biometry", "reason": "APP_ASSERTION_REQUIRED"},
        )
    opened = shop.begin(phone, "vouched")
    assert shop.evaluations.SubmitAttempt(vouched(shop, phone, opened)).outcome == SUCCEEDED
    assert shop.login(bare).outcome == SUCCEEDED
    # Another factor has no app to vouch for it, and Android has its hardware.
    shop.set_secret("alice", passcode("2468"))
    assert shop.submit(phone, shop.begin(phone, "vouched"), secret=passcode("2468")).outcome == SUCCEEDED
    android = Phone()
    android.platform, android.domain_state = "android", b""
    shop.bind(android, "carol")
    assert shop.login(android, "vouched").outcome == SUCCEEDED
