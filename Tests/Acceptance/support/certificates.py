"""Certificates as an installation would have them: an authority of a test's own, and what it vouches for."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Issues certificates into files of a directory."""

    def __init__(self, directory, name="authority"):
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(self.pem)

    @property
    def pem(self):
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, file_name, *, uris=(), hosts=(), addresses=(), common_name=None, seconds=86_400):
        """Writes FILE_NAME.pem and FILE_NAME.key, of a certificate that is over in so many seconds."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [] if common_name is None else [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        names = [
            *(x509.UniformResourceIdentifier(uri) for uri in uris),
            *(x509.DNSName(host) for host in hosts),
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
        ]
        builder = _builder(x509.Name(attributes), self._name, key, seconds)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not attributes)
        certificate = builder.sign(self._key, hashes.SHA256())
        issued = Certificate(self._directory / f"{file_name}.pem", self._directory / f"{file_name}.key")
        issued.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        issued.key_file.touch(mode=0o600)
        issued.key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return issued

    def issue_server(self, file_name="server"):
        return self.issue(file_name, hosts=["localhost"], addresses=["127.0.0.1"])


class Certificate:
    """A certificate and its key, as PEM files."""

    def __init__(self, file, key_file):
        self.file = file
        self.key_file = key_file

    @property
    def pem(self):
        return self.file.read_bytes()

    @property
    def key_pem(self):
        return self.key_file.read_bytes()


def _builder(subject, issuer, key, seconds=86_400):
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(seconds=seconds))
    )
