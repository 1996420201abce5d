"""Names that look alike are different ones, and what is no name is refused everywhere: no alias, and no split."""

import unicodedata

import grpc
import pytest

from support.caller import gesture, new_caller, passcode
from support.errors import refused
from support.phone import Phone
from support.stubs import evaluation_pb2, secrets_pb2, types_pb2

SUCCEEDED = evaluation_pb2.OUTCOME_SUCCEEDED

#: Every one is another profile than all others.
LOOK_ALIKES = [
    "alice",
    "Alice",
    "ALICE",
    " alice",
    "alice ",
    "  alice",
    "\u00a0alice",
    "al\u200bice",
    "\ufeffalice",
    # CYRILLIC SMALL LETTER A, and the full-width one.
    "\u0430lice",
    "\uff41lice",
    unicodedata.normalize("NFC", "alicé"),
    unicodedata.normalize("NFD", "alicé"),
    "\u212bngstrom",
    "\u00c5ngstrom",
    "A\u030angstrom",
    "ﬁ",
    "fi",
    "ı",
    "i",
    "İ",
    "ß",
    "ss",
    "ẞ",
    "가",
    unicodedata.normalize("NFD", "가"),
    "\u202ealice",
    "x" * 128,
    "x" * 127,
    "é" * 64,
    "🔑" * 32,
    "../alice",
    "alice%00",
    "alice'; DROP TABLE profiles; --",
    "profile:alice",
    "*",
]


def test_look_alikes_are_as_many_people(caller):
    """Each with settings of its own."""
    assert len(set(LOOK_ALIKES)) == len(LOOK_ALIKES)
    preferred = [types_pb2.FACTOR_BIOMETRY, types_pb2.FACTOR_UNSPECIFIED]
    for number, profile_id in enumerate(LOOK_ALIKES):
        caller.set_settings(profile_id, biometry_enabled=True, preferred=preferred[number % 2])
    for number, profile_id in enumerate(LOOK_ALIKES):
        assert caller.get_settings(profile_id).preferred == preferred[number % 2]


def test_a_passcode_is_no_look_alikes(caller):
    phone = Phone()
    for number, profile_id in enumerate(LOOK_ALIKES[:13]):
        assert caller.get_settings(profile_id) == secrets_pb2.UnlockSettings(biometry_enabled=True)
        assert caller.set_secret(profile_id, passcode(f"code-{number}")).accepted
    for number, profile_id in enumerate(LOOK_ALIKES[:13]):
        opened = caller.begin(phone, profile_id=profile_id)
        answer = caller.submit(phone, opened, secret=passcode(f"code-{number}"))
        assert (answer.outcome, answer.profile_id) == (SUCCEEDED, profile_id)
        assert caller.introspect(answer.token).claims.profile_id == profile_id


def test_erasing_one_leaves_its_look_alikes(caller):
    for profile_id in LOOK_ALIKES:
        caller.set_settings(profile_id, biometry_enabled=False)
    for erased in ("alice", "\u00c5ngstrom", "*", "x" * 128):
        caller.erase_profile(erased)
        assert caller.get_settings(erased).biometry_enabled
    left = [name for name in LOOK_ALIKES if name not in ("alice", "\u00c5ngstrom", "*", "x" * 128)]
    assert not any(caller.get_settings(profile_id).biometry_enabled for profile_id in left)


def test_applications_that_look_alike_share_nobody(server):
    callers = [new_caller(server, f"look-alikes {name}"[:128]) for name in LOOK_ALIKES[:16]]
    for number, caller in enumerate(callers):
        caller.set_secret("alice", passcode(f"code-{number}"))
    phone = Phone()
    for number, caller in enumerate(callers):
        answer = caller.submit(phone, caller.begin(phone, profile_id="alice"), secret=passcode(f"code-{number}"))
        assert answer.outcome == SUCCEEDED
        assert len({event.application_id for event in caller.events()}) == 1


def test_application_and_profile_are_not_one_text(server):
    """What stands in both together does not matter where they meet."""
    first, second = new_caller(server, "shop-x"), new_caller(server, "shop-")
    first.set_secret("1", passcode("2468"))
    assert second.get_settings("x1") == secrets_pb2.UnlockSettings(biometry_enabled=True)
    answer = second.submit(Phone(), second.begin(Phone(), profile_id="x1"), secret=passcode("2468"))
    assert answer.outcome != SUCCEEDED


def test_devices_that_look_alike_are_as_many_phones(caller):
    phones = [Phone() for _ in range(3)]
    for phone, device_id in zip(phones, ["caf\u00e9", "cafe\u0301", "CAF\u00c9"], strict=True):
        phone.device_id = device_id + caller.application_id[-32:]
        caller.bind(phone)
    for _ in range(3):
        opened = caller.begin(phones[0])
        caller.submit_wrong(phones[0], opened)
    assert [caller.can_evaluate(phone).biometry_attempts_left for phone in phones] == [2, 5, 5]


#: 129 bytes, by one letter and by two-byte letters; NUL is refused with the message (test_malformed.py).
NO_NAMES = ["", "x" * 129, "é" * 64 + "x", "🔑" * 32 + "x"]
NO_NAMES += ["alice\x00", "\x00", "ali\x00ce", "alice\n", "\u0085", "\x7f"]

@pytest.mark.parametrize("name", NO_NAMES[1:], ids=lambda name: repr(name)[:20])
def test_nobody_is_asked_under_what_is_no_name(caller, name):
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="profile_id"):
        caller.begin(Phone(), profile_id=name)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="profile_id"):
        caller.can_evaluate(Phone(), profile_id=name)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="binding_id"):
        caller.begin(Phone(), binding_id=name)


@pytest.mark.parametrize("text", ["abc\x00", "\x00\x00\x01\x00", "2468\x00"], ids=repr)
def test_a_passcode_with_nul_is_none(caller, text):
    """No prefix of it is compared: it is refused."""
    caller.set_secret("alice", passcode("2468"))
    opened = caller.begin(Phone(), profile_id="alice")
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="passcode.passcode"):
        caller.submit(Phone(), opened, secret=passcode(text))
    with refused(grpc.StatusCode.INVALID_ARGUMENT, field="secret.passcode.passcode"):
        caller.set_secret("alice", passcode(text))
    assert caller.submit(Phone(), opened, secret=passcode("2468")).outcome == SUCCEEDED


def test_a_gesture_is_no_passcode_of_its_digits(caller):
    caller.set_secret("alice", gesture(2, 4, 6, 8))
    caller.set_secret("alice", passcode("1357"))
    opened = caller.begin(Phone(), profile_id="alice")
    assert list(opened.factors) == [types_pb2.FACTOR_GESTURE, types_pb2.FACTOR_PASSCODE]
    assert caller.submit(Phone(), opened, secret=passcode("2468")).outcome != SUCCEEDED
    assert caller.submit(Phone(), opened, secret=gesture(1, 3, 5, 7)).outcome != SUCCEEDED
    assert caller.submit(Phone(), opened, secret=gesture(2, 4, 6, 8)).outcome == SUCCEEDED
