"""What wrappers of frameworks make today: RSA keys, and signatures over the text of signing_input (R31, R33).

The phones here sign as react-native-biometrics 3 does. Its JavaScript gives and takes texts: the payload is signed in
UTF-8, and the public key and the signature come back in base64.
"""

import base64
import hashlib

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from support.android import PACKAGE, AndroidPhone, Maker
from support.apple import APP_ID, Apple, ApplePhone
from support.caller import COFFEE, new_caller
from support.errors import refused
from support.passkeys import Passkey, PasskeyCaller, served
from support.phone import BIOMETRY, DEVICE_OWNER, Phone, public_bytes
from support.stubs import bindings_pb2, evaluation_pb2, types_pb2

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
SUCCEEDED, TRY_AGAIN = evaluation_pb2.OUTCOME_SUCCEEDED, evaluation_pb2.OUTCOME_TRY_AGAIN
FACTOR_REQUIRED = evaluation_pb2.OUTCOME_FACTOR_REQUIRED
RAW, TEXT = types_pb2.SIGNATURE_FORM_RAW, types_pb2.SIGNATURE_FORM_BASE64URL_TEXT
RSA = bindings_pb2.KEY_ALGORITHM_RSA

CURRENT_SET = bindings_pb2.KEY_PROTECTION_BIOMETRY_CURRENT_SET
ANY = bindings_pb2.KEY_PROTECTION_BIOMETRY_ANY

#: Of the wrapper's iOS code: a SEQUENCE of rsaEncryption and NULL.
RSA_ALGORITHM = bytes.fromhex("300d06092a864886f70d0101010500")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Wrapper:
    """The wrapper's own part: no more than its API gives."""

    def create_keys(self):
        self._key = rsa.generate_private_key(65_537, 2_048)
        return {"publicKey": base64.b64encode(self.public_key()).decode()}

    def create_signature(self, payload):
        signed = self._key.sign(payload.encode("utf-8"), padding.PKCS1v15(), hashes.SHA256())
        return {"success": True, "signature": base64.b64encode(signed).decode()}


