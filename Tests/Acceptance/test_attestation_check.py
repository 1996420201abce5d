"""`touchstone attestation check`: what real phones and browsers sent comes out as it must."""

import base64
import json
from pathlib import Path

import pytest

from support.server import run

VECTORS = Path(__file__).parent.parent / "Vectors" / "attestation"
FILES = sorted(VECTORS.glob("*/*.json"))

DIFFERENCE = 1
USAGE = 64
DATA_ERROR = 65
NO_INPUT = 66

# The case and the proof, and why it is not served.
UNSUPPORTED = {
    ("pywebauthn-verify_pqc_ml_dsa_44_packed_response", "registration"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
    ("pywebauthn-auth-10-verify_ml_dsa_44_response", "authentication"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
    ("yubico-real-Mldsa44", "registration"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
    ("yubico-real-Mldsa44", "authentication"): "UNSUPPORTED_ALGORITHM: ML-DSA-44",
}


def verdicts(*arguments):
    checked = run("attestation", "check", "--json", *arguments)
    assert checked.stderr == ""
    return checked.returncode, [json.loads(line) for line in checked.stdout.splitlines()]


def case(file, name):
    return next(case for case in json.loads((VECTORS / file).read_text()) if case["id"] == name)


def written(path, *cases):
    path.write_text(json.dumps(list(cases)))
    return path


def test_every_vector_comes_out_as_expected():
    code, found = verdicts(*FILES)
    unexpected = {
        (verdict["id"], verdict["proof"]): f"{verdict.get('reason')}: {verdict.get('detail')}"
        for verdict in found
        if not verdict["as_expected"]
    }
    assert unexpected == UNSUPPORTED
    assert code == DIFFERENCE
    assert len(found) == 192


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


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["missing.json"], NO_INPUT, "missing.json: "),
        (["--at", "yesterday", "case.json"], USAGE, "--at yesterday: not a time such as "),
        (["case.json"], DATA_ERROR, "case.json: x: kind \"unheard-of\" is missing or wrong"),
        (["text.json"], DATA_ERROR, "text.json: not the JSON of cases: "),
        (["--roots", "text.json", "case.json"], DATA_ERROR, "text.json: no certificate in PEM"),
    ],
)
def test_what_cannot_be_judged_is_named(tmp_path, arguments, code, message):
    (tmp_path / "text.json").write_text("no JSON")
    written(tmp_path / "case.json", {"id": "x", "kind": "unheard-of"})
    paths = [tmp_path / argument if argument.endswith(".json") else argument for argument in arguments]
    checked = run("attestation", "check", *paths)
    assert (checked.returncode, checked.stdout) == (code, "")
    assert message in checked.stderr.replace(f"{tmp_path}/", "")
