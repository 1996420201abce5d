"""Names that look alike are different ones."""

import unicodedata

from support.caller import gesture, passcode
from support.phone import Phone
from support.stubs import evaluation_pb2, types_pb2

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


def test_erasing_one_leaves_its_look_alikes(caller):
    for profile_id in LOOK_ALIKES:
        caller.set_settings(profile_id, biometry_enabled=False)
    for erased in ("alice", "\u00c5ngstrom", "*", "x" * 128):
        caller.erase_profile(erased)
        assert caller.get_settings(erased).biometry_enabled
    left = [name for name in LOOK_ALIKES if name not in ("alice", "\u00c5ngstrom", "*", "x" * 128)]
    assert not any(caller.get_settings(profile_id).biometry_enabled for profile_id in left)


def test_a_gesture_is_no_passcode_of_its_digits(caller):
    caller.set_secret("alice", gesture(2, 4, 6, 8))
    caller.set_secret("alice", passcode("1357"))
    opened = caller.begin(Phone(), profile_id="alice")
    assert list(opened.factors) == [types_pb2.FACTOR_GESTURE, types_pb2.FACTOR_PASSCODE]
    assert caller.submit(Phone(), opened, secret=passcode("2468")).outcome != SUCCEEDED
    assert caller.submit(Phone(), opened, secret=gesture(1, 3, 5, 7)).outcome != SUCCEEDED
    assert caller.submit(Phone(), opened, secret=gesture(2, 4, 6, 8)).outcome == SUCCEEDED
