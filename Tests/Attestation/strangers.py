"""Other people's verifiers. Each raises what it dislikes."""

import asyncio
import functools
import hashlib

import fido2.attestation
import fido2.server
import fido2.webauthn
import pyattest.verifiers.apple_attestation as pyattest_apple
import webauthn
import webauthn.helpers.validate_certificate_chain as webauthn_chain
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from OpenSSL.crypto import X509Store
from pyattest.assertion import Assertion
from pyattest.attestation import Attestation
from pyattest.configs.apple import AppleConfig

from proofs import TESTS, moment, url

ROOTS = TESTS.parent / "Sources" / "Core" / "TouchstoneAttestation" / "Roots"
ALGORITHMS = list(webauthn.helpers.cose.COSEAlgorithmIdentifier)
ANDROID_ROOTS = {
    certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for path in ROOTS.glob("google-*.pem")
    for certificate in x509.load_pem_x509_certificates(path.read_bytes())
}


def by_webauthn(case):
    fields = case["bytes"]
    webauthn_chain._generate_new_cert_store = functools.partial(store_at, moment(case))
    response = {k: url(v) for k, v in fields.items() if k not in ("challenge", "key")}
    credential = {"id": "AA", "rawId": "AA", "type": "public-key", "response": response}
    expected = {
        "expected_challenge": fields["challenge"],
        "expected_rp_id": case["rp_id"],
        "expected_origin": case["origin"],
    }
    if case["proof"] == "registration":
        webauthn.verify_registration_response(
            credential=credential, require_user_verification=case["uv"], supported_pub_key_algs=ALGORITHMS, **expected
        )
    else:
        webauthn.verify_authentication_response(
            credential=credential,
            credential_public_key=fields["key"],
            credential_current_sign_count=case["count"],
            require_user_verification=case["uv"],
            **expected,
        )


def store_at(time):
    store = X509Store()
    store.set_time(time)
    return store


def by_fido2(case):
    fields = case["bytes"]
    origins = case["origin"] if isinstance(case["origin"], list) else [case["origin"]]
    server = fido2.server.Fido2Server(
        fido2.webauthn.PublicKeyCredentialRpEntity(id=case["rp_id"], name="x"),
        attestation="direct",
        verify_origin=lambda origin: origin in origins,
        verify_attestation=fido2_statement,
    )
    state = {"challenge": url(fields["challenge"]), "user_verification": "required" if case["uv"] else None}
    response = {k: url(v) for k, v in fields.items() if k not in ("challenge", "key")}
    response = {"id": "AA", "rawId": "AA", "type": "public-key", "response": response}
    if case["proof"] == "registration":
        server.register_complete(state, response)
    else:
        key = fido2.cose.CoseKey.parse(fido2.cbor.decode(fields["key"]))
        known = fido2.webauthn.AttestedCredentialData.create(bytes(16), b"\0", key)
        server.authenticate_complete(state, [known], response)


def fido2_statement(object_, hash_):
    fido2.attestation.Attestation.for_type(object_.fmt)().verify(object_.att_stmt, object_.auth_data, hash_)


def by_pyattest(case):
    fields = case["bytes"]
    config = AppleConfig(fields.get("key_id", b""), case["app_id"], case.get("environment") != "development")
    if case["proof"] == "assertion":
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), fields["key"])
        assertion = Assertion(fields["assertion"], fields["client_data_hash"], key, config)
        assertion.verify()
        # It leaves these to who calls it.
        assert (
            assertion.data["rp_id"] == hashlib.sha256(case["app_id"].encode()).digest()
            and assertion.data["counter"] > case["count"]
        )
    else:
        pyattest_apple.ValidationContext = functools.partial(CONTEXT, moment=moment(case))
        asyncio.run(Attestation(fields["attestation"], fields["challenge"], config).verify())


CONTEXT = pyattest_apple.ValidationContext


def by_cryptography(case):
    """No package judges Android's chains: signatures, a pinned key, and the challenge in the leaf alone."""
    fields = case["bytes"]
    chain = [x509.load_der_x509_certificate(fields[key]) for key in sorted(fields) if key.isdigit()]
    for certificate, issuer in zip(chain, chain[1:]):
        certificate.verify_directly_issued_by(issuer)
    assert chain[-1].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) in ANDROID_ROOTS
    attested = [
        n for n, c in enumerate(chain) if any(e.oid.dotted_string.endswith("11129.2.1.17") for e in c.extensions)
    ]
    assert attested == [0] and bytes([4, len(fields["challenge"])]) + fields["challenge"] in fields["0"]


STRANGERS = {
    "registration": (by_webauthn, by_fido2),
    "authentication": (by_webauthn, by_fido2),
    "attestation": (by_pyattest,),
    "assertion": (by_pyattest,),
    "chain": (by_cryptography,),
}


def refusal(judge, case):
    try:
        judge(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:90]
    return None
