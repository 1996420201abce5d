"""An Android phone whose keystore attests its keys, under an authority of the test's own.

The form of the extension: Android, "Key attestation extension data schema".
"""

import dataclasses
import datetime
import hashlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from .phone import BIOMETRY, DEVICE_OWNER, P256_ORDER, Phone, new_key

KEY_DESCRIPTION = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.1.17")
#: In certificates that were made over the network, for weeks; its content is CBOR: {1: 1}.
PROVISIONING = (x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.1.30"), b"\xa1\x01\x01")

SOFTWARE, TEE, STRONGBOX = 0, 1, 2
PASSWORD, BIOMETRIC = 1, 2
VERIFIED, SELF_SIGNED = 0, 1
PACKAGE = "com.example.shop"


def tlv(tag, content):
    """DER of one value."""
    length = len(content)
    size = b"" if length < 0x80 else length.to_bytes((length.bit_length() + 7) // 8)
    return bytes(tag) + (bytes([0x80 | len(size)]) + size if size else bytes([length])) + content


def integer(number, tag=0x02):
    return tlv([tag], number.to_bytes(number.bit_length() // 8 + 1))


def enumerated(number):
    return integer(number, 0x0A)


def boolean(value):
    return tlv([0x01], b"\xff" if value else b"\x00")


def octets(content):
    return tlv([0x04], content)


def sequence(*items):
    return tlv([0x30], b"".join(items))


def set_of(*items):
    return tlv([0x31], b"".join(items))


def tagged(number, value):
    """[number] EXPLICIT."""
    if number < 31:
        return tlv([0xA0 | number], value)
    return tlv([0xBF, 0x80 | number >> 7, number & 0x7F], value)


def certificate_that_spells_its_curve_out():
    """DER, of a key on P-256 by its numbers instead of its name: as a peer would have to send a curve of its own making.
    Nobody's signature is on it."""

    def identifier(hexadecimal):
        return tlv([0x06], bytes.fromhex(hexadecimal))

    prime = 2**256 - 2**224 + 2**192 + 2**96 - 1
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
    base = b"\x03" + bytes.fromhex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
    curve = sequence(
        integer(1),
        sequence(identifier("2a8648ce3d0101"), integer(prime)),
        sequence(octets((prime - 3).to_bytes(32)), octets(b.to_bytes(32))),
        octets(base),
        integer(P256_ORDER),
    )
    key = sequence(sequence(identifier("2a8648ce3d0201"), curve), tlv([0x03], b"\0" + base))
    name = common_name("Peer").public_bytes()
    validity = sequence(tlv([0x17], b"200101000000Z"), tlv([0x17], b"400101000000Z"))
    algorithm = sequence(identifier("2a8648ce3d040302"))
    content = sequence(tagged(0, integer(2)), integer(1), algorithm, name, validity, name, key)
    return sequence(content, algorithm, tlv([0x03], b"\0" + sequence(integer(1), integer(1))))


@dataclasses.dataclass
class KeyDescription:
    """What the hardware says of a key: right for one that biometrics unlock, unless said otherwise."""

    challenge: bytes
    version: int = 300
    attestation_level: int = TEE
    key_level: int = TEE
    purposes: tuple = (2,)
    #: EC; RSA is 1.
    algorithm: int = 3
    key_size: int = 256
    #: None: no authentication is required.
    authenticators: int | None = BIOMETRIC
    timeout: int | None = None
    #: The timeout does not count while the phone is worn.
    on_body: bool = False
    all_applications: bool = False
    origin: int = 0
    boot_state: int = VERIFIED
    locked: bool = True
    patch_level: int = 202611
    package: str = PACKAGE

    @property
    def der(self):
        package = set_of(sequence(octets(self.package.encode()), integer(7)))
        application = sequence(package, set_of(octets(hashlib.sha256(b"signer").digest())))
        root_of_trust = sequence(
            octets(bytes(32)), boolean(self.locked), enumerated(self.boot_state), octets(bytes(32))
        )
        unlocking = (
            [tagged(503, tlv([0x05], b""))]
            if self.authenticators is None
            else [tagged(504, integer(self.authenticators))]
        )
        hardware = [
            tagged(1, set_of(*map(integer, self.purposes))),
            tagged(2, integer(self.algorithm)),
            tagged(3, integer(self.key_size)),
            *unlocking,
            *([] if self.timeout is None else [tagged(505, integer(self.timeout))]),
            *([tagged(506, tlv([0x05], b""))] if self.on_body else []),
            *([tagged(600, tlv([0x05], b""))] if self.all_applications else []),
            tagged(702, integer(self.origin)),
            tagged(704, root_of_trust),
            tagged(705, integer(160000)),
            tagged(706, integer(self.patch_level)),
        ]
        return sequence(
            integer(self.version),
            enumerated(self.attestation_level),
            integer(self.version),
            enumerated(self.key_level),
            octets(self.challenge),
            octets(b""),
            sequence(tagged(709, octets(application))),
            sequence(*hardware),
        )


class Maker:
    """Who certifies the keys of a make of phones: a root, and the certificate of one phone's keystore below it."""

    def __init__(self, name="Maker"):
        self._root_key, self.keystore_key = new_key(), new_key()
        self._root_name, self.keystore_name = common_name(f"{name} Root"), common_name(f"{name} TEE")
        self.root = certificate(self._root_name, self._root_name, self._root_key, self._root_key, is_authority=True)
        self.keystore = self.keystore_with()

    def keystore_with(self, *extensions, days=3650, is_authority=True):
        """The phone's certificate, with more in it, over in so many days, or not said to be an authority's."""
        return certificate(
            self.keystore_name,
            self._root_name,
            self.keystore_key,
            self._root_key,
            is_authority=is_authority,
            extensions=extensions,
            days=days,
        )

    def chain(self, key, description, keystore=None):
        """DER, leaf first. `description`: KeyDescription, or None for a certificate that attests nothing."""
        leaf = self.leaf(key, description)
        return [c.public_bytes(Encoding.DER) for c in (leaf, keystore or self.keystore, self.root)]

    def leaf(self, key, description, issuer_key=None, issuer_name=None, is_authority=False):
        extensions = [] if description is None else [(KEY_DESCRIPTION, description.der)]
        name = common_name("Android Keystore Key")
        return certificate(
            name,
            issuer_name or self.keystore_name,
            key,
            issuer_key or self.keystore_key,
            is_authority=is_authority,
            extensions=extensions,
        )

    def write_roots(self, path):
        path.write_bytes(self.root.public_bytes(Encoding.PEM))
        return path


class AndroidPhone(Phone):
    """A Pixel with a fingerprint, whose keys are made by `maker`'s hardware."""

    _AUTHENTICATORS = {BIOMETRY: BIOMETRIC, DEVICE_OWNER: BIOMETRIC | PASSWORD}

    def __init__(self, maker, *factors):
        super().__init__(*factors)
        self.maker = maker
        self.platform = "android"
        self.os_version = "16"
        self.domain_state = b""

    def description(self, signing_input, factor=BIOMETRY, **changes):
        challenge = hashlib.sha256(signing_input).digest()
        right = KeyDescription(challenge, authenticators=self._AUTHENTICATORS[factor])
        return dataclasses.replace(right, **changes)

    def attested_keys(self, signing_input, **changes):
        """The keys to bind, each with its chain; `changes` to what the hardware says of each."""
        keys = self.hardware_keys(signing_input)
        for message, (factor, key) in zip(keys, self.keys.items(), strict=True):
            description = self.description(signing_input, factor, **changes)
            message.certificate_chain.extend(self.maker.chain(key, description))
        return keys


def common_name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, issuer, key, issuer_key, *, is_authority=False, extensions=(), days=3650):
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=3650))
        .not_valid_after(now + datetime.timedelta(days=days))
    )
    if is_authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    for identifier, content in extensions:
        builder = builder.add_extension(x509.UnrecognizedExtension(identifier, content), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


