"""Security keys and TPMs by FIDO's metadata: whose certificates lead where, which models are revoked, and metadata that is not
FIDO's, or not the newest (R45, R46)."""

import itertools
import json
import os
import signal
import time

import fido2.mds3
import fido2.webauthn
import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from fido2.attestation.base import InvalidAttestation

from support.authenticators import OTHER, YUBI, Model, Publisher, Root, der, text
from support.caller import new_caller
from support.configuration import check_complaints
from support.errors import refused
from support.passkeys import Passkey, PasskeyCaller, base64url, self_attested, served, sha256
from support.server import run
from support.stubs import evaluation_pb2, types_pb2

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED
SELF, TEE = types_pb2.ATTESTATION_LEVEL_SELF_ATTESTED, types_pb2.ATTESTATION_LEVEL_TEE
APP = "shop"
NUMBERS = itertools.count()
MODEL = "00010203-0405-0607-0809-0a0b0c0d0e0f"


@pytest.fixture(scope="module")
def publisher():
    return Publisher()


@pytest.fixture(scope="module")
def model():
    return Model()


@pytest.fixture
def trust(publisher, tmp_path):
    """The section `attestation`, for metadata that a test writes."""

    def section(*entries, roots=(), settings=(), **options):
        publisher.write(tmp_path / "mds.jwt", *entries, **options)
        named = {"fido": str(publisher.root.write(tmp_path / "publisher.pem")), **dict(roots)}
        return {"attestation": {"roots": named, "metadata": {"fido": str(tmp_path / "mds.jwt")}, **dict(settings)}}

    return section


def serving(start, trust, **settings):
    """A service of its own."""
    server = start(f"data-{next(NUMBERS)}", configuration=served(APP, **settings) | trust)
    return PasskeyCaller(new_caller(server, APP))


def register(shop, statement, profile_id="alice", **options):
    passkey = Passkey(**options)
    return passkey, shop.register(passkey, profile_id, attestation=statement)


def facts(binding):
    return dict(binding.key_attestations[0].facts)


def check_refused(shop, statement, reason, **options):
    """And the event has the reason; the answer names the field alone."""
    begun = shop.begin_registration()
    with refused(INVALID_ARGUMENT, field="passkey"):
        shop.complete(begun, Passkey(**options).create(begun.passkey_options, attestation=statement))
    event = shop.caller.events()[-1]
    assert (event.kind, event.details["reason"]) == ("binding.refused", reason)


# What a model's certificates prove


def test_each_format_leads_to_its_models_root(start, trust, model):
    shop = serving(start, trust(model.entry(), model.u2f_entry()), attestation="required", minimum_level="tee")
    for statement, aaguid in [(model.packed, YUBI), (model.tpm, YUBI), (model.fido_u2f, bytes(16))]:
        passkey, binding = register(shop, statement, aaguid=aaguid)
        assert binding.attestation_level == TEE
        assert facts(binding)["model"] == "Test Key 5"
        answer = shop.login(passkey)
        assert answer.outcome == SUCCEEDED


def test_a_tpm_has_keys_of_other_kinds(start, trust, model):
    """On P-384, and RSA of 1,024 bits, which old TPMs have alone: no other statement makes up for so short a key."""
    shop = serving(start, trust(model.entry()))
    register(shop, model.tpm, aaguid=YUBI, algorithm=-35)
    register(shop, model.tpm, aaguid=YUBI, algorithm=-257)
    short = Passkey(-257, aaguid=YUBI)
    short.key = rsa.generate_private_key(65_537, 1_024)
    begun = shop.begin_registration()
    for statement in (None, self_attested, model.packed, lambda p, d, h: ("tpm", model.packed(p, d, h)[1])):
        with refused(INVALID_ARGUMENT):
            shop.complete(begun, short.create(begun.passkey_options, attestation=statement))
    shop.complete(begun, short.create(begun.passkey_options, attestation=model.tpm))
    assert shop.login(short).outcome == SUCCEEDED
    # Where statements are not read, none makes up for it.
    unread = serving(start, trust(model.entry()), attestation="none")
    begun = unread.begin_registration()
    with refused(INVALID_ARGUMENT):
        unread.complete(begun, short.create(begun.passkey_options, attestation=model.tpm))


