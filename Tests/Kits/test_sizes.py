"""The kits stay small enough to be read. Each bound counts lines of code: neither blank ones, nor those that are comments alone."""

import re

import pytest
from conftest import ROOT

KITS_SOURCES = ROOT / "kits"

#: A kit's decisions are all that the vectors pin down, but for the forms of keys and signatures. They are pure.
DECISIONS = {
    "ios": ("Sources", "Decisions/*.swift"),
    "android": ("src/main", "NextStep Languages PlatformError Posture SigningInput Status Transaction Fields Texts KitException"),
    "web": ("src", "decisions language platforms signing-input bytes"),
}
#: The rest: forms of keys and signatures, messages, and the shell of calls, prompts and key stores.
OTHERS = {
    "ios": "Forms/*.swift Messages.swift Foundation.swift TouchstoneKit/*.swift",
    "android": "PhoneKey Signatures Der Answer Backend Keys AndroidKeys SoftwareKeys Phone TouchID",
    "web": "keys backend device-keys passkeys web-crypto react-native index page-keys page-passkeys",
}
SUFFIXES = {"ios": ".swift", "android": ".java", "web": ".ts"}

MAXIMUM_DECISIONS = 600
MAXIMUM_BRIDGE = 60
MAXIMUM_EXAMPLE = 80


def lines_of_code(file):
    text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())


def sources(kit):
    return set((KITS_SOURCES / kit / DECISIONS[kit][0]).rglob(f"*{SUFFIXES[kit]}"))


def named(kit, names):
    """The files of these names or patterns. Each one names a file that is there."""
    found = set()
    for name in names.split():
        pattern = name if name.endswith(SUFFIXES[kit]) else name + SUFFIXES[kit]
        files = set((KITS_SOURCES / kit / DECISIONS[kit][0]).rglob(pattern))
        assert files, f"{kit} has no {pattern}: correct the lists above"
        found |= files
    return found


@pytest.mark.parametrize("kit", DECISIONS)
def test_a_kits_decisions_have_at_most_600_lines(kit):
    decisions = named(kit, DECISIONS[kit][1])
    count = sum(map(lines_of_code, decisions))
    print(f"{kit}: {count} lines of decisions")
    assert 200 < count <= MAXIMUM_DECISIONS


@pytest.mark.parametrize("kit", DECISIONS)
def test_every_source_is_a_decision_or_not(kit):
    """A new file must be named above, so that no decision escapes the count."""
    decisions, others = named(kit, DECISIONS[kit][1]), named(kit, OTHERS[kit])
    assert decisions | others == sources(kit)
    assert not decisions & others


def test_the_bridge_for_react_native_has_at_most_60_lines():
    assert lines_of_code(KITS_SOURCES / "web/src/react-native.ts") <= MAXIMUM_BRIDGE


def test_the_example_for_swiftui_has_at_most_80_lines():
    assert lines_of_code(KITS_SOURCES / "ios/Examples/LoginScreen/LoginScreen.swift") <= MAXIMUM_EXAMPLE
