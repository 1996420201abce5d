"""Fixtures: the clients as other programs install them, and a service that takes calls over TLS from a caller with a key.

The wheel stands in the path, so that the acceptance tests' helpers use its stubs, too.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.wheels import PACKAGES, WHEELS

if not WHEELS:
    pytest.exit(f"there is no wheel in {PACKAGES}: run `make clients`", returncode=1)
sys.path.insert(0, str(WHEELS[-1]))

from support.certificates import Authority  # noqa: E402
from support.credentials import Key, caller_with  # noqa: E402
from support.phone import Phone, sign  # noqa: E402
from support.server import Server  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

#: A client's program may have to be compiled.
PROGRAM_SECONDS = 600


@pytest.fixture(scope="session")
def wheel():
    return WHEELS[-1]


class Shop:
    """A service that knows one caller, the shop, by its key; and a phone that the shop has bound."""

    def __init__(self, directory):
        self.authority, self.key = Authority(directory), Key()
        certificate = self.authority.issue_server()
        self.server = Server(
            directory / "data",
            configuration={
                "tls": {"certificate": str(certificate.file), "key": str(certificate.key_file)},
                "callers": [{"name": "shop", "applications": ["shop"], "methods": "*", "keys": [self.key.digest]}],
            },
        )
        self.target = self.server.address
        self.caller = caller_with(self.server.channel(authority=self.authority), "shop", self.key)
        self.phone = Phone()
        self.caller.bind(self.phone)

    def play(self, command, posture="json", **options):
        """Runs a program that logs in, and signs for it, as the phone does. Returns the words of its result. The program gets the posture
        in one of protobuf's forms: JSON or text."""
        from google.protobuf import json_format, text_format

        form = json_format.MessageToJson if posture == "json" else text_format.MessageToString
        posture = form(self.phone.posture(), **({"indent": None} if posture == "json" else {"as_one_line": True}))
        arguments = [self.target, self.authority.file, self.phone.binding.binding_id, posture]
        program = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "TOUCHSTONE_KEY": self.key.text},
            **options,
        )
        with program:
            word, *rest = program.stdout.readline().split() or [""]
            if word == "sign":
                program.stdin.write(sign(next(iter(self.phone.keys.values())), bytes.fromhex(rest[0])).hex() + "\n")
                program.stdin.flush()
                word, *rest = program.stdout.readline().split() or [""]
            assert word == "result", program.stderr.read()
            program.stdin.close()
            assert program.wait(PROGRAM_SECONDS) == 0
        return rest


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    shop = Shop(tmp_path_factory.mktemp("shop"))
    yield shop
    shop.server.close()
