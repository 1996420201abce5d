"""`touchstone attestation check`: what real phones and browsers sent comes out as it must (R46, R47)."""

import base64
import datetime
import functools
import hashlib
import json
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from support.authenticators import Model
from support.passkeys import ORIGIN, RP_ID, Passkey
from support.server import run

VECTORS = Path(__file__).parent.parent / "Vectors" / "attestation"
FILES = sorted(VECTORS.glob("**/*.json"))

DIFFERENCE = 1
USAGE = 64
DATA_ERROR = 65
NO_INPUT = 66
BAD_CONFIGURATION = 78

# The case and the proof, and why it is not served.
UNSUPPORTED = {
    ("pywebauthn-verify_pqc_ml_dsa_44_packed_response", "registration"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
    ("pywebauthn-auth-10-verify_ml_dsa_44_response", "authentication"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
    ("yubico-real-Mldsa44", "registration"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
    ("yubico-real-Mldsa44", "authentication"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
} | {
    # The cases' source accepts SHA-1 for a credential's own key.
    (f"yubico-test-packed-{kind}AttestationRs1", proof): "UNSUPPORTED_ALGORITHM: RS1: SHA-1 no longer holds"
    for kind in ["Basic", "Self"]
    for proof in ["registration", "authentication"]
}
# Another verifier refuses the same `tokenBinding` that fido2net-packed-ES256-45 must be accepted with: Level 3 ignores
# it.
CONTRADICTED = {("pywebauthn-neg-15-verify_attestation_with_unsupported_token_binding_status", "registration"): "None: None"}


def verdicts(*arguments):
    checked = run("attestation", "check", "--json", *arguments)
    assert checked.stderr == ""
    return checked.returncode, [json.loads(line) for line in checked.stdout.splitlines()]


@functools.cache
def verdicts_alone():
    """Of all vectors, without a policy."""
    return verdicts(*FILES)


def case(file, name):
    return next(case for case in json.loads((VECTORS / file).read_text()) if case["id"] == name)


def written(path, *cases):
    path.write_text(json.dumps(list(cases)))
    return path


def test_every_vector_comes_out_as_expected():
    code, found = verdicts_alone()
    unexpected = {
        (verdict["id"], verdict["proof"]): f"{verdict.get('reason')}: {verdict.get('detail')}"
        for verdict in found
        if not verdict["as_expected"]
    }
    assert unexpected == UNSUPPORTED | CONTRADICTED
    assert code == DIFFERENCE
    assert len(found) == 601
    # Frames whose case names no page around them.
    framed = {verdict["id"] for verdict in found if verdict.get("reason") == "CROSS_ORIGIN"}
    assert {f"t3-go-webauthn-authentication-{number}" for number in [19, 20]} <= framed


def test_levels_and_facts_are_what_the_hardware_says():
    _, [pixel] = verdicts(VECTORS / "android" / "keyatt-caiman-sdk36-SB_EC_RKP.json")
    assert (pixel["verdict"], pixel["level"]) == ("accepted", "strongbox")
    assert pixel["facts"]["boot_state"] == "verified"
    assert pixel["facts"]["remotely_provisioned"] == "true"
    _, [emulator] = verdicts(VECTORS / "android" / "asitplus-Android_Emulator_RSA.json")
    assert (emulator["verdict"], emulator["level"]) == ("accepted", "self")
    _, [app, assertion] = verdicts(VECTORS / "appattest" / "veehaitch-ios-14.2.json")
    assert (app["level"], app["facts"]["environment"]) == ("app", "development")
    assert assertion["facts"]["counter"] == "1"


def test_the_time_can_be_given():
    file = VECTORS / "appattest" / "veehaitch-ios-14.2.json"
    code, [late] = verdicts("--at", "2026-11-22T00:00:00Z", file)
    assert (code, late["reason"]) == (DIFFERENCE, "CERTIFICATE_EXPIRED")
    code, [early] = verdicts("--at", "2019-01-01T00:00:00Z", file)
    assert (code, early["reason"]) == (DIFFERENCE, "CERTIFICATE_NOT_YET_VALID")


def test_authenticators_can_be_asked_for_a_root(tmp_path):
    """Without one, a passkey's statement is judged, and where its certificates come from is not."""
    known = case("webauthn/pywebauthn-registrations.json", "pywebauthn-verify_attestation_from_yubikey_firefox")
    file = written(tmp_path / "case.json", known)
    code, [verdict] = verdicts(file)
    assert (code, verdict["level"]) == (0, "self")
    roots = tmp_path / "roots.pem"
    roots.write_text(pem(certificate(known)))
    code, [verdict] = verdicts("--roots", roots, file)
    assert (code, verdict["level"]) == (0, "tee")
    foreign = case("webauthn/pywebauthn-registrations.json", "pywebauthn-verify_attestation_dell_xps_13")
    code, [verdict] = verdicts("--roots", roots, written(tmp_path / "foreign.json", foreign))
    assert (code, verdict["reason"]) == (DIFFERENCE, "ROOT_UNKNOWN")


def certificate(known):
    """The only one of the statement, found by its head: an ASN.1 SEQUENCE of some 700 bytes in a byte string."""
    text = known["registration"]["attestationObject_b64u"]
    object_ = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    start = object_.index(b"cx5c\x81\x59") + 6
    count = int.from_bytes(object_[start : start + 2], "big")
    return object_[start + 2 : start + 2 + count]


def pem(der):
    return f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE-----\n"


def test_a_changed_byte_is_found_out(tmp_path):
    """Each bit of what is signed counts."""
    known = json.loads((VECTORS / "appattest" / "veehaitch-ios-14.2.json").read_text())
    attestation = base64.b64decode(known["attestation_b64"])
    signed = attestation.index(b"hauthData") + len(b"hauthData") + 2
    changed = []
    for position in range(signed, len(attestation), 7):
        damaged = bytearray(attestation)
        damaged[position] ^= 1 << position % 8
        changed.append(
            known
            | {
                "id": str(position), "assertions": [], "expect": "reject",
                "attestation_b64": base64.b64encode(damaged).decode(),
            }
        )
    code, found = verdicts(written(tmp_path / "changed.json", *changed))
    assert (code, {verdict["verdict"] for verdict in found}) == (0, {"refused"})


def url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unurl(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def reason(tmp_path, known, *arguments):
    _, [verdict] = verdicts(*arguments, written(tmp_path / "case.json", known))
    return verdict.get("reason", verdict["verdict"])


def test_client_data_has_one_meaning(tmp_path):
    """Nothing signs it in the format "none": only its own checks find it out."""
    changes = [
        (lambda data: data, "accepted"),
        (lambda data: data[:-1] + b',"origin":"https://evil.example"}', "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"\\u006frigin":"https://evil.example"}', "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"more":{"origin":1,"type":["type","{"]},"x":"origin"}', "accepted"),
        (lambda data: data.decode().encode("utf-16-le"), "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"more":"\f"}', "MALFORMED_CLIENT_DATA"),
        (lambda data: b"\xef\xbb\xbf" + data, "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"tokenBinding":{"\xff":1}}', "MALFORMED_CLIENT_DATA"),
        # Level 3 reads it no more.
        (lambda data: data[:-1] + b',"tokenBinding":{"status":"not-supported"}}', "accepted"),
        (lambda data: data[:-1] + b',"tokenBinding":7}', "accepted"),
        # RFC 8259.
        (lambda data: b" \t\r\n" + data + b"\n", "accepted"),
        (lambda data: data + b",", "MALFORMED_CLIENT_DATA"),
        (lambda data: data + b"\0", "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b",}", "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"a":[1,]}', "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"a":[,1]}', "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"a":{"b":1,"b":1}}', "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"a":{"b":1,"\\u0062":1}}', "MALFORMED_CLIENT_DATA"),
        (lambda data: data[:-1] + b',"a":[0,-0,10,0.5,1e9,-1.25E-3,true,false,null,{},[],""]}', "accepted"),
        *[
            (lambda data, text=text: data[:-1] + b',"a":' + text + b"}", "MALFORMED_CLIENT_DATA")
            for text in [
                b"01", b"-", b"+1", b".5", b"1.", b"1e", b"0x1", b"NaN", b"Infinity", b"tru", b"True", b"'a'", b"", b"/**/1",
                b'"\\q"', b'"\\u12"', b'"\\u00+1"', b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"', b'"a', b'"\xed\xa0\x80"',
                b'"\xc0\xaf"', b'"\t"', b"[" * 16 + b"]" * 16,
            ]
        ],
        (lambda data: data[:-1] + b',"a":"\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\"\\\\"}', "accepted"),
        (lambda data: data.replace(b"webauthn.create", b"webauthn\\u002ecreate"), "accepted"),
        (lambda data: b"[" + data + b"]", "MALFORMED_CLIENT_DATA"),
        (lambda data: data.replace(b"apk-key-hash:K", "apk-key-hash:\u212a".encode()), "ORIGIN_DIFFERS"),
        # The last character of 32 bytes in base64url has two bits to spare.
        (lambda data: data.replace(b'AAA"', b'AAB"'), "CHALLENGE_DIFFERS"),
    ]
    known = case("webauthn/pywebauthn-registrations.json", "pywebauthn-supports_dict_credential")
    challenge, origin = url(bytes(32)), "android:apk-key-hash:K"
    data = {"type": "webauthn.create", "challenge": challenge, "origin": origin}
    cases = []
    for number, (change, _) in enumerate(changes):
        client_data = change(json.dumps(data, separators=(",", ":")).encode())
        ceremony = {"expected_challenge_b64u": challenge, "clientDataJSON_b64u": url(client_data)}
        registration = known["registration"] | ceremony
        cases.append(known | {"id": str(number), "origin": origin, "registration": registration})
    _, found = verdicts(written(tmp_path / "cases.json", *cases))
    judged = {int(verdict["id"]): verdict.get("reason", verdict["verdict"]) for verdict in found}
    assert judged == dict(enumerate(expected for _, expected in changes))


def cbor(item):
    """As much of RFC 8949 as an attestation has."""

    def head(major, count):
        if count < 24:
            return bytes([major << 5 | count])
        return bytes([major << 5 | 24, count]) if count < 256 else bytes([major << 5 | 25]) + count.to_bytes(2, "big")

    match item:
        case int():
            return head(0, item) if item >= 0 else head(1, -1 - item)
        case bytes():
            return head(2, len(item)) + item
        case str():
            return head(3, len(item)) + item.encode()
        case list():
            return head(4, len(item)) + b"".join(map(cbor, item))
    return head(5, len(item)) + b"".join(cbor(key) + cbor(value) for key, value in item.items())


MODEL = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4")


class Authority:
    """A certificate of ours and its key."""

    def __init__(self, name, issuer=None, *, key=None, subject_key=None, length=None, authority=True, extensions=()):
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        parts = {
            NameOID.COUNTRY_NAME: "SE", NameOID.ORGANIZATION_NAME: "Test", NameOID.COMMON_NAME: name,
            NameOID.ORGANIZATIONAL_UNIT_NAME: "Authenticator Attestation",
        }
        self.name = x509.Name([x509.NameAttribute(kind, text) for kind, text in parts.items()])
        builder = (
            x509.CertificateBuilder(self.name_of(issuer), self.name, subject_key or self.key.public_key(), 5)
            .not_valid_before(datetime.datetime(2026, 1, 1))
            .not_valid_after(datetime.datetime(2027, 1, 1))
            .add_extension(x509.BasicConstraints(authority, length), critical=True)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        certificate = builder.sign((issuer or self).key, hashes.SHA256())
        self.der = certificate.public_bytes(Encoding.DER)

    def name_of(self, issuer):
        return issuer.name if issuer else self.name


def packed(leaf, *above):
    """A registration whose statement this leaf's key signs."""
    point = leaf.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    key = cbor({1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
    data = hashlib.sha256(b"example.org").digest() + b"\x41" + bytes(4 + 16) + b"\0\1\1" + key
    client = b'{"type":"webauthn.create","challenge":"AAAA","origin":"https://example.org"}'
    signature = leaf.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
    statement = {"alg": -7, "sig": signature, "x5c": [leaf.der, *(each.der for each in above)]}
    return {
        "id": "packed", "kind": "webauthn-registration", "rp_id": "example.org", "origin": "https://example.org",
        "verify_at": "2026-06-01T00:00:00Z", "expected_challenge_b64u": "AAAA", "clientDataJSON_b64u": url(client),
        "attestationObject_b64u": url(cbor({"fmt": "packed", "attStmt": statement, "authData": data})),
    }


def test_a_chain_follows_from_its_root(tmp_path):
    constraints = x509.NameConstraints([x509.DirectoryName(x509.Name([]))], None)
    unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\5\0")
    root = Authority("root", length=0)
    between = Authority("between", root)
    copy = Authority("root", Authority("root"), subject_key=root.key.public_key())
    no_authority = Authority("no authority", authority=False)
    constrained = Authority("constrained", root, extensions=[(constraints, True)])

    def leaf(issuer, *extensions):
        return Authority("leaf", issuer, authority=False, extensions=extensions)

    def judged(anchor, *chain):
        roots = tmp_path / "roots.pem"
        roots.write_text(pem(anchor.der))
        return reason(tmp_path, packed(*chain), "--roots", roots)

    direct = leaf(root)
    assert judged(root, direct) == "accepted"
    assert judged(root, direct, root) == "accepted"
    assert judged(direct, direct) == "accepted"
    # A critical extension that is understood, and the same not critical.
    assert judged(root, leaf(root, (x509.KeyUsage(True, *[False] * 8), True), (unknown, False))) == "accepted"
    assert judged(root, leaf(root, (unknown, True))) == "CERTIFICATE_UNSUITABLE"
    assert judged(root, leaf(constrained), constrained) == "CERTIFICATE_UNSUITABLE"
    # One authority more than the root allows, also where a copy of it, which it did not sign, allows more.
    assert judged(root, leaf(between), between) == "ROOT_UNKNOWN"
    assert judged(root, leaf(between), between, root) == "CHAIN_BROKEN"
    assert judged(root, leaf(between), between, copy) == "ROOT_UNKNOWN"
    # What is trusted for itself vouches for no other.
    assert judged(no_authority, leaf(no_authority)) == "CHAIN_INCOMPLETE"
    assert judged(no_authority, leaf(no_authority), no_authority) == "CHAIN_BROKEN"
    assert judged(root, direct, Authority("root")) == "ROOT_UNKNOWN"


def test_a_certificate_has_one_meaning(tmp_path):
    """No root is asked for, so that nothing else finds it out."""
    other = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.5")
    models = [(x509.UnrecognizedExtension(kind, b"\4\20" + bytes(16)), False) for kind in (MODEL, other)]
    leaf = Authority("leaf", authority=False, extensions=models)
    assert reason(tmp_path, packed(leaf)) == "accepted"
    once = leaf.der
    leaf.der = once.replace(b"\x82\xe5\x1c\1\1\5", b"\x82\xe5\x1c\1\1\4")
    assert leaf.der != once
    assert reason(tmp_path, packed(leaf)) == "MALFORMED_CERTIFICATE"
    kinds = [x509.ObjectIdentifier(f"1.2.3.{number}") for number in range(64)]
    many = [(x509.UnrecognizedExtension(kind, b"\5\0"), False) for kind in kinds]
    assert reason(tmp_path, packed(Authority("leaf", authority=False, extensions=many))) == "MALFORMED_CERTIFICATE"
    assert reason(tmp_path, packed(Authority("leaf", authority=False, extensions=many[1:]))) == "accepted"
    # A length in more bytes than it needs.
    leaf.der = once[:1] + b"\x83\0" + once[2:]
    assert reason(tmp_path, packed(leaf)) == "MALFORMED_CERTIFICATE"


def test_a_key_that_costs_too_much_is_not_served(tmp_path):
    """With an exponent as long as the modulus, a verification takes as long as a signature."""
    modulus = rsa.generate_private_key(65_537, 3_072).public_key().public_numbers().n
    slow = rsa.RSAPublicNumbers((1 << 3_000) + 1, modulus).public_key()
    leaf = Authority("leaf", Authority("root"), authority=False, subject_key=slow)
    assert reason(tmp_path, packed(leaf)) == "UNSUPPORTED_ALGORITHM"


def test_a_short_rsa_key_vouches_for_nothing(tmp_path):
    """As a leaf's, and as an authority's below a trusted root; a root that is trusted itself decides for its own chain."""
    short = rsa.generate_private_key(65_537, 1_024)
    leaf = Authority("leaf", Authority("root"), authority=False, subject_key=short.public_key())
    assert reason(tmp_path, packed(leaf)) == "UNSUPPORTED_ALGORITHM"
    root, weak = Authority("root"), Authority("weak", key=short)
    between = Authority("between", root, key=short)
    roots = tmp_path / "roots.pem"
    roots.write_text(pem(root.der) + pem(weak.der))
    assert reason(tmp_path, packed(Authority("leaf", between, authority=False), between), "--roots", roots) == "CERTIFICATE_UNSUITABLE"
    assert reason(tmp_path, packed(Authority("leaf", weak, authority=False)), "--roots", roots) == "accepted"


def test_a_login_by_a_short_rsa_key_is_refused(tmp_path):
    """Unless the same case registers the key by a TPM's statement."""
    passkey = Passkey(-257)
    passkey.key = rsa.generate_private_key(65_537, 1_024)

    def options(**more):
        return json.dumps({"challenge": "AAAA", **more})

    created = passkey.create(
        options(
            rp={"id": RP_ID}, user={"id": "AAAA"}, pubKeyCredParams=[{"type": "public-key", "alg": -257}]
        ),
        attestation=Model(passkey.aaguid).tpm,
    )
    proof = passkey.get(options())
    login = {
        "expected_challenge_b64u": "AAAA", "clientDataJSON_b64u": url(proof.client_data_json),
        "authenticatorData_b64u": url(proof.authenticator_data), "signature_b64u": url(proof.signature),
        "credential_public_key_cose_b64u": url(passkey.public_key()),
    }
    registration = {
        "expected_challenge_b64u": "AAAA", "clientDataJSON_b64u": url(created.client_data_json),
        "attestationObject_b64u": url(created.attestation_object),
    }
    party = {"id": "short", "kind": "webauthn", "rp_id": RP_ID, "origin": ORIGIN}
    assert reason(tmp_path, party | {"authentication": login}) == "UNSUPPORTED_ALGORITHM"
    _, found = verdicts(written(tmp_path / "pair.json", party | {"registration": registration, "authentication": login}))
    assert [verdict["verdict"] for verdict in found] == ["accepted", "accepted"]
    # Another registration than this key's does not make up for it.
    other = packed(Authority("leaf", authority=False)) | {"rp_id": RP_ID, "origin": ORIGIN}
    _, found = verdicts(written(tmp_path / "pair.json", party | {"registration": other, "authentication": login}))
    assert found[1].get("reason") == "UNSUPPORTED_ALGORITHM"


def test_a_point_that_is_not_on_the_curve_is_no_key(tmp_path):
    """Also in a login, whose signature it could never verify."""
    passkey = Passkey(-8)
    proof = passkey.get(json.dumps({"challenge": "AAAA"}))
    known = {
        "id": "edwards", "kind": "webauthn-authentication", "rp_id": RP_ID, "origin": ORIGIN,
        "expected_challenge_b64u": "AAAA", "clientDataJSON_b64u": url(proof.client_data_json),
        "authenticatorData_b64u": url(proof.authenticator_data), "signature_b64u": url(proof.signature),
    }
    key = passkey.public_key()
    assert reason(tmp_path, known | {"credential_public_key_cose_b64u": url(key)}) == "accepted"
    key = key[:-32] + (2).to_bytes(32, "little")
    assert reason(tmp_path, known | {"credential_public_key_cose_b64u": url(key)}) == "MALFORMED_KEY"


def test_a_certificate_of_the_series_with_a_wrong_bit_string_leads_to_its_root(tmp_path):
    """Its signature's bit string claims two spare bits. In another certificate the same is an error."""
    known = case(PAIRS, "yubico-real-SecurityKey")
    root = VECTORS / "roots" / "yubico-u2f-root-ca-457200631.pem"
    _, [verdict, _] = verdicts("--roots", root, written(tmp_path / "case.json", known))
    assert (verdict["verdict"], verdict["level"]) == ("accepted", "tee")
    own = Authority("root", key=rsa.generate_private_key(65_537, 2_048))
    leaf = Authority("leaf", own, authority=False)
    roots = tmp_path / "roots.pem"
    roots.write_text(pem(own.der))
    assert reason(tmp_path, packed(leaf), "--roots", roots) == "accepted"
    leaf.der = leaf.der[:-257] + b"\2" + leaf.der[-256:]
    assert reason(tmp_path, packed(leaf), "--roots", roots) != "accepted"


def test_roots_count_for_apples_format(tmp_path):
    known = case("second/webauthn/w3c-l3-pairs.json", "w3c-apple-es256")
    roots = tmp_path / "roots.pem"
    roots.write_text(known.pop("trust_root_pem"))
    del known["authentication"]
    assert reason(tmp_path, known) == "CHAIN_INCOMPLETE"
    assert reason(tmp_path, known, "--roots", roots) == "accepted"


def test_a_frame_is_of_a_page_that_the_case_names(tmp_path):
    known = case("second/webauthn/w3c-l3-pairs.json", "w3c-none-es256-topOrigin")
    del known["authentication"], known["cross_origin"]
    top = known.pop("top_origin")
    assert reason(tmp_path, known) == "CROSS_ORIGIN"
    assert reason(tmp_path, known | {"cross_origin": True}) == "CROSS_ORIGIN"
    assert reason(tmp_path, known | {"top_origin": ["https://other.example", top]}) == "accepted"
    for other in [f"{top}:444", f"{top}/", top.replace("https", "http"), known["origin"]]:
        assert reason(tmp_path, known | {"top_origin": other}) == "CROSS_ORIGIN"
    # A browser that names the page says that the frame is of another origin, too.
    data = json.loads(unurl(known["registration"]["clientDataJSON_b64u"])) | {"crossOrigin": False}
    known["registration"]["clientDataJSON_b64u"] = url(json.dumps(data).encode())
    assert reason(tmp_path, known | {"top_origin": top}) == "CROSS_ORIGIN"


def test_a_u2f_key_vouches_for_no_model_and_is_on_p256(tmp_path):
    known = case("webauthn/yubico-synthetic-registrations.json", "yubico-test-fido-u2f-BasicAttestation")
    _, [verdict] = verdicts(written(tmp_path / "case.json", known))
    assert verdict["facts"]["aaguid"] == "0" * 32
    ceremony = known["registration"]
    statement = unurl(ceremony["attestationObject_b64u"])
    # id-ecPublicKey, and a number beside it.
    changed = statement.replace(bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06072a8648ce3d0205"))
    assert changed != statement
    ceremony["attestationObject_b64u"] = url(changed)
    assert reason(tmp_path, known) == "CERTIFICATE_UNSUITABLE"


def test_a_passkeys_android_chain_can_be_revoked(tmp_path):
    name = "pywebauthn-verify_attestation_android_key_hardware_authority"
    known = case("webauthn/pywebauthn-registrations.json", name)
    object_ = unurl(known["registration"]["attestationObject_b64u"])
    start = object_.index(b"\x30\x82", object_.index(b"\x30\x82") + 300)
    intermediate = x509.load_der_x509_certificate(object_[start : start + 4 + int.from_bytes(object_[start + 2 : start + 4])])
    entries = {format(intermediate.serial_number, "x"): {"status": "REVOKED"}}
    assert reason(tmp_path, known) == "accepted"
    assert reason(tmp_path, known | {"status_list": {"entries": entries}}) == "CERTIFICATE_REVOKED"
    revoked = tmp_path / "revoked.json"
    revoked.write_text(json.dumps({"entries": entries}))
    assert reason(tmp_path, known, "--revoked", revoked) == "CERTIFICATE_REVOKED"
    # A case's own list does not take its place.
    assert reason(tmp_path, known | {"status_list": {"entries": {}}}, "--revoked", revoked) == "CERTIFICATE_REVOKED"


def test_expiry_counts_for_keys_that_were_fetched_before_an_extension_said_so():
    _, [pixel] = verdicts("--at", "2023-06-01T00:00:00Z", VECTORS / "android" / "asitplus-Pixel_6.json")
    assert (pixel["facts"], pixel.get("reason")) == ({}, "CERTIFICATE_EXPIRED")


def test_a_phones_text_is_one_line(tmp_path):
    known = case("webauthn/pywebauthn-registrations.json", "pywebauthn-supports_dict_credential")
    data = {"type": "webauthn.get\naccepted registration x\x1b[2J", "challenge": "", "origin": ""}
    ceremony = {"clientDataJSON_b64u": url(json.dumps(data).encode())}
    checked = run("attestation", "check", written(tmp_path / "x.json", known | {"registration": known["registration"] | ceremony}))
    assert checked.stdout.count("\n") == 1
    assert "\\u{A}accepted registration x\\u{1B}[2J" in checked.stdout


POC = "6MURL8TA57.de.vincent-haupert.apple-appattest-poc"
KAYAK = "8YE23NZS57.com.kayak.travel"
GOOGLE_SIGNER = "103938ee4537e59e8ee792f654504fb8346fc6b346d0bbc4415fc339fcfc8ec1"
GOOGLE = {"name": "com.google.android.attestation", "signers": [GOOGLE_SIGNER]}
DEMO = {"rp_id": "demo.yubico.com", "origins": ["https://demo.yubico.com"]}

IPHONE = "appattest/veehaitch-ios-14.2.json"
PIXEL = "android/keyatt-tegu-sdk36-TEE_EC_2026_ROOT.json"
PAIRS = "webauthn/yubico-real-pairs.json"


def policy(path, **applications):
    """JSON is YAML."""
    path.write_text(json.dumps({"applications": applications}))
    return path


def outcomes(tmp_path, settings, file, name=None):
    """The level of each proof, or why it is refused."""
    cases = VECTORS / file if name is None else written(tmp_path / "cases.json", case(file, name))
    demands = policy(tmp_path / "policy.yaml", shop=settings)
    checked = run("attestation", "check", "--json", "--policy", demands, cases)
    found = [json.loads(line) for line in checked.stdout.splitlines()]
    return [verdict.get("reason") or verdict.get("level", "accepted") for verdict in found]


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"app_ids": [POC], "environments": ["development"]}, ["app", "accepted"]),
        ({"app_ids": [KAYAK, POC], "environments": ["production", "development"]}, ["app", "accepted"]),
        ({"app_ids": [POC]}, ["ENVIRONMENT_DIFFERS"]),
        ({"app_ids": [KAYAK], "environments": ["development"]}, ["APPLICATION_DIFFERS"]),
        ({"attestation": "none"}, ["none", "accepted"]),
    ],
)
def test_an_iphones_proof_is_of_the_applications_app(tmp_path, settings, expected):
    assert outcomes(tmp_path, settings, IPHONE) == expected


def test_an_assertion_is_of_the_applications_app(tmp_path):
    alone = "appattest/uebelack-assertion-only.json"
    app = json.loads((VECTORS / alone).read_text())["app_id"]
    assert outcomes(tmp_path, {"app_ids": [app]}, alone) == ["accepted"]
    assert outcomes(tmp_path, {"app_ids": [POC]}, alone) == ["APPLICATION_DIFFERS"]


@pytest.mark.parametrize(
    "settings, file, expected",
    [
        # All published chains are of keys that need no authentication: nothing else is wrong with this one.
        ({"packages": [GOOGLE], "oldest_patch_level": "2026-02-01", "attestation": "required"}, PIXEL, "KEY_UNPROTECTED"),
        ({"oldest_patch_level": "2026-02-05"}, PIXEL, "PATCH_LEVEL_TOO_OLD"),
        ({"attestation": "none"}, PIXEL, "none"),
    ],
)
def test_an_android_key_is_as_the_application_demands(tmp_path, settings, file, expected):
    assert outcomes(tmp_path, settings, file) == [expected]


@pytest.mark.parametrize(
    "settings, name, expected",
    [
        ({"passkeys": DEMO, "attestation": "required"}, "AppleAttestationIos", ["tee", "accepted"]),
        ({"passkeys": DEMO, "attestation": "required"}, "YubikeyBio_5_5_4", ["LEVEL_TOO_LOW", "accepted"]),
        ({"passkeys": DEMO}, "YubiKey5Nfc", ["USER_NOT_VERIFIED", "USER_NOT_VERIFIED"]),
        ({"passkeys": DEMO | {"user_verification": "preferred"}}, "YubiKey5Nfc", ["self", "accepted"]),
        ({"passkeys": DEMO | {"rp_id": "yubico.com"}}, "YubikeyBio_5_5_4", ["APPLICATION_DIFFERS"] * 2),
        ({"passkeys": DEMO | {"origins": ["https://yubico.com"]}}, "YubikeyBio_5_5_4", ["ORIGIN_DIFFERS"] * 2),
    ],
)
def test_a_passkey_is_as_the_application_demands(tmp_path, settings, name, expected):
    assert outcomes(tmp_path, settings, PAIRS, f"yubico-real-{name}") == expected


def test_vectors_that_a_setting_decides(tmp_path):
    """Those whose `expect` is policy. SafetyNet's is served nowhere any more, so only its passkey can be taken."""
    file = "appattest/negative.json"
    for sample, app, environment in [("veehaitch-ios-14.2", POC, "development"), ("webauthn4j-kayak-2020", KAYAK, "production")]:
        name = f"neg-{sample}-trailing-bytes"
        settings = {"app_ids": [app], "environments": [environment]}
        assert outcomes(tmp_path, settings, file, name) == ["MALFORMED_CBOR"]
        assert outcomes(tmp_path, settings | {"encoding": "tolerant"}, file, name) == ["app"]
    file = "android/keyatt-invalid-malformed_rot_device_locked.json"
    assert outcomes(tmp_path, {}, file) == ["MALFORMED_KEY_DESCRIPTION"]
    # Read, and then refused for what stands in it.
    assert outcomes(tmp_path, {"encoding": "tolerant"}, file) == ["KEY_UNPROTECTED"]
    file, name = "webauthn/yubico-synthetic-registrations.json", "yubico-test-android-safetynet-RealExample"
    passkeys = {"passkeys": DEMO | {"user_verification": "preferred"}}
    assert outcomes(tmp_path, passkeys, file, name) == ["UNSUPPORTED_FORMAT"]
    assert outcomes(tmp_path, passkeys | {"attestation": "none"}, file, name) == ["none"]


def test_a_policy_refuses_no_less_than_the_proof_alone(tmp_path):
    """Whatever is wrong by itself stays so under settings that demand nothing more."""
    settings = {
        "encoding": "tolerant", "environments": ["production", "development"], "app_ids": [POC, KAYAK],
        "passkeys": DEMO | {"user_verification": "preferred"},
    }
    demands = policy(tmp_path / "policy.yaml", shop=settings)
    _, alone = verdicts_alone()
    _, with_policy = verdicts("--policy", demands, *FILES)
    decided = {case["id"] for case in alone if case.get("expect") == "policy"}
    accepted = {(case["id"], case["proof"]) for case in alone if case["verdict"] == "accepted"}
    more = {(case["id"], case["proof"]) for case in with_policy if case["verdict"] == "accepted"} - accepted
    assert {name for name, _ in more} <= decided
    assert len(decided) == 38


def test_a_policy_names_its_application(tmp_path):
    demands = policy(tmp_path / "policy.yaml", shop={}, bank={"app_ids": [POC], "environments": ["development"]})
    file = VECTORS / IPHONE
    assert verdicts("--policy", demands, "--application", "bank", file)[0] == 0
    assert verdicts("--policy", demands, "--application", "shop", file)[0] == DIFFERENCE
    for arguments, message in [
        (["--policy", demands], "policy.yaml has 2 applications: name one by --application"),
        (["--policy", demands, "--application", "bnk"], 'has no application "bnk" (did you mean "bank"?)'),
        (["--application", "shop"], "--application needs --policy"),
    ]:
        checked = run("attestation", "check", *arguments, file)
        assert (checked.returncode, checked.stdout) == (USAGE, "")
        assert message in checked.stderr


def test_a_policys_roots_and_revoked_certificates_count(tmp_path):
    """As the service that has this configuration would judge."""
    chain = json.loads((VECTORS / PIXEL).read_text())
    chain = chain[0] if isinstance(chain, list) else chain
    certificates = [x509.load_pem_x509_certificate(pem.encode()) for pem in chain["chain_pem"]]
    (tmp_path / "revoked.json").write_text(json.dumps({"entries": {f"{certificates[1].serial_number:x}": {}}}))
    (tmp_path / "roots.pem").write_bytes(certificates[0].public_bytes(Encoding.PEM))
    demands = tmp_path / "policy.yaml"
    for section, reason in [
        # Its chain holds; the key itself is not to be bound.
        ({}, "KEY_UNPROTECTED"),
        ({"revoked": {"android": str(tmp_path / "revoked.json")}}, "CERTIFICATE_REVOKED"),
        ({"roots": {"android": str(tmp_path / "roots.pem")}}, "ROOT_UNKNOWN"),
    ]:
        demands.write_text(json.dumps({"attestation": section, "applications": {"shop": {}}}))
        _, found = verdicts("--policy", demands, VECTORS / PIXEL)
        assert found[0].get("reason") == reason
    # Apple's, too.
    settings = {"attestation": {"roots": {"apple": str(tmp_path / "roots.pem")}}, "applications": {"shop": {}}}
    demands.write_text(json.dumps(settings))
    _, found = verdicts("--policy", demands, VECTORS / IPHONE)
    assert found[0].get("reason") == "ROOT_UNKNOWN"
    demands.write_text(json.dumps({"attestation": {"roots": {"android": str(tmp_path / "no.pem")}}, "applications": {"shop": {}}}))
    checked = run("attestation", "check", "--policy", demands, VECTORS / PIXEL)
    assert (checked.returncode, checked.stdout) == (BAD_CONFIGURATION, "")
    assert "attestation.roots.android" in checked.stderr


def test_all_that_is_wrong_with_a_policy_is_named(tmp_path):
    demands = tmp_path / "policy.yaml"
    demands.write_text("applications:\n  shop:\n    attestation: must\n    app_ids: [shop]\n")
    checked = run("attestation", "check", "--policy", demands, VECTORS / IPHONE)
    assert (checked.returncode, checked.stdout) == (BAD_CONFIGURATION, "")
    assert [line.removeprefix(f"{demands}:") for line in checked.stderr.splitlines()] == [
        '3:18: attestation must be one of none, accepted, required, not "must"',
        "4:15: an app id must be TEAMID.bundle, such as A1B2C3D4E5.org.example.shop",
    ]


def test_required_by_itself_says_what_it_accepts(tmp_path):
    demands = tmp_path / "policy.yaml"
    demands.write_text("applications:\n  shop:\n    attestation: required\n")
    checked = run("attestation", "check", "--policy", demands, VECTORS / PIXEL)
    assert checked.returncode == DIFFERENCE
    first, second = checked.stderr.splitlines()
    assert first.startswith(f"{demands}:3:5: warning: attestation is required; also accepted are ")
    assert "(packages)" in first and "(oldest_patch_level)" in first
    assert second.endswith("App Attest is refused: app_ids names no app")


def test_the_check_of_a_configuration_says_it_too(tmp_path):
    demands = policy(tmp_path / "touchstone.yaml", shop={"attestation": "required"})
    checked = run("check-config", demands)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert ": warning: attestation is required; also accepted are " in checked.stdout


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["missing.json"], NO_INPUT, "missing.json: "),
        (["--at", "yesterday", "case.json"], USAGE, "--at yesterday: not a time such as "),
        (["case.json"], DATA_ERROR, "case.json: x: kind \"unheard-of\" is missing or wrong"),
        (["text.json"], DATA_ERROR, "text.json: not the JSON of cases: "),
        (["--revoked", "text.json", "case.json"], DATA_ERROR, "text.json: not the JSON of a list of revoked certificates"),
        (["--revoked", "missing.json", "case.json"], NO_INPUT, "missing.json: "),
        (["--revoked", "list.json", "case.json"], DATA_ERROR, 'the entry "0xc6" is no serial number in hexadecimal digits'),
        (["--revoked", "long.json", "case.json"], DATA_ERROR, "is longer than a serial number"),
        (["--revoked", "twice.json", "case.json"], DATA_ERROR, "twice.json: not the JSON of a list of revoked certificates"),
        (["--roots", "text.json", "case.json"], DATA_ERROR, "text.json: no certificate in PEM"),
    ],
)
def test_what_cannot_be_judged_is_named(tmp_path, arguments, code, message):
    (tmp_path / "text.json").write_text("no JSON")
    (tmp_path / "list.json").write_text('{"entries": {"c6": {}, "CC66": {}, "66811526": {}, "0xc6": {}, "c6:01": {}}}')
    (tmp_path / "long.json").write_text(json.dumps({"entries": {"c6" * 100: {}}}))
    (tmp_path / "twice.json").write_text('{"entries": {}, "entries": {"ab": {}}}')
    written(tmp_path / "case.json", {"id": "x", "kind": "unheard-of"})
    paths = [tmp_path / argument if argument.endswith(".json") else argument for argument in arguments]
    checked = run("attestation", "check", *paths)
    assert (checked.returncode, checked.stdout) == (code, "")
    assert message in checked.stderr.replace(f"{tmp_path}/", "")
