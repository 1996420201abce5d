#!/usr/bin/env python3
"""Writes the vectors of this folder, or with --check says which of them differ from what it would write.

It needs Python alone. Keys and challenges come from a fixed seed, so that every run writes the same bytes.
"""

import base64
import hashlib
import json
import random
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
SEED = random.Random("touchstone kit vectors v1")


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encoded(*fields):
    parts = [field.encode() if isinstance(field, str) else field for field in fields]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


# Signing inputs

CHALLENGE, OTHER_CHALLENGE = SEED.randbytes(32), SEED.randbytes(32)
SHOP, BINDING, ALICE = "shop", "b_7Qm2xT0kVw1", "alice"
DEVICE = "6f1f1c1e-3d0b-4b7e-9a55-0c2d6f4f8e21"
COFFEE = {"amount": "3.20", "currency": "EUR", "payee": "Coffee Bar", "reference": "order-1"}
LOGIN, PAYMENT = b"\x01", b"\x02"
TAGS = {"binding": "touchstone binding v1", "evaluation": "touchstone evaluation v1"}


def transaction_bytes(tag="touchstone transaction v1", extra=(), **changes):
    return encoded(tag, *({**COFFEE, **changes}).values(), *extra)


def binding_input(tag=TAGS["binding"], challenge=CHALLENGE, application=SHOP, profile=ALICE, device=DEVICE):
    return encoded(tag, challenge, application, profile, device)


def evaluation_input(
    tag=TAGS["evaluation"], challenge=CHALLENGE, application=SHOP, binding=BINDING, policy="login", purpose=LOGIN, transaction=b""
):
    return encoded(tag, challenge, application, binding, policy, purpose, transaction)


def payment_input(transaction=None, policy="payment", **changes):
    return evaluation_input(policy=policy, purpose=PAYMENT, transaction=transaction or transaction_bytes(**changes))


def own_binding(**changes):
    return {"kind": "binding", "application_id": SHOP, "profile_id": ALICE, "device_id": DEVICE, **changes}


def own_evaluation(**changes):
    policy = "payment" if changes.get("shown") else "login"
    return {"kind": "evaluation", "application_id": SHOP, "binding_id": BINDING, "policy": policy, **changes}


