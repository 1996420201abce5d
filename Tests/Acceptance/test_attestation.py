"""Keys that Android's hardware proves, and what attackers send in their place (R42, R44, R45)."""

import hashlib
import json
import os
import signal
import time

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from support.android import (
    KEY_DESCRIPTION,
    PACKAGE,
    PROVISIONING,
    SELF_SIGNED,
    SOFTWARE,
    STRONGBOX,
    AndroidPhone,
    Maker,
    certificate_that_spells_its_curve_out,
)
from support.caller import COFFEE, new_caller
from support.configuration import check_complaints
from support.errors import check_refusal, detail, refused, violated_fields
from support.phone import BIOMETRY, DEVICE_OWNER, Phone, new_key
from support.stubs import evaluation_pb2, types_pb2

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
NONE = types_pb2.ATTESTATION_LEVEL_NONE
CHAIN = "keys[0].certificate_chain"


@pytest.fixture(scope="module")
def maker():
    return Maker()


@pytest.fixture
def server(start, maker, tmp_path):
    """One that trusts this maker, and no longer Google."""
    return start(configuration={"attestation": {"roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))}}})


@pytest.fixture
def phone(maker):
    return AndroidPhone(maker)


def bind(caller, phone, keys=None, begun=None):
    begun = begun or caller.begin_binding(phone, "alice")
    if keys is None:
        keys = phone.attested_keys(begun.signing_input)
    phone.binding = caller.bindings.CompleteBinding(caller.completion(phone, begun, keys=keys)).binding
    return phone.binding


def last_event(caller):
    event = caller.events()[-1]
    return event.kind, dict(event.details)


def check_refused_and_ticket_still_serves(caller, phone, begun, keys, reason):
    """As a wrong proof: the answer names the field alone, the event the reason. Nothing of it stays."""
    with pytest.raises(grpc.RpcError) as raised:
        bind(caller, phone, keys, begun)
    check_refusal(raised.value, INVALID_ARGUMENT, field=CHAIN)
    assert violated_fields(raised.value) == [CHAIN]
    assert detail(raised.value, error_details_pb2.BadRequest).field_violations[0].description == "does not prove the key"
    assert last_event(caller) == ("binding.refused", {"reason": reason})
    assert not caller.list_bindings("alice", include_revoked=True).bindings
    assert bind(caller, phone, begun=begun).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE


@pytest.mark.parametrize(("level", "name"), [(1, "TEE"), (STRONGBOX, "STRONGBOX")])
def test_a_proven_key_shows_its_level_everywhere(caller, phone, level, name):
    begun = caller.begin_binding(phone, "alice")
    keys = phone.attested_keys(begun.signing_input, attestation_level=level, key_level=level)
    binding = bind(caller, phone, keys, begun)
    assert types_pb2.AttestationLevel.Name(binding.attestation_level) == f"ATTESTATION_LEVEL_{name}"
    (proven,) = binding.key_attestations
    assert proven.level == binding.attestation_level
    assert proven.facts["os_patch_level"] == "202611"
    assert (proven.facts["boot_state"], proven.facts["package"]) == ("verified", PACKAGE)
    assert last_event(caller) == ("binding.created", {"attestation": name.lower()})

    stored = caller.get_binding(binding.binding_id)
    assert stored == binding
    assert list(caller.list_bindings("alice").bindings) == [binding]

    token = caller.login(phone).token
    assert jwt.decode(token, options={"verify_signature": False})["att"] == name.lower()
    assert caller.introspect(token).claims.attestation_level == binding.attestation_level


def test_it_is_still_proven_after_a_restart(start, server, caller, phone):
    binding = bind(caller, phone)
    server.terminate()
    # Without the roots: what was proven stays so.
    again = new_caller(start(), caller.application_id)
    assert again.get_binding(binding.binding_id) == binding
    assert jwt.decode(again.login(phone).token, options={"verify_signature": False})["att"] == "tee"


def test_without_a_proof_the_level_is_none(caller, maker):
    for phone in (Phone(), AndroidPhone(maker)):
        begun = caller.begin_binding(phone, "alice")
        binding = bind(caller, phone, phone.hardware_keys(begun.signing_input), begun)
        assert (binding.attestation_level, list(binding.key_attestations)) == (NONE, [])
        assert last_event(caller) == ("binding.created", {})
        token = caller.login(phone).token
        assert "att" not in jwt.decode(token, options={"verify_signature": False})
        assert caller.introspect(token).claims.attestation_level == types_pb2.ATTESTATION_LEVEL_UNSPECIFIED


def test_the_key_with_the_lesser_proof_counts(caller, maker):
    phone = AndroidPhone(maker, BIOMETRY, DEVICE_OWNER)
    begun = caller.begin_binding(phone, "alice")
    keys = phone.attested_keys(begun.signing_input)
    assert bind(caller, phone, keys, begun).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE

    begun = caller.begin_binding(phone, "alice")
    keys = phone.attested_keys(begun.signing_input)
    del keys[1].certificate_chain[:]
    binding = bind(caller, phone, keys, begun)
    assert binding.attestation_level == NONE
    assert [proven.level for proven in binding.key_attestations] == [types_pb2.ATTESTATION_LEVEL_TEE, NONE]


#: What the hardware says of the key, and the event's reason.
NOT_TO_BE_BOUND = [
    ({"key_level": SOFTWARE}, "LEVEL_TOO_LOW"),
    ({"boot_state": SELF_SIGNED}, "BOOT_NOT_VERIFIED"),
    ({"authenticators": None}, "KEY_UNPROTECTED"),
    ({"challenge": bytes(32)}, "CHALLENGE_DIFFERS"),
    ({"challenge": b""}, "CHALLENGE_DIFFERS"),
]


@pytest.mark.parametrize(("changes", "reason"), NOT_TO_BE_BOUND, ids=lambda value: str(value))
def test_a_key_that_is_not_to_be_bound(caller, phone, changes, reason):
    begun = caller.begin_binding(phone, "alice")
    keys = phone.attested_keys(begun.signing_input, **changes)
    check_refused_and_ticket_still_serves(caller, phone, begun, keys, reason)


def chain_of_a_software_key(phone, begun):
    """A rooted phone signs what it likes, and names its own root."""
    return Maker().chain(phone.keys[BIOMETRY], phone.description(begun.signing_input))


def chain_of_another_key(phone, begun):
    return phone.maker.chain(new_key(), phone.description(begun.signing_input))


def chain_below_an_attested_key(phone, begun):
    """An attested key, whose owner uses it as an authority for a key that is not in the hardware."""
    owned, description = new_key(), phone.description(begun.signing_input)
    between = phone.maker.leaf(owned, description, is_authority=True)
    leaf = phone.maker.leaf(phone.keys[BIOMETRY], description, issuer_key=owned, issuer_name=between.subject)
    return [c.public_bytes(Encoding.DER) for c in (leaf, between, phone.maker.keystore, phone.maker.root)]


def chain_below_an_attested_key_that_is_no_authority(phone, begun):
    """Constraints of factories' certificates do not count: the extension alone shows that the owner made the leaf."""
    owned, description = new_key(), phone.description(begun.signing_input)
    between = phone.maker.leaf(owned, description)
    leaf = phone.maker.leaf(phone.keys[BIOMETRY], description, issuer_key=owned, issuer_name=between.subject)
    return [c.public_bytes(Encoding.DER) for c in (leaf, between, phone.maker.keystore, phone.maker.root)]


def chain_that_was_fetched_below_no_authority(phone, begun):
    keystore = phone.maker.keystore_with(PROVISIONING, is_authority=False)
    return phone.maker.chain(phone.keys[BIOMETRY], phone.description(begun.signing_input), keystore)


def chain_with_the_extension_above(phone, begun):
    description = phone.description(begun.signing_input)
    keystore = phone.maker.keystore_with((KEY_DESCRIPTION, description.der))
    return phone.maker.chain(phone.keys[BIOMETRY], description, keystore)


def chain_that_expired(phone, begun):
    keystore = phone.maker.keystore_with(PROVISIONING, days=-1)
    return phone.maker.chain(phone.keys[BIOMETRY], phone.description(begun.signing_input), keystore)


def chain_without_attestation(phone, _):
    return phone.maker.chain(phone.keys[BIOMETRY], None)


def chain_out_of_order(phone, begun):
    return phone.maker.chain(phone.keys[BIOMETRY], phone.description(begun.signing_input))[::-1]


def chain_without_the_keystore(phone, begun):
    leaf, _, root = phone.maker.chain(phone.keys[BIOMETRY], phone.description(begun.signing_input))
    return [leaf, root]


@pytest.mark.parametrize(
    ("chain", "reason"),
    [
        (chain_of_a_software_key, "ROOT_UNKNOWN"),
        (chain_of_another_key, "KEY_DIFFERS"),
        (chain_below_an_attested_key, "EXTENSION_IN_INTERMEDIATE"),
        (chain_below_an_attested_key_that_is_no_authority, "EXTENSION_IN_INTERMEDIATE"),
        (chain_that_was_fetched_below_no_authority, "CHAIN_BROKEN"),
        (chain_with_the_extension_above, "EXTENSION_IN_INTERMEDIATE"),
        (chain_that_expired, "CERTIFICATE_EXPIRED"),
        (chain_without_attestation, "EXTENSION_MISSING"),
        (chain_out_of_order, "ROOT_UNKNOWN"),
        (chain_without_the_keystore, "CHAIN_BROKEN"),
    ],
)
def test_a_chain_that_proves_nothing(caller, phone, chain, reason):
    begun = caller.begin_binding(phone, "alice")
    (key,) = phone.hardware_keys(begun.signing_input)
    key.certificate_chain.extend(chain(phone, begun))
    check_refused_and_ticket_still_serves(caller, phone, begun, [key], reason)


def test_a_factorys_certificate_that_says_it_is_no_authority(caller, phone):
    """As that of a real phone."""
    begun = caller.begin_binding(phone, "alice")
    (key,) = phone.hardware_keys(begun.signing_input)
    keystore = phone.maker.keystore_with(is_authority=False)
    description = phone.description(begun.signing_input)
    key.certificate_chain.extend(phone.maker.chain(phone.keys[BIOMETRY], description, keystore))
    assert bind(caller, phone, [key], begun).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE


def test_a_phones_chain_does_not_serve_again(caller, phone):
    """Neither for its own next ticket, nor for another profile's."""
    begun = caller.begin_binding(phone, "alice")
    (used,) = phone.attested_keys(begun.signing_input)
    bind(caller, phone, [used], begun)
    for profile_id in ("alice", "mallory"):
        begun = caller.begin_binding(phone, profile_id)
        (key,) = phone.hardware_keys(begun.signing_input)
        key.certificate_chain.extend(used.certificate_chain)
        with refused(INVALID_ARGUMENT, field=CHAIN):
            bind(caller, phone, [key], begun)
        assert last_event(caller) == ("binding.refused", {"reason": "CHALLENGE_DIFFERS"})


def test_two_keys_whose_chains_are_swapped(caller, maker):
    phone = AndroidPhone(maker, BIOMETRY, DEVICE_OWNER)
    begun = caller.begin_binding(phone, "alice")
    first, second = phone.attested_keys(begun.signing_input)
    chains = list(first.certificate_chain), list(second.certificate_chain)
    first.certificate_chain[:], second.certificate_chain[:] = chains[1], chains[0]
    check_refused_and_ticket_still_serves(caller, phone, begun, [first, second], "KEY_DIFFERS")


def test_a_key_that_somebody_swapped_on_the_way(caller, phone):
    """The backend, or whoever stands before it, has a key of its own and the phone's chain."""
    begun = caller.begin_binding(phone, "alice")
    stranger = AndroidPhone(phone.maker)
    (key,) = stranger.hardware_keys(begun.signing_input)
    key.certificate_chain.extend(phone.attested_keys(begun.signing_input)[0].certificate_chain)
    check_refused_and_ticket_still_serves(caller, phone, begun, [key], "KEY_DIFFERS")


def test_a_package_of_an_impossible_name(caller, phone):
    """It would be stored, and no answer could show it."""
    begun = caller.begin_binding(phone, "alice")
    with refused(INVALID_ARGUMENT, field=CHAIN, reason="MALFORMED_KEY_DESCRIPTION"):
        bind(caller, phone, phone.attested_keys(begun.signing_input, package="com.example.\0shop"), begun)
    assert last_event(caller) == ("binding.refused", {"reason": "MALFORMED_KEY_DESCRIPTION"})


@pytest.mark.parametrize(
    ("chain", "reason"),
    [
        (lambda chain: [chain[0], b"not a certificate", *chain[2:]], "MALFORMED_CERTIFICATE"),
        (lambda chain: [chain[0] + b"\0", *chain[1:]], "MALFORMED_CERTIFICATE"),
        (lambda chain: [bytes(16_384)], "MALFORMED_CERTIFICATE"),
    ],
)
def test_bytes_that_cannot_be_read_are_named(caller, phone, chain, reason):
    begun = caller.begin_binding(phone, "alice")
    (key,) = phone.attested_keys(begun.signing_input)
    key.certificate_chain[:] = chain(list(key.certificate_chain))
    with refused(INVALID_ARGUMENT, field=CHAIN, reason=reason):
        bind(caller, phone, [key], begun)
    assert last_event(caller) == ("binding.refused", {"reason": reason})
    assert bind(caller, phone, begun=begun).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE


@pytest.mark.parametrize(
    ("chain", "field"),
    [
        (lambda chain: chain * 3, CHAIN),
        (lambda chain: [*chain, b""], f"{CHAIN}[3]"),
        (lambda chain: [bytes(16_385), *chain], f"{CHAIN}[0]"),
    ],
)
def test_an_oversized_chain_is_not_read(caller, phone, chain, field):
    begun = caller.begin_binding(phone, "alice")
    (key,) = phone.attested_keys(begun.signing_input)
    key.certificate_chain[:] = chain(list(key.certificate_chain))
    with refused(INVALID_ARGUMENT, field=field):
        bind(caller, phone, [key], begun)
    assert not caller.events()


def test_a_chain_is_androids(caller, phone):
    """R43: Apple's platforms have App Attest."""
    for platform in ("ios", "macos", "web"):
        phone.platform = platform
        phone.domain_state = b"" if platform == "web" else b"fingers"
        with refused(INVALID_ARGUMENT, field=CHAIN):
            bind(caller, phone)


def test_the_possession_comes_first(caller, phone):
    """Who has the chain and not the key learns nothing of the chain."""
    begun = caller.begin_binding(phone, "alice")
    keys = phone.attested_keys(begun.signing_input, locked=False)
    keys[0].signature = AndroidPhone(phone.maker).hardware_keys(begun.signing_input)[0].signature
    with refused(INVALID_ARGUMENT, field="keys[0].signature"):
        bind(caller, phone, keys, begun)
    assert last_event(caller) == ("binding.refused", {"reason": "POSSESSION_NOT_PROVEN"})


# What an application demands


def demanding(start, maker, tmp_path, **settings):
    """Callers of an application that demands so, and of one that demands nothing."""
    roots = {"roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))}}
    server = start(configuration={"attestation": roots, "applications": {"shop": settings}})
    return new_caller(server, "shop"), new_caller(server, "game")


def test_where_a_proof_is_required_nothing_else_is_bound(start, maker, tmp_path):
    shop, game = demanding(start, maker, tmp_path, attestation="required")
    for phone in (Phone(), AndroidPhone(maker), AndroidPhone(maker, BIOMETRY, DEVICE_OWNER)):
        begun = shop.begin_binding(phone, "alice")
        keys = phone.hardware_keys(begun.signing_input)
        for key in keys[1:]:
            key.certificate_chain.extend(phone.attested_keys(begun.signing_input)[1].certificate_chain)
        with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
            bind(shop, phone, keys, begun)
        assert last_event(shop) == ("binding.refused", {"reason": "ATTESTATION_REQUIRED"})
        if phone.platform == "android":
            assert bind(shop, phone, begun=begun).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
        shop.bind(Phone(), touch_id=bytes(range(7, 250, 11)))
    # A claim is no proof, and other applications ask for none.
    assert game.bind(Phone(), "bob").attestation_level == NONE


# What a policy asks for


POLICIES = {
    "proven": {"purpose": "login", "factors": ["biometry", "passcode"], "minimum_attestation": "tee"},
    "chip": {"purpose": "login", "factors": ["biometry"], "minimum_attestation": "strongbox"},
}


@pytest.fixture
def asking(start, maker, tmp_path):
    roots = {"roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))}}
    return new_caller(start(configuration={"attestation": roots, "policies": POLICIES}))


def test_a_policy_asks_for_a_level(asking, maker):
    proven, bare = AndroidPhone(maker), AndroidPhone(maker)
    bind(asking, proven)
    begun = asking.begin_binding(bare, "alice")
    bind(asking, bare, bare.hardware_keys(begun.signing_input), begun)
    assert asking.login(proven, "proven").outcome == SUCCEEDED
    for phone, policy in [(bare, "proven"), (bare, "chip"), (proven, "chip")]:
        denial = asking.begin(phone, policy).denial
        assert (denial.reason, denial.la_error) == ("LEVEL_TOO_LOW", types_pb2.LA_ERROR_BIOMETRY_NOT_AVAILABLE)
        assert "minimum_attestation" in denial.detail
        assert denial.message.text == (
            "To be used for this, this device needs to be set up again."
        )
    # Where nothing is asked for, it serves as before.
    assert asking.login(bare).outcome == SUCCEEDED


SIGNER = hashlib.sha256(b"signer").hexdigest()


def test_a_proof_that_is_not_enough(start, maker, tmp_path):
    shop, game = demanding(start, maker, tmp_path, packages=[{"name": PACKAGE, "signers": ["00" * 32]}])
    phone = AndroidPhone(maker)
    with refused(INVALID_ARGUMENT, field=CHAIN):
        bind(shop, phone)
    assert last_event(shop) == ("binding.refused", {"reason": "SIGNER_DIFFERS"})
    assert bind(game, phone).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE


def test_a_proof_that_is_enough(start, maker, tmp_path):
    shop, _ = demanding(
        start,
        maker,
        tmp_path,
        attestation="required",
        minimum_level="tee",
        packages=[{"name": PACKAGE, "signers": [SIGNER]}],
        oldest_patch_level="2026-11-01",
    )
    assert bind(shop, AndroidPhone(maker)).attestation_level == types_pb2.ATTESTATION_LEVEL_TEE


def test_where_proofs_are_not_looked_at_they_prove_nothing(start, maker, tmp_path):
    shop, _ = demanding(start, maker, tmp_path, attestation="none")
    phone = AndroidPhone(maker)
    begun = shop.begin_binding(phone, "alice")
    binding = bind(shop, phone, phone.attested_keys(begun.signing_input, locked=False), begun)
    assert (binding.attestation_level, list(binding.key_attestations)) == (NONE, [])


def test_a_demand_is_in_force_after_a_reload(server, caller, maker, tmp_path):
    phone = Phone()
    kept = caller.bind(phone, "alice")
    demand = {caller.application_id: {"attestation": "required"}}
    server.reload({"attestation": {"roots": {"android": str(tmp_path / "roots.pem")}}, "applications": demand})
    # What was bound before stays, and stays unproven.
    assert caller.login(phone).outcome == SUCCEEDED
    assert caller.get_binding(kept.binding_id).attestation_level == NONE
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
        caller.bind(Phone(), "alice")
    bind(caller, AndroidPhone(maker))


# Payments (R38)


@pytest.fixture
def shops(start, maker, tmp_path):
    """Callers of an application that lists its app, and of one that lists none."""
    return demanding(start, maker, tmp_path, packages=[{"name": PACKAGE, "signers": [SIGNER]}])


@pytest.mark.parametrize(("level", "name"), [(1, "tee"), (STRONGBOX, "strongbox")])
def test_a_key_that_hardware_vouches_for_pays_on_android(shops, maker, level, name):
    shop, _ = shops
    phone = AndroidPhone(maker)
    begun = shop.begin_binding(phone, "alice")
    binding = bind(shop, phone, phone.attested_keys(begun.signing_input, attestation_level=level, key_level=level), begun)
    assert [proven.app_listed for proven in binding.key_attestations] == [True]
    assert shop.can_evaluate(phone, "payment").denial.reason == ""
    answer = shop.pay(phone)
    assert answer.outcome == SUCCEEDED
    assert jwt.decode(answer.token, options={"verify_signature": False})["att"] == name
    consumed = shop.consume(answer.token)
    assert (consumed.consumed, consumed.claims.attestation_level) == (True, binding.attestation_level)


def test_a_key_of_nobodys_app_pays_nothing(shops, maker):
    """What the app says of the key, that it dies with a new enrolment, counts only if it is known whose app it is."""
    _, game = shops
    phone = AndroidPhone(maker)
    binding = bind(game, phone)
    assert binding.attestation_level == types_pb2.ATTESTATION_LEVEL_TEE
    assert [proven.app_listed for proven in binding.key_attestations] == [False]
    denial = game.begin(phone, "payment", transaction=COFFEE).denial
    assert denial.reason == "APP_NOT_PROVEN"
    assert "packages" in denial.detail
    assert game.login(phone).outcome == SUCCEEDED


def test_a_policy_and_a_binding_are_explained(asking, maker):
    phone = AndroidPhone(maker)
    bind(asking, phone)
    explained = asking.explain(asking.beginning(phone, "chip"))
    assert explained.attestation_level == types_pb2.ATTESTATION_LEVEL_TEE
    assert explained.asked_attestation_level == types_pb2.ATTESTATION_LEVEL_STRONGBOX
    assert explained.answer.denial.reason == "LEVEL_TOO_LOW"
    (row,) = [row for row in explained.trace if row.rule == "R42"]
    assert (row.passed, row.detail) == (False, "biometry: the level is tee, and chip asks for strongbox")
    explained = asking.explain(asking.beginning(phone))
    assert explained.asked_attestation_level == NONE
    assert not [row for row in explained.trace if row.rule == "R42"]
    explained = asking.explain(asking.beginning(phone, profile_id="alice"))
    assert explained.attestation_level == types_pb2.ATTESTATION_LEVEL_UNSPECIFIED


# Roots


def test_googles_roots_are_the_default(start, maker):
    caller = new_caller(start())
    phone = AndroidPhone(maker)
    with refused(INVALID_ARGUMENT, field=CHAIN):
        bind(caller, phone)
    assert last_event(caller) == ("binding.refused", {"reason": "ROOT_UNKNOWN"})


def test_the_roots_are_replaced_without_a_restart(server, caller, maker, tmp_path):
    other = Maker("Other")
    known, unknown = AndroidPhone(maker), AndroidPhone(other)
    with refused(INVALID_ARGUMENT, field=CHAIN):
        bind(caller, unknown)
    other.write_roots(tmp_path / "roots.pem")
    server.reload()
    bind(caller, unknown)
    with refused(INVALID_ARGUMENT, field=CHAIN):
        bind(caller, known)


# Revoked certificates


def test_a_revoked_certificate_proves_nothing(server, caller, maker, tmp_path):
    """From the next reload on, also if the root is left out; what was bound before stays."""
    bound = AndroidPhone(maker)
    bind(caller, bound)
    revoked = tmp_path / "revoked.json"
    attestation = {"roots": {"android": str(tmp_path / "roots.pem")}, "revoked": {"android": str(revoked)}}
    serial = f"00{maker.root.serial_number:X}"
    revoked.write_text(json.dumps({"entries": {serial: {"status": "REVOKED", "reason": "KEY_COMPROMISE"}}}))
    server.reload({"attestation": attestation})
    phone = AndroidPhone(maker)
    begun = caller.begin_binding(phone, "bob")
    (key,) = phone.attested_keys(begun.signing_input)
    del key.certificate_chain[-1]
    with refused(INVALID_ARGUMENT, field=CHAIN):
        bind(caller, phone, [key], begun)
    assert last_event(caller) == ("binding.refused", {"reason": "CERTIFICATE_REVOKED"})
    assert caller.login(bound).outcome == SUCCEEDED

    revoked.write_text(json.dumps({"entries": {}}))
    server.reload()
    bind(caller, phone, begun=begun)


def aged_trust(maker, tmp_path, days, **settings):
    """A configuration whose list of revoked certificates was fetched so many days ago."""
    revoked = tmp_path / "revoked.json"
    revoked.write_text('{"entries": {}}')
    fetched = time.time() - days * 86_400
    os.utime(revoked, (fetched, fetched))
    roots = {"android": str(maker.write_roots(tmp_path / "roots.pem"))}
    return {"attestation": {"roots": roots, "revoked": {"android": str(revoked)}, **settings}}


def test_a_list_that_is_too_old(start, maker, tmp_path):
    """R45: it is said and told; logins go on, and no new key is bound by a proof, if that is configured."""
    server = start(configuration=aged_trust(maker, tmp_path, 0, when_too_old="refuse"))
    caller, bound, phone = new_caller(server), AndroidPhone(maker), AndroidPhone(maker)
    bind(caller, bound)
    begun = caller.begin_binding(phone, "bob")

    server.write_configuration(aged_trust(maker, tmp_path, 8, when_too_old="refuse"))
    server.process.send_signal(signal.SIGHUP)
    assert "attestation.revoked.android" in server.next_error("trust data is too old")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TRUST_DATA_TOO_OLD"):
        bind(caller, phone, begun=begun)
    assert last_event(caller) == ("binding.refused", {"reason": "TRUST_DATA_TOO_OLD"})
    told = caller.next_event("trust.too_old").details
    assert (told["setting"], told["attested_bindings"]) == ("attestation.revoked.android", "refused")
    assert caller.login(bound).outcome == SUCCEEDED
    bare = AndroidPhone(maker)
    asked = caller.begin_binding(bare, "carol")
    bind(caller, bare, bare.hardware_keys(asked.signing_input), asked)
    health = health_pb2_grpc.HealthStub(server.channel()).Check(health_pb2.HealthCheckRequest(), timeout=20)
    assert health.status == health_pb2.HealthCheckResponse.SERVING

    # Fetched anew, and read again.
    server.write_configuration(aged_trust(maker, tmp_path, 0, when_too_old="refuse"))
    server.process.send_signal(signal.SIGHUP)
    assert "attestation.revoked.android" in server.next_error("trust data is recent again")
    bind(caller, phone, begun=begun)


def test_how_old_a_list_may_be_is_a_setting(start, maker, tmp_path):
    configuration = aged_trust(maker, tmp_path, 8, when_too_old="refuse")
    configuration["attestation"]["revoked"]["maximum_age"] = "9d"
    bind(new_caller(start(configuration=configuration)), AndroidPhone(maker))
    for settings, complaint in [
        ("{revoked: {‸maximum_age: 1d}}", "no effect"),
        ("{roots: {android: x, maximum_age: ‸1w}}", "an age such as"),
        ("{when_too_old: ‸stop}", "warn"),
    ]:
        check_complaints(tmp_path / "touchstone.yaml", f"attestation: {settings}\n", complaint)


def test_trust_that_is_gone_from_the_configuration_is_refused(start, maker, tmp_path):
    """A file that was cut off must not open the service."""
    (tmp_path / "revoked.json").write_text('{"entries": {}}')
    whole = {
        "applications": {"shop": {"attestation": "required"}},
        "attestation": {
            "roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))},
            "revoked": {"android": str(tmp_path / "revoked.json")},
        },
    }
    server = start(configuration=whole)
    for section, key in [("applications", None), ("attestation", "roots"), ("attestation", "revoked")]:
        rest = {**whole, section: {name: files for name, files in whole[section].items() if key and name != key}}
        server.write_configuration({name: settings for name, settings in rest.items() if settings})
        server.process.send_signal(signal.SIGHUP)
        named = f"{section}.{key}" if key else f"section {section}"
        assert named in server.next_error("any more")
    caller, phone = new_caller(server, "shop"), AndroidPhone(maker)
    begun = caller.begin_binding(phone, "alice")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="ATTESTATION_REQUIRED"):
        bind(caller, phone, phone.hardware_keys(begun.signing_input), begun)


def test_a_curve_that_is_spelled_out_is_refused_before_its_key_is_read(caller, phone):
    """Reading one of the peer's own making takes 100 ms, in the threads that verify everybody's passcodes."""
    begun = caller.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    keys[0].certificate_chain.append(certificate_that_spells_its_curve_out())
    with refused(INVALID_ARGUMENT, reason="UNSUPPORTED_ALGORITHM"):
        bind(caller, phone, keys, begun)
    bind(caller, phone, begun=begun)


def test_a_list_that_cannot_be_read_changes_nothing(server, caller, maker, tmp_path):
    (tmp_path / "list.json").write_text('{"entries": []}')
    (tmp_path / "serial.json").write_text('{"entries": {"c6": {}, "c6 01": {}}}')
    (tmp_path / "open.json").write_text('{"entries": {}}')
    (tmp_path / "open.json").chmod(0o666)
    for name, complaint in [("list.json", "revoked certificates"), ("serial.json", '"c6 01"'), ("open.json", "chmod")]:
        check_complaints(
            tmp_path / "checked.yaml", f"attestation: {{revoked: {{android: ‸{tmp_path / name}}}}}\n", complaint
        )
    files = {"roots": {"android": str(tmp_path / "roots.pem")}, "revoked": {"android": str(tmp_path / "list.json")}}
    server.write_configuration({"attestation": files})
    server.process.send_signal(signal.SIGHUP)
    assert "revoked certificates" in server.next_error("configuration refused")
    bind(caller, AndroidPhone(maker))


def test_roots_that_cannot_be_used(tmp_path):
    (tmp_path / "empty.pem").write_text("no certificate")
    (tmp_path / "open.pem").write_text("anyone's")
    (tmp_path / "open.pem").chmod(0o666)
    for name, complaint in [("empty.pem", "no roots"), ("open.pem", "chmod"), ("absent.pem", "cannot be read")]:
        for platform in ("android", "apple"):
            check_complaints(
                tmp_path / "touchstone.yaml", f"attestation: {{roots: {{{platform}: ‸{tmp_path / name}}}}}\n", complaint
            )
    check_complaints(tmp_path / "touchstone.yaml", "attestation: {‸root: x}\n", "root")
    check_complaints(tmp_path / "touchstone.yaml", "attestation: {roots: {‸web: x}}\n", "web")
    check_complaints(tmp_path / "touchstone.yaml", "attestation: {revoked: {‸apple: x}}\n", "apple")
