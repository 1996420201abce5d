"""Changes a proof as an attacker or a broken client would."""

import copy
import hashlib
import io
import json

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

#: Known to everybody.
KEY = ec.derive_private_key(0x5EED, ec.SECP256R1())


def flip(random_, data, others):
    """Of bytes, whatever they mean."""
    data = bytearray(data)
    at = random_.randrange(len(data) + 1)
    match random_.randrange(7):
        case 0 | 1 if at < len(data):
            data[at] ^= 1 << random_.randrange(8)
        case 2 if at < len(data):
            data[at] = random_.choice((0, 1, 0x7F, 0x80, 0xFF))
        case 3:
            del data[at:]
        case 4:
            del data[at : at + random_.randrange(1, 5)]
        case 5:
            data[at:at] = random_.randbytes(random_.randrange(1, 5))
        case _:
            data = random_.choice(others)
    return bytes(data)


def authenticator_data(random_, data):
    data = bytearray(data)
    match random_.randrange(5):
        case 0 if len(data) > 32:
            data[32] = random_.choice((0, 1, 4, 5, 0x19, 0x1D, 0x11, 0x41, 0x45, 0x5D, 0xC5, 0x51, data[32] ^ 0x80))
        case 1:
            data[33:37] = random_.choice((0, 1, 7, 2**31, 2**32 - 1)).to_bytes(4, "big")
        case 2 if len(data) > 55:
            data[37:53] = random_.choice((bytes(16), b"appattestdevelop", random_.randbytes(16)))
        case 3 if len(data) > 55:
            data[53:55] = random_.choice((0, 1, 1023, 1024, 65535, data[54] + 1)).to_bytes(2, "big")
        case _:
            data += random_.choice((b"\xa0", b"\x00", b"\xa1\x61a\x01", b"\xf6"))
    return bytes(data)


def statement(random_, data, others):
    """An attestation object, or an assertion of App Attest, by its members."""
    item = cbor2.loads(data)
    inside = random_.choice([item] + [v for v in item.values() if isinstance(v, dict) and v])
    if not inside:
        return data
    key = random_.choice(list(inside))
    other = cbor2.loads(random_.choice(others))
    match random_.randrange(8):
        case 0:
            del inside[key]
        case 1:
            inside[random_.choice(("x5c", "ecdaaKeyId", "alg", "extra", 1))] = random_.choice(([], 0, b"", None, -7))
        case 2:
            inside[key] = other.get(key) or other.get("attStmt", {}).get(key)
        case 3 if isinstance(inside.get("alg"), int):
            inside["alg"] = random_.choice((-7, -8, -35, -37, -257, -65535, -48, 0, 2**40))
        case 4 if "fmt" in item:
            item["fmt"] = random_.choice(("none", "packed", "fido-u2f", "apple", "tpm", "android-key", "Packed", ""))
        case 5 if isinstance(inside.get("x5c"), list) and inside["x5c"]:
            chain = inside["x5c"]
            match random_.randrange(4):
                case 0:
                    chain.pop(random_.randrange(len(chain)))
                case 1:
                    chain.append(random_.choice(chain))
                case 2:
                    random_.shuffle(chain)
                case _:
                    at = random_.randrange(len(chain))
                    chain[at] = flip(random_, chain[at], other.get("attStmt", {}).get("x5c") or chain)
        case 6 if data[0] < 0xB7:
            return bytes([data[0] + 1]) + data[1:] + cbor2.dumps(key) + cbor2.dumps(inside[key])
        case _:
            name = "authData" if "authData" in item else "authenticatorData"
            if isinstance(item.get(name), bytes):
                item[name] = authenticator_data(random_, item[name])
    return cbor2.dumps(item)


def client_data(random_, data):
    item = json.loads(data)
    key = random_.choice(("type", "challenge", "origin", "crossOrigin", "topOrigin", "tokenBinding"))
    match random_.randrange(5):
        case 0:
            item.pop(key, None)
        case 1:
            item[key] = random_.choice(
                (None, True, False, 1, "", "webauthn.get", "webauthn.create", {}, {"status": "x"})
            )
        case 2 if isinstance(item.get(key), str):
            item[key] = random_.choice(
                (item[key] + "=", item[key].upper(), item[key] + "/", item[key].replace("k", "\u212a"), "x" + item[key])
            )
        # A name twice.
        case 3:
            return (
                data[:-1]
                + f',"{key}":{json.dumps(random_.choice(("https://evil.example", True, "webauthn.x")))}}}'.encode()
            )
        case _:
            return random_.choice(
                (
                    b"\xef\xbb\xbf" + data,
                    data.decode(errors="replace").encode("utf-16-le"),
                    b" " + data,
                    data + b"\n",
                    data + b"x",
                )
            )
    return json.dumps(item, ensure_ascii=random_.random() < 0.5).encode()


def resigned(case):
    """Signed by a key of ours, so that what is mutated in it is judged, and not its signature alone."""
    fields = case["bytes"]
    numbers = KEY.public_key().public_numbers()
    key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
    hash_ = hashlib.sha256(fields["clientDataJSON"]).digest()
    if case["proof"] == "authentication":
        fields["key"] = cbor2.dumps(key)
        fields["signature"] = KEY.sign(fields["authenticatorData"] + hash_, ec.ECDSA(hashes.SHA256()))
    else:
        data = cbor2.loads(fields["attestationObject"])["authData"]
        end = 55 + int.from_bytes(data[53:55], "big")
        rest = io.BytesIO(data[end:])
        cbor2.load(rest)
        data = data[:end] + cbor2.dumps(key) + rest.read()
        made = {"alg": -7, "sig": KEY.sign(data + hash_, ec.ECDSA(hashes.SHA256()))}
        fields["attestationObject"] = cbor2.dumps({"fmt": "packed", "attStmt": made, "authData": data})


def mutated(random_, cases):
    case = copy.deepcopy(random_.choice(cases))
    fields, signs = case["bytes"], case["proof"] in ("registration", "authentication") and random_.random() < 0.4
    for _ in range(random_.choice((1, 1, 1, 2))):
        name = random_.choice(
            [n for n in fields if not signs or n in ("clientDataJSON", "attestationObject", "authenticatorData")]
        )
        others = [c["bytes"][name] for c in cases if c["proof"] == case["proof"] and name in c["bytes"]]
        try:
            if name in ("attestationObject", "attestation", "assertion") and random_.random() < 0.7:
                fields[name] = statement(random_, fields[name], others)
            elif name == "clientDataJSON" and random_.random() < 0.8:
                fields[name] = client_data(random_, fields[name])
            elif name == "authenticatorData" and random_.random() < 0.7:
                fields[name] = authenticator_data(random_, fields[name])
            else:
                fields[name] = flip(random_, fields[name], others)
            if signs:
                resigned(case)
        except Exception:  # A second mutation of what the first has broken.
            fields[name] = flip(random_, fields[name], others)
    if "origin" in case and random_.random() < 0.03:
        case["origin"] = "https://other.example"
    if random_.random() < 0.03:
        case["count"] = random_.choice((0, 1, 2**31, 2**32 - 1))
    return case
