"""Writes Tests/Fuzz/Seeds anew: small inputs that lead a fuzzer on, for each target of FuzzTests.

Usage: make_seeds.py [TARGET...]
Run it by the tests' Python (make test installs it). What it writes is committed.
"""

import base64
import datetime
import gzip
import json
import struct
import sys
import urllib.parse
from pathlib import Path

import grpc_tools
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from grpc_tools import protoc
from hpack import Encoder

ROOT = Path(__file__).parent.parent.parent
SEEDS = Path(__file__).parent / "Seeds"


# --- codec: a message of each type with all of its fields ---


def codec():
    for name, cls in message_types().items():
        yield name, place(name) + filled(cls, 3).SerializeToString()


def place(name):
    """As CodecInput.prefix has it."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return struct.pack(">H", (value >> 16 ^ value) & 0xFFFF)


def message_types():
    protos = ROOT / "Protos"
    files = [str(path.relative_to(protos)) for path in sorted(protos.rglob("*.proto"))]
    files = [file for file in files if not file.startswith("grpc/reflection/v1alpha/")]
    out = Path("/tmp") / "seeds.descriptors"
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    if protoc.main(
        ["protoc", f"-I{protos}", f"-I{well_known}", "--include_imports", f"--descriptor_set_out={out}"] + files
    ):
        sys.exit("protoc refused the .proto files")
    pool, types = descriptor_pool.DescriptorPool(), {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.AddSerializedFile(file.SerializeToString())
        for message in pool.FindFileByName(file.name).message_types_by_name.values():
            types[message.full_name] = message_factory.GetMessageClass(message)
    out.unlink()
    return types


def filled(cls, depth):
    message = cls()
    for field in cls.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            value = field.message_type.fields_by_name["value"]
            if value.message_type is None:
                getattr(message, field.name)["k"] = "v"
        elif field.message_type is not None:
            if depth == 0:
                continue
            inner = filled(message_factory.GetMessageClass(field.message_type), depth - 1)
            if field.is_repeated:
                getattr(message, field.name).append(inner)
            else:
                getattr(message, field.name).CopyFrom(inner)
        elif field.is_repeated:
            getattr(message, field.name).extend([scalar(field)] * 2)
        else:
            setattr(message, field.name, scalar(field))
    return message


def scalar(field):
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"\x01\x02"
    return {FieldDescriptor.CPPTYPE_STRING: "t", FieldDescriptor.CPPTYPE_BOOL: True}.get(field.cpp_type, 1)


# --- connections ---


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def message(payload, flag=0):
    return bytes([flag]) + struct.pack(">I", len(payload)) + payload


def headers(fields, encoder=None):
    return (encoder or Encoder()).encode(fields)


CALL = [(":method", "POST"), (":scheme", "http"), (":authority", "f"), ("te", "trailers"),
        ("content-type", "application/grpc")]


def server_bytes():
    """The first byte is the transport's mood."""
    compressed = message(gzip.compress(bytes(500)), 1)
    for index, path in enumerate(["Echo", "Fail", "Hold", "Count", "Total", "Chat", "Held", "None"]):
        call = headers(CALL + [(":path", f"/f/{path}"), ("key-bin", "AAEC"), ("grpc-accept-encoding", "gzip")])
        yield path.lower(), bytes([index]) + frame(1, 4, 1, call) + frame(0, 1, 1, message(b"abc"))
    gzipped = headers(CALL + [(":path", "/f/Echo"), ("grpc-encoding", "gzip"), ("grpc-timeout", "1S")])
    yield "gzip", b"\0" + frame(1, 4, 1, gzipped) + frame(0, 1, 1, compressed)
    half = headers(CALL + [(":path", "/f/Chat")])
    yield "continued", b"\1" + frame(1, 0, 1, half[:20]) + frame(9, 4, 1, half[20:]) + frame(0, 0, 1, message(b"x") * 3)
    encoder, calls = Encoder(), b""
    for stream in (1, 3, 5):
        calls += frame(1, 4, stream, headers(CALL + [(":path", "/f/Chat")], encoder)) + frame(0, 0, stream, message(b"y"))
    yield "streams", b"\2" + calls + frame(3, 0, 3, bytes([0, 0, 0, 8])) + frame(0, 1, 1) + frame(0, 1, 5)
    yield "control", b"\0" + frame(4, 0, 0, bytes([0, 4, 0, 0, 0, 9])) + frame(6, 0, 0, b"12345678") + frame(
        8, 0, 0, bytes([0, 0, 1, 0])) + frame(2, 0, 1, bytes(5)) + frame(7, 0, 0, bytes(8))
    padded = frame(1, 4 | 8 | 32, 1, b"\2" + bytes(5) + half + b"\0\0")
    yield "padded", b"\0" + padded + frame(0, 1 | 8, 1, b"\3" + message(b"z") + bytes(3))
    yield "trailers", b"\0" + frame(1, 4, 1, half) + frame(1, 5, 1, headers([("trailer", "value")]))