def signing_inputs():
    right, wrong = [], []

    def binding(name, own=None, challenge=CHALLENGE, **content):
        own = {**own_binding(), **(own or {})}
        content = {"application": own["application_id"], "profile": own["profile_id"], "device": own["device_id"], **content}
        expect = {
            "challenge": b64(challenge),
            "application_id": content["application"],
            "profile_id": content["profile"],
            "device_id": content["device"],
        }
        data = binding_input(challenge=challenge, **content)
        right.append({"name": name, **own, "signing_input": b64(data), "expect": expect})

    def evaluation(name, own=None, policy="login", payment=None, challenge=CHALLENGE):
        own = {**own_evaluation(policy=policy), **(own or {})}
        expect = {
            "challenge": b64(challenge),
            "application_id": own["application_id"],
            "binding_id": own["binding_id"],
            "policy": policy,
            "purpose": "payment" if payment else "login",
        }
        transaction = b""
        if payment:
            expect["transaction"] = own["shown"] = payment
            transaction = transaction_bytes(**payment)
            expect["transaction_sha256"] = b64(hashlib.sha256(transaction).digest())
        data = evaluation_input(
            challenge=challenge,
            application=own["application_id"],
            binding=own["binding_id"],
            policy=policy,
            purpose=PAYMENT if payment else LOGIN,
            transaction=transaction,
        )
        right.append({"name": name, **own, "signing_input": b64(data), "expect": expect})

    def refused(name, code, own, data):
        wrong.append({"name": name, **own, "signing_input": b64(data), "refused": code})

    binding("a binding")
    binding("a binding whose challenge the backend told", {"challenge": b64(CHALLENGE)})
    binding("a binding in Chinese", {"application_id": "商店", "profile_id": "café"})
    binding("a binding of the decomposed name", {"profile_id": "cafe\u0301"})
    binding("a passkey's binding has no device", {"device_id": ""})
    binding("a binding with the longest identifiers", {"application_id": "a" * 128, "profile_id": "p" * 128, "device_id": "d" * 128})
    binding("a binding whose challenge is zeros", challenge=bytes(32))
    evaluation("a login")
    evaluation("a login by a policy of the shop", policy="deviceOwnerAuthentication")
    evaluation("a login by a policy with a name in Chinese", policy="登录")
    evaluation("a payment by a policy of the shop", policy="large-payment", payment=COFFEE)
    evaluation("a login whose challenge is ones", challenge=b"\xff" * 32)
    evaluation("a login by a passkey that names no profile", {"binding_id": ""})
    evaluation("a payment", policy="payment", payment=COFFEE)
    evaluation("a payment without a fraction", policy="payment", payment={**COFFEE, "amount": "1200"})
    evaluation("a payment of less than one", policy="payment", payment={**COFFEE, "amount": "0.50"})
    evaluation("a payment of eighteen digits", policy="payment", payment={**COFFEE, "amount": "9999999999999999.99"})
    evaluation("a payment in Chinese", policy="payment", payment={**COFFEE, "currency": "CNY", "payee": "茶馆"})
    evaluation("a payment to a name in Arabic", policy="payment", payment={**COFFEE, "payee": "مقهى"})
    evaluation("a payment to a name with an emoji", policy="payment", payment={**COFFEE, "payee": "Café ☕\ufe0f"})
    evaluation("a payment with the longest texts", policy="payment", payment={**COFFEE, "payee": "P" * 256, "reference": "r" * 128})

    name = b"\xed\xa0\xbd\xed\xb8\x80"
    refused("an application's name with halves of a surrogate pair", "not-utf8", own_evaluation(), evaluation_input(application=name))

    # The bytes themselves
    login, pay = evaluation_input(), payment_input()
    shown = own_evaluation(shown=COFFEE)
    refused("no bytes", "truncated", own_evaluation(), b"")
    refused("three bytes", "truncated", own_evaluation(), b"\x00\x00\x00")
    refused("a tag alone that is cut off", "truncated", own_evaluation(), login[:20])
    refused("a login that lacks its last byte", "truncated", own_evaluation(), login[:-1])
    refused("a binding that lacks its last byte", "truncated", own_binding(), binding_input()[:-1])
    refused("a field that says it has 4 GiB", "truncated", own_evaluation(), login[:28] + b"\xff\xff\xff\xff" + login[32:])
    refused("more than 4,096 bytes", "too-long", own_evaluation(), evaluation_input(policy="p" * 4096))
    refused("one byte after a login", "leftover-bytes", own_evaluation(), login + b"\x00")
    refused("five bytes after a binding", "leftover-bytes", own_binding(), binding_input() + b"\x00\x00\x00\x09x")
    refused("a field cut off after a payment", "leftover-bytes", shown, pay + b"\x00\x00\x00\x02x")
    refused("a login with an eighth field", "field-count", own_evaluation(), login + encoded(b""))
    refused("a login without its last field", "field-count", own_evaluation(), login[:-4])
    refused("a binding with a sixth field", "field-count", own_binding(), binding_input() + encoded("more"))
    refused("a binding without its device", "field-count", own_binding(), encoded(TAGS["binding"], CHALLENGE, SHOP, ALICE))
    refused("a tag alone", "field-count", own_evaluation(), encoded(TAGS["evaluation"]))
    refused("a binding in place of a login", "wrong-tag", own_evaluation(), binding_input())
    refused("a login in place of a binding", "wrong-tag", own_binding(), login)
    refused("another version", "wrong-tag", own_evaluation(), evaluation_input(tag="touchstone evaluation v2"))
    refused("a tag in capitals", "wrong-tag", own_evaluation(), evaluation_input(tag="Touchstone evaluation v1"))
    refused("a tag with a zero after it", "wrong-tag", own_evaluation(), evaluation_input(tag="touchstone evaluation v1\0"))
    refused("an empty tag", "wrong-tag", own_binding(), encoded("", CHALLENGE, SHOP, ALICE, DEVICE))
    refused("a transaction in place of a login", "wrong-tag", own_evaluation(), transaction_bytes())
    refused(
        "what an app vouches for in place of a binding",
        "wrong-tag",
        own_binding(),
        encoded("touchstone app attest binding v1", binding_input(), b"", b"", b"\x01"),
    )
    refused("a challenge of 31 bytes", "wrong-challenge-length", own_evaluation(), evaluation_input(challenge=CHALLENGE[:31]))
    refused("a challenge of 33 bytes", "wrong-challenge-length", own_binding(), binding_input(challenge=CHALLENGE + b"\0"))
    refused("no challenge", "wrong-challenge-length", own_evaluation(), evaluation_input(challenge=b""))
    refused("a policy that is not UTF-8", "not-utf8", own_evaluation(), evaluation_input(policy=b"log\xffin"))
    refused("an application in an overlong encoding", "not-utf8", own_evaluation(), evaluation_input(application=b"sho\xc1\xb0"))
    refused("a profile with a surrogate", "not-utf8", own_binding(), binding_input(profile=b"\xed\xa0\x80"))
    # Owners
    refused("another application's login", "other-application", own_evaluation(), evaluation_input(application="bank"))
    refused("another application's binding", "other-application", own_binding(), binding_input(application="bank"))
    refused(
        "another application's payment",
        "other-application",
        shown,
        evaluation_input(application="bank", policy="payment", purpose=PAYMENT, transaction=transaction_bytes()),
    )
    refused("an application in capitals", "other-application", own_evaluation(), evaluation_input(application="Shop"))
    refused("no application", "other-application", own_evaluation(), evaluation_input(application=""))
    refused("another binding", "other-binding", own_evaluation(), evaluation_input(binding="b_other"))
    refused("no binding, for a phone that has one", "other-binding", own_evaluation(), evaluation_input(binding=""))
    refused(
        "another binding's payment",
        "other-binding",
        shown,
        evaluation_input(binding="b_other", policy="payment", purpose=PAYMENT, transaction=transaction_bytes()),
    )
    for name, signed in [
        ("another policy for logins", "login-without-finger"),
        ("the payment's policy", "payment"),
        ("a policy in capitals", "Login"),
        ("a policy with a space after it", "login "),
        ("no policy", ""),
    ]:
        refused(f"{name}, where a login was asked for", "other-policy", own_evaluation(), evaluation_input(policy=signed))
    refused("another policy for payments", "other-policy", shown, payment_input(policy="small-payment"))
    refused("a payment under the login's policy", "other-policy", shown, payment_input(policy="login"))
    accented = own_evaluation(policy="café")
    refused("a policy in another encoding", "other-policy", accented, evaluation_input(policy="cafe\u0301"))
    refused("another binding and another policy", "other-binding", own_evaluation(), evaluation_input(binding="b", policy="p"))
    refused(
        "another policy and another challenge",
        "other-policy",
        own_evaluation(challenge=b64(CHALLENGE)),
        evaluation_input(challenge=OTHER_CHALLENGE, policy="payment"),
    )
    refused("another profile", "other-profile", own_binding(), binding_input(profile="mallory"))
    refused("the same name in another encoding", "other-profile", own_binding(profile_id="café"), binding_input(profile="cafe\u0301"))
    refused("another device", "other-device", own_binding(), binding_input(device="0c2d6f4f-3d0b-4b7e-9a55-6f1f1c1e8e21"))
    refused("a passkey's binding in place of a phone's", "other-device", own_binding(), binding_input(device=""))
    refused(
        "another challenge than the backend told before",
        "other-challenge",
        own_binding(challenge=b64(CHALLENGE)),
        binding_input(challenge=OTHER_CHALLENGE),
    )
    refused(
        "another challenge than at the first attempt",
        "other-challenge",
        own_evaluation(challenge=b64(CHALLENGE)),
        evaluation_input(challenge=OTHER_CHALLENGE),
    )
    # Purposes and transactions
    refused("a purpose that no kit knows", "unknown-purpose", own_evaluation(), evaluation_input(purpose=b"\x03"))
    refused("a purpose of zero", "unknown-purpose", own_evaluation(), evaluation_input(purpose=b"\x00"))
    refused("a purpose of two bytes", "unknown-purpose", own_evaluation(), evaluation_input(purpose=b"\x00\x01"))
    refused("no purpose", "unknown-purpose", own_evaluation(), evaluation_input(purpose=b""))
    refused("a login with a transaction", "transaction-in-login", own_evaluation(), evaluation_input(transaction=transaction_bytes()))
    refused("a login, where a payment was shown", "not-a-payment", shown, evaluation_input(policy="payment"))
    refused("a payment, where a login was asked for", "transaction-not-shown", own_evaluation(), payment_input(policy="login"))
    refused("a payment without a transaction", "malformed-transaction", shown, evaluation_input(policy="payment", purpose=PAYMENT))
    refused(
        "a transaction of another version",
        "malformed-transaction",
        shown,
        payment_input(transaction_bytes(tag="touchstone transaction v2")),
    )
    refused("a transaction with a sixth field", "malformed-transaction", shown, payment_input(transaction_bytes(extra=["tip 5.00"])))
    refused("a transaction without a reference", "malformed-transaction", shown, payment_input(transaction_bytes()[:-11]))
    refused("a transaction that is cut off", "malformed-transaction", shown, payment_input(transaction_bytes()[:-1]))
    refused("one byte after a transaction", "malformed-transaction", shown, payment_input(transaction_bytes() + b"\x00"))
    refused("a payee that is not UTF-8", "not-utf8", shown, payment_input(transaction_bytes(payee=b"Coffee \xfe")))
    for name, amount in [
        ("of zero", "0.00"),
        ("with a sign", "-3.20"),
        ("with an exponent", "3e9"),
        ("that begins with a zero", "03.20"),
        ("with two points", "3.2.0"),
        ("with a comma", "3,20"),
        ("that ends with a point", "3."),
        ("that begins with a point", ".20"),
        ("of nineteen digits", "9999999999999999999"),
        ("in Arabic digits", "٣.٢٠"),
        ("that is empty", ""),
        ("with a space", "3.20 "),
    ]:
        refused(f"an amount {name}", "wrong-amount", own_evaluation(shown={**COFFEE, "amount": amount}), payment_input(amount=amount))
    for name, currency in [("in small letters", "eur"), ("of two letters", "EU"), ("that is a sign", "€")]:
        refused(
            f"a currency {name}", "wrong-currency", own_evaluation(shown={**COFFEE, "currency": currency}), payment_input(currency=currency)
        )
    for name, change in [
        ("no payee", {"payee": ""}),
        ("a payee of 257 bytes", {"payee": "P" * 257}),
        ("no reference", {"reference": ""}),
        ("a reference of 129 bytes", {"reference": "r" * 129}),
    ]:
        refused(name, "wrong-length", own_evaluation(shown={**COFFEE, **change}), payment_input(**change))
    for name, character in [
        ("an override to the left", "\u202e"),
        ("an override to the right", "\u202d"),
        ("an embedding", "\u202b"),
        ("an isolate", "\u2067"),
        ("the end of an isolate", "\u2069"),
        ("a mark to the left", "\u200f"),
        ("an Arabic letter mark", "\u061c"),
    ]:
        change = {"payee": f"Coffee{character} Bar"}
        refused(f"a payee with {name}", "text-reorders", own_evaluation(shown={**COFFEE, **change}), payment_input(**change))
    change = {"reference": "order\u202e1"}
    refused("a reference with an override", "text-reorders", own_evaluation(shown={**COFFEE, **change}), payment_input(**change))
    for name, character in [
        ("a space of no width", "\u200b"),
        ("a line feed", "\n"),
        ("a zero", "\0"),
        ("a soft hyphen", "\u00ad"),
        ("a byte order mark", "\ufeff"),
        ("a filler of Hangul", "\u3164"),
        ("a separator of lines", "\u2028"),
    ]:
        change = {"payee": f"Coffee{character}Bar"}
        refused(f"a payee with {name}", "text-hidden", own_evaluation(shown={**COFFEE, **change}), payment_input(**change))
    for name, change in [
        ("another amount", {"amount": "32.00"}),
        ("the same amount in another form", {"amount": "3.2"}),
        ("another currency", {"currency": "USD"}),
        ("another payee", {"payee": "Mallory"}),
        ("a payee that looks alike", {"payee": "Соffee Bar"}),
        ("a payee with another case", {"payee": "coffee bar"}),
        ("another reference", {"reference": "order-2"}),
    ]:
        refused(name, "other-transaction", shown, payment_input(**change))
    return right + wrong


# Keys and signatures

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def add(p, q):
    if p is None or q is None:
        return p or q
    if p[0] == q[0] and (p[1] + q[1]) % P == 0:
        return None
    slope = (3 * p[0] ** 2 - 3) * pow(2 * p[1], -1, P) if p == q else (q[1] - p[1]) * pow(q[0] - p[0], -1, P)
    x = (slope**2 - p[0] - q[0]) % P
    return x, (slope * (p[0] - x) - p[1]) % P


def multiply(k, point):
    result = None
    while k:
        if k & 1:
            result = add(result, point)
        point, k = add(point, point), k >> 1
    return result


def big(value, size=32):
    return value.to_bytes(size, "big")


def der(tag, *parts):
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + content


def integer(value):
    return der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


EC, P256_CURVE = bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06082a8648ce3d030107")
RSA, RSA_PSS, NULL = bytes.fromhex("06092a864886f70d010101"), bytes.fromhex("06092a864886f70d01010a"), b"\x05\x00"


def spki(algorithm, key):
    return der(0x30, der(0x30, *algorithm), der(3, b"\x00", key))


def uncompressed(point):
    return b"\x04" + big(point[0]) + big(point[1])


def compressed(point):
    return bytes([2 + point[1] % 2]) + big(point[0])


def is_prime(n):
    if any(n % small == 0 for small in SMALL_PRIMES):
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in SMALL_PRIMES[:12]:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


SMALL_PRIMES = [n for n in range(3, 2000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2))]


def prime(bits):
    while True:
        n = SEED.getrandbits(bits) | 3 << bits - 2 | 1
        if n % 65537 != 1 and is_prime(n):
            return n


