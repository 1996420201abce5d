"""Proofs of Tests/Vectors that must be accepted, and the form in which `touchstone attestation check` reads them."""

import base64
import datetime
import hashlib
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

TESTS = Path(__file__).parent.parent
VECTORS = TESTS / "Vectors" / "attestation"


def url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unurl(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def moment(case):
    return datetime.datetime.fromisoformat((case.get("verify_at") or "2026-11-01T00:00:00Z").replace("Z", "+00:00"))


def load():
    """Each has its kind ("proof"), its mutable parts ("bytes"), and what stays as it is."""
    for path in sorted(VECTORS.glob("*/*.json")):
        found = json.loads(path.read_text())
        for case in found if isinstance(found, list) else [found]:
            if "negative" in path.name or case.get("expect", "accept") not in ("accept", "accept-only-as-software"):
                continue
            yield from proofs(case)


def proofs(case):
    common = {key: case[key] for key in ("rp_id", "origin", "app_id", "environment", "verify_at") if case.get(key)}
    if "chain_pem" in case:
        chain = [c for text in case["chain_pem"] for c in x509.load_pem_x509_certificates(text.encode())]
        fields = {str(n): c.public_bytes(Encoding.DER) for n, c in enumerate(chain)}
        fields["challenge"] = base64.b64decode(case.get("challenge_b64", ""))
        yield common | {"proof": "chain", "bytes": fields}
    if "attestation_b64" in case:
        fields = {name: base64.b64decode(case[f"{name}_b64"]) for name in ("challenge", "key_id", "attestation")}
        yield common | {"proof": "attestation", "bytes": fields}
        key = base64.b64decode(case["expected"]["public_key_x962_b64"])
    for each in case.get("assertions", [case] if case["kind"] == "apple-appattest-assertion-only" else []):
        fields = {name: base64.b64decode(each[f"{name}_b64"]) for name in ("assertion", "client_data_hash")}
        fields["key"] = key if "attestation_b64" in case else base64.b64decode(each["public_key_x962_b64"])
        yield common | {"proof": "assertion", "bytes": fields, "count": each["previous_counter"]}
    for ceremony in [case.get("registration"), case.get("authentication"), case]:
        if not ceremony or "clientDataJSON_b64u" not in ceremony:
            continue
        names = ["clientDataJSON", "attestationObject", "authenticatorData", "signature"]
        fields = {name: unurl(ceremony[f"{name}_b64u"]) for name in names if f"{name}_b64u" in ceremony}
        fields["challenge"] = unurl(ceremony["expected_challenge_b64u"])
        if "signature" in fields:
            fields["key"] = unurl(ceremony["credential_public_key_cose_b64u"])
        yield common | {
            "proof": "authentication" if "signature" in fields else "registration",
            "bytes": fields,
            "uv": bool(ceremony.get("require_user_verification")),
            "count": ceremony.get("previous_sign_count", 0),
        }


def ours(case, name):
    """The case as `attestation check` reads it."""
    fields = case["bytes"]
    plain = {key: case[key] for key in ("rp_id", "origin", "app_id", "environment", "verify_at") if key in case}
    kinds = {"chain": "android-key-attestation", "attestation": "apple-appattest", "assertion": "apple-appattest"}
    made = plain | {"id": name, "kind": kinds.get(case["proof"], f"webauthn-{case['proof']}")}
    if case["proof"] == "chain":
        made["chain_pem"] = [
            f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(fields[key]).decode()}-----END CERTIFICATE-----\n"
            for key in sorted(fields)
            if key.isdigit()
        ]
    if case["proof"] == "attestation":
        made["client_data_hash_b64"] = base64.b64encode(hashlib.sha256(fields["challenge"]).digest()).decode()
    if case["proof"] in kinds:
        names = {"key": "public_key_x962"}
        made |= {f"{names.get(k, k)}_b64": base64.b64encode(v).decode() for k, v in fields.items() if not k.isdigit()}
        return made | {"previous_counter": case.get("count", 0)}
    names = {"challenge": "expected_challenge", "key": "credential_public_key_cose"}
    made |= {f"{names.get(k, k)}_b64u": url(v) for k, v in fields.items()}
    return made | {"require_user_verification": case["uv"], "previous_sign_count": case["count"]}
