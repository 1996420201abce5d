"""Security keys and TPMs whose certificates lead to a root, and FIDO's metadata of them, under authorities of the test's own.

Written from WebAuthn Level 3 §8 and the FIDO Metadata Service 3.0; PyPI's jwt signs the metadata.
"""

import base64
import dataclasses
import datetime
import hashlib
import struct

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

MODEL = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4")
IDENTITY_KEY = x509.ObjectIdentifier("2.23.133.8.3")
SIGNER = "mds.fidoalliance.org"
YUBI, OTHER = bytes(range(16)), bytes(range(16, 32))
DAY = datetime.timedelta(days=1)
NAME = {
    NameOID.COUNTRY_NAME: "SE",
    NameOID.ORGANIZATION_NAME: "Test",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "Authenticator Attestation",
    NameOID.COMMON_NAME: "Key",
}


def der(certificate):
    return certificate.public_bytes(Encoding.DER)


def text(certificate):
    """As metadata and JWS have it."""
    return base64.b64encode(der(certificate)).decode()


def point(key):
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def key_id(certificate):
    """RFC 5280 §4.2.1.2, the first method."""
    return x509.SubjectKeyIdentifier.from_public_key(certificate.public_key()).digest.hex()


class Root:
    """Certifies makers' keys, or the signer of metadata."""

    def __init__(self, name="Root"):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        authority = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = self.issue(self.key, self.name, (authority, True))

    def issue(self, key, name, *extensions, days=30):
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(self.name, name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - 60 * DAY).not_valid_after(now + days * DAY)
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(self.key, hashes.SHA256())

    def leaf(self, key, attributes, *extensions, **options):
        name = x509.Name([x509.NameAttribute(kind, value) for kind, value in attributes.items()])
        return self.issue(key, name, (x509.BasicConstraints(False, None), True), *extensions, **options)

    def write(self, path):
        path.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return path


class Model:
    """A model of authenticators: its root, and the key that its devices share."""

    def __init__(self, aaguid=YUBI, root=None, names_itself=True):
        self.aaguid = aaguid
        self.root = root or Root()
        self.key = ec.generate_private_key(ec.SECP256R1())
        extension = x509.UnrecognizedExtension(MODEL, b"\x04\x10" + aaguid)
        self.certificate = self.root.leaf(self.key, NAME, *[(extension, False)] * names_itself)
        names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier("urn:tpm")])
        usage = x509.ExtendedKeyUsage([IDENTITY_KEY])
        self.identity = self.root.leaf(self.key, {}, (names, True), (usage, False), (extension, False))

    def _sign(self, data):
        return self.key.sign(data, ec.ECDSA(hashes.SHA256()))

    # Each makes a format and its statement, for `Passkey.create(attestation=…)`.

    def packed(self, passkey, data, client_data_hash):
        return "packed", {"alg": -7, "sig": self._sign(data + client_data_hash), "x5c": [der(self.certificate)]}

    def fido_u2f(self, passkey, data, client_data_hash):
        signed = b"\0" + data[:32] + client_data_hash + passkey.credential_id + point(passkey.key)
        return "fido-u2f", {"sig": self._sign(signed), "x5c": [der(self.certificate)]}

    def tpm(self, passkey, data, client_data_hash):
        """A key that the TPM's identity key certifies (TPM 2.0 Library, part 2)."""
        is_rsa = passkey.algorithm == -257
        area = struct.pack(">HHIH", 0x0001 if is_rsa else 0x0023, 0x000B, 0x00060472, 0)
        if is_rsa:
            modulus = passkey.key.public_key().public_numbers().n.to_bytes(passkey.key.key_size // 8, "big")
            area += struct.pack(">HHHIH", 0x0010, 0x0010, passkey.key.key_size, 0, len(modulus)) + modulus
        else:
            size = (passkey.key.key_size + 7) // 8
            numbers = point(passkey.key)[1:]
            area += struct.pack(">HHHH", 0x0010, 0x0010, {-7: 0x0003, -35: 0x0004}[passkey.algorithm], 0x0010)
            area += b"".join(struct.pack(">H", size) + part for part in (numbers[:size], numbers[size:]))
        name = struct.pack(">H", 0x000B) + hashlib.sha256(area).digest()
        digest = hashlib.sha256(data + client_data_hash).digest()
        info = b"\xffTCG" + struct.pack(">HH", 0x8017, 0) + struct.pack(">H", 32) + digest + bytes(17 + 8)
        info += struct.pack(">H", len(name)) + name + struct.pack(">H", 0)
        chain = [der(self.identity)]
        statement = {"ver": "2.0", "alg": -7, "sig": self._sign(info), "x5c": chain, "certInfo": info, "pubArea": area}
        return "tpm", statement

    # What metadata says of it

    def entry(self, *statuses, protection=("hardware", "secure_element"), roots=None, **changes):
        reports = [status if isinstance(status, dict) else {"status": status} for status in statuses or ["FIDO_CERTIFIED"]]
        statement = {
            "description": "Test Key 5",
            "authenticatorVersion": 1,
            "schema": 3,
            "upv": [{"major": 1, "minor": 0}],
            "attestationTypes": ["basic_full"],
            "userVerificationDetails": [],
            "matcherProtection": ["on_chip"],
            "attachmentHint": ["external"],
            "tcDisplay": [],
            "keyProtection": list(protection),
            "attestationRootCertificates": [text(root) for root in roots or [self.root.certificate]],
        }
        uuid = "-".join([(h := self.aaguid.hex())[:8], h[8:12], h[12:16], h[16:20], h[20:]])
        entry = {
            "aaguid": uuid,
            "metadataStatement": statement,
            "statusReports": reports,
            "timeOfLastStatusChange": "2026-01-01",
        }
        return entry | changes

    def u2f_entry(self, *statuses, **options):
        """By its certificate's key: U2F has no AAGUIDs."""
        entry = self.entry(*statuses, **options)
        del entry["aaguid"]
        return entry | {"attestationCertificateKeyIdentifiers": [key_id(self.certificate)]}


@dataclasses.dataclass
class Publisher:
    """FIDO, as far as it signs metadata."""

    root: Root = dataclasses.field(default_factory=lambda: Root("Publisher"))
    host: str = SIGNER
    #: What its certificate is for.
    purpose: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH
    #: Of the signer's certificate, from now.
    days: int = 30

    def blob(self, *entries, number=7, due_in=20, signer=None, key=None, headers=None, algorithm="ES256", **changes):
        """`due_in`: days until its `nextUpdate`. `key`: signs in place of the signer's."""
        signer = signer or ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(self.host)])
        usage = x509.ExtendedKeyUsage([self.purpose])
        leaf = self.root.leaf(signer, {NameOID.COMMON_NAME: "signer"}, (names, False), (usage, False), days=self.days)
        due = (datetime.datetime.now(datetime.UTC) + due_in * DAY).date().isoformat()
        payload = {"legalHeader": "", "no": number, "nextUpdate": due, "entries": list(entries)} | changes
        headers = {"x5c": [text(leaf)]} if headers is None else headers
        return jwt.encode(payload, key or signer, algorithm=algorithm, headers=headers)

    def write(self, path, *entries, **options):
        path.write_text(self.blob(*entries, **options))
        return path