class AndroidWrapper(Wrapper):
    """PublicKey.getEncoded() of AndroidKeyStore, and SHA256withRSA after BiometricPrompt."""

    protection = CURRENT_SET

    def public_key(self):
        return public_bytes(self._key, Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


class IOSWrapper(Wrapper):
    """SecKeyCopyExternalRepresentation with a header before it, and rsaSignatureMessagePKCS1v15SHA256."""

    protection = ANY

    def public_key(self):
        def element(tag, content):
            size = len(content)
            digits = size.to_bytes(size // 256 + 1) if size >= 128 else b""
            return bytes([tag]) + (bytes([0x80 | len(digits)]) + digits if digits else bytes([size])) + content

        exported = public_bytes(self._key, Encoding.DER, PublicFormat.PKCS1)
        return element(0x30, RSA_ALGORITHM + element(0x03, b"\0" + exported))


class WrappedPhone(Phone):
    """An app on the wrapper, and what its backend makes of the wrapper's answers."""

    def __init__(self, wrapper, *, form=TEXT):
        super().__init__()
        self.wrapper, self.form = wrapper, form
        if isinstance(wrapper, AndroidWrapper):
            self.platform, self.os_version, self.domain_state = "android", "16", b""
        # On iOS the ten native lines give the domain state, as Phone does.

    def signed(self, signing_input):
        return base64.b64decode(self.wrapper.create_signature(base64url(signing_input))["signature"])

    def hardware_keys(self, signing_input):
        public_key = base64.b64decode(self.wrapper.create_keys()["publicKey"])
        return [
            bindings_pb2.HardwareKey(
                public_key=public_key,
                protection=self.wrapper.protection,
                signature=self.signed(signing_input),
                signature_form=self.form,
            )
        ]

    def proof(self, signing_input, factor=BIOMETRY):
        return evaluation_pb2.KeyProof(
            signature=self.signed(signing_input), factor=factor, signature_form=self.form
        )


class RSAPhone(AndroidPhone):
    """An older app, whose own code makes RSA keys in the Keystore and signs bytes."""

    def __init__(self, maker, *, bits=2_048, exponent=65_537):
        super().__init__(maker)
        self.keys = {BIOMETRY: rsa.generate_private_key(exponent, bits)}

    def hardware_keys(self, signing_input):
        (key,) = self.keys.values()
        return [
            bindings_pb2.HardwareKey(
                public_key=public_bytes(key, Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
                protection=CURRENT_SET,
                signature=self.sign(signing_input),
            )
        ]

    def sign(self, message):
        return self.keys[BIOMETRY].sign(message, padding.PKCS1v15(), hashes.SHA256())

    def proof(self, signing_input, factor=BIOMETRY):
        return evaluation_pb2.KeyProof(signature=self.sign(signing_input), factor=factor)

    def description(self, signing_input, factor=BIOMETRY, **changes):
        return super().description(signing_input, factor, algorithm=1, key_size=2_048, **changes)


@pytest.fixture(scope="module")
def maker():
    return Maker()


@pytest.fixture
def shop(start):
    strict = {"strict": {"purpose": "login", "factors": ["biometry", "device_owner"], "keys": "p256"}}
    settings = {"applications": {"shop": {"text_signatures": True}}, "policies": strict}
    return new_caller(start(configuration=settings), "shop")


def last_event(caller):
    event = caller.events()[-1]
    return event.kind, dict(event.details)


@pytest.mark.parametrize("wrapper", [AndroidWrapper, IOSWrapper])
def test_react_native_biometrics_enables_and_logs_in(shop, wrapper):
    phone = WrappedPhone(wrapper())
    binding = shop.bind(phone)
    assert list(binding.key_algorithms) == [RSA]
    assert list(binding.protections) == [wrapper.protection]
    assert binding.attestation_level == types_pb2.ATTESTATION_LEVEL_NONE
    assert last_event(shop) == ("binding.created", {"signature_form": "base64url_text"})
    assert shop.get_binding(binding.binding_id) == binding

    answer = shop.login(phone)
    assert (answer.outcome, answer.profile_id) == (SUCCEEDED, binding.profile_id)
    kind, details = last_event(shop)
    assert (kind, details["signature_form"]) == ("evaluation.succeeded", "base64url_text")
    claims = jwt.decode(answer.token, options={"verify_signature": False})
    assert claims["sub"] == binding.profile_id


def test_on_ios_it_pays_and_notices_another_finger(shop):
    phone = WrappedPhone(IOSWrapper())
    shop.bind(phone)
    assert shop.pay(phone).outcome == SUCCEEDED
    # A new finger can use the key, and the domain state tells.
    phone.domain_state = b"another finger"
    answer = shop.login(phone)
    assert (answer.outcome, answer.domain_state) == (
        FACTOR_REQUIRED,
        types_pb2.DOMAIN_STATE_VERDICT_CHANGED,
    )


def test_without_the_native_lines_ios_gives_no_domain_state(shop):
    phone = WrappedPhone(IOSWrapper())
    phone.domain_state = b""
    assert shop.begin_binding(phone, "alice").denial.reason == "DOMAIN_STATE_REQUIRED"


def test_on_android_it_pays_nothing_for_want_of_an_attestation(shop):
    phone = WrappedPhone(AndroidWrapper())
    shop.bind(phone)
    assert shop.begin(phone, "payment", transaction=COFFEE).denial.reason == "LEVEL_TOO_LOW"


@pytest.mark.parametrize("wrapper", [AndroidWrapper, IOSWrapper])
def test_a_form_is_not_taken_for_the_other(shop, wrapper):
    phone = WrappedPhone(wrapper())
    shop.bind(phone)
    opened = shop.begin(phone)
    signed = phone.proof(opened.signing_input)
    for form in (types_pb2.SIGNATURE_FORM_UNSPECIFIED, RAW):
        signed.signature_form = form
        assert shop.submit(phone, opened, key=signed).outcome == TRY_AGAIN
        assert "signature_form" not in last_event(shop)[1]
    signed.signature_form = TEXT
    assert shop.submit(phone, opened, key=signed).outcome == SUCCEEDED


def test_a_text_is_refused_by_name_where_nobody_allowed_it(caller):
    phone = WrappedPhone(AndroidWrapper())
    begun = caller.begin_binding(phone, "alice")
    with refused(INVALID_ARGUMENT, field="keys[0].signature_form"):
        caller.bindings.CompleteBinding(caller.completion(phone, begun))
    assert not caller.events()
    other = Phone()
    caller.bind(other)
    opened = caller.begin(other)
    proof = other.proof(opened.signing_input)
    proof.signature_form = TEXT
    with refused(INVALID_ARGUMENT, field="key.signature_form"):
        caller.submit(other, opened, key=proof)
    proof.signature_form = RAW
    assert caller.submit(other, opened, key=proof).outcome == SUCCEEDED


def test_the_setting_is_in_force_after_a_reload(start):
    server = start(configuration={"applications": {"shop": {}}})
    shop, phone = new_caller(server, "shop"), WrappedPhone(AndroidWrapper())
    with refused(INVALID_ARGUMENT, field="keys[0].signature_form"):
        shop.bind(phone)
    server.reload({"applications": {"shop": {"text_signatures": True}}})
    shop.bind(phone)
    assert shop.login(phone).outcome == SUCCEEDED
    # Taken back, it ends with the next attempt, and nothing is counted.
    opened = shop.begin(phone)
    server.reload({"applications": {"shop": {}}})
    with refused(INVALID_ARGUMENT, field="key.signature_form"):
        shop.submit(phone, opened)


def test_no_policy_for_p256_takes_an_rsa_key(shop, maker):
    phone = RSAPhone(maker)
    shop.bind(phone)
    assert shop.login(phone).outcome == SUCCEEDED
    assert shop.begin(phone, "strict").denial.reason == "NO_USABLE_FACTOR"
    other = Phone(BIOMETRY, DEVICE_OWNER)
    shop.bind(other)
    assert shop.login(other, "strict").outcome == SUCCEEDED


@pytest.mark.parametrize(
    ("bits", "exponent", "words"),
    [
        (1_024, 65_537, "1024 bits, fewer than 2048"),
        (2_040, 65_537, "2040 bits, fewer than 2048"),
        (4_104, 65_537, "4104 bits, more than 4096"),
        (2_048, 3, "exponent"),
    ],
)
def test_a_wrong_rsa_key_is_refused_by_name(caller, maker, bits, exponent, words):
    phone = RSAPhone(maker, bits=bits, exponent=exponent)
    with pytest.raises(grpc.RpcError) as raised:
        caller.bind(phone)
    assert raised.value.code() == INVALID_ARGUMENT
    assert "keys[0].public_key" in raised.value.details()
    assert words in raised.value.details()


def test_the_longest_key_logs_in_and_survives_a_restart(start, maker):
    server = start()
    caller, phone = new_caller(server), RSAPhone(maker, bits=4_096)
    binding = caller.bind(phone)
    server.terminate()
    again = new_caller(start(), caller.application_id)
    assert again.get_binding(binding.binding_id) == binding
    assert again.login(phone).outcome == SUCCEEDED


def test_androids_hardware_vouches_for_an_rsa_key(start, maker, tmp_path):
    """R44: the chain's first certificate is of the RSA key. Such a key pays, as one on P-256 does (R38)."""
    roots = {"roots": {"android": str(maker.write_roots(tmp_path / "roots.pem"))}}
    app = {"name": PACKAGE, "signers": [hashlib.sha256(b"signer").hexdigest()]}
    settings = {"attestation": roots, "applications": {"shop": {"packages": [app]}}}
    shop = new_caller(start(configuration=settings), "shop")
    phone = RSAPhone(maker)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.attested_keys(begun.signing_input)
    phone.binding = shop.bindings.CompleteBinding(shop.completion(phone, begun, keys=keys)).binding
    assert phone.binding.attestation_level == types_pb2.ATTESTATION_LEVEL_TEE
    assert phone.binding.key_attestations[0].facts["package"] == PACKAGE
    token = shop.login(phone).token
    assert jwt.decode(token, options={"verify_signature": False})["att"] == "tee"
    assert shop.pay(phone).outcome == SUCCEEDED
    # Another phone's RSA key, and another kind of key, beside this chain.
    for stranger in (RSAPhone(maker), AndroidPhone(maker)):
        begun = shop.begin_binding(stranger, "mallory")
        (key,) = stranger.hardware_keys(begun.signing_input)
        key.certificate_chain.extend(maker.chain(phone.keys[BIOMETRY], phone.description(begun.signing_input)))
        with refused(INVALID_ARGUMENT, field="keys[0].certificate_chain"):
            shop.bindings.CompleteBinding(shop.completion(stranger, begun, keys=[key]))
        assert last_event(shop) == ("binding.refused", {"reason": "KEY_DIFFERS"})


class WrappedApplePhone(WrappedPhone, ApplePhone):
    """An app on the wrapper that also uses App Attest."""

    def __init__(self, apple):
        ApplePhone.__init__(self, apple)
        self.wrapper, self.form = IOSWrapper(), TEXT


def test_an_app_vouches_for_an_rsa_key(start, tmp_path):
    """R43: over the key's SubjectPublicKeyInfo, and over the same bytes whatever form the signature has."""
    apple = Apple()
    settings = {
        "attestation": {"roots": {"apple": str(apple.write_roots(tmp_path / "apple.pem"))}},
        "applications": {"shop": {"app_ids": [APP_ID], "text_signatures": True}},
    }
    shop, phone = new_caller(start(configuration=settings), "shop"), WrappedApplePhone(apple)
    begun = shop.begin_binding(phone, "alice")
    keys = phone.hardware_keys(begun.signing_input)
    request = shop.completion(phone, begun, keys=keys)
    request.app_attest.CopyFrom(phone.attestation(begun, keys))
    phone.binding = shop.bindings.CompleteBinding(request).binding
    assert phone.binding.attestation_level == types_pb2.ATTESTATION_LEVEL_APP
    token = shop.login(phone).token
    assert jwt.decode(token, options={"verify_signature": False})["att"] == "app"


def test_a_signature_serves_once_and_for_its_own_evaluation(shop):
    phone = WrappedPhone(AndroidWrapper())
    shop.bind(phone)
    first, second = shop.begin(phone), shop.begin(phone)
    proof = phone.proof(first.signing_input)
    assert shop.submit(phone, second, key=proof).outcome == TRY_AGAIN
    assert shop.submit(phone, first, key=proof).outcome == SUCCEEDED
    assert shop.submit(phone, first, key=proof).outcome == evaluation_pb2.OUTCOME_INVALID_CONTEXT
    # Five wrong ones in a row lock its biometrics, as of any key.
    for _ in range(5):
        opened = shop.begin(phone)
        answer = shop.submit(phone, opened, key=proof)
    assert answer.outcome == evaluation_pb2.OUTCOME_LOCKED_OUT


def test_one_rsa_key_as_a_passkey_and_as_a_phones_key(start, maker):
    """What it signs as one is never taken for the other."""
    caller = new_caller(start(configuration=served("shop")), "shop")
    shop, passkey, phone = PasskeyCaller(caller), Passkey(-257), RSAPhone(maker)
    phone.keys = {BIOMETRY: passkey.key}
    shop.register(passkey)
    caller.bind(phone, "alice")
    # An assertion's signature as the key's.
    opened = shop.begin(binding_id=phone.binding.binding_id, posture=phone.posture())
    asserted = passkey.get(shop.begin(profile_id="alice").passkey_options)
    proof = evaluation_pb2.KeyProof(signature=asserted.signature, factor=BIOMETRY)
    assert caller.submit(phone, opened, key=proof).outcome == TRY_AGAIN
    # The key's signature as the assertion's, and in place of one.
    opened = shop.begin(binding_id=passkey.binding.binding_id, posture=phone.posture())
    signed = passkey.get(opened.passkey_options)
    signed.signature = phone.sign(opened.signing_input)
    assert shop.submit(opened, signed).outcome == TRY_AGAIN
    assert caller.submit(phone, opened, key=phone.proof(opened.signing_input)).outcome not in (SUCCEEDED, 0)
    # Each as what it is.
    assert shop.login(passkey).outcome == SUCCEEDED
    assert caller.login(phone).outcome == SUCCEEDED