def server_dialogue():
    """As Dialogue reads it; 0xe0 feeds, and what is above acts."""
    for path in range(8):
        yield f"call-{path}", bytes([0, 1, path, 0b1011, 0, 0, 1, 0, 3]) + b"abc" + bytes([0xE0])
    yield "gzip", bytes([0, 1, 0, 3, 0, 12, 0, 1, 9])
    yield "damaged-gzip", bytes([0, 1, 5, 3, 0, 12, 0, 3, 9, 20, 1, 0xE0, 12, 0, 5, 9, 15])
    yield "streaming", bytes([5, 1, 5, 0, 0, 0xE0, 0, 0, 0, 2]) + b"ab" + bytes([0xE0, 0, 0, 0, 1]) + b"c" + bytes([0, 1, 0, 0])
    yield "held", bytes([0, 1, 2, 0, 0, 0, 1, 0, 1, 7, 0xEE, 0, 30])
    held = bytes([0, 1, 6, 2, 0, 0xE0])
    yield "held-stream", held + bytes([0xE9, 0, 2, 0, 0, 0, 1, 7, 0xED, 0, 0, 0xEA, 0, 200, 0xEA, 0, 3, 0xEB, 0, 0])
    yield "held-fails", held + bytes([0xEA, 0, 255, 0xEA, 0, 255, 0xEC, 0, 0])
    yield "reset", bytes([0, 1, 2, 0, 1, 0, 1, 0, 1, 7, 0xE0, 3, 0, 8, 0xEE, 0, 3])
    yield "drain", bytes([0, 1, 2, 0, 0, 0xE8, 0, 0, 6, 1]) + b"nrdhcuot" + bytes([1, 0, 0, 1, 0xF2, 0, 0])
    yield "times", bytes([0, 1, 2, 0b100, 0, 0xF3, 0, 0, 0xF1, 0, 0, 0xF0, 0, 0])
    yield "windows", bytes([0, 4, 1, 4, 0, 0, 0, 1, 1, 3, 0, 0, 0, 1, 0, 200]) + bytes(200) + bytes([8, 0, 0, 0, 1, 0])