class RSAKey:
    def __init__(self, bits):
        p, q = prime(bits - bits // 2), prime(bits // 2)
        self.n, self.size = p * q, (bits + 7) // 8
        self.d = pow(65537, -1, (p - 1) * (q - 1))
        self.spki = rsa_spki(self.n)

    def sign(self, message, digest=None):
        digest = digest or bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
        padded = b"\x00\x01" + b"\xff" * (self.size - len(digest) - 3) + b"\x00" + digest
        return big(pow(int.from_bytes(padded, "big"), self.d, self.n), self.size)


def rsa_pkcs1(n, e=65537):
    return der(0x30, integer(n), integer(e))


def rsa_spki(n, e=65537, algorithm=RSA, parameters=NULL):
    return spki((algorithm, parameters), rsa_pkcs1(n, e))


D = SEED.randrange(1, N)
POINT = multiply(D, G)
OTHER_POINT = multiply(SEED.randrange(1, N), G)
RSA_2048, RSA_4096 = RSAKey(2048), RSAKey(4096)


def ecdsa(message, k=None):
    k = k or SEED.randrange(1, N)
    r = multiply(k, G)[0] % N
    s = pow(k, -1, N) * (int.from_bytes(hashlib.sha256(message).digest(), "big") + r * D) % N
    return r, min(s, N - s)


def ecdsa_der(r, s):
    return der(0x30, integer(r), integer(s))


def ecdsa_raw(r, s):
    return big(r) + big(s)


def odd_modulus(bits):
    return SEED.getrandbits(bits) | 1 << bits - 1 | 1


def keys():
    ec = (EC, P256_CURVE)
    cases = []

    def right(name, key, **expect):
        cases.append({"name": name, "key": b64(key), "expect": expect})

    def wrong(name, key, code):
        cases.append({"name": name, "key": b64(key), "refused": code})

    point = uncompressed(POINT)
    right("P-256 in X9.63", point, algorithm="P256", form="x963", x963=b64(point))
    right("P-256 in X9.63, another", uncompressed(OTHER_POINT), algorithm="P256", form="x963", x963=b64(uncompressed(OTHER_POINT)))
    right("P-256 in SPKI", spki(ec, point), algorithm="P256", form="spki", x963=b64(point))
    right("P-256 in X9.63, compressed", compressed(POINT), algorithm="P256", form="x963-compressed")
    right("P-256 in SPKI, compressed", spki(ec, compressed(POINT)), algorithm="P256", form="spki-compressed")
    for key, bits in ((RSA_2048, 2048), (RSA_4096, 4096)):
        right(f"RSA of {bits} bits in SPKI", key.spki, algorithm="RSA", form="spki", bits=bits, spki=b64(key.spki))
        right(
            f"RSA of {bits} bits in PKCS#1, as SecKeyCopyExternalRepresentation gives it",
            rsa_pkcs1(key.n),
            algorithm="RSA",
            form="pkcs1",
            bits=bits,
            spki=b64(key.spki),
        )
    n = odd_modulus(3072)
    right("RSA of 3072 bits in SPKI", rsa_spki(n), algorithm="RSA", form="spki", bits=3072, spki=b64(rsa_spki(n)))
    n = odd_modulus(2049)
    right("RSA of 2049 bits in SPKI", rsa_spki(n), algorithm="RSA", form="spki", bits=2049, spki=b64(rsa_spki(n)))

    wrong("no bytes", b"", "not-a-key")
    wrong("the point at infinity", b"\x00", "not-a-key")
    wrong("64 bytes without the 04 before them", point[1:], "not-a-key")
    wrong("a point with one byte after it", point + b"\x00", "not-a-key")
    wrong("a point without its last byte", point[:-1], "not-a-key")
    wrong("a hybrid form of X9.63", bytes([6 + POINT[1] % 2]) + point[1:], "not-a-key")
    wrong("a point beside the curve", point[:-1] + bytes([point[-1] ^ 1]), "not-on-curve")
    wrong("a point of zeros", b"\x04" + bytes(64), "not-on-curve")
    wrong("a coordinate that is not less than p", b"\x04" + big(P) + big(pow(B, (P + 1) // 4, P)), "not-on-curve")
    wrong("SPKI with a point beside the curve", spki(ec, point[:-1] + bytes([point[-1] ^ 1])), "not-on-curve")
    wrong("SPKI with one byte after it", spki(ec, point) + b"\x00", "not-a-key")
    wrong("SPKI without its last byte", spki(ec, point)[:-1], "not-a-key")
    wrong("SPKI with unused bits", der(0x30, der(0x30, *ec), der(3, b"\x01", point)), "not-a-key")
    wrong("SPKI of P-384", spki((EC, bytes.fromhex("06052b81040022")), b"\x04" + SEED.randbytes(96)), "other-curve")
    wrong("SPKI of secp256k1", spki((EC, bytes.fromhex("06052b8104000a")), b"\x04" + SEED.randbytes(64)), "other-curve")
    wrong("SPKI of a curve that is described, and not named", spki((EC, der(0x30, integer(1))), point), "not-a-key")
    wrong("SPKI of a point on no curve", spki((EC,), point), "not-a-key")
    x = next(x for x in range(P) if pow(x**3 - 3 * x + B, (P - 1) // 2, P) != 1)
    wrong("a compressed point beside the curve", b"\x02" + big(x), "not-on-curve")
    wrong("SPKI with a compressed point beside the curve", spki(ec, b"\x03" + big(x)), "not-on-curve")
    wrong("a compressed point whose coordinate is not less than p", b"\x02" + big(P), "not-on-curve")
    wrong("P-256 in PEM", pem("PUBLIC KEY", spki(ec, point)), "pem")
    wrong("RSA in PEM", pem("PUBLIC KEY", RSA_2048.spki), "pem")
    wrong("RSA in PEM of PKCS#1", pem("RSA PUBLIC KEY", rsa_pkcs1(RSA_2048.n)), "pem")
    wrong("SPKI of Ed25519", spki((bytes.fromhex("06032b6570"),), SEED.randbytes(32)), "not-a-key")
    for bits in (512, 1024, 2047):
        wrong(f"RSA of {bits} bits", rsa_spki(odd_modulus(bits)), "rsa-too-small")
    wrong("RSA of 1024 bits in PKCS#1", rsa_pkcs1(odd_modulus(1024)), "rsa-too-small")
    for bits in (4097, 8192):
        wrong(f"RSA of {bits} bits", rsa_spki(odd_modulus(bits)), "rsa-too-large")
    wrong("RSA with an even modulus", rsa_spki(RSA_2048.n - 1), "rsa-even")
    wrong("RSA with an even modulus in PKCS#1", rsa_pkcs1(RSA_2048.n - 1), "rsa-even")
    for e in (1, 3, 17, 65536, 65539, 2**32 + 1):
        wrong(f"RSA with the exponent {e}", rsa_spki(RSA_2048.n, e), "rsa-exponent")
    wrong("RSA with the exponent 0", rsa_spki(RSA_2048.n, 0), "rsa-exponent")
    wrong("RSA of PSS alone", rsa_spki(RSA_2048.n, algorithm=RSA_PSS, parameters=b""), "not-a-key")
    wrong("RSA without parameters", rsa_spki(RSA_2048.n, parameters=b""), "not-a-key")
    wrong("RSA with one byte after it", RSA_2048.spki + b"\x00", "not-a-key")
    wrong("RSA with one byte after the key", spki((RSA, NULL), rsa_pkcs1(RSA_2048.n) + b"\x00"), "not-a-key")
    wrong("RSA without its last byte", RSA_2048.spki[:-1], "not-a-key")
    n = RSA_2048.n
    wrong(
        "RSA with a zero too many before its modulus",
        spki((RSA, NULL), der(0x30, der(2, b"\x00\x00" + big(n, 256)), integer(65537))),
        "not-a-key",
    )
    wrong("RSA with an exponent of two zeros", spki((RSA, NULL), der(0x30, integer(n), der(2, b"\x00\x00"))), "not-a-key")
    wrong("RSA with a negative modulus", spki((RSA, NULL), der(0x30, der(2, big(n, 256)), integer(65537))), "not-a-key")
    wrong("RSA with a length in more digits than it needs", spki((RSA, NULL), b"\x30\x83\x00\x01\x0a" + rsa_pkcs1(n)[4:]), "not-a-key")
    wrong("RSA with a third number", spki((RSA, NULL), der(0x30, integer(n), integer(65537), integer(1))), "not-a-key")
    return cases


def pem(label, data):
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n".encode()


def signatures():
    message = evaluation_input()
    while not set(b64(message)) & set("-_"):  # a text that base64 writes otherwise than base64url
        message = evaluation_input(challenge=SEED.randbytes(32))
    text = b64(message).encode()
    key = spki((EC, P256_CURVE), uncompressed(POINT))
    cases = []

    def case(name, signature, key=key, form="RAW", algorithm="P256", code=None, raw=None):
        fields = {
            "name": name,
            "algorithm": algorithm,
            "key": b64(key),
            "form": form,
            "signing_input": b64(message),
            "signature": b64(signature),
        }
        if code:
            fields["refused"] = code
        else:
            fields["expect"] = {"valid": True, **({"raw": b64(raw)} if raw else {})}
        cases.append(fields)

    r, s = ecdsa(message)
    raw = ecdsa_raw(r, s)
    case("DER, as SecKeyCreateSignature returns it", ecdsa_der(r, s), raw=raw)
    case("r and s in 64 bytes, as WebCrypto returns them", raw, raw=raw)
    case("the larger s in DER", ecdsa_der(r, N - s), raw=ecdsa_raw(r, N - s))
    case("the larger s in 64 bytes", ecdsa_raw(r, N - s), raw=ecdsa_raw(r, N - s))
    while r >= 2**247:
        r, s = ecdsa(message)
    case("DER with a short r", ecdsa_der(r, s), raw=ecdsa_raw(r, s))
    case("64 bytes that begin with a zero", ecdsa_raw(r, s), raw=ecdsa_raw(r, s))
    r, s = ecdsa(text)
    case("the text, DER", ecdsa_der(r, s), form="BASE64URL_TEXT", raw=ecdsa_raw(r, s))
    case("the text, 64 bytes", ecdsa_raw(r, s), form="BASE64URL_TEXT", raw=ecdsa_raw(r, s))
    for rsa, bits in ((RSA_2048, 2048), (RSA_4096, 4096)):
        case(f"RSA of {bits} bits", rsa.sign(message), rsa.spki, algorithm="RSA")
        case(f"the text, RSA of {bits} bits", rsa.sign(text), rsa.spki, form="BASE64URL_TEXT", algorithm="RSA")

    def wrong(name, code, signature, **options):
        case(name, signature, code=code, **options)

    r, s = ecdsa(message)
    good = ecdsa_der(r, s)
    while len(good) != 70:  # both numbers of 32 bytes without a zero before them
        r, s = ecdsa(message)
        good = ecdsa_der(r, s)
    form, value = "not-a-signature", "wrong-signature"
    wrong("no bytes", form, b"")
    wrong("DER with one byte after it", form, good + b"\x00")
    wrong("DER without its last byte", form, good[:-1])
    wrong("DER with a length in two bytes", form, b"\x30\x81" + bytes([len(good) - 2]) + good[2:])
    wrong("DER with a zero too many", form, der(0x30, der(2, b"\x00" + big(r)), integer(s)))
    wrong("DER with two zeros for r", form, der(0x30, der(2, b"\x00\x00"), integer(s)))
    wrong("DER with a negative s", form, der(0x30, integer(r), der(2, b"\xff" + big(s)[1:])))
    wrong("DER with a third number", form, der(0x30, integer(r), integer(s), integer(1)))
    wrong("DER with s alone", form, der(0x30, integer(s)))
    wrong("DER with an empty number", form, der(0x30, b"\x02\x00", integer(s)))
    wrong("DER with a number of 33 bytes", form, der(0x30, integer(2**257 + r), integer(s)))
    wrong("63 bytes", form, raw[:-1])
    wrong("65 bytes", form, raw + b"\x00")
    wrong("96 bytes, as of P-384", form, raw + raw[:32])
    wrong("a signature's text in base64", form, base64.b64encode(good))
    wrong("an r of zero", value, ecdsa_der(0, s))
    wrong("an s of zero", value, ecdsa_raw(r, 0))
    wrong("an r that is not less than the order", value, ecdsa_raw(N, s))
    wrong("64 zeros", value, bytes(64))
    wrong("r and s changed for each other", value, ecdsa_raw(s, r))
    wrong("one bit of it turned", value, ecdsa_raw(r, s ^ 1))
    wrong("by another key", value, good, key=spki((EC, P256_CURVE), uncompressed(OTHER_POINT)))
    wrong("over another challenge", value, ecdsa_der(*ecdsa(evaluation_input(challenge=OTHER_CHALLENGE))))
    wrong("over the challenge alone", value, ecdsa_der(*ecdsa(CHALLENGE)))
    wrong("over the hash, hashed again", value, ecdsa_der(*ecdsa(hashlib.sha256(message).digest())))
    wrong("over the text, where the form is RAW", value, ecdsa_der(*ecdsa(text)))
    wrong("over the bytes, where the form is BASE64URL_TEXT", value, good, form="BASE64URL_TEXT")
    padded, plain = base64.urlsafe_b64encode(message), base64.b64encode(message)
    assert padded.endswith(b"=") and plain != padded
    wrong("over a text with padding", value, ecdsa_der(*ecdsa(padded)), form="BASE64URL_TEXT")
    wrong("over base64 that is not base64url", value, ecdsa_der(*ecdsa(plain.rstrip(b"="))), form="BASE64URL_TEXT")
    wrong("over the text with a line feed", value, ecdsa_der(*ecdsa(text + b"\n")), form="BASE64URL_TEXT")
    wrong("over the text in hexadecimal digits", value, ecdsa_der(*ecdsa(message.hex().encode())), form="BASE64URL_TEXT")
    rsa = {"key": RSA_2048.spki, "algorithm": "RSA"}
    good = RSA_2048.sign(message)
    wrong("RSA without its last byte", form, good[:-1], **rsa)
    wrong("RSA with one byte before it", form, b"\x00" + good, **rsa)
    wrong("ECDSA, where the key is RSA", form, raw, **rsa)
    wrong("RSA, where the key is P-256", form, good)
    wrong("RSA with one bit turned", value, good[:-1] + bytes([good[-1] ^ 1]), **rsa)
    wrong("RSA of another length", form, RSA_4096.sign(message), **rsa)
    wrong(
        "RSA with SHA-1",
        value,
        RSA_2048.sign(message, bytes.fromhex("3021300906052b0e03021a05000414") + hashlib.sha1(message).digest()),
        **rsa,
    )
    wrong("RSA over the hash without its name", value, RSA_2048.sign(message, hashlib.sha256(message).digest()), **rsa)
    wrong("RSA that is not less than the modulus", value, big(RSA_2048.n + 1, 256), **rsa)
    wrong("RSA over the text, where the form is RAW", value, RSA_2048.sign(text), **rsa)
    wrong("RSA over the bytes, where the form is BASE64URL_TEXT", value, good, form="BASE64URL_TEXT", **rsa)
    return cases


# Postures


def postures():
    cases = []

    def case(name, platform, answers, code=None, **expect):
        fields = {"name": name, "platform": platform, **answers}
        if code:
            cases.append({**fields, "refused": code})
            return
        posture = {
            "platform": platform,
            "os_version": answers.get("system_version", ""),
            "device_model": answers.get("model", ""),
            "biometry_type": "BIOMETRY_TYPE_UNSPECIFIED",
            "biometry_available": False,
            "biometry_enrolled": False,
            "biometry_locked_out": False,
            "passcode_set": False,
            "domain_state": "",
        }
        cases.append({**fields, "expect": {**posture, **expect}})

    state = b64(SEED.randbytes(32))

    def apple(
        name, platform="ios", code=None, error=None, owner=None, type=1, state=state, system_version="17.4", model="iPhone15,2", **expect
    ):
        answers = {
            "system_version": system_version,
            "model": model,
            "biometry_type": type,
            "biometrics_error": error,
            "device_owner_error": owner,
            "domain_state": state,
        }
        names = {0: "NONE", 1: "TOUCH_ID", 2: "FACE_ID", 4: "OPTIC_ID"}
        usual = {"biometry_type": f"BIOMETRY_TYPE_{names.get(type, 'UNSPECIFIED')}", "passcode_set": True, "domain_state": state or ""}
        case(name, platform, answers, code, **{**usual, **expect})

    fine = {"biometry_available": True, "biometry_enrolled": True}
    apple("Touch ID", **fine)
    apple("Face ID", type=2, **fine)
    apple("Optic ID", "visionos", type=4, model="RealityDevice14,1", system_version="2.1", **fine)
    apple("an iPad", "ipados", model="iPad14,1", **fine)
    apple("a Mac", "macos", model="Mac14,2", system_version="14.4", **fine)
    apple("a sensor of a later year", type=8, **fine)
    apple("a beta's version", system_version="16.4.1 (a)", **fine)
    apple("the model is not told", model="", **fine)
    apple("Touch ID, locked out", error=-8, state=None, biometry_available=True, biometry_enrolled=True, biometry_locked_out=True)
    apple(
        "locked out, and a domain state from before: it is not sent",
        error=-8,
        domain_state="",
        biometry_available=True,
        biometry_enrolled=True,
        biometry_locked_out=True,
    )
    apple("no finger is enrolled", error=-7, state=None, biometry_available=True)
    apple("the sensor is broken, or the person denied it", error=-6, state=None, type=2)
    apple("no sensor", error=-6, state=None, type=0)
    apple("no passcode", error=-5, owner=-5, state=None, biometry_available=True, passcode_set=False)
    apple("no passcode, and the sensor is off", error=-6, owner=-5, state=None, passcode_set=False)
    apple("no passcode, of which biometrics alone tell", error=-5, state=None, biometry_available=True, passcode_set=False)
    apple("no finger and no passcode", error=-7, owner=-5, state=None, biometry_available=True, passcode_set=False)
    apple("a Mac whose keyboard with Touch ID is away", "macos", error=-13, state=None, model="Mac14,3", system_version="14.4")
    apple("a Mac that was never paired with a keyboard", "macos", error=-12, state=None, model="Mac14,3", system_version="14.4")
    apple("an error that no kit knows", error=-4711, state=None)
    apple("fingers, and no domain state", state=None, **fine)
    apple("the longest domain state", state=b64(b"d" * 256), **fine)

    def android(name, answer=0, secure=True, locked=False, version="14", model="Pixel 8", code=None, state=None, **expect):
        answers = {
            "system_version": version,
            "model": model,
            "can_authenticate": answer,
            "device_secure": secure,
            "locked_out": locked,
            "domain_state": state,
        }
        case(name, "android", answers, code, **{"passcode_set": secure, **expect})

    android("a finger", **fine)
    android("a version that is no number", version="Baklava", **fine)
    android("version 12L", version="12L", **fine)
    android("a lockout, which the app remembers", locked=True, biometry_locked_out=True, **fine)
    android("nothing enrolled", 11, biometry_available=True)
    android("nothing enrolled after a lockout", 11, locked=True, biometry_available=True, biometry_locked_out=True)
    android("no hardware", 12, biometry_type="BIOMETRY_TYPE_NONE")
    android("no hardware and no screen lock", 12, secure=False, biometry_type="BIOMETRY_TYPE_NONE")
    android("the hardware is not available", 1)
    android("an update is required", 15)
    android("the status is unknown", -1)
    android("not supported", -2)
    android("an answer that no kit knows", 4711)
    android("no screen lock", 11, secure=False, biometry_available=True)
    android("bytes in place of a domain state", state=state, **fine)

    def web(name, verifies, version="131.0.6778.86", code=None):
        expect = dict.fromkeys(("biometry_available", "biometry_enrolled", "passcode_set"), verifies)
        case(name, "web", {"system_version": version, "user_verifying": verifies}, code, **expect)

    web("a browser whose device verifies its user", True)
    web("a browser whose device does not", False)

    apple("no version", code="no-os-version", system_version="")
    android("no version of Android", code="no-os-version", version="")
    web("no version of the browser", True, code="no-os-version", version="")
    apple("a watch", "watchos", code="unknown-platform", model="Watch6,1", system_version="10.4")
    case("no platform", "", {"system_version": "1"}, "unknown-platform")
    apple("a version of 65 bytes", code="text-too-long", system_version="1" * 65)
    android("a model of 65 bytes", code="text-too-long", model="m" * 65)
    android("a model of 64 characters in 65 bytes", code="text-too-long", model="é" + "m" * 63)
    apple("a domain state of 257 bytes", code="domain-state-too-long", state=b64(b"d" * 257))
    apple("a domain state of 257 bytes, locked out", code="domain-state-too-long", error=-8, state=b64(b"d" * 257))
    return cases


# Errors


def errors():
    cases = []

    def case(platform, name, send, means, **given):
        cases.append({"name": name, "platform": platform, **given, "expect": {"send": send, "means": means}})

    for code, name, means in [
        (-1, "authenticationFailed", "failure"),
        (-2, "userCancel", "cancel"),
        (-3, "userFallback", "fallback"),
        (-4, "systemCancel", "cancel"),
        (-5, "passcodeNotSet", "no-passcode"),
        (-6, "biometryNotAvailable", "unavailable"),
        (-7, "biometryNotEnrolled", "not-enrolled"),
        (-8, "biometryLockout", "lockout"),
        (-9, "appCancel", "cancel"),
        (-10, "invalidContext", "retry"),
        (-11, "companionNotAvailable (watchNotAvailable)", "unavailable"),
        (-12, "biometryNotPaired", "unavailable"),
        (-13, "biometryDisconnected", "unavailable"),
        (-14, "invalidDimensions", "unavailable"),
        (-1004, "notInteractive", "unavailable"),
        (-4711, "a code that no kit knows", "unavailable"),
    ]:
        case("ios-la-error", f"LAError {code}: {name}", code, means, code=code)
    case("ios-la-error", "LAError -9, and the app closed the prompt itself", None, "cancel", code=-9, closed_by_app=True)
    case("ios-la-error", "no LAError", None, "success", code=0)
    case("ios-la-error", "LAError 4711: not a negative one", 4711, "unavailable", code=4711)
    case("ios-la-error", "LAError 13, which is Android's code of a button", 13, "unavailable", code=13, fallback_button=True)
    case("ios-os-status", "OSStatus -9, which is an LAError of a closed prompt", -6, "unavailable", code=-9, closed_by_app=True)
    for code, name, send, means in [
        (0, "errSecSuccess", None, "success"),
        (-25300, "errSecItemNotFound", None, "key-gone"),
        (-25293, "errSecAuthFailed", -1, "failure"),
        (-128, "errSecUserCanceled", -2, "cancel"),
        (-25308, "errSecInteractionNotAllowed", -1004, "unavailable"),
        (-25291, "errSecNotAvailable", -6, "unavailable"),
        (-26275, "errSecDecode", None, "key-gone"),
        (-25299, "errSecDuplicateItem", None, "retry"),
        (-4, "errSecUnimplemented", -6, "unavailable"),
        (-36, "errSecIO", -6, "unavailable"),
        (-50, "errSecParam", -6, "unavailable"),
        (-108, "errSecAllocate", -6, "unavailable"),
        (-34018, "errSecMissingEntitlement", -6, "unavailable"),
        (-4711, "a code that no kit knows", -6, "unavailable"),
    ]:
        case("ios-os-status", f"OSStatus {code}: {name}", send, means, code=code)
    for code, name, send, means in [
        (-1, "notImplemented", -6, "unavailable"),
        (-2, "communicationError", None, "retry"),
        (-3, "corruptedData: unable to sign digest", None, "retry"),
        (-4, "canceledByUser", -2, "cancel"),
        (-5, "authenticationFailed", -1, "failure"),
        (-6, "objectNotFound", None, "key-gone"),
        (-7, "tokenNotFound", -6, "unavailable"),
        (-8, "badParameter", -6, "unavailable"),
        (-9, "authenticationNeeded", None, "retry"),
        (-4711, "a code that no kit knows", -6, "unavailable"),
    ]:
        case("ios-token", f"TKError {code}: {name}", send, means, code=code)
    for code, name, send, means in [
        (1, "ERROR_HW_UNAVAILABLE", -6, "unavailable"),
        (2, "ERROR_UNABLE_TO_PROCESS", -4, "cancel"),
        (3, "ERROR_TIMEOUT", -4, "cancel"),
        (4, "ERROR_NO_SPACE", -6, "unavailable"),
        (5, "ERROR_CANCELED", -4, "cancel"),
        (7, "ERROR_LOCKOUT", -8, "lockout"),
        (8, "ERROR_VENDOR", -6, "unavailable"),
        (9, "ERROR_LOCKOUT_PERMANENT", -8, "lockout"),
        (10, "ERROR_USER_CANCELED", -2, "cancel"),
        (11, "ERROR_NO_BIOMETRICS", -7, "not-enrolled"),
        (12, "ERROR_HW_NOT_PRESENT", -6, "unavailable"),
        (14, "ERROR_NO_DEVICE_CREDENTIAL", -5, "no-passcode"),
        (15, "ERROR_SECURITY_UPDATE_REQUIRED", -6, "unavailable"),
        (4711, "a code that no kit knows", -6, "unavailable"),
    ]:
        case("android-prompt", f"BiometricPrompt {code}: {name}", send, means, code=code)
    case(
        "android-prompt",
        "BiometricPrompt 13: ERROR_NEGATIVE_BUTTON, the button had fallback_title",
        -3,
        "fallback",
        code=13,
        fallback_button=True,
    )
    case("android-prompt", "BiometricPrompt 13: ERROR_NEGATIVE_BUTTON, the button canceled", -2, "cancel", code=13, fallback_button=False)
    case("android-prompt", "BiometricPrompt 5, and the app closed the prompt itself", None, "cancel", code=5, closed_by_app=True)
    case("android-prompt", "BiometricPrompt 10, though the app closes prompts", -2, "cancel", code=10, closed_by_app=True)
    for name, send, means in [
        ("onAuthenticationSucceeded", None, "success"),
        ("onAuthenticationFailed", -1, "failure"),
    ]:
        case("android-callback", name, send, means, callback=name)
    for name, means, send in [
        ("KeyPermanentlyInvalidatedException", "key-gone", None),
        ("UserNotAuthenticatedException", "retry", None),
        ("SignatureException", "retry", None),  # "Key user not authenticated", by sign
        ("UnrecoverableKeyException", "key-gone", None),
        ("KeyNotFound", "key-gone", None),
        ("ProviderException", "unavailable", -6),
    ]:
        what = {"KeyNotFound": "KeyStore.getKey answered null"}.get(name, name)
        case("android-exception", what, send, means, exception=name)
    return cases


# Next steps

FACTORS = {name: f"FACTOR_{name}" for name in ("BIOMETRY", "DEVICE_OWNER", "PASSCODE", "GESTURE", "PASSKEY", "PRIMARY")}
FINGER, OWNER, PASSCODE, GESTURE, PASSKEY, PRIMARY = FACTORS.values()


def next_steps():
    cases = []

    def case(name, at, answer, step, languages=None, **more):
        given = {"languages": languages} if languages else {}
        if "message_shown" in more:
            more["message"] = more.pop("message_shown")
        cases.append({"name": name, "at": at, **given, "answer": answer, "expect": {"step": step, **more}})

    def denied(reason, retry_after=None, message=None):
        denial = {"reason": reason}
        if retry_after is not None:
            denial["retry_after"] = retry_after
        if message:
            denial["message"] = dict(zip(("locale", "text"), message))
        return denial

    # BeginEvaluation, CanEvaluatePolicy
    def begin(
        name, step, denial=None, factors=(), verdict="UNCHANGED", retry_after=None, advisories=(), message=None, languages=None, **more
    ):
        answer = {"factors": list(factors), "domain_state": f"DOMAIN_STATE_VERDICT_{verdict}"}
        if denial:
            answer["denial"] = denied(denial, retry_after, message)
        if advisories:
            answer["advisories"] = list(advisories)
        case(name, "begin", answer, step, languages, **more)

    begin("a finger first", "prompt", factors=[FINGER, OWNER], factor=FINGER)
    begin("the passcode of the phone first", "prompt", factors=[OWNER], factor=OWNER)
    begin("a passkey", "prompt", factors=[PASSKEY], factor=PASSKEY)
    begin("a passcode of the service", "prompt", factors=[PASSCODE, PRIMARY], factor=PASSCODE)
    begin("the fingers changed, and the phone's passcode is left", "prompt", factors=[OWNER], verdict="CHANGED", factor=OWNER)
    begin("iOS 10.1", "prompt", factors=[FINGER], advisories=["SLOW_PROMPT"], factor=FINGER, notices=["slow-prompt"])
    begin("an advisory that no kit knows", "prompt", factors=[FINGER], advisories=["NEW_ADVISORY"], factor=FINGER)
    begin("the shop's own login alone", "log-in", factors=[PRIMARY])
    begin("the fingers changed, and nothing is left", "bind-again", verdict="CHANGED")
    begin("the fingers changed with the system, and nothing is left", "bind-again", verdict="CHANGED_WITH_OS")
    begin("locked, and nothing is left", "log-in", verdict="UNKNOWN_WHILE_LOCKED")
    begin("nothing is left", "log-in")
    begin("a factor that no kit knows", "log-in", factors=["FACTOR_VOICE"])
    begin("a factor that no kit knows before a finger", "prompt", factors=["FACTOR_VOICE", FINGER], factor=FINGER)
    for reason, step in [
        ("OS_TOO_OLD", "update-system"),
        ("PASSCODE_NOT_SET", "open-settings"),
        ("BIOMETRY_NOT_AVAILABLE", "open-settings"),
        ("BIOMETRY_NOT_ENROLLED", "open-settings"),
        ("BIOMETRY_LOCKOUT", "log-in"),
        ("DOMAIN_STATE_REQUIRED", "update-system"),
        ("PLATFORM_NOT_SERVED", "log-in"),
        ("PLATFORM_DIFFERS", "bind-again"),
        ("BINDING_UNKNOWN", "bind-again"),
        ("BINDING_REVOKED", "bind-again"),
        ("PASSCODE_DISABLED", "set-secret"),
        ("GESTURE_DISABLED", "set-secret"),
        ("FACTOR_NOT_OFFERED", "log-in"),
        ("NO_USABLE_FACTOR", "bind-again"),
        ("LEVEL_TOO_LOW", "bind-again"),
        ("APP_NOT_PROVEN", "bind-again"),
        ("KEY_NOT_DEVICE_BOUND", "log-in"),
        ("WRONG_SECRET", "try-again"),
        ("A_REASON_OF_A_LATER_VERSION", "log-in"),
    ]:
        begin(f"denied: {reason}", step, denial=reason)
    # One table has the reasons of denials and the statuses.
    begin("denied: UNAVAILABLE", "wait", denial="UNAVAILABLE", retry_after=5, seconds=5)
    begin("denied: PASSCODE_LOCKED", "wait", denial="PASSCODE_LOCKED", retry_after=60, seconds=60)
    begin("denied: GESTURE_LOCKED, half a second", "wait", denial="GESTURE_LOCKED", retry_after=0.5, seconds=1)
    begin("denied: PASSCODE_LOCKED, without a time", "wait", denial="PASSCODE_LOCKED", seconds=1)
    begin("denied: PASSCODE_LOCKED, for no time", "wait", denial="PASSCODE_LOCKED", retry_after=0, seconds=1)
    begin("denied: PASSCODE_LOCKED, until yesterday", "wait", denial="PASSCODE_LOCKED", retry_after=-86400, seconds=1)
    begin("denied: PASSCODE_LOCKED, for a day", "wait", denial="PASSCODE_LOCKED", retry_after=86400, seconds=86400)
    begin("denied: GESTURE_LOCKED, for more than a day", "wait", denial="GESTURE_LOCKED", retry_after=86400.5, seconds=86400)
    set_passcode, in_chinese = "Set a passcode first.", "请先设置密码。"
    begin("denied, with a text", "open-settings", denial="PASSCODE_NOT_SET", message=("en", set_passcode), message_shown=set_passcode)
    begin(
        "denied, with a text in Chinese",
        "open-settings",
        denial="PASSCODE_NOT_SET",
        message=("zh-Hans", in_chinese),
        languages="fr, zh-CN",
        message_shown=in_chinese,
    )
    begin("denied, with a text in another language", "open-settings", denial="PASSCODE_NOT_SET", message=("zh-Hans", in_chinese))
    begin("denied, with a text that reorders", "log-in", denial="BIOMETRY_LOCKOUT", message=("en", "Log \u202ein"))
    begin("denied, with a text of 1,025 bytes", "log-in", denial="BIOMETRY_LOCKOUT", message=("en", "x" * 1025))

    # SubmitAttempt
    def submit(
        name,
        step,
        outcome,
        la_error=0,
        by=FINGER,
        then=(),
        retry_after=None,
        verdict="UNCHANGED",
        denial=None,
        message=None,
        languages=None,
        key_gone=None,
        **more,
    ):
        answer = {
            "factor": by,
            "outcome": f"OUTCOME_{outcome}",
            "la_error": la_error,
            "next_factors": list(then),
            "domain_state": f"DOMAIN_STATE_VERDICT_{verdict}",
        }
        if retry_after is not None:
            answer["retry_after"] = retry_after
        if denial:
            answer["denial"] = denial if isinstance(denial, dict) else denied(denial)
        if message:
            answer["message"] = dict(zip(("locale", "text"), message))
        if key_gone is not None:
            answer["key_gone"] = key_gone
        case(name, "submit", answer, step, languages, **more)

    submit("a success", "done", "SUCCEEDED")
    submit("a success by the phone's passcode after a change", "done", "SUCCEEDED", by=OWNER, verdict="CHANGED")
    bind = {"notices": ["bind-again"]}
    submit("a success by the phone's passcode, the finger's key is dead", "done", "SUCCEEDED", by=OWNER, key_gone=True, **bind)
    submit("a success by a gesture, the finger's key is dead", "done", "SUCCEEDED", by=GESTURE, key_gone=True, **bind)
    submit("a success with a denial, which is one of failures", "done", "SUCCEEDED", denial="BINDING_REVOKED")
    submit("a cancel with a denial", "stay", "CANCELED", -2, denial="BINDING_REVOKED")
    case("an outcome without its prefix", "submit", {"factor": FINGER, "outcome": "SUCCEEDED"}, "log-in")
    submit("a success, and every key is there", "done", "SUCCEEDED", by=OWNER, key_gone=False)
    submit("a wrong passcode, the finger's key is dead", "try-again", "TRY_AGAIN", -1, PASSCODE, [PASSCODE], key_gone=True, factor=PASSCODE)
    submit("a wrong finger", "try-again", "TRY_AGAIN", -1, then=[FINGER, OWNER], factor=FINGER)
    submit("a wrong passcode", "try-again", "TRY_AGAIN", -1, PASSCODE, [PASSCODE], factor=PASSCODE)
    submit("a wrong passkey", "try-again", "TRY_AGAIN", -1, PASSKEY, [PASSKEY], factor=PASSKEY)
    submit("a third wrong finger", "begin-again", "FAILED", -1)
    submit("the shop's login, of a profile that is unknown", "use-factor", "FAILED", -1, PRIMARY, [PASSCODE], factor=PASSCODE)
    submit("no passcode on the phone", "open-settings", "FAILED", -5)
    submit("no passcode on the phone, a gesture is left", "open-settings", "FAILED", -5, then=[GESTURE], factor=GESTURE)
    submit("no finger is enrolled", "open-settings", "FAILED", -7, then=[OWNER], factor=OWNER)
    submit("the sensor is off, and nothing is left", "open-settings", "FAILED", -6)
    submit("the sensor is off", "use-factor", "FAILED", -6, then=[OWNER], factor=OWNER)
    for code in (-11, -12, -13, -14, -1004, 0):
        submit(f"an LAError of {code}, another factor is left", "use-factor", "FAILED", code, then=[OWNER], factor=OWNER)
    submit("an LAError of -1004, and nothing is left", "log-in", "FAILED", -1004)
    submit("an LAError that no kit knows", "log-in", "FAILED", 0)
    submit("the binding was revoked meanwhile", "bind-again", "FAILED", -6, denial="BINDING_REVOKED")
    submit("the binding was erased meanwhile", "bind-again", "FAILED", -6, denial="BINDING_UNKNOWN")
    submit("the person canceled", "stay", "CANCELED", -2, then=[FINGER])
    submit("the system canceled", "stay", "CANCELED", -4, then=[FINGER])
    submit("the app canceled", "stay", "CANCELED", -9, then=[FINGER])
    submit("the fallback button", "use-factor", "FALLBACK", -3, then=[PASSCODE, PRIMARY], factor=PASSCODE)
    submit("the fallback button, the shop's login is left", "log-in", "FALLBACK", -3, then=[PRIMARY])
    submit("the fallback button, nothing is left", "log-in", "FALLBACK", -3)
    submit("the fallback button, a factor that no kit knows is left", "log-in", "FALLBACK", -3, then=["FACTOR_VOICE"])
    submit("locked, the phone's passcode is left", "use-factor", "LOCKED_OUT", -8, then=[OWNER], factor=OWNER)
    submit("locked, a gesture is left", "use-factor", "LOCKED_OUT", -8, then=[GESTURE, PRIMARY], factor=GESTURE)
    submit("locked, nothing is left", "log-in", "LOCKED_OUT", -8)
    submit("locked before iOS 9, nothing is left", "log-in", "LOCKED_OUT", -1)
    submit("the passcode is locked", "wait", "LOCKED_OUT", -1, PASSCODE, retry_after=300, seconds=300)
    submit("the passcode is locked for a fraction more", "wait", "LOCKED_OUT", -1, PASSCODE, retry_after=59.2, seconds=60)
    submit("the passcode is locked for more than a day", "wait", "LOCKED_OUT", -1, PASSCODE, retry_after=1e12, seconds=86400)
    submit("the passcode is locked for no time", "set-secret", "LOCKED_OUT", -1, PASSCODE, retry_after=0)
    submit("the finger is locked until yesterday", "log-in", "LOCKED_OUT", -8, retry_after=-5)
    submit("the passcode is locked, a finger is left", "use-factor", "LOCKED_OUT", -1, PASSCODE, [FINGER], 300, factor=FINGER)
    submit("the passcode is disabled", "set-secret", "LOCKED_OUT", -1, PASSCODE)
    submit("the gesture is disabled", "set-secret", "LOCKED_OUT", -1, GESTURE)
    submit("another factor is needed", "use-factor", "FACTOR_REQUIRED", -6, then=[PASSCODE], factor=PASSCODE)
    submit("the fingers changed", "use-factor", "FACTOR_REQUIRED", -6, then=[OWNER], verdict="CHANGED", factor=OWNER)
    submit("the fingers changed, nothing is left", "bind-again", "FACTOR_REQUIRED", -6, verdict="CHANGED")
    submit("the fingers changed with the system, nothing is left", "bind-again", "FACTOR_REQUIRED", -6, verdict="CHANGED_WITH_OS")
    submit("the fingers changed, the shop's login is left", "log-in", "FACTOR_REQUIRED", -6, then=[PRIMARY], verdict="CHANGED")
    submit("another factor is needed, nothing is left", "begin-again", "FACTOR_REQUIRED", -1)
    submit("the evaluation is over, or the phone's clock hid that", "begin-again", "INVALID_CONTEXT", -10)
    submit("no outcome", "log-in", "UNSPECIFIED")
    submit("an outcome of a later version", "log-in", "DEFERRED")
    # The text for the person is shown if it is in the language that was asked for, and can be shown.
    wrong = {"outcome": "TRY_AGAIN", "la_error": -1, "then": [FINGER], "factor": FINGER}
    english, chinese = "Not recognised. Try again.", "未能识别，请重试。"
    for languages, locale, text in [
        ("en", "en", english),
        ("en-GB", "en", english),
        ("de", "en", english),
        ("zh", "zh-Hans", chinese),
        ("zh-CN", "zh-Hans", chinese),
        ("zh-Hans-HK", "zh-Hans", chinese),
        ("zh-Hant", "en", english),
        ("zh-TW", "en", english),
    ]:
        submit(
            f"a text in {locale}, where {languages} was asked for",
            "try-again",
            message=(locale, text),
            languages=languages,
            message_shown=text,
            **wrong,
        )
    for languages, locale, text in [
        ("en", "zh-Hans", chinese),
        ("zh-CN", "en", english),
        ("de", "zh-Hans", chinese),
        ("zh-Hant", "zh-Hans", chinese),
        ("en", "", english),
    ]:
        submit(
            f"another language: {locale or 'none'}, where {languages} was asked for",
            "try-again",
            message=(locale, text),
            languages=languages,
            **wrong,
        )
    submit("a text that reorders", "try-again", message=("en", "Try \u202eagain"), languages="en", **wrong)
    submit("a text with a line feed", "try-again", message=("en", "Try\nagain"), languages="en", **wrong)
    denial = denied("BINDING_REVOKED", message=("en", "Set up this phone again."))
    own = ("en", "This phone is not known any more.")
    shown = {"message_shown": "Set up this phone again."}
    submit("a denial's text", "bind-again", "FAILED", -6, denial=denial, **shown)
    submit("a denial's text in another language", "bind-again", "FAILED", -6, denial=denial, languages="zh")
    submit("the answer's text before the denial's", "bind-again", "FAILED", -6, denial=denial, message=own, message_shown=own[1])
    submit("an empty text", "try-again", message=("en", ""), languages="en", **wrong)
    submit("a text of 1,025 bytes", "try-again", message=("en", "x" * 1025), languages="en", **wrong)

    # CompleteBinding
    case("bound", "bind", {"advisories": []}, "done")
    case("bound, without a way back", "bind", {"advisories": ["NO_RECOVERY_FACTOR"]}, "done", notices=["no-recovery-factor"])
    both = ["DEVICE_REPLACED", "NO_RECOVERY_FACTOR"]
    case(
        "bound in place of another phone, without a way back",
        "bind",
        {"advisories": both},
        "done",
        notices=["device-replaced", "no-recovery-factor"],
    )

    # The prompt, where nothing is sent
    for means, again, others, step, more in [
        ("key-gone", False, [], "bind-again", {}),
        ("key-gone", False, [OWNER, PASSCODE], "bind-again", {"factor": OWNER}),
        ("key-gone", False, [PRIMARY], "bind-again", {}),
        ("key-gone", True, [PASSCODE], "bind-again", {"factor": PASSCODE}),
        ("retry", False, [OWNER], "try-again", {"factor": FINGER}),
        ("retry", True, [], "bind-again", {}),
        ("retry", True, [OWNER], "bind-again", {"factor": OWNER}),
        ("cancel", False, [OWNER], "stay", {}),
        # Nothing is sent of a prompt while a phone is bound: the steps are those of a denial with the same cause.
        ("cancel", False, [], "stay", {}),
        ("failure", False, [], "begin-again", {}),
        ("lockout", False, [], "log-in", {}),
        ("lockout", False, [OWNER], "log-in", {}),
        ("fallback", False, [], "log-in", {}),
        ("unavailable", False, [], "open-settings", {}),
        ("unavailable", False, [PASSCODE], "open-settings", {}),
        ("not-enrolled", False, [], "open-settings", {}),
        ("no-passcode", False, [], "open-settings", {}),
    ]:
        name = f"{means}{', once more' if again else ''}; left: {', '.join(others) or 'nothing'}"
        case(name, "prompt", {"means": means, "again": again, "factor": FINGER, "next_factors": others}, step, **more)

    # A call that failed
    def failed(status, reason, step, retry_after=None, **more):
        answer = {"status": status, "reason": reason, **({} if retry_after is None else {"retry_after": retry_after})}
        after = "" if retry_after is None else f" after {retry_after} s"
        case(f"{status}{' ' + reason if reason else ''}{after}", "failed", answer, step, **more)

    for status in ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"):
        failed(status, "", "wait", seconds=1)
    failed("UNAVAILABLE", "", "wait", 2.5, seconds=3)
    for seconds, waited in [(0, 1), (-3, 1), (86_399.5, 86_400), (86_401, 86_400), (1e12, 86_400)]:
        failed("UNAVAILABLE", "", "wait", seconds, seconds=waited)
    failed("DEADLINE_EXCEEDED", "", "begin-again")
    failed("CANCELLED", "", "begin-again")
    failed("INVALID_ARGUMENT", "", "fix-app")
    failed("UNAUTHENTICATED", "KEY_UNKNOWN", "fix-app")
    failed("PERMISSION_DENIED", "METHOD_NOT_GRANTED", "fix-app")
    failed("UNIMPLEMENTED", "", "fix-app")
    failed("NOT_FOUND", "", "bind-again")
    failed("DATA_LOSS", "", "log-in")
    failed("INTERNAL", "", "log-in")
    failed("A_STATUS_OF_A_LATER_VERSION", "", "log-in")
    for reason, step in [
        ("PRIMARY_AUTHENTICATION_TOO_OLD", "log-in"),
        ("BINDING_REVOKED", "bind-again"),
        ("TICKET_INVALID", "begin-again"),
        ("DEVICE_BOUND_TO_ANOTHER_PROFILE", "replace-binding"),
        ("TOO_MANY_BINDINGS", "revoke-a-binding"),
        ("APP_ASSERTION_NOT_ACCEPTED", "assert-again"),
        ("APP_ASSERTION_REQUIRED", "fix-app"),
        ("ATTESTATION_REQUIRED", "fix-app"),
        ("ATTESTATION_CONTRADICTS_PROTECTION", "fix-app"),
        ("PASSKEYS_NOT_SERVED", "fix-app"),
        ("PASSCODE_NOT_SET", "open-settings"),
        ("BIOMETRY_NOT_ENROLLED", "open-settings"),
        ("OS_TOO_OLD", "update-system"),
        ("TRUST_DATA_TOO_OLD", "log-in"),
        ("A_REASON_OF_A_LATER_VERSION", "log-in"),
    ]:
        failed("FAILED_PRECONDITION", reason, step)
    # The kit refused to sign.
    for code in (
        "wrong-tag",
        "other-application",
        "other-binding",
        "other-policy",
        "other-challenge",
        "no-binding",
        "other-transaction",
        "transaction-not-shown",
        "text-reorders",
    ):
        case(f"the kit refused: {code}", "refused", {"code": code}, "stop")
    return cases


# Languages


def languages():
    """The language of texts for a person, as the service chooses it by `accept-language` (RFC 9110, 12.5.4)."""
    table = {
        "en": [
            "", "en", "en-GB", "EN-us", "de", "fr, de", "zh-Hant", "zh-TW", "zh-HK, en", "zh-Hant-CN", "*", "fr, *", "en, zh", "zh;q=0.5, en",
            "zh;q=0", "zh;q=0.", "en;q=0.5, zh;q=0.5", "zh;q=0.7, en;q=0.701", "zhx", "zho-CN", "zh_CN", "zh-", "zh;q=2", "zh;q=0.5000", "zh;p=1",
            "zh;", "zh;q=", "zh; q =1", "z h", "en;q=0, zh;q=0", "zh;q=0, *", "en;q=0, *;q=0", "toolongasubtag-zh", ", ,",
            "en;q=0.2, zh;q=0.8, en;q=0.9", ",".join(["fr"] * 32 + ["zh"]),
        ],
        "zh-Hans": [
            "zh", "zh-CN", "zh-Hans", "ZH-hans-HK", "zh-SG", "zh-TW-Hans", "fr, zh-CN", "de;q=0.9, zh;q=0.1", "zh, en", "en;q=0.9, zh",
            "zh;q=0.5, en;q=0.5", "zh-Hant, zh", "zh-TW, zh-CN;q=0.8, en;q=0.7", " zh ; q=1.000 ", "zh;Q=0.5", "zh;q=1.",
            "en;q=0, *", "*;q=0.5, en;q=0.4", "fr;q=1.001, zh;q=0.1", "zh;q=0.001", "en;q=0.5, zh;q=0.51, en;q=0.4", "\tzh\t", "en;q, zh;q=0.1",
            "zh-Hans-CN;q=1, en-CN;q=0.9", ",".join(["fr"] * 31 + ["zh"]),
        ],
    }  # fmt: skip
    return [
        {"name": f"{accept if len(accept) < 40 else len(accept)!r} leads to {language}", "languages": accept, "expect": {"language": language}}
        for language, headers in table.items()
        for accept in headers
    ]


# Texts of the backend


def texts():
    """Whether a person is shown a text of the backend: within the bound of its field, and with nothing that turns or hides."""
    fields = {"message": 1024, "localized_reason": 512, "fallback_title": 128, "cancel_title": 128}
    cases = []

    def case(name, field, text, shown):
        cases.append({"name": name, "field": field, "maximum_bytes": fields[field], "text": text, "expect": {"shown": shown}})

    for field, most in fields.items():
        case(f"{field}: the longest", field, "x" * most, True)
        case(f"{field}: a byte more", field, "x" * (most + 1), False)
        case(f"{field}: as many characters in more bytes", field, "\u00e9" + "x" * (most - 1), False)
        case(f"{field}: none", field, "", False)
    for name, text in [
        ("English", "Log in to the shop"),
        ("Chinese", "\u767b\u5f55\u5546\u5e97"),
        ("Arabic", "\u062a\u0633\u062c\u064a\u0644 \u0627\u0644\u062f\u062e\u0648\u0644"),
        ("an emoji with a variant", "Coffee \u2615\ufe0f"),
        ("characters around those that turn", "\u202f\u2070\u061d\u2010"),
    ]:
        case(name, "localized_reason", text, True)
    turning = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    hidden = "\0\t\n\r\x1f\x7f\x85\x9f\xad\u034f\u115f\u17b4\u180e\u200b\u2028\u2029\u2060\u2064\u206a\u206f\u2800\u3164\ufeff\uffa0\ufff9\ufffb"
    for character in turning + hidden:
        case(f"with U+{ord(character):04X}", "localized_reason", f"Log in{character}", False)
    return cases


# Times and what is kept

NOW = 1_800_000_000


def lifetimes():
    """For how many seconds an app relies on an evaluation or ticket."""
    return [
        {"name": name, "expires_at": NOW + offset, "phone_time": NOW, "expect": {"seconds": seconds}}
        for name, offset, seconds in [
            ("two minutes", 120, 120),
            ("a minute", 60, 60),
            ("a second", 1, 1),
            ("ten minutes", 600, 600),
            ("the phone's clock is a minute ahead", 60, 60),
            ("the phone's clock is two minutes ahead: it seems to be over", 0, 120),
            ("the phone's clock is an hour ahead", -3480, 120),
            ("the phone's clock is a day behind", 86_520, 120),
            ("the phone's clock is in 1970", NOW, 120),
            ("just beyond ten minutes", 601, 120),
        ]
    ]


def states():
    """Touch ID's state, from the app's record and its keys."""
    cases = []

    def case(name, status, binding=True, installation="i-1", found=("biometry", "device-owner"), profile=ALICE, forget=(), **kept):
        kept = {"binding_id": BINDING, "profile_id": ALICE, "installation": "i-1", "made": ["biometry", "device-owner"], **kept}
        cases.append(
            {
                "name": name,
                "kept": kept if binding else None,
                "installation": installation,
                "found": list(found),
                "profile_id": profile,
                "expect": {"status": status, "forget": list(forget)},
            }
        )

    everything = ("binding", "keys")
    case("bound", "ready")
    case("bound, and no account is logged in", "ready", profile=None)
    case("bound with the biometric key alone", "ready", made=["biometry"], found=["biometry"])
    case("bound with the biometric key alone, and another one is there", "ready", made=["biometry"])
    case("never bound", "not-enabled", binding=False, found=[])
    case("never bound, first start", "not-enabled", binding=False, found=[], installation=None)
    case("keys without a binding: the binding was never completed", "not-enabled", binding=False, forget=["keys"])
    case("a finger was added: the biometric key is gone", "bind-again", found=["device-owner"])
    case("the device's passcode was removed: both keys are gone", "bind-again", found=[], forget=())
    case("the key of the device's owner is gone", "bind-again", found=["biometry"])
    case("the app was installed again, and the keychain kept all", "reinstalled", installation="i-2", forget=everything)
    case("the app was installed again, first start", "reinstalled", installation=None, forget=everything)
    case("the app was installed again, and a finger added", "reinstalled", installation="i-2", found=["device-owner"], forget=everything)
    case("a backup brought the binding to another phone, without its keys", "reinstalled", installation=None, found=[], forget=everything)
    case("another person logged in", "other-profile", profile="bob")
    case("another person logged in, and the keys are gone", "other-profile", profile="bob", found=[])
    case("another person logged in on an app that was installed again", "reinstalled", profile="bob", installation="i-2", forget=everything)
    case("the same name in another encoding is another person", "other-profile", profile="cafe\u0301", profile_id="café")
    return cases


GROUPS = {
    "signing_inputs": signing_inputs,
    "keys": keys,
    "signatures": signatures,
    "postures": postures,
    "errors": errors,
    "next_steps": next_steps,
    "languages": languages,
    "texts": texts,
    "lifetimes": lifetimes,
    "states": states,
}


def main():
    differing = []
    for group, make in GROUPS.items():
        cases = make()
        names = [case["name"] for case in cases]
        assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
        text = json.dumps({"cases": cases}, ensure_ascii=True, indent=1) + "\n"
        file = FOLDER / f"{group}.json"
        if "--check" in sys.argv[1:]:
            if not file.exists() or file.read_text() != text:
                differing.append(file.name)
        else:
            file.write_text(text)
            refused = sum("refused" in case for case in cases)
            print(f"{group}: {len(cases) - refused} right, {refused} wrong")
    if differing:
        sys.exit(f"generate.py would write these otherwise: {', '.join(differing)}")


if __name__ == "__main__":
    main()