def test_a_model_of_the_list_alone(start, trust, model):
    """`aaguids`: its certificate vouches for the model."""
    other = Model(OTHER)
    shop = serving(start, trust(model.entry(), other.entry()), passkeys={"aaguids": [MODEL]})
    _, binding = register(shop, model.packed, aaguid=YUBI)
    assert binding.passkey.aaguid == YUBI
    check_refused(shop, other.packed, "AUTHENTICATOR_NOT_ALLOWED", aaguid=OTHER)
    # Its word alone is nothing.
    check_refused(shop, self_attested, "AUTHENTICATOR_NOT_ALLOWED", aaguid=YUBI)


def test_the_root_of_another_model_does_not_serve(start, trust, model):
    """Also where its maker signs a certificate for this one's AAGUID."""
    other = Model(OTHER)
    shop = serving(start, trust(model.entry(), other.entry()))
    bare = Model(YUBI, other.root)
    check_refused(shop, bare.packed, "CHAIN_INCOMPLETE", aaguid=YUBI)
    check_refused(shop, bare.tpm, "CHAIN_INCOMPLETE", aaguid=YUBI)
    # The certificate names the model, and the signature another one.
    check_refused(shop, other.packed, "AUTHENTICATOR_DIFFERS", aaguid=YUBI)
    # A U2F key by its certificate, whatever AAGUID is sent beside it.
    check_refused(shop, model.fido_u2f, "ROOT_UNKNOWN", aaguid=YUBI)


def test_two_models_below_one_root_are_told_apart_by_the_extension(start, trust, model):
    """WebAuthn §8.2.1: without it, the other model's authenticators could sign this one's AAGUID."""
    unnamed = Model(YUBI, model.root, names_itself=False)
    alone = serving(start, trust(model.entry()))
    register(alone, unnamed.packed, aaguid=YUBI)
    beside = serving(start, trust(model.entry(), Model(OTHER, model.root).entry()))
    check_refused(beside, unnamed.packed, "CERTIFICATE_UNSUITABLE", aaguid=YUBI)
    register(beside, model.packed, aaguid=YUBI)


def test_a_model_that_the_metadata_does_not_have(start, trust, model, tmp_path):
    shop = serving(start, trust(model.entry()))
    stranger = Model(OTHER)
    check_refused(shop, stranger.packed, "ROOT_UNKNOWN", aaguid=OTHER)
    # Without certificates it is its own word, as before.
    _, binding = register(shop, self_attested, aaguid=OTHER)
    assert (binding.attestation_level, "root" in facts(binding)) == (SELF, False)

    roots = {"authenticators": str(stranger.root.write(tmp_path / "strangers.pem"))}
    shop = serving(start, trust(model.entry(), roots=roots))
    _, binding = register(shop, stranger.packed, aaguid=OTHER)
    assert (binding.attestation_level, "model" in facts(binding)) == (TEE, False)
    # These are for models without an entry.
    check_refused(shop, Model(YUBI, stranger.root).packed, "CHAIN_INCOMPLETE", aaguid=YUBI)


def test_roots_without_metadata(start, model, tmp_path):
    roots = {"authenticators": str(model.root.write(tmp_path / "roots.pem"))}
    shop = serving(start, {"attestation": {"roots": roots}}, attestation="required", minimum_level="tee")
    for statement in (model.packed, model.tpm):
        _, binding = register(shop, statement, aaguid=YUBI)
        assert binding.attestation_level == TEE
    check_refused(shop, Model(YUBI).packed, "CHAIN_INCOMPLETE", aaguid=YUBI)


@pytest.mark.parametrize("protection", [["software"], ["software", "tee"], ["remote_handle"], []])
def test_a_key_in_software_has_the_level_self(start, trust, model, protection):
    """Its path is right, and what it leads to says that no hardware keeps the key."""
    shop = serving(start, trust(model.entry(protection=protection)))
    _, binding = register(shop, model.packed, aaguid=YUBI)
    assert binding.attestation_level == SELF
    assert facts(binding)["model"] == "Test Key 5"


# What became known of a model