def client_bytes():
    """The first byte is the transport's mood; the calls are on streams 1, 3 and 5."""
    head = [(":status", "200"), ("content-type", "application/grpc")]
    good = frame(1, 4, 1, headers(head)) + frame(0, 0, 1, message(b"abc")) + frame(
        1, 5, 1, headers([("grpc-status", "0"), ("key-bin", "AAEC")]))
    yield "good", b"\0" + good
    yield "pieces", b"\3" + good
    failed = headers(head + [("grpc-status", "5"), ("grpc-message", "not%20here"), ("grpc-status-details-bin", "AAEC")])
    yield "trailers-only", b"\0" + frame(1, 5, 1, failed) + frame(1, 5, 3, headers([(":status", "503")]))
    gzipped = frame(1, 4, 5, headers(head + [("grpc-encoding", "gzip")]))
    yield "stream", b"\1" + gzipped + frame(0, 0, 5, message(gzip.compress(bytes(900)), 1) + message(b"plain")) + frame(
        1, 5, 5, headers([("grpc-status", "0")]))
    yield "informational", b"\0" + frame(1, 4, 1, headers([(":status", "103")])) + good
    yield "goaway", b"\0" + frame(7, 0, 0, bytes([0, 0, 0, 1]) + bytes(4)) + good
    yield "resets", b"\0" + frame(3, 0, 1, bytes([0, 0, 0, 7])) + frame(3, 0, 3, bytes([0, 0, 0, 8])) + frame(3, 0, 5, bytes(4))
    yield "push", b"\0" + frame(5, 4, 1, bytes([0, 0, 0, 2]) + headers(CALL))
    yield "settings", b"\0" + frame(4, 0, 0, bytes([0, 3, 0, 0, 0, 1])) + frame(4, 1, 0) + frame(6, 0, 0, bytes(8))


# --- values ---


def header_values():
    yield "percent", b"100%25 of gr%C3%BC%C3%9Fe%0A"
    yield "base64", b"AAECAwQ="
    yield "timeout", b"99999999n"
    yield "encodings", b"identity, deflate,gzip"
    fields = b""
    for index, value in enumerate([b"POST", b"200", b"/f", b"trailers", b"application/grpc", b"1S", b"gzip", b"gzip",
                                   b"0", b"a%20b", b"AAEC", b"value", b"AAEC,AQ==", b"agent"]):
        fields += bytes([index << 1 | 1, len(value)]) + value
    yield "fields", fields
    yield "own-name", bytes([3 << 4, ]) + b"key" + bytes([5]) + b"value" + bytes([255, 0])


def gzip_():
    yield "zeros", gzip.compress(bytes(1000), mtime=0)
    yield "text", gzip.compress(b"again and again and again", mtime=0)
    yield "stored", gzip.compress(b"stored", 0, mtime=0)
    yield "bomb", gzip.compress(bytes(100_000), mtime=0)
    yield "members", gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0)


def certificates():
    """Keys and signatures are not read: one of each is enough."""
    key = ec.derive_private_key(7, ec.SECP256R1())
    names = {
        "spiffe": ("payments", [x509.UniformResourceIdentifier("spiffe://example.com/payments")]),
        "dns": ("a", [x509.DNSName("Payments.example.com"), x509.DNSName("*.example.com"), x509.RFC822Name("a@b.c")]),
        "name-only": ("zahlungen ü", []),
        "nul": ("admin\0.example.com", [x509.DNSName("admin\0.example.com")]),
    }
    start = datetime.datetime(2026, 1, 1)
    for label, (common_name, alternatives) in names.items():
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start + datetime.timedelta(days=1))
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        yield label, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def attestation():
    """As AttestationTarget has it: a byte for the kind, then a proof of Tests/Vectors."""
    vectors = ROOT / "Tests/Vectors/attestation"

    def case(file, name=None):
        cases = json.loads((vectors / file).read_text())
        return cases if name is None else next(case for case in cases if case["id"] == name)

    def url(text):
        return base64.urlsafe_b64decode(text + "==")

    kayak = case("appattest/webauthn4j-kayak-2020.json")
    yield "app", bytes([1]) + base64.b64decode(kayak["attestation_b64"])
    chain = case("android/keyatt-tegu-sdk36-TEE_EC_2026_ROOT.json")["chain_pem"]
    leaf = x509.load_pem_x509_certificate(chain[0].encode())
    yield "android", bytes([2]) + leaf.public_bytes(serialization.Encoding.DER)
    description = leaf.extensions.get_extension_for_oid(x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.1.17"))
    yield "description", bytes([2]) + description.value.value
    passkeys = "webauthn/pywebauthn-registrations.json"
    for format in ["dell_xps_13", "apple_passkey", "from_yubikey_firefox"]:
        found = case(passkeys, f"pywebauthn-verify_attestation_{format}")["registration"]
        yield format, bytes([3]) + url(found["attestationObject_b64u"])
        yield format + "-key", bytes([0]) + url(found["expected_public_key_cose_b64u"])
    pair = case("webauthn/yubico-real-pairs.json", "yubico-real-YubiKey5")["authentication"]
    yield "assertion", bytes([4]) + url(pair["authenticatorData_b64u"]) + url(pair["credential_public_key_cose_b64u"])
    yield "metadata", bytes([5]) + metadata(leaf)
    head = {"alg": "RS256", "typ": "JWT", "x5c": [certificate_text(leaf)]}
    parts = [json.dumps(head).encode(), metadata(leaf), bytes(256)]
    yield "signed-metadata", bytes([6]) + b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)


def certificate_text(certificate):
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()


def metadata(root):
    """FIDO's, with one model."""
    certificate = certificate_text(root)
    reports = [{"status": "FIDO_CERTIFIED_L1"}, {"status": "ATTESTATION_KEY_COMPROMISE", "certificate": certificate}]
    statement = {
        "description": "Key", "keyProtection": ["hardware", "secure_element"],
        "attestationRootCertificates": [certificate],
    }
    entry = {"aaguid": "00010203-0405-0607-0809-0a0b0c0d0e0f", "metadataStatement": statement, "statusReports": reports}
    u2f = {"attestationCertificateKeyIdentifiers": ["00" * 20], "statusReports": []}
    return json.dumps({"no": 7, "nextUpdate": "2026-12-01", "entries": [entry, u2f]}).encode()


def proofs():
    """As ProofTarget has it: a byte for the request, then its message with proofs of Tests/Vectors."""
    vectors = ROOT / "Tests/Vectors/attestation"
    types = message_types()
    complete, submit = (types[f"touchstone.v1.{name}Request"] for name in ("CompleteBinding", "SubmitAttempt"))

    def cases(file):
        return json.loads((vectors / file).read_text())

    def url(text):
        return base64.urlsafe_b64decode(text + "==")

    def seed(kind, message):
        return bytes([kind]) + message.SerializeToString(deterministic=True)

    chain = [
        x509.load_pem_x509_certificate(pem.encode()).public_bytes(serialization.Encoding.DER)
        for pem in cases("android/keyatt-tegu-sdk36-TEE_EC_2026_ROOT.json")["chain_pem"]
    ]
    yield "chain", seed(0, complete(keys=[{"certificate_chain": chain}]))
    kayak = cases("appattest/webauthn4j-kayak-2020.json")
    word = {"key_id": base64.b64decode(kayak["key_id_b64"]), "attestation": base64.b64decode(kayak["attestation_b64"])}
    yield "app-attestation", seed(0, complete(app_attest=word))
    assertion = base64.b64decode(kayak["assertions"][0]["assertion_b64"])
    yield "app-assertion", seed(1, submit(app_assertion=assertion))
    yield "binding-assertion", seed(0, complete(app_attest={"key_id": word["key_id"], "assertion": assertion}))
    for name in ["dell_xps_13", "apple_passkey", "from_yubikey_firefox"]:
        found = next(
            one for one in cases("webauthn/pywebauthn-registrations.json")
            if one["id"] == f"pywebauthn-verify_attestation_{name}"
        )["registration"]
        passkey = {
            "attestation_object": url(found["attestationObject_b64u"]), "client_data_json": url(found["clientDataJSON_b64u"]),
            "transports": ["usb"],
        }
        yield name, seed(0, complete(passkey=passkey))
    client = b'{"type":"webauthn.create","challenge":"","origin":"http://localhost","crossOrigin":false}'
    yield "plain", seed(0, complete(passkey=passkey | {"client_data_json": client}))
    pair = next(one for one in cases("webauthn/yubico-real-pairs.json") if one["id"] == "yubico-real-YubiKey5")
    found = pair["authentication"]
    proof = {
        "credential_id": bytes(32), "authenticator_data": url(found["authenticatorData_b64u"]),
        "client_data_json": url(found["clientDataJSON_b64u"]), "signature": url(found["signature_b64u"]),
        "user_handle": url(found["credential_public_key_cose_b64u"]),
    }
    yield "passkey", seed(1, submit(passkey=proof))
    yield "plain-passkey", seed(1, submit(passkey=proof | {"client_data_json": client.replace(b"create", b"get")}))