@pytest.mark.parametrize(
    "status",
    [
        "REVOKED",
        "USER_VERIFICATION_BYPASS",
        "ATTESTATION_KEY_COMPROMISE",
        "USER_KEY_REMOTE_COMPROMISE",
        "USER_KEY_PHYSICAL_COMPROMISE",
    ],
)
def test_a_model_that_is_not_to_be_trusted(start, trust, model, status):
    """From the next reload on; what was bound before logs in."""
    section = trust(model.entry("FIDO_CERTIFIED_L1", "UPDATE_AVAILABLE"), model.u2f_entry())
    server = start(configuration=served(APP) | section)
    shop = PasskeyCaller(new_caller(server, APP))
    passkey, _ = register(shop, model.packed, aaguid=YUBI)

    # A later report does not take it back.
    trust(model.entry(status, "FIDO_CERTIFIED_L1"), model.u2f_entry(status), number=8)
    server.reload()
    for statement, aaguid in [(model.packed, YUBI), (model.tpm, YUBI), (model.fido_u2f, bytes(16))]:
        check_refused(shop, statement, "AUTHENTICATOR_REVOKED", aaguid=aaguid)
    # One that says so itself, too.
    check_refused(shop, self_attested, "AUTHENTICATOR_REVOKED", aaguid=YUBI)
    check_refused(shop, None, "AUTHENTICATOR_REVOKED", aaguid=YUBI)
    assert shop.login(passkey).outcome == SUCCEEDED
    register(shop, None)


def test_a_batch_whose_key_became_known(start, trust, model):
    """The report names its certificate: other batches of the model count."""
    other = Model(YUBI, model.root)
    report = {"status": "ATTESTATION_KEY_COMPROMISE", "certificate": text(model.certificate)}
    shop = serving(start, trust(model.entry("FIDO_CERTIFIED", report)))
    check_refused(shop, model.packed, "AUTHENTICATOR_REVOKED", aaguid=YUBI)
    _, binding = register(shop, other.packed, aaguid=YUBI)
    assert binding.attestation_level == TEE


def test_a_root_that_became_known(start, trust, model):
    """One that cannot be read concerns the model."""
    for named in (text(model.root.certificate), "not base64!?"):
        report = {"status": "ATTESTATION_KEY_COMPROMISE", "certificate": named}
        shop = serving(start, trust(model.entry(report)))
        check_refused(shop, model.packed, "AUTHENTICATOR_REVOKED", aaguid=YUBI)


# Metadata that is not FIDO's


def check_metadata(tmp_path, root, complaint):
    """`check-config` names the file; a service that runs keeps what it has."""
    section = f"{{roots: {{fido: {root}}}, metadata: {{fido: ‸{tmp_path / 'mds.jwt'}}}}}"
    check_complaints(tmp_path / "checked.yaml", f"attestation: {section}\n", complaint)


def test_metadata_of_another_signer(publisher, model, tmp_path):
    root = publisher.root.write(tmp_path / "publisher.pem")
    file = tmp_path / "mds.jwt"
    for other, complaint in [
        (Publisher(), "CHAIN_INCOMPLETE"),
        # Another site's, under the same root: GlobalSign vouches for many.
        (Publisher(publisher.root, "shop.example"), "CERTIFICATE_UNSUITABLE"),
        (Publisher(publisher.root, "mds.fidoalliance.org.shop.example"), "CERTIFICATE_UNSUITABLE"),
        (Publisher(publisher.root, "*.fidoalliance.org"), "CERTIFICATE_UNSUITABLE"),
        (Publisher(publisher.root, purpose=ExtendedKeyUsageOID.EMAIL_PROTECTION), "CERTIFICATE_UNSUITABLE"),
        (Publisher(publisher.root, days=-30), "CERTIFICATE_EXPIRED"),
    ]:
        other.write(file, model.entry())
        check_metadata(tmp_path, root, complaint)
    publisher.write(file, model.entry(), key=model.key)
    check_metadata(tmp_path, root, "SIGNATURE_INVALID")
    # Without a root of the operator's, GlobalSign's count.
    publisher.write(file, model.entry())
    check_complaints(tmp_path / "checked.yaml", f"attestation: {{metadata: {{fido: ‸{file}}}}}\n", "CHAIN_INCOMPLETE")