def tokens():
    yield "segments", b"eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.e30."
    payload = b'{"iss":"fuzz","aud":"a","sub":"s","iat":1,"exp":2,"jti":"t","amr":["hwk","\\u00fc"],"acr":"p"'
    yield "payload", payload + b"}"
    yield "payload-with-more", payload + b',"bnd":"b","txn":"' + b"A" * 43 + b'","x":{"y":[1,-2.5e3,true,null]}}'


def sealed():
    yield "version", b"\1" + bytes(60)


def decision_tables():
    text = (ROOT / "Tests/DecisionTables/Bindings.md").read_text()
    table = [line for line in text.splitlines() if line.startswith("|")]
    yield "table", ("# Title\n\n" + "\n".join(table[:6]) + "\n").encode()
    yield "given", b"# A\n\n- policy: login\n- now: 12:00\n\n## B\n\n| when | -> | answer |\n|---|---|---|\n| x | | y |\n"
    yield "start", text.encode()[:1500]


def http_requests():
    yield "get", b"GET /livez?a=b HTTP/1.1\r\nHost: a:80\r\nIf-None-Match: \"x\", *\r\n\r\n"
    yield "post", b"POST /f HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\na=bGET * HTTP/1.0\r\n\r\n"
    yield "absolute", b"\r\nHEAD http://a?q HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\n"
    yield "chunked", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"


def forms():
    """What the console's pages send, and what is refused."""
    token = "pfBdQNfyiPwVGRCQZVgoNKJmsrvVo8eVYzkyLHq0mJ0"
    yield "sign-in", b"page=%2Fconsole%2Fevents%3Ffollow%3Dyes&name=anna&password=correct+horse+battery+staple"
    order = {
        "token": token, "action": "unlock-device", "application": "shop", "profile": "anna.li@example.org",
        "target": "8f14e45f-ceea-467f-a0e6-5d6b1f7a9c3e", "reason": "出示了护照 (ticket 4711)",
    }
    yield "action", urllib.parse.urlencode(order).encode()
    erasure = order | {"action": "erase", "confirmation": "anna.li@example.org", "reason": 'a&b=c;"<script>" 100 %'}
    yield "erasure", urllib.parse.urlencode(erasure).encode()
    yield "sign-out", b"token=" + token.encode()
    yield "query", b"application=shop&policy=login&binding=&platform=ios&os=17.4&sensor=face-id&working=yes&passcode=yes"
    yield "empty-parts", b"a&b=&=c&&d=="
    yield "twice", b"profile=a&profil%65=b"
    yield "malformed", b"a=%4&b=%FF&c=%C3%28"
    yield "many", b"&".join(b"%d=" % number for number in range(65))
    yield "cookies", b"touchstone-console-language=zh-Hans; touchstone-console=" + token.encode() * 2


TARGETS = {
    "codec": codec, "server-bytes": server_bytes, "server-dialogue": server_dialogue, "client-bytes": client_bytes,
    "header-values": header_values, "gzip": gzip_, "certificates": certificates, "attestation": attestation,
    "proofs": proofs, "tokens": tokens, "sealed": sealed, "decision-tables": decision_tables,
    "http-requests": http_requests, "forms": forms,
}


def main():
    for name in sys.argv[1:] or TARGETS:
        directory = SEEDS / name
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.iterdir():
            old.unlink()
        for label, data in TARGETS[name]():
            (directory / label).write_bytes(data)


main()