def test_metadata_whose_signer_expired_after_the_next_was_due(start, trust, publisher, model, tmp_path):
    """It was right in its time, and how old it may be is a question of its age: a restart must not fail for it."""
    (tmp_path / "mds.jwt").write_text(Publisher(publisher.root, days=-10).blob(model.entry(), due_in=-20))
    roots = {"fido": str(publisher.root.write(tmp_path / "publisher.pem"))}
    section = {"attestation": {"roots": roots, "metadata": {"fido": str(tmp_path / "mds.jwt")}}}
    server = start(configuration=served(APP) | section)
    assert "attestation.metadata.fido" in server.next_error("trust data is too old")


def test_metadata_that_cannot_be_read(publisher, model, tmp_path):
    root = publisher.root.write(tmp_path / "publisher.pem")
    file = tmp_path / "mds.jwt"
    blob = publisher.blob(model.entry())
    header, payload, signature = blob.split(".")
    for content, complaint in [
        ("", "three parts"),
        (f"{header}.{payload}", "three parts"),
        (f"{blob}.{signature}", "three parts"),
        (f"{header}=.{payload}.{signature}", "base64url"),
        (f"{header}.{payload}.{signature}AA", "64 bytes"),
        (f"{header}.{payload}A.{signature}", "SIGNATURE_INVALID"),
        (f"{base64url(b'[]')}.{payload}.{signature}", "header"),
        (f"{'A' * 400_000}.{payload}.{signature}", "too long"),
        (publisher.blob(headers={}), "x5c"),
        (publisher.blob(headers={"x5c": []}), "no certificates"),
        (publisher.blob(headers={"x5c": [text(publisher.root.certificate)] * 9}), "more than 8"),
        (publisher.blob(headers={"x5c": ["AAAA"]}), "MALFORMED_CERTIFICATE"),
        (publisher.blob(algorithm="HS256", key="0" * 32), "UNSUPPORTED_ALGORITHM"),
        (publisher.blob(nextUpdate="soon"), "nextUpdate"),
        (publisher.blob(nextUpdate="+2026-12-1"), "nextUpdate"),
        (publisher.blob(no="7"), "JSON of FIDO's metadata"),
        (publisher.blob(no=-1), "negative"),
        (publisher.blob(entries={}), "JSON of FIDO's metadata"),
        (publisher.blob(entries=[{"statusReports": []}] * 10_001), "more than 10000 entries"),
        (publisher.blob(model.entry(roots=[publisher.root.certificate] * 1_001)), "too many"),
    ]:
        file.write_text(content)
        check_metadata(tmp_path, root, complaint)
    with file.open("wb") as large:
        large.truncate((64 << 20) + 1)
    check_metadata(tmp_path, root, "larger than")
    file.write_text(blob)
    file.chmod(0o666)
    check_metadata(tmp_path, root, "chmod")
    check_complaints(tmp_path / "checked.yaml", f"attestation: ‸{{roots: {{fido: {root}}}}}\n", "no effect")
    check_complaints(tmp_path / "checked.yaml", "attestation: {metadata: {‸android: x}}\n", "android")


def test_entries_that_cannot_be_read_harm_no_other(start, trust, model):
    """And a file ends as files do."""
    strange = Model(OTHER).entry()
    strange["metadataStatement"]["attestationRootCertificates"] = ["AAAA", ""]
    entries = [strange, model.entry(aaguid="no UUID"), model.entry(aaid="1234#5678", aaguid=None), model.entry()]
    # As some makers' are.
    lines = text(model.root.certificate)
    entries[-1]["metadataStatement"]["attestationRootCertificates"] = [f" {lines[:64]}\n{lines[64:]}\n"]
    shop = serving(start, trust(*entries))
    register(shop, model.packed, aaguid=YUBI)
    check_refused(shop, Model(OTHER).packed, "CHAIN_INCOMPLETE", aaguid=OTHER)


def test_two_entries_of_one_model_trust_what_both_do(start, trust, model):
    shop = serving(start, trust(model.entry(), model.entry(roots=[Root().certificate])))
    check_refused(shop, model.packed, "CHAIN_INCOMPLETE", aaguid=YUBI)
    shop = serving(start, trust(model.entry("REVOKED"), model.entry()))
    check_refused(shop, model.packed, "AUTHENTICATOR_REVOKED", aaguid=YUBI)


def test_metadata_signed_by_rsa(start, trust, model):
    """As FIDO signs it."""
    key = rsa.generate_private_key(65_537, 2_048)
    shop = serving(start, trust(model.entry(), signer=key, algorithm="RS256"))
    register(shop, model.packed, aaguid=YUBI)


# Metadata that is not the newest


def test_older_metadata_does_not_come_back(start, trust, model):
    """It would bring back a model that is revoked by now."""
    section = trust(model.entry("REVOKED"), number=8)
    server = start(configuration=served(APP) | section)
    shop = PasskeyCaller(new_caller(server, APP))
    trust(model.entry(), number=7)
    server.process.send_signal(signal.SIGHUP)
    refusal = server.next_error("configuration refused")
    assert "attestation.metadata.fido has number 7, and number 8 is in force" in refusal
    check_refused(shop, model.packed, "AUTHENTICATOR_REVOKED", aaguid=YUBI)
    # The same again, and a newer one.
    trust(model.entry("REVOKED"), number=8)
    server.reload()
    trust(model.entry(), number=9)
    server.reload()
    register(shop, model.packed, aaguid=YUBI)


def test_a_reload_takes_all_or_nothing(start, trust, model, tmp_path):
    section = trust(model.entry())
    server = start(configuration=served(APP) | section)
    shop = PasskeyCaller(new_caller(server, APP))
    (tmp_path / "mds.jwt").write_text("half")
    server.write_configuration(served(APP, attestation="required") | section)
    server.process.send_signal(signal.SIGHUP)
    assert "attestation.metadata.fido" in server.next_error("configuration refused")
    register(shop, None)
    register(shop, model.packed, aaguid=YUBI)


def test_metadata_that_is_gone_from_the_configuration_is_refused(start, trust, model, tmp_path):
    roots = {"authenticators": str(model.root.write(tmp_path / "roots.pem"))}
    section = trust(model.entry(), roots=roots)
    server = start(configuration=served(APP) | section)
    for name in ("roots.fido", "roots.authenticators", "metadata.fido"):
        kind, key = name.split(".")
        rest = {**section["attestation"], kind: {**section["attestation"][kind]}}
        del rest[kind][key]
        if name == "metadata.fido":
            # Without it, the root of its signer would have no effect.
            rest = {"roots": {"authenticators": roots["authenticators"]}}
        server.write_configuration(served(APP) | {"attestation": rest})
        server.process.send_signal(signal.SIGHUP)
        server.next_error(f"attestation.{name} any more")


def test_metadata_that_is_too_old(start, trust, model, tmp_path):
    """R45: by its own date, whatever its file's is. Proofs that rest on it are refused, if that is configured."""
    settings = {"when_too_old": "refuse"}
    server = start(configuration=served(APP) | trust(model.entry(), settings=settings))
    shop = PasskeyCaller(new_caller(server, APP))
    passkey, _ = register(shop, model.packed, aaguid=YUBI)

    trust(model.entry(), due_in=-9, number=8, settings=settings)
    os.utime(tmp_path / "mds.jwt", (time.time(), time.time()))
    server.process.send_signal(signal.SIGHUP)
    # The last `reload` below must not take this one's line for its own.
    warning, _ = server.next_errors("trust data is too old", "configuration reloaded")
    assert "attestation.metadata.fido" in warning
    told = shop.caller.next_event("trust.too_old").details
    assert (told["setting"], told["attested_bindings"]) == ("attestation.metadata.fido", "refused")
    assert "next_update" in told
    begun = shop.begin_registration()
    with refused(grpc.StatusCode.FAILED_PRECONDITION, reason="TRUST_DATA_TOO_OLD"):
        shop.complete(begun, Passkey(aaguid=YUBI).create(begun.passkey_options, attestation=model.packed))
    assert shop.login(passkey).outcome == SUCCEEDED
    register(shop, None)
    register(shop, self_attested, aaguid=OTHER)

    trust(model.entry(), number=9, settings=settings)
    server.reload()
    register(shop, model.packed, aaguid=YUBI)


def test_how_late_metadata_may_be_is_a_setting(start, trust, model):
    section = trust(model.entry(), due_in=-9, settings={"when_too_old": "refuse"})
    section["attestation"]["metadata"]["maximum_age"] = "10d"
    register(serving(start, section), model.packed, aaguid=YUBI)


# Others


class Judge(fido2.mds3.MdsAttestationVerifier):
    """PyPI's fido2, for one registration."""

    def accepts(self, registration):
        attested = fido2.webauthn.AttestationObject(registration.attestation_object)
        try:
            self.verify_attestation(attested, sha256(registration.client_data_json))
        except InvalidAttestation:
            return False
        return True


def test_others_judge_the_same(start, trust, publisher, model, tmp_path):
    other = Model(OTHER)
    entries = model.entry(), model.u2f_entry(), other.entry("REVOKED")
    # It reads a JWS's ES256 as X.509 has it.
    signed = {"signer": rsa.generate_private_key(65_537, 2_048), "algorithm": "RS256"}
    shop = serving(start, trust(*entries, **signed))
    blob = fido2.mds3.parse_blob((tmp_path / "mds.jwt").read_bytes(), der(publisher.root.certificate))
    assert blob.no == 7
    judge = Judge(blob)
    forged = Model(YUBI, other.root)
    for statement, aaguid, is_right in [
        (model.packed, YUBI, True),
        (model.tpm, YUBI, True),
        (model.fido_u2f, bytes(16), True),
        (other.packed, OTHER, False),
        (forged.packed, YUBI, False),
        (forged.fido_u2f, bytes(16), False),
        (Model(bytes(range(32, 48))).packed, bytes(range(32, 48)), False),
    ]:
        begun = shop.begin_registration()
        registration = Passkey(aaguid=aaguid).create(begun.passkey_options, attestation=statement)
        assert judge.accepts(registration) == is_right
        if is_right:
            shop.complete(begun, registration)
        else:
            with refused(INVALID_ARGUMENT, field="passkey"):
                shop.complete(begun, registration)


# touchstone attestation check


def test_the_check_judges_by_metadata(trust, publisher, model, tmp_path):
    section = trust(model.entry(), Model(OTHER).entry("REVOKED"))
    root = tmp_path / "publisher.pem"
    (tmp_path / "policy.yaml").write_text(json.dumps(section | served(APP)))

    def case(statement, aaguid):
        passkey, challenge = Passkey(aaguid=aaguid), base64url(bytes(32))
        options = {"pubKeyCredParams": [{"type": "public-key", "alg": -7}], "rp": {"id": "shop.example"}}
        options |= {"user": {"id": "AAAA"}, "challenge": challenge}
        registration = passkey.create(json.dumps(options), attestation=statement)
        return {
            "id": "case",
            "kind": "webauthn-registration",
            "rp_id": "shop.example",
            "origin": "https://shop.example",
            "expected_challenge_b64u": challenge,
            "clientDataJSON_b64u": base64url(registration.client_data_json),
            "attestationObject_b64u": base64url(registration.attestation_object),
        }

    def verdict(one, *arguments):
        (tmp_path / "case.json").write_text(json.dumps(one))
        checked = run("attestation", "check", "--json", *arguments, tmp_path / "case.json")
        found = json.loads(checked.stdout)
        return found.get("reason") or found["level"]

    metadata = ("--metadata", tmp_path / "mds.jwt", "--metadata-root", root)
    for arguments in [metadata, ("--policy", tmp_path / "policy.yaml")]:
        assert verdict(case(model.packed, YUBI), *arguments) == "tee"
        assert verdict(case(Model(YUBI).packed, YUBI), *arguments) == "CHAIN_INCOMPLETE"
        assert verdict(case(self_attested, OTHER), *arguments) == "AUTHENTICATOR_REVOKED"
    assert verdict(case(model.packed, YUBI)) == "self"
    for arguments, message in [
        (["--metadata", tmp_path / "mds.jwt"], "CHAIN_INCOMPLETE"),
        (["--metadata-root", root], "--metadata-root needs --metadata"),
    ]:
        checked = run("attestation", "check", *arguments, tmp_path / "case.json")
        assert checked.returncode not in (0, 1)
        assert message in checked.stderr
